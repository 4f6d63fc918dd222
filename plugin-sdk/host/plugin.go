package host

import (
	"context"
	"errors"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tritonc/tritonc/plugin-sdk/internal/tempdir"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// Versions of the contracts with backends and with drivers, agreed on in the
// handshake. One changes when its proto package does.
const (
	ProtocolVersion       = wire.ProtocolVersion
	DeviceProtocolVersion = wire.DeviceProtocolVersion
)

// Handshake tells a backend started by tritonc from one started by hand, and
// DeviceHandshake a driver. They are a courtesy, not a security measure.
var (
	Handshake       = wire.Handshake
	DeviceHandshake = wire.DeviceHandshake
)

// Warm readies this process for a compile, beside the start of a backend, say: else the
// first call takes half a millisecond more.
func Warm() { wire.Warm() }

// Environment variables of the plugin process, set by the host. They are part
// of the protocol: a backend in another language reads them too.
const (
	// EnvLifeline holds the number of an inherited file descriptor that ends
	// (read gives EOF) when the host dies.
	EnvLifeline = wire.EnvLifeline
	// EnvLogLevel holds the least hclog level that the host will show.
	EnvLogLevel = wire.EnvLogLevel
	// EnvCacheDir names the folder of sdk.CacheDir.
	EnvCacheDir = wire.EnvCacheDir
)

// Capability flags of sdk.Facts.
const (
	// CapRunPasses: the backend serves RunPasses.
	CapRunPasses = wire.CapRunPasses
	// CapDevices: the program serves devices, too, as a driver does.
	CapDevices = wire.CapDevices
)

// MaxMessageBytes is the largest message of either direction. Beyond it a call
// fails with a size error rather than with the machine's memory.
const MaxMessageBytes = wire.MaxMessageBytes

// PluginName and DevicePluginName are the names under which go-plugin has the two
// services.
const (
	PluginName       = "backend"
	DevicePluginName = "devices"
)

// DialOptions are what a host sets a connection to a plugin to.
func DialOptions() []grpc.DialOption { return wire.DialOptions() }

// TempDirIn is sdk.TempDir in another folder than the system's.
func TempDirIn(base, pattern string) (dir string, remove func(), err error) {
	return tempdir.Make(base, pattern)
}

var errServes = errors.New("package host serves nothing: package sdk does")

// BackendPlugin is a backend as go-plugin sees it: Dispense gives a *Client.
type BackendPlugin struct{ plugin.NetRPCUnsupportedPlugin }

var _ plugin.GRPCPlugin = (*BackendPlugin)(nil)

// GRPCServer implements plugin.GRPCPlugin.
func (*BackendPlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errServes }

// GRPCClient implements plugin.GRPCPlugin.
func (*BackendPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(conn), nil
}

// DevicePlugin is a driver as go-plugin sees it: Dispense gives a *DeviceClient.
type DevicePlugin struct{ plugin.NetRPCUnsupportedPlugin }

var _ plugin.GRPCPlugin = (*DevicePlugin)(nil)

// GRPCServer implements plugin.GRPCPlugin.
func (*DevicePlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errServes }

// GRPCClient implements plugin.GRPCPlugin.
func (*DevicePlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewDeviceClient(conn), nil
}
