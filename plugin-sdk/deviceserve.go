package sdk

import (
	"context"

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
