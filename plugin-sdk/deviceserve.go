package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// DeviceProtocolVersion is the version of the contract with device drivers.
const DeviceProtocolVersion = 1

// DevicePluginName is the name under which go-plugin serves the driver.
const DevicePluginName = "devices"

// DeviceHandshake is to drivers what Handshake is to backends.
var DeviceHandshake = plugin.HandshakeConfig{
	ProtocolVersion:  DeviceProtocolVersion,
	MagicCookieKey:   "TRITONC_DEVICE",
	MagicCookieValue: "6e0ad4f2-tritonc-device",
}

// DevicePlugin is a driver as go-plugin sees it: Impl on the plugin's side, nil
// on the host's, where Dispense gives a *DeviceClient.
type DevicePlugin struct {
	plugin.NetRPCUnsupportedPlugin
	Impl DeviceDriver
	Log  hclog.Logger
}

var _ plugin.GRPCPlugin = (*DevicePlugin)(nil)

// GRPCServer implements plugin.GRPCPlugin.
func (p *DevicePlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	RegisterDevices(s, p.Impl, p.Log)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (p *DevicePlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewDeviceClient(conn), nil
}

// ServeDevices runs a driver as Serve runs a backend.
func ServeDevices(d DeviceDriver) {
	if os.Getenv(DeviceHandshake.MagicCookieKey) != DeviceHandshake.MagicCookieValue {
		os.Exit(deviceByHand(d, os.Args[1:], os.Stdout, os.Stderr))
	}
	log := hosted()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: DeviceHandshake,
		VersionedPlugins: map[int]plugin.PluginSet{
			DeviceProtocolVersion: {DevicePluginName: &DevicePlugin{Impl: d, Log: log}},
		},
		GRPCServer: NewGRPCServer,
		Logger:     log,
	})
	leaveNothing()
}

// deviceByHand answers a person who ran the driver and returns the exit code.
func deviceByHand(d DeviceDriver, args []string, stdout, stderr io.Writer) int {
	if len(args) > 1 || len(args) == 1 && args[0] != "--describe" && args[0] != "--help" && args[0] != "-h" {
		fmt.Fprintf(stderr, "unknown argument %q; a device driver takes --describe only\n", args[len(args)-1])
		return 2
	}
	facts, err := d.Describe(context.Background())
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
	fmt.Fprintf(stdout, "A device driver of the Triton compiler tritonc, which starts it by itself: put it beside\ntritonc, or in a folder of TRITONC_BACKEND_PATH. The devices here:\n")
	for i := range facts.Devices {
		fmt.Fprintf(stdout, "  %s:%d  %s, --target %s\n", facts.Name, i, facts.Devices[i].Name, facts.Devices[i].Target)
	}
	return 0
}
