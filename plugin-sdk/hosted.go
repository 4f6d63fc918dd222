package sdk

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// The plugin's end of go-plugin's handshake, as docs/plugin-protocol.md has it. go-plugin
// itself would link net/rpc, gob and gRPC's reflection into every backend: their
// initialization is a third of what a backend allocates before main.

// serveHost serves p on a socket until the host has it end.
func (p Plugin) serveHost(version int, log hclog.Logger) error {
	listener, err := listen(os.Getenv(wire.EnvSocketDir))
	if err != nil {
		return err
	}
	defer listener.Close() // which removes the socket
	opts, certificate, err := hostTLS(os.Getenv(wire.EnvClientCert))
	if err != nil {
		return err
	}
	server := wire.NewServer(opts)
	grpc_health_v1.RegisterHealthServer(server, healthy{})
	ended := make(chan struct{})
	server.RegisterService(&controller, sync.OnceFunc(func() { close(ended) }))
	p.Register(server, log)

	// A terminal sends its interrupt to all processes: the host says when to end.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	address := listener.Addr()
	if _, err := fmt.Printf("%d|%d|%s|%s|grpc|%s\n", wire.CoreVersion, version, address.Network(), address, certificate); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

// listen makes the socket, in a folder for this process alone.
func listen(dir string) (net.Listener, error) {
	if runtime.GOOS == "windows" {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	if dir == "" {
		dir = os.TempDir()
	}
	return net.Listen("unix", filepath.Join(dir, "plugin"+strconv.Itoa(os.Getpid())))
}

// healthy answers the health service.
type healthy struct {
	grpc_health_v1.UnimplementedHealthServer
}

// Check implements grpc_health_v1.HealthServer.
func (healthy) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// controller is go-plugin's service that ends a program. Its plugin.Empty has the bytes of
// any message without fields. The server is what ends it.
var controller = grpc.ServiceDesc{
	ServiceName: wire.ControllerService,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: wire.ShutdownMethod,
		Handler: func(end any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			if err := decode(&emptypb.Empty{}); err != nil {
				return nil, err
			}
			end.(func())()
			return &emptypb.Empty{}, nil
		},
	}},
}

// hostTLS is what a server needs for a host that wants mutual TLS, which gives its own
// certificate as PEM, and the server's certificate for the handshake. Without one there
// is nothing to do.
func hostTLS(hostCert string) (opts []grpc.ServerOption, certificate string, err error) {
	if hostCert == "" {
		return nil, "", nil
	}
	hosts := x509.NewCertPool()
	if !hosts.AppendCertsFromPEM([]byte(hostCert)) {
		return nil, "", fmt.Errorf("%s has no certificate", wire.EnvClientCert)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "localhost", Organization: []string{"tritonc"}},
		DNSNames:     []string{"localhost"},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().AddDate(10, 0, 0), // a process may live for long
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:         true, BasicConstraintsValid: true, // the host takes it for its only root
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    hosts,
		MinVersion:   tls.VersionTLS12,
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(config))}, base64.RawStdEncoding.EncodeToString(der), nil
}
