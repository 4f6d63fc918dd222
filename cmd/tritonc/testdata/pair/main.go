// Pair starts itself as a plugin of go-plugin's, asks it over gRPC whether it serves, and
// ends it. It does no more: what a process of tritonc takes cannot fall below that.
package main

import (
	"context"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

type health struct{ plugin.NetRPCUnsupportedPlugin }

func (health) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil } // go-plugin serves health

func (health) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return grpc_health_v1.NewHealthClient(conn), nil
}

func main() {
	handshake := plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "TRITONC_PAIR", MagicCookieValue: "1"}
	set := plugin.PluginSet{"health": health{}}
	log := hclog.NewNullLogger()
	if os.Getenv(handshake.MagicCookieKey) != "" {
		plugin.Serve(&plugin.ServeConfig{HandshakeConfig: handshake, Plugins: set, GRPCServer: plugin.DefaultGRPCServer, Logger: log})
		return
	}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake, Plugins: set, Cmd: exec.Command(os.Args[0]),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: log,
	})
	err := ask(client)
	client.Kill()
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func ask(client *plugin.Client) error {
	protocol, err := client.Client()
	if err != nil {
		return err
	}
	remote, err := protocol.Dispense("health")
	if err != nil {
		return err
	}
	_, err = remote.(grpc_health_v1.HealthClient).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	return err
}
