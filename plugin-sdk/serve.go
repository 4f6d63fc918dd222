package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// ProtocolVersion is the version of the contract, agreed on in the handshake.
// It changes when the proto package does.
const ProtocolVersion = 1

// PluginName is the name under which go-plugin serves the backend.
const PluginName = "backend"

// Environment variables of the plugin process, set by the host. They are part
// of the protocol: a backend in another language reads them too.
const (
	// EnvLifeline holds the number of an inherited file descriptor that ends
	// (read gives EOF) when the host dies.
	EnvLifeline = "TRITONC_LIFELINE"
	// EnvLogLevel holds the least hclog level that the host will show.
	EnvLogLevel = "TRITONC_LOG_LEVEL"
)

// Handshake tells a plugin started by tritonc from one started by hand. It is a
// courtesy, not a security measure.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "TRITONC_BACKEND",
	MagicCookieValue: "b1f0c1d4-tritonc-backend",
}

// Plugin is the backend as go-plugin sees it: Impl on the plugin's side, nil on
// the host's, where Dispense gives a *Client.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Impl Backend
	Log  hclog.Logger
}

var _ plugin.GRPCPlugin = (*Plugin)(nil)

// GRPCServer implements plugin.GRPCPlugin.
func (p *Plugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	RegisterBackend(s, p.Impl, p.Log)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(conn), nil
}

// Serve runs the plugin and does not return while the host lives. It must be
// the first statement of main. Run by hand the program says what it is;
// with --describe it prints its facts as JSON.
func Serve(b Backend) {
	if os.Getenv(Handshake.MagicCookieKey) != Handshake.MagicCookieValue {
		os.Exit(byHand(b, os.Args[1:], os.Stdout, os.Stderr))
	}
	log := hosted()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{
			ProtocolVersion: {PluginName: &Plugin{Impl: b, Log: log}},
		},
		GRPCServer: NewGRPCServer,
		Logger:     log,
	})
	leaveNothing()
}

// hosted readies a process that a host started: its logger, its standard output
// and its lifeline.
func hosted() hclog.Logger {
	// The logger keeps the real stderr: go-plugin replaces os.Stderr later.
	log := hclog.New(&hclog.LoggerOptions{
		Level:      hclog.LevelFromString(os.Getenv(EnvLogLevel)),
		Output:     os.Stderr,
		JSONFormat: true,
	})
	if err := shieldStdout(); err != nil {
		log.Error("cannot set the standard output aside", "error", err)
		os.Exit(1)
	}
	if err := watchLifeline(os.Getenv(EnvLifeline), log); err != nil {
		log.Error("cannot watch the lifeline", "error", err)
		os.Exit(1)
	}
	return log
}

// byHand answers a person who ran the plugin and returns the exit code.
func byHand(b Backend, args []string, stdout, stderr io.Writer) int {
	facts, err := NewLocal(b).Describe(context.Background())
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if len(args) == 1 && args[0] == "--describe" {
		enc := json.NewEncoder(stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(facts); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		return 0
	}
	if len(args) > 0 && args[0] != "--help" && args[0] != "-h" {
		fmt.Fprintf(stderr, "unknown argument %q; a backend takes --describe only\n", args[0])
		return 2
	}
	fmt.Fprintf(stdout, "%s is the %s backend (version %s) of the Triton compiler tritonc, for the targets", filepath.Base(os.Args[0]), facts.Name, facts.Version)
	for i := range facts.Targets {
		fmt.Fprintf(stdout, " %s", facts.Targets[i].Pattern)
	}
	fmt.Fprintf(stdout, ".\ntritonc starts it by itself: put it beside tritonc, or in a folder of TRITONC_BACKEND_PATH.\nWith --describe it prints its facts as JSON.\n")
	return 0
}
