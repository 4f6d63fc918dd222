package process

import (
	"bufio"
	"context"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// The host's end of go-plugin's handshake, as docs/plugin-protocol.md has it. go-plugin
// itself would link net/rpc, gob, and gRPC's reflection, and open two streams more.

// errNoAnswer is that of a program which says nothing in time, and errNoLine that of one
// whose standard output ends before.
var (
	errNoAnswer = errors.New("it says nothing")
	errNoLine   = errors.New("its standard output ended")
)

// address is where a program serves.
type address struct{ network, path string }

// begin runs the program up to its handshake, and returns where it serves which version.
func (p *Process) begin(cfg *Config) (at address, version int, creds credentials.TransportCredentials, err error) {
	c := p.child
	c.socketDir = filepath.Join(c.base, "socket")
	if err := os.Mkdir(c.socketDir, 0o700); err != nil {
		return at, 0, nil, err
	}
	env := []string{
		cfg.Handshake.Key + "=" + cfg.Handshake.Value,
		host.EnvVersions + "=" + strings.Join(cfg.versions(), ","),
		host.EnvSocketDir + "=" + c.socketDir,
		"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", // of systems without Unix sockets
	}
	var own tls.Certificate
	if cfg.AutoMTLS {
		if own, err = host.SelfSigned(elliptic.P521()); err != nil { // the curve is part of the protocol
			return at, 0, nil, err
		}
		env = append(env, host.EnvClientCert+"="+string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})))
	}
	if err := c.prepare(env); err != nil {
		return at, 0, nil, err
	}
	if err := c.Start(); err != nil {
		return at, 0, nil, err
	}
	go logLines(c.stderr, cfg.Logger.Named(filepath.Base(c.path)))
	first := make(chan string, 1)
	go func() {
		in := bufio.NewReader(c.stdout)
		line, _ := in.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, in) // what follows has been logged
	}()
	limit := time.NewTimer(cfg.StartTimeout)
	defer limit.Stop()
	select {
	case line := <-first:
		if line == "" {
			return at, 0, nil, errNoLine
		}
		return cfg.read(line, own)
	case <-limit.C:
		return at, 0, nil, errNoAnswer
	}
}

// versions are those that the host speaks, in their order.
func (c *Config) versions() []string {
	var list []string
	for _, v := range slices.Sorted(maps.Keys(c.Versions)) {
		list = append(list, strconv.Itoa(v))
	}
	return list
}

// read reads the line of the handshake: core protocol, version, network, address, grpc,
// and the program's certificate, if it has one.
func (c *Config) read(line string, own tls.Certificate) (at address, version int, creds credentials.TransportCredentials, err error) {
	fields := strings.Split(strings.TrimSpace(line), "|")
	if len(fields) < 5 {
		return at, 0, nil, fmt.Errorf("its handshake has %d fields of 5", len(fields))
	}
	core, errCore := strconv.Atoi(fields[0])
	version, errVersion := strconv.Atoi(fields[1])
	at = address{fields[2], fields[3]}
	switch {
	case errCore != nil || core != host.CoreVersion:
		return at, 0, nil, fmt.Errorf("its handshake is of version %q, not %d", fields[0], host.CoreVersion)
	case errVersion != nil || c.Versions[version] == nil:
		return at, 0, nil, fmt.Errorf("its version is %q", fields[1])
	case at.network != "unix" && at.network != "tcp":
		return at, 0, nil, fmt.Errorf("it serves on the network %q, not unix or tcp", at.network)
	case fields[4] != "grpc":
		return at, 0, nil, fmt.Errorf("it speaks %q, not grpc", fields[4])
	case !c.AutoMTLS:
		return at, version, insecure.NewCredentials(), nil
	case len(fields) < 6 || fields[5] == "":
		return at, 0, nil, errors.New("it has no certificate, and TLS was asked for")
	}
	der, err := base64.RawStdEncoding.DecodeString(fields[5])
	if err != nil {
		return at, 0, nil, fmt.Errorf("its certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return at, 0, nil, fmt.Errorf("its certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return at, version, credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{own}, RootCAs: roots, MinVersion: tls.VersionTLS12, ServerName: "localhost",
	}), nil
}

// dial connects to a program.
func dial(at address, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	dialer := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, at.network, at.path)
	}
	conn, err := grpc.NewClient("passthrough:///plugin", append([]grpc.DialOption{
		grpc.WithContextDialer(dialer), grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
	}, host.DialOptions()...)...)
	if err == nil {
		conn.Connect()
	}
	return conn, err
}
