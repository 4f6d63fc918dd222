package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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

// BackendPlugin is a backend as go-plugin sees it, for hosts: Impl on the plugin's
// side, nil on the host's, where Dispense gives a *Client.
type BackendPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	Impl *Local
	Log  hclog.Logger
}

var _ plugin.GRPCPlugin = (*BackendPlugin)(nil)

// GRPCServer implements plugin.GRPCPlugin.
func (p *BackendPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	registerLocal(s, p.Impl, p.Log)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (p *BackendPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(conn), nil
}

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
	set := plugin.PluginSet{}
	if p.Backend != nil {
		set[PluginName] = &BackendPlugin{Impl: withDevices(p), Log: log}
	}
	if p.Driver != nil {
		set[DevicePluginName] = &DevicePlugin{Impl: p.Driver, Log: log}
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: map[int]plugin.PluginSet{version: set},
		GRPCServer:       NewGRPCServer,
		Logger:           log,
	})
	leaveNothing()
}

// handshake is that of the host that started the program; hosts is false where a
// person did.
func (p *Plugin) handshake() (h plugin.HandshakeConfig, version int, hosts bool) {
	started := func(h plugin.HandshakeConfig) bool { return os.Getenv(h.MagicCookieKey) == h.MagicCookieValue }
	switch {
	case p.Backend != nil && started(Handshake):
		return Handshake, ProtocolVersion, true
	case p.Driver != nil && started(DeviceHandshake):
		return DeviceHandshake, DeviceProtocolVersion, true
	}
	return h, 0, false
}

// withDevices is p's backend, whose facts tell that there is a driver, too.
func withDevices(p Plugin) *Local {
	l := NewLocal(p.Backend)
	l.devices = p.Driver != nil
	return l
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

// byHand answers a person who ran the program and returns the exit code.
func (p *Plugin) byHand(args []string, stdout, stderr io.Writer) int {
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
func (p *Plugin) describeBackend() (Facts, string, error) {
	facts, err := withDevices(*p).Describe(context.Background())
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
func (p *Plugin) describeDriver() (DeviceFacts, string, error) {
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
