package wire

import (
	"strings"

	"github.com/hashicorp/go-plugin"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// Versions of the contracts with backends and with drivers, agreed on in the
// handshake. One changes when its proto package does.
const (
	ProtocolVersion       = 1
	DeviceProtocolVersion = 1
)

// Handshake tells a backend started by tritonc from one started by hand, and
// DeviceHandshake a driver. They are a courtesy, not a security measure.
var (
	Handshake = plugin.HandshakeConfig{
		ProtocolVersion:  ProtocolVersion,
		MagicCookieKey:   "TRITONC_BACKEND",
		MagicCookieValue: "b1f0c1d4-tritonc-backend",
	}
	DeviceHandshake = plugin.HandshakeConfig{
		ProtocolVersion:  DeviceProtocolVersion,
		MagicCookieKey:   "TRITONC_DEVICE",
		MagicCookieValue: "6e0ad4f2-tritonc-device",
	}
)

// Environment variables of the plugin process, set by the host. They are part
// of the protocol: a backend in another language reads them too.
const (
	// EnvLifeline holds the number of an inherited file descriptor that ends
	// (read gives EOF) when the host dies.
	EnvLifeline = "TRITONC_LIFELINE"
	// EnvLogLevel holds the least hclog level that the host will show.
	EnvLogLevel = "TRITONC_LOG_LEVEL"
	// EnvCacheDir names a folder that only plugins of this name write to and that stays
	// between runs. The host sets it in a sandbox, where the user's cache folder cannot
	// be written.
	EnvCacheDir = "TRITONC_PLUGIN_CACHE"
)

// Capability flags of a backend's facts.
const (
	// CapRunPasses: the backend serves RunPasses.
	CapRunPasses = "run_passes"
	// CapDevices: the program serves devices, too, as a driver does.
	CapDevices = "devices"
)

// Each maps f over a slice; an empty slice gives nil, as the wire does.
func Each[A, B any](in []A, f func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

// UTF8 makes free text fit for a protobuf string, which the codec refuses when
// it is not UTF-8: users' files and names may hold anything.
func UTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// TargetToWire gives t as it is sent.
func TargetToWire(t target.Target) *pb.Target {
	return &pb.Target{Backend: t.Backend, Arch: t.Arch, WarpSize: int32(t.WarpSize)}
}

// TargetFromWire gives t as it was sent.
func TargetFromWire(t *pb.Target) target.Target {
	return target.Target{Backend: t.GetBackend(), Arch: t.GetArch(), WarpSize: int(t.GetWarpSize())}
}
