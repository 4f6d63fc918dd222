//go:build unix

package work

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tritonc/tritonc/farm/bus"
)

// Variables of TestSoak and the processes that it starts, which are this program, too.
const (
	soakVar  = "TRITONC_SOAK"      // how many tasks 64 workers do; make soak-farm sets it
	roleVar  = "TRITONC_SOAK_ROLE" // worker or server
	urlsVar  = "TRITONC_SOAK_URLS"
	idVar    = "TRITONC_SOAK_ID"
	storeVar = "TRITONC_SOAK_STORE"
	ackVar   = "TRITONC_SOAK_ACK"
	portVar  = "TRITONC_SOAK_PORT"
	routeVar = "TRITONC_SOAK_ROUTES"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "worker":
		soakWorker()
	case "server":
		soakServer()
	default:
		os.Exit(m.Run())
	}
}

// soakServer is one server of a cluster.
func soakServer() {
	port, _ := strconv.Atoi(os.Getenv(portVar))
	routes := strings.Split(os.Getenv(routeVar), ",")
	own, _ := strconv.Atoi(os.Getenv(idVar))
	_, cluster, _ := strings.Cut(strings.TrimPrefix(routes[own], "nats://"), ":")
	opts := &server.Options{
		ServerName: "soak" + os.Getenv(idVar), Host: "127.0.0.1", Port: port, NoLog: true, JetStream: true, StoreDir: os.Getenv(storeVar),
		DisableJetStreamBanner: true, Routes: server.RoutesFromStr(strings.Join(routes, ",")),
		JetStreamMaxStore: 64 << 30, // as deploy/ has it, whatever the disk holds
	}
	opts.Cluster.Name, opts.Cluster.Host = "soak", "127.0.0.1"
	opts.Cluster.NoAdvertise = true // or workers would go past the wire that a test cuts
	opts.Cluster.Port, _ = strconv.Atoi(cluster)
	s, err := server.NewServer(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	s.WaitForShutdown()
}

// soakConfig is the queue's.
func soakConfig() Config {
	wait, _ := time.ParseDuration(os.Getenv(ackVar))
	return Config{AckWait: wait, Tries: 20}
}

// soakWorker is a worker whose tasks take the time that they say.
func soakWorker() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	id := os.Getenv(idVar)
	w := &Worker{ID: id, Host: "soak", PID: os.Getpid(), Jobs: 1, Handler: sleeper{}, Log: func(string, ...any) {}}
	for ctx.Err() == nil {
		b, err := bus.Connect(ctx, bus.Options{URLs: strings.Split(os.Getenv(urlsVar), ","), Name: id, Stay: true, Replicas: 3, Timeout: 10 * time.Second})
		if err != nil {
			pause(ctx, retryWait)
			continue
		}
		q, err := Open(ctx, b, soakConfig())
		if err == nil {
			err = w.Run(ctx, context.Background(), q)
		}
		if err != nil {
			pause(ctx, retryWait)
		}
		b.Close()
	}
}

// sleeper takes the time that a task's body begins with, in microseconds.
type sleeper struct{}

func (sleeper) Class(context.Context, string) (*Class, error) { return &anyClass, nil }

func (sleeper) Do(ctx context.Context, t *Task) (Kind, []byte, error) {
	text, _, _ := strings.Cut(string(t.Body), " ")
	us, err := strconv.Atoi(text)
	if err != nil {
		return "", nil, err
	}
	pause(ctx, time.Duration(us)*time.Microsecond)
	return Done, soakAnswer(t.Body), ctx.Err()
}

// soakAnswer is what comes of a task: 20 KB, as much as a kernel has.
func soakAnswer(body []byte) []byte {
	seed := [32]byte{}
	copy(seed[:], answer(body)[:32])
	out := make([]byte, 20<<10)
	_, _ = rand.NewChaCha8(seed).Read(out) // it never fails
	return out
}

// soak is what TestSoak has running.
type soak struct {
	*testing.T
	dir     string
	urls    string
	routes  string
	ports   []string
	servers []*exec.Cmd
	wires   []*wire // to each server
	wired   string  // the URLs of their other ends
	ack     time.Duration
	rows    []soakRow
}

func (s *soak) start(role, id string, env ...string) *exec.Cmd {
	s.Helper()
	return s.startAs(exec.Command(os.Args[0]), role, id, env...)
}

func (s *soak) startAs(cmd *exec.Cmd, role, id string, env ...string) *exec.Cmd {
	s.Helper()
	cmd.Env = append(append(os.Environ(), roleVar+"="+role, idVar+"="+id, urlsVar+"="+s.urls, ackVar+"="+s.ack.String(), "GOMAXPROCS=2"), env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return cmd
}

func (s *soak) startServer(i int) *exec.Cmd {
	return s.start("server", strconv.Itoa(i), portVar+"="+s.ports[i], routeVar+"="+s.routes, storeVar+"="+filepath.Join(s.dir, strconv.Itoa(i)))
}

func (s *soak) startWorker(id string) *exec.Cmd {
	return s.start("worker", id, "GOMAXPROCS=1", "GOGC=50")
}

// startWired starts a worker that reaches the servers by wires.
func (s *soak) startWired(id string) *exec.Cmd {
	return s.start("worker", id, "GOMAXPROCS=1", "GOGC=50", urlsVar+"="+s.wired)
}

// end kills a process and waits for it.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// recorded are the times that kernels took to compile.
func recorded(t testing.TB) (list []time.Duration) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "times.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			ms, err := strconv.ParseFloat(line, 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, time.Duration(ms*float64(time.Millisecond)))
		}
	}
	return list
}

// freePort is a port that nobody listens at.
func freePort(t testing.TB) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("no port is free")
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(s.ClientURL(), "nats://"), ":")
	return port
}

// awaitWorkers waits until so many workers take part.
func (s *soakPart) awaitWorkers(q *Queue, n int) {
	s.T.Helper()
	c := client(s.T, q, ClientConfig{Log: func(string, ...any) {}})
	defer c.Close()
	for deadline := time.Now().Add(2 * time.Minute); ; pause(s.T.Context(), 50*time.Millisecond) {
		c.mu.Lock()
		alive := c.alive[anyClass.ID()]
		c.mu.Unlock()
		if alive == n {
			return
		}
		if time.Now().After(deadline) {
			s.T.Fatalf("%d workers take part, want %d", alive, n)
		}
	}
}
