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
const ready = 2 * time.Minute

// Server is one that runs.
type Server struct {
	*server.Server
	t    testing.TB
	opts *server.Options
	at   *net.TCPAddr
}

// maxStore is what buckets may reserve together: by itself a server allows three quarters of
// what is free on the disk, and a test would depend on that.
const maxStore = 64 << 30

// Run starts a server with JetStream on a free port of the loopback device. change may
// set what the test is about.
func Run(t testing.TB, change ...func(*server.Options)) *Server {
	t.Helper()
	opts := &server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: maxStore, MaxPayload: 1 << 20, DisableJetStreamBanner: true,
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
	routes := freeRoutes(t, n)
	dir := t.TempDir()
	list := make([]*Server, n)
	for i := range n {
		opts := &server.Options{
			ServerName: fmt.Sprintf("test%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i)), JetStreamMaxStore: maxStore, DisableJetStreamBanner: true,
			Routes: server.RoutesFromStr(strings.Join(routes, ",")),
		}
		opts.Cluster.Name = "test"
		meetAt(t, opts, routes[i])
		list[i] = start(t, opts)
		t.Cleanup(list[i].Stop)
	}
	awaitLeader(t, list)
	return list
}

// freeRoutes are n addresses by which servers of a cluster may meet.
func freeRoutes(t testing.TB, n int) (routes []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, "nats://"+l.Addr().String())
		l.Close()
	}
	return routes
}

// meetAt has a server meet others of its cluster at a route.
func meetAt(t testing.TB, opts *server.Options, route string) {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(route, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	opts.Cluster.Host = host
	if _, err := fmt.Sscan(port, &opts.Cluster.Port); err != nil {
		t.Fatal(err)
	}
}

// awaitLeader waits until servers have elected whom they follow.
func awaitLeader(t testing.TB, list []*Server) {
	t.Helper()
	for end := time.Now().Add(ready); ; time.Sleep(20 * time.Millisecond) {
		for _, s := range list {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(list) {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("a cluster of %d servers elected no leader within %v", len(list), ready)
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
	s := start(t, ofFile(t, file))
	t.Cleanup(s.Stop)
	return s
}

// ClusterFile starts n servers by a configuration file of a cluster, which meet at free
// ports of the loopback device. each sets what of the environment the file reads for one.
func ClusterFile(t testing.TB, file string, n int, each func(i int)) []*Server {
	t.Helper()
	routes := freeRoutes(t, n)
	list := make([]*Server, n)
	for i := range n {
		each(i)
		opts := ofFile(t, file)
		opts.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		meetAt(t, opts, routes[i])
		list[i] = start(t, opts)
		t.Cleanup(list[i].Stop)
	}
	awaitLeader(t, list)
	return list
}

func ofFile(t testing.TB, file string) *server.Options {
	t.Helper()
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.Host, opts.Port, opts.HTTPPort = "127.0.0.1", server.RANDOM_PORT, 0
	opts.NoLog, opts.NoSigs, opts.DisableJetStreamBanner = true, true, true
	return opts
}
