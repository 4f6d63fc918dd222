package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// this is the plugin of the protocol as it is.
type this struct{ host.BackendPlugin }

func (*this) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	sdk.Plugin{Backend: spoken{}}.Register(s, hclog.NewNullLogger())
	return nil
}

// next is the plugin of a protocol after this one: another service, of one call.
type next struct {
	goplugin.NetRPCUnsupportedPlugin
}

const nextService = "tritonc.backend.v2.Backend"

func (next) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: nextService, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Greet", Handler: func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := &wrapperspb.StringValue{}
			if err := read(in); err != nil {
				return nil, err
			}
			return wrapperspb.String("hello, " + in.GetValue()), nil
		}}},
	}, nil)
	return nil
}

// nextClient is what a host makes of a connection in that protocol.
type nextClient struct{ conn *grpc.ClientConn }

func (next) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return nextClient{conn}, nil
}

func (c nextClient) greet(ctx context.Context) (string, error) {
	out := &wrapperspb.StringValue{}
	err := c.conn.Invoke(ctx, "/"+nextService+"/Greet", wrapperspb.String("world"), out)
	return out.GetValue(), err
}

// spoken is a backend that is told apart by its name.
type spoken struct{}

func (spoken) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{Name: "spoken"}, nil
}

func (spoken) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) { return nil, nil }

// speak has this program serve versions of the protocol, "1-2", as a vendor may whose
// plugin is for old hosts and new ones.
func speak(versions string) {
	sets := map[int]goplugin.PluginSet{}
	for v := range strings.SplitSeq(versions, "-") {
		switch v {
		case "1":
			sets[1] = goplugin.PluginSet{host.PluginName: &this{}}
		case "2":
			sets[2] = goplugin.PluginSet{host.PluginName: next{}}
		}
	}
	goplugin.Serve(&goplugin.ServeConfig{HandshakeConfig: host.Handshake, VersionedPlugins: sets, GRPCServer: goplugin.DefaultGRPCServer})
}

// TestVersions: host and plugin agree on the highest version that both speak, and say
// clearly that there is none.
func TestVersions(t *testing.T) {
	all := map[int]goplugin.Plugin{1: &host.BackendPlugin{}, 2: next{}}
	sets := [][]int{{1}, {2}, {1, 2}}
	for _, theirs := range sets {
		program := speaker(t, theirs)
		for _, ours := range sets {
			versions, common := map[int]goplugin.Plugin{}, 0
			for _, v := range ours {
				versions[v] = all[v]
				if slices.Contains(theirs, v) {
					common = max(common, v)
				}
			}
			t.Run(fmt.Sprintf("host %v plugin %v", ours, theirs), func(t *testing.T) {
				p, err := process.Start(t.Context(), program, process.Config{
					Kind: "backend", Handshake: host.Handshake, PluginName: host.PluginName, Versions: versions,
					Logger: hclog.NewNullLogger(), StartTimeout: 10 * time.Second,
				})
				if common == 0 {
					want := fmt.Sprintf("speaks version %d of the plugin protocol, this tritonc version %d", theirs[0], ours[0])
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v, want %s", err, want)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer p.Stop()
				if p.Version() != common {
					t.Errorf("version %d was agreed on, want %d", p.Version(), common)
				}
				if common == 1 {
					f, err := p.Client().(*host.Client).Describe(t.Context())
					if err != nil || f.Name != "spoken" {
						t.Errorf("%+v, %v", f, err)
					}
					return
				}
				if got, err := p.Client().(nextClient).greet(t.Context()); err != nil || got != "hello, world" {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
	}
}

// speaker makes this program one that speaks versions.
func speaker(t *testing.T, versions []int) process.Found {
	t.Helper()
	names := make([]string, len(versions))
	for i, v := range versions {
		names[i] = strconv.Itoa(v)
	}
	return thisProgram(t, "speaks-"+strings.Join(names, "-"))
}

// thisProgram puts this program into a folder of its own as the backend of a name.
func thisProgram(t *testing.T, name string) process.Found {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := Prefix + name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	dir := t.TempDir()
	path := filepath.Join(dir, file)
	if err := os.Link(exe, path); err != nil { // another file system
		text, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return process.Found{Name: name, Path: path}
}
