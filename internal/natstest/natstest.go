package natstest

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ready bounds how long a server may take to start. A machine under load takes seconds.
const ready = 30 * time.Second

// Server is one that runs.
type Server struct {
	*server.Server
	t    testing.TB
	opts *server.Options
	at   *net.TCPAddr
}

// Run starts a server with JetStream on a free port of the loopback device. change may
// set what the test is about.
func Run(t testing.TB, change ...func(*server.Options)) *Server {
	t.Helper()
	opts := &server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), MaxPayload: 1 << 20, DisableJetStreamBanner: true,
	}
	for _, f := range change {
		f(opts)
	}
	s := start(t, opts)
	t.Cleanup(s.Stop)
	return s
}

func start(t testing.TB, opts *server.Options) *Server {
	t.Helper()
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	if !srv.ReadyForConnections(ready) {
		t.Fatalf("a NATS server did not start within %v", ready)
	}
	return &Server{srv, t, opts, srv.Addr().(*net.TCPAddr)}
}

// Stop ends the server, as a crash of its machine would for its clients; what it has
// written stays.
func (s *Server) Stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

// Restart starts the server anew, at its old address and with what it had written.
func (s *Server) Restart() {
	s.t.Helper()
	opts := s.opts.Clone()
	opts.Port = s.at.Port
	s.Server = start(s.t, opts).Server
}

// URL is the server's address.
func (s *Server) URL() string { return "nats://" + s.at.String() }

// Cluster starts n servers that replicate for one another, and waits until they have
// elected whom they follow.
func Cluster(t testing.TB, n int) []*Server {
	t.Helper()
	var routes []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, "nats://"+l.Addr().String())
		l.Close()
	}
	dir := t.TempDir()
	list := make([]*Server, n)
	for i := range n {
		opts := &server.Options{
			ServerName: fmt.Sprintf("test%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i)), DisableJetStreamBanner: true,
			Routes: server.RoutesFromStr(strings.Join(routes, ",")),
		}
		host, port, err := net.SplitHostPort(strings.TrimPrefix(routes[i], "nats://"))
		if err != nil {
			t.Fatal(err)
		}
		opts.Cluster.Name, opts.Cluster.Host = "test", host
		if _, err := fmt.Sscan(port, &opts.Cluster.Port); err != nil {
			t.Fatal(err)
		}
		list[i] = start(t, opts)
		t.Cleanup(list[i].Stop)
	}
	for end := time.Now().Add(ready); ; time.Sleep(20 * time.Millisecond) {
		for _, s := range list {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == n {
				return list
			}
		}
		if time.Now().After(end) {
			t.Fatalf("a cluster of %d servers elected no leader within %v", n, ready)
		}
	}
}

// URLs are the addresses of servers.
func URLs(list []*Server) []string {
	urls := make([]string, len(list))
	for i, s := range list {
		urls[i] = s.URL()
	}
	return urls
}

// Stalled is a listener at which connections are taken and nothing is ever said.
func Stalled(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var taken []net.Conn
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range taken {
			c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			taken = append(taken, c)
			mu.Unlock()
		}
	}()
	return "nats://" + l.Addr().String()
}

// RunFile starts a server by a configuration file, at free ports of the loopback device.
func RunFile(t testing.TB, file string) *Server {
	t.Helper()
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.Host, opts.Port, opts.HTTPPort = "127.0.0.1", server.RANDOM_PORT, 0
	opts.NoLog, opts.NoSigs, opts.DisableJetStreamBanner = true, true, true
	s := start(t, opts)
	t.Cleanup(s.Stop)
	return s
}
