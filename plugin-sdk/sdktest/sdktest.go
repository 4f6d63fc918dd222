// Package sdktest runs a backend or a device driver inside a test, over a real gRPC connection but
// without a process: what crosses the wire is what the host would see.
package sdktest

import (
	"context"
	"net"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// Start serves b until the test ends and returns its client. The backend's log
// goes to the test's.
func Start(t testing.TB, b sdk.Backend) *host.Client {
	t.Helper()
	return host.NewClient(serve(t, sdk.Plugin{Backend: b}))
}

// StartDevices is Start for a driver of devices.
func StartDevices(t testing.TB, d sdk.DeviceDriver) *host.DeviceClient {
	t.Helper()
	return host.NewDeviceClient(serve(t, sdk.Plugin{Driver: d}))
}

// serve runs a server until the test ends and returns a connection to it.
func serve(t testing.TB, p sdk.Plugin) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := wire.NewServer(nil)
	p.Register(server, hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: t.Output()}))
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(listener)
	}()
	conn, err := grpc.NewClient("passthrough:///plugin",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		<-served
	})
	return conn
}
