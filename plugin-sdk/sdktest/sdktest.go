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
)

// Start serves b until the test ends and returns its client. The backend's log
// goes to the test's.
func Start(t testing.TB, b sdk.Backend) *sdk.Client {
	t.Helper()
	return sdk.NewClient(serve(t, func(s *grpc.Server) { sdk.RegisterBackend(s, b, logger(t)) }))
}

// StartDevices is Start for a driver of devices.
func StartDevices(t testing.TB, d sdk.DeviceDriver) *sdk.DeviceClient {
	t.Helper()
	return sdk.NewDeviceClient(serve(t, func(s *grpc.Server) { sdk.RegisterDevices(s, d, logger(t)) }))
}

func logger(t testing.TB) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: t.Output()})
}

// serve runs a server until the test ends and returns a connection to it.
func serve(t testing.TB, register func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := sdk.NewGRPCServer(nil)
	register(server)
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
