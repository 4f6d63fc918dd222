//go:build unix

package work

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/internal/testseed"
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
	}
	opts.Cluster.Name, opts.Cluster.Host = "soak", "127.0.0.1"
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
	ack     time.Duration
}

func (s *soak) start(role, id string, env ...string) *exec.Cmd {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, roleVar+"="+role, idVar+"="+id, urlsVar+"="+s.urls, ackVar+"="+s.ack.String(), "GOMAXPROCS=2")...)
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

// round has tasks done and returns how long that took, and how long all tasks take.
func (s *soak) round(name string, q *Queue, tasks int, rnd *rand.Rand, sample int) (took, work time.Duration, counts ClientCounts) {
	s.Helper()
	times := recorded(s)
	client := client(s, q, ClientConfig{Grace: 2 * time.Minute, Patience: 2 * time.Minute, Recheck: 10 * time.Second, Sample: sample, Log: func(string, ...any) {}})
	defer client.Close()
	var wg sync.WaitGroup
	bound := make(chan struct{}, 4096)
	begin := time.Now()
	for i := range tasks {
		each := times[rnd.IntN(len(times))]
		work += each
		bound <- struct{}{}
		wg.Go(func() {
			defer func() { <-bound }()
			task := task("%d %s %d of seed %d", each.Microseconds(), name, i, rnd.Uint64())
			r, err := client.Do(s.Context(), task)
			if err != nil {
				s.Errorf("task %d: %v", i, err)
			} else if r.Kind != Done || !bytes.Equal(r.Body, soakAnswer(task.Body)) {
				s.Errorf("task %d: a wrong result, %s: %.80s", i, r.Kind, r.Body)
			}
		})
	}
	wg.Wait()
	return time.Since(begin), work, client.Counts()
}

// TestSoak measures a farm of processes, and has it fail: throughput with 1, 4, 16 and 64
// workers and three servers, where nothing fails; then workers that are killed or stopped,
// and servers that are killed. Compiles are stood in for by sleeps as long as compiles
// were, since this machine's processors would be the limit.
func TestSoak(t *testing.T) {
	tasks, err := strconv.Atoi(os.Getenv(soakVar))
	if err != nil || tasks < 64 {
		t.Skipf("it takes minutes; %s says how many tasks 64 workers do, as make soak-farm has it", soakVar)
	}
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	s := &soak{T: t, dir: t.TempDir(), ack: 30 * time.Second}
	var urls, routes []string
	for range 3 {
		s.ports = append(s.ports, freePort(t))
		urls = append(urls, "nats://127.0.0.1:"+s.ports[len(s.ports)-1])
		routes = append(routes, "nats://127.0.0.1:"+freePort(t))
	}
	s.urls, s.routes = strings.Join(urls, ","), strings.Join(routes, ",")
	for i := range s.ports {
		s.servers = append(s.servers, s.startServer(i))
	}
	defer func() {
		for _, cmd := range s.servers {
			end(cmd)
		}
	}()
	var b *bus.Bus
	var q *Queue
	for deadline := time.Now().Add(time.Minute); ; pause(t.Context(), retryWait) {
		if err = nil; b == nil {
			b, err = bus.Connect(t.Context(), bus.Options{URLs: urls, Name: "soak", Stay: true, Replicas: 3, Timeout: 10 * time.Second})
		}
		if err == nil {
			q, err = Open(t.Context(), b, Config{AckWait: s.ack, Tries: 20})
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	defer b.Close()
	t.Run("throughput", func(t *testing.T) {
		for _, n := range []int{1, 4, 16, 64} {
			var workers []*exec.Cmd
			for i := range n {
				workers = append(workers, s.startWorker(fmt.Sprintf("w%d-%d", n, i)))
			}
			s.awaitWorkers(q, n)
			count := max(tasks*n/64, 1)
			took, work, _ := s.round(fmt.Sprint(n), q, count, rnd, 0)
			slept := s.slept(q)
			for _, w := range workers { // which say that they are gone
				_ = w.Process.Signal(syscall.SIGTERM)
			}
			for _, w := range workers {
				_ = w.Wait()
			}
			ideal := work / time.Duration(n)
			per := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(count) }
			t.Logf("%2d workers: %d tasks in %.1f s, ideal %.1f s: throughput %.3f; per task %.1f ms, over that %.2f ms, of which %.2f ms slept too long",
				n, count, took.Seconds(), ideal.Seconds(), ideal.Seconds()/took.Seconds(), per(work), per(took*time.Duration(n)-work), per(slept-work))
			s.awaitWorkers(q, 0)
		}
	})
	t.Run("faults", func(t *testing.T) { s.faults(q, tasks, rnd) })
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
func (s *soak) awaitWorkers(q *Queue, n int) {
	s.Helper()
	c := client(s, q, ClientConfig{Log: func(string, ...any) {}})
	defer c.Close()
	for deadline := time.Now().Add(2 * time.Minute); ; pause(s.Context(), 50*time.Millisecond) {
		c.mu.Lock()
		alive := c.alive[anyClass.ID()]
		c.mu.Unlock()
		if alive == n {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%d workers take part, want %d", alive, n)
		}
	}
}

// slept is how long all workers slept, once each has told.
func (s *soak) slept(q *Queue) time.Duration {
	s.Helper()
	pause(s.Context(), q.cfg.Beat*3/2)
	status, err := q.Status(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	sum := 0.0
	for _, w := range status.Workers {
		sum += w.Busy
	}
	return time.Duration(sum * float64(time.Second))
}

// faults has 64 workers do tasks while every second one of them is killed, or stopped for
// a while, and now and then a server is killed.
func (s *soak) faults(q *Queue, tasks int, rnd *rand.Rand) {
	const n = 64
	workers := make([]*exec.Cmd, n)
	for i := range workers {
		workers[i] = s.startWorker(fmt.Sprintf("f%d", i))
	}
	defer func() {
		for _, w := range workers {
			end(w)
		}
	}()
	s.awaitWorkers(q, n)
	ended := make(chan struct{})
	var killed, stopped, servers int
	var all sync.WaitGroup
	all.Go(func() {
		down := -1
		for step := 0; ; step++ {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
			}
			i := rnd.IntN(n)
			switch {
			case step%10 == 4 && down < 0:
				down = rnd.IntN(len(s.servers))
				end(s.servers[down])
			case step%10 == 9 && down >= 0:
				s.servers[down] = s.startServer(down)
				down = -1
				servers++
			case step%10 == 2:
				w := workers[i]
				_ = w.Process.Signal(syscall.SIGSTOP)
				stopped++
				time.AfterFunc(s.ack*4/3, func() { _ = w.Process.Signal(syscall.SIGCONT) })
			default:
				end(workers[i])
				workers[i] = s.startWorker(fmt.Sprintf("f%d-%d", i, step))
				killed++
			}
		}
	})
	took, work, counts := s.round("faults", q, tasks, rand.New(rand.NewPCG(rnd.Uint64(), 3)), 64)
	close(ended)
	all.Wait()
	s.Logf("faults: %d tasks of %.0f s in all by %d workers in %.1f s; %d workers killed, %d stopped, %d servers killed; %d tasks done twice, %d disputed",
		tasks, work.Seconds(), n, took.Seconds(), killed, stopped, servers, counts.Checked, counts.Disputed)
	if counts.Disputed > 0 {
		s.Errorf("%d results differ", counts.Disputed)
	}
}
