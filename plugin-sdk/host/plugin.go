package host

import (
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

// HandshakeConfig is the variable by which a program knows that a host has started it.
type HandshakeConfig = wire.Handshake

// Handshake tells a backend started by tritonc from one started by hand, and
// DeviceHandshake a driver. They are a courtesy, not a security measure.
var (
	Handshake       = wire.BackendHandshake
	DeviceHandshake = wire.DeviceHandshake
)

// What go-plugin's handshake is made of; package process has the host's end of it.
const (
	CoreVersion       = wire.CoreVersion
	EnvVersions       = wire.EnvVersions
	EnvSocketDir      = wire.EnvSocketDir
	EnvClientCert     = wire.EnvClientCert
	HealthService     = wire.HealthService
	ControllerService = wire.ControllerService
	ShutdownMethod    = wire.ShutdownMethod
	StdioService      = wire.StdioService
	StreamMethod      = wire.StreamMethod
)

// SelfSigned makes a certificate for mutual TLS.
var SelfSigned = wire.SelfSigned

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

// DialOptions are what a host sets a connection to a plugin to.
func DialOptions() []grpc.DialOption { return wire.DialOptions() }

// TempDirIn is sdk.TempDir in another folder than the system's.
func TempDirIn(base, pattern string) (dir string, remove func(), err error) {
	return tempdir.Make(base, pattern)
}

// Backend makes the client of a backend of a connection, and Devices that of a driver.
func Backend(conn *grpc.ClientConn) any { return NewClient(conn) }

// Devices makes the client of a driver of a connection.
func Devices(conn *grpc.ClientConn) any { return NewDeviceClient(conn) }
