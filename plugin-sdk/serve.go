package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	backend "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
	device "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/device/v1"
)

// Plugin is what a program serves. A program named tritonc-backend-<name> has a
// Backend, and may have the Driver of its devices, too: `tritonc run` then needs one
// file. A program named tritonc-device-<name> has a Driver alone.
type Plugin struct {
	Backend Backend
	Driver  DeviceDriver
}

// ServeBackend runs a backend. It must be the first statement of main, and does
// not return while the host lives. Run by hand the program says what it is; with
// --describe it prints its facts as JSON.
func ServeBackend(b Backend) { Serve(Plugin{Backend: b}) }

// ServeDriver runs a driver of devices as ServeBackend runs a backend.
func ServeDriver(d DeviceDriver) { Serve(Plugin{Driver: d}) }

// Serve runs a plugin as ServeBackend runs a backend.
func Serve(p Plugin) {
	handshake, version, hosts := p.handshake()
	if !hosts {
		os.Exit(p.byHand(os.Args[1:], os.Stdout, os.Stderr))
	}
	log := hosted()
	if p.Backend != nil {
		go wire.Warm()
	}
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	go func() {
		defer end()
		plugin.Serve(&plugin.ServeConfig{
			HandshakeConfig:  handshake,
			VersionedPlugins: map[int]plugin.PluginSet{version: {"tritonc": &served{plugin: p, log: log}}},
			GRPCServer:       func(opts []grpc.ServerOption) *grpc.Server { return wire.NewServer(append(opts, endWhenAsked(end))) },
			Logger:           log,
		})
	}()
	<-over
	leaveNothing()
}

// endWhenAsked calls end as soon as the host asks the process to end: nobody waits for what
// gRPC does to close the connections of one that goes.
func endWhenAsked(end func()) grpc.ServerOption {
	return grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if info.FullMethod == "/plugin.GRPCController/Shutdown" {
			end()
		}
		return handle(ctx, req)
	})
}

// served is a Plugin as go-plugin has it.
type served struct {
	plugin.NetRPCUnsupportedPlugin
	plugin Plugin
	log    hclog.Logger
}

var _ plugin.GRPCPlugin = (*served)(nil)

// GRPCServer implements plugin.GRPCPlugin.
func (s *served) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	s.plugin.Register(server, s.log)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (*served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin has no client: package host has")
}

// Register puts the services of p on a gRPC server that was made otherwise, as package
// sdktest does; methods get log through Logger.
func (p Plugin) Register(s grpc.ServiceRegistrar, log hclog.Logger) {
	if p.Backend != nil {
		backend.RegisterBackendServer(s, &server{backend: p.complete(), caller: caller{log: log, who: "the backend"}})
	}
	if p.Driver != nil {
		device.RegisterDevicesServer(s, &deviceServer{
			driver: p.Driver, caller: caller{log: log, who: "the device driver"}, sessions: map[uint64]*session{},
		})
	}
}

// handshake is that of the host that started the program; hosts is false where a
// person did.
func (p Plugin) handshake() (h plugin.HandshakeConfig, version int, hosts bool) {
	started := func(h plugin.HandshakeConfig) bool { return os.Getenv(h.MagicCookieKey) == h.MagicCookieValue }
	switch {
	case p.Backend != nil && started(wire.Handshake):
		return wire.Handshake, wire.ProtocolVersion, true
	case p.Driver != nil && started(wire.DeviceHandshake):
		return wire.DeviceHandshake, wire.DeviceProtocolVersion, true
	}
	return h, 0, false
}

// complete is p's backend, whose facts tell that there is a driver, too.
func (p Plugin) complete() *complete {
	return &complete{backend: p.Backend, devices: p.Driver != nil}
}

// hosted readies a process that a host started: its logger, its standard output
// and its lifeline.
func hosted() hclog.Logger {
	// The logger keeps the real stderr: go-plugin replaces os.Stderr later.
	log := hclog.New(&hclog.LoggerOptions{
		Level:      hclog.LevelFromString(os.Getenv(wire.EnvLogLevel)),
		Output:     os.Stderr,
		JSONFormat: true,
	})
	if err := shieldStdout(); err != nil {
		log.Error("cannot set the standard output aside", "error", err)
		os.Exit(1)
	}
	if err := watchLifeline(os.Getenv(wire.EnvLifeline), log); err != nil {
		log.Error("cannot watch the lifeline", "error", err)
		os.Exit(1)
	}
	return log
}

// byHand answers a person who ran the program and returns the exit code.
func (p Plugin) byHand(args []string, stdout, stderr io.Writer) int {
	asJSON := len(args) == 1 && args[0] == "--describe"
	if !asJSON && len(args) > 0 && (len(args) > 1 || args[0] != "--help" && args[0] != "-h") {
		fmt.Fprintf(stderr, "unknown argument %q; a plugin of tritonc takes --describe only\n", args[len(args)-1])
		return 2
	}
	var facts any
	var text string
	var err error
	if p.Backend != nil {
		facts, text, err = p.describeBackend()
	} else {
		facts, text, err = p.describeDriver()
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 1
	case !asJSON:
		fmt.Fprint(stdout, text)
		return 0
	}
	enc := json.NewEncoder(stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(facts); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// describeBackend gives the backend's facts, and says what the program is.
func (p Plugin) describeBackend() (Facts, string, error) {
	facts, err := p.complete().Describe(context.Background())
	if err != nil {
		return facts, "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is the %s backend (version %s) of the Triton compiler tritonc, for the targets", filepath.Base(os.Args[0]), facts.Name, facts.Version)
	for i := range facts.Targets {
		fmt.Fprintf(&b, " %s", facts.Targets[i].Pattern)
	}
	b.WriteString(".\ntritonc starts it by itself: put it beside tritonc, or in a folder of TRITONC_BACKEND_PATH.\nWith --describe it prints its facts as JSON.\n")
	return facts, b.String(), nil
}

// describeDriver is describeBackend for a program with a driver alone.
func (p Plugin) describeDriver() (DeviceFacts, string, error) {
	facts, err := p.Driver.Describe(context.Background())
	if err != nil {
		return facts, "", err
	}
	var b strings.Builder
	b.WriteString("A device driver of the Triton compiler tritonc, which starts it by itself: put it beside\ntritonc, or in a folder of TRITONC_BACKEND_PATH. The devices here:\n")
	for i := range facts.Devices {
		fmt.Fprintf(&b, "  %s:%d  %s, --target %s\n", facts.Name, i, facts.Devices[i].Name, facts.Devices[i].Target)
	}
	return facts, b.String(), nil
}
