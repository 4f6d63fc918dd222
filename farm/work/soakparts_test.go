//go:build unix

package work

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/internal/testseed"
)

// soakRow is what one part of TestSoak found.
type soakRow struct {
	part           string
	workers, tasks int
	took, work     time.Duration // from begin to end, and of all tasks by themselves
	slept          time.Duration // of all workers; 0: not measured
	faults         string
	lost           int // tasks without a result, or with an error
	wrong          int // results of other bytes
	twice          int // tasks with more than one result
}

// TestSoak measures a farm of processes, and has it fail: one of three servers whose disk is
// full; throughput with 1, 4, 16 and 64 workers where nothing fails; a thousand equal
// requests at once for each of many tasks; then workers that are killed, stopped or cut off,
// and servers that are killed or stopped. Compiles are stood in for by sleeps as long as
// compiles were, since this machine's processors would be the limit.
func TestSoak(t *testing.T) {
	tasks, err := strconv.Atoi(os.Getenv(soakVar))
	if err != nil || tasks < 256 {
		t.Skipf("it takes minutes; %s says how many tasks 64 workers do, as make soak-farm has it", soakVar)
	}
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	s := &soak{T: t, dir: t.TempDir(), ack: 30 * time.Second}
	var urls, routes, wired []string
	for range 3 {
		s.ports = append(s.ports, freePort(t))
		urls = append(urls, "nats://127.0.0.1:"+s.ports[len(s.ports)-1])
		routes = append(routes, "nats://127.0.0.1:"+freePort(t))
		w := newWire(t, "127.0.0.1:"+s.ports[len(s.ports)-1])
		s.wires, wired = append(s.wires, w), append(wired, w.url())
	}
	s.urls, s.routes, s.wired = strings.Join(urls, ","), strings.Join(routes, ","), strings.Join(wired, ",")
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
	defer s.print()
	t.Run("full disk", func(t *testing.T) { s.at(t).fullDisk(q, max(tasks/12, 2500), rnd) })
	for _, n := range []int{1, 4, 16, 64} {
		t.Run(fmt.Sprintf("%d workers", n), func(t *testing.T) { s.at(t).throughput(q, n, max(tasks/4*n/64, 4), rnd) })
	}
	t.Run("equal", func(t *testing.T) { s.at(t).equal(q, max(tasks/1000, 5)) })
	t.Run("faults", func(t *testing.T) { s.at(t).faults(q, tasks, rnd) })
}

// at has what fails be a part's.
func (s *soak) at(t *testing.T) *soakPart {
	return &soakPart{soak: s, T: t}
}

// soakPart is one part.
type soakPart struct {
	*soak
	*testing.T
}

// print writes what the parts found as a table.
func (s *soak) print() {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "part\tworkers\ttasks\tseconds\tof the ideal\tover, per task\tslept too long\tlost\ttwice\twrong\tfaults")
	for _, r := range s.rows {
		ideal, over, slept := "", "", ""
		if r.work > 0 {
			per := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1e3/float64(r.tasks)) }
			ideal = fmt.Sprintf("%.3f", r.work.Seconds()/float64(r.workers)/r.took.Seconds())
			over = per(r.took*time.Duration(r.workers) - r.work)
			if r.slept > 0 {
				slept = per(r.slept - r.work)
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", r.part, r.workers, r.tasks, r.took.Seconds(), ideal, over, slept, r.lost, r.twice, r.wrong, r.faults)
	}
	_ = w.Flush() // into memory
	s.Log("\n" + text.String())
}

// round has tasks done, and adds a row about it.
func (s *soakPart) round(r soakRow, q *Queue, rnd *rand.Rand, sample int, after func(r *soakRow)) {
	s.T.Helper()
	times := recorded(s.T)
	client := client(s.T, q, ClientConfig{Grace: 2 * time.Minute, Patience: 2 * time.Minute, Recheck: 10 * time.Second, Sample: sample, Log: func(string, ...any) {}})
	defer client.Close()
	twice := s.watch(q)
	var lost, wrong atomic.Int64
	var wg sync.WaitGroup
	bound := make(chan struct{}, 4096)
	begin := time.Now()
	for i := range r.tasks {
		each := times[rnd.IntN(len(times))]
		r.work += each
		bound <- struct{}{}
		wg.Go(func() {
			defer func() { <-bound }()
			task := task("%d %s %d of seed %d", each.Microseconds(), r.part, i, rnd.Uint64())
			got, err := client.Do(s.T.Context(), task)
			switch {
			case err != nil || got.Kind != Done:
				lost.Add(1)
				s.T.Errorf("task %d: %v, %+.80v", i, err, got)
			case !bytes.Equal(got.Body, soakAnswer(task.Body)):
				wrong.Add(1)
				s.T.Errorf("task %d: a wrong result: %.80s", i, got.Body)
			}
		})
	}
	wg.Wait()
	r.took = time.Since(begin)
	r.lost, r.wrong, r.twice = int(lost.Load()), int(wrong.Load()), twice()
	if r.twice > 0 {
		s.T.Errorf("%d tasks have more than one result", r.twice)
	}
	counts := client.Counts()
	if counts.Disputed > 0 {
		s.T.Errorf("%d results differ", counts.Disputed)
	}
	after(&r)
	if counts.Checked > 0 {
		r.faults += fmt.Sprintf("; %d tasks were done once more to compare", counts.Checked)
	}
	s.rows = append(s.rows, r)
}

// watch follows the stream of results; calling twice tells how many tasks have more than one.
func (s *soakPart) watch(q *Queue) (twice func() int) {
	s.T.Helper()
	var mu sync.Mutex
	seen := map[string]int{}
	var sub jetstream.ConsumeContext
	var err error
	for range 30 { // a server may have gone, or just have come back
		var consumer jetstream.Consumer
		if consumer, err = q.results.OrderedConsumer(s.T.Context(), jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{bus.Subject(resultPart, ">")}, DeliverPolicy: jetstream.DeliverNewPolicy, HeadersOnly: true,
		}); err != nil {
			continue
		}
		if sub, err = consumer.Consume(func(msg jetstream.Msg) {
			mu.Lock()
			defer mu.Unlock()
			seen[msg.Subject()]++
		}, jetstream.PullMaxMessages(4096)); err == nil {
			break
		}
	}
	if err != nil {
		s.T.Fatal(err)
	}
	return func() (n int) {
		sub.Stop()
		mu.Lock()
		defer mu.Unlock()
		if len(seen) == 0 {
			s.T.Error("no result was seen in the stream")
		}
		for _, k := range seen {
			if k > 1 {
				n++
			}
		}
		return n
	}
}

// workers starts n of them, and waits until they take part.
func (s *soakPart) workers(q *Queue, n int, name string, start func(id string) *exec.Cmd) []*exec.Cmd {
	s.T.Helper()
	list := make([]*exec.Cmd, n)
	for i := range list {
		w := start(fmt.Sprintf("%s-%d", name, i))
		list[i] = w
		s.T.Cleanup(func() { end(w) }) // also where the part fails
	}
	s.awaitWorkers(q, n)
	return list
}

// dismiss ends workers as a signal does, by which they say that they are gone.
func (s *soakPart) dismiss(q *Queue, workers []*exec.Cmd) {
	s.T.Helper()
	for _, w := range workers {
		_ = w.Process.Signal(syscall.SIGTERM)
	}
	for _, w := range workers {
		_ = w.Wait()
	}
	s.awaitWorkers(q, 0)
}

// throughput has n workers do tasks while nothing fails.
func (s *soakPart) throughput(q *Queue, n, tasks int, rnd *rand.Rand) {
	workers := s.workers(q, n, fmt.Sprintf("w%d", n), s.startWorker)
	s.round(soakRow{part: "throughput", workers: n, tasks: tasks}, q, rnd, 0, func(r *soakRow) {
		slept := 0.0
		for _, w := range s.told(q) {
			slept += w.Busy
		}
		r.slept = time.Duration(slept * float64(time.Second))
	})
	s.dismiss(q, workers)
}

// told is the state of the workers, once each has told it.
func (s *soakPart) told(q *Queue) []State {
	s.T.Helper()
	pause(s.T.Context(), q.cfg.Beat*3/2)
	status, err := q.Status(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	return status.Workers
}

// equal has twenty clients ask for each of some tasks fifty times, all at once.
func (s *soakPart) equal(q *Queue, tasks int) {
	const n, clients, each = 64, 20, 50
	workers := s.workers(q, n, "e", s.startWorker)
	var list []*Client
	for range clients {
		b, err := bus.Connect(s.T.Context(), bus.Options{URLs: strings.Split(s.urls, ","), Name: "equal", Stay: true, Replicas: 3, Timeout: 10 * time.Second})
		if err != nil {
			s.T.Fatal(err)
		}
		defer b.Close()
		own, err := Open(s.T.Context(), b, q.cfg)
		if err != nil {
			s.T.Fatal(err)
		}
		c := client(s.T, own, ClientConfig{Grace: time.Minute, Patience: time.Minute, Log: func(string, ...any) {}})
		list = append(list, c)
	}
	r := soakRow{part: "equal requests", workers: n, tasks: tasks, faults: fmt.Sprintf("each asked for %d times at once by %d clients", clients*each, clients)}
	var wrong atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range tasks {
		task := task("50000 equal %d", i)
		want := soakAnswer(task.Body)
		for _, c := range list {
			for range each {
				wg.Go(func() {
					if got, err := c.Do(s.T.Context(), task); err != nil || !bytes.Equal(got.Body, want) {
						wrong.Add(1)
						s.T.Errorf("%s: %v", task.Body, err)
					}
				})
			}
		}
	}
	wg.Wait()
	r.took, r.wrong = time.Since(begin), int(wrong.Load())
	done := 0
	for _, w := range s.told(q) {
		done += int(w.Done)
	}
	if r.twice = done - tasks; r.twice != 0 {
		s.T.Errorf("%d tasks were done %d times", tasks, done)
	}
	s.rows = append(s.rows, r)
	s.dismiss(q, workers)
}

// smallDisk is the size in MiB of the disk that is filled: some results of 20 KB, and what
// keeps them.
const smallDisk = 24

// fullDisk has one server of three run on a disk that becomes full.
func (s *soakPart) fullDisk(q *Queue, tasks int, rnd *rand.Rand) {
	if err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").Run(); err != nil {
		s.T.Skipf("no small disk can be made: %v", err)
	}
	const which = 2
	end(s.servers[which])
	store := filepath.Join(s.dir, "small")
	if err := os.MkdirAll(store, 0o700); err != nil {
		s.T.Fatal(err)
	}
	mount := exec.Command("unshare", "-rm", "sh", "-c", fmt.Sprintf(`mount -t tmpfs -o size=%dm none "$1" && exec "$2"`, smallDisk), "sh", store, os.Args[0])
	s.servers[which] = s.startAs(mount, "server", strconv.Itoa(which), portVar+"="+s.ports[which], routeVar+"="+s.routes, storeVar+"="+store)
	defer func() { // also where the part fails
		end(s.servers[which])
		s.servers[which] = s.startServer(which)
	}()
	const n = 16
	workers := s.workers(q, n, "d", s.startWorker)
	s.round(soakRow{part: "full disk", workers: n, tasks: tasks}, q, rnd, 0, func(r *soakRow) {
		var disk syscall.Statfs_t
		at := fmt.Sprintf("/proc/%d/root%s", s.servers[which].Process.Pid, store)
		if err := syscall.Statfs(at, &disk); err != nil {
			s.T.Fatal(err)
		}
		free := float64(disk.Bavail) / float64(disk.Blocks)
		if r.faults = fmt.Sprintf("a server's disk of %d MiB has %.0f %% left", smallDisk, 100*free); free > 0.15 {
			s.T.Errorf("its disk did not become full: %s", r.faults)
		}
	})
	s.dismiss(q, workers)
}

// faults has 64 workers do tasks while every second one of them is killed, or stopped or cut
// off for a while, and now and then a server is killed or stopped.
func (s *soakPart) faults(q *Queue, tasks int, rnd *rand.Rand) {
	const n = 64
	start := func(i int, id string) *exec.Cmd {
		if i%2 == 1 {
			return s.startWired(id)
		}
		return s.startWorker(id)
	}
	var i int
	workers := s.workers(q, n, "f", func(id string) *exec.Cmd { i++; return start(i-1, id) })
	defer func() {
		for _, w := range workers {
			end(w)
		}
	}()
	ended := make(chan struct{})
	var killed, stopped, cut, servers, frozen int
	var all sync.WaitGroup
	all.Go(func() {
		down := -1
		asleep := false
		for step := 0; ; step++ {
			select {
			case <-ended:
				if asleep { // the rest of the test asks it
					_ = s.servers[down].Process.Signal(syscall.SIGCONT)
				}
				return
			case <-time.After(time.Second):
			}
			i := rnd.IntN(n)
			switch {
			case step%10 == 4 && down < 0:
				down = rnd.IntN(len(s.servers))
				if asleep = step%20 == 14; asleep {
					_ = s.servers[down].Process.Signal(syscall.SIGSTOP)
				} else {
					end(s.servers[down])
				}
			case step%10 == 9 && down >= 0:
				if asleep {
					_ = s.servers[down].Process.Signal(syscall.SIGCONT)
					frozen++
				} else {
					s.servers[down] = s.startServer(down)
					servers++
				}
				down, asleep = -1, false
			case step%10 == 2:
				w := workers[i]
				_ = w.Process.Signal(syscall.SIGSTOP)
				stopped++
				time.AfterFunc(s.ack*4/3, func() { _ = w.Process.Signal(syscall.SIGCONT) })
			case step%10 == 6: // half of the workers lose one server, and what they had sent it
				s.wires[rnd.IntN(len(s.wires))].cut(0)
				cut++
			case step%90 == 30: // they lose all, for longer than the farm waits for them
				for _, w := range s.wires {
					w.cut(s.ack * 4 / 3)
				}
				cut++
			default:
				end(workers[i])
				workers[i] = start(i, fmt.Sprintf("f%d-%d", i, step))
				killed++
			}
		}
	})
	s.round(soakRow{part: "faults", workers: n, tasks: tasks}, q, rand.New(rand.NewPCG(rnd.Uint64(), 3)), 64, func(r *soakRow) {
		close(ended)
		all.Wait()
		r.faults = fmt.Sprintf("%s killed, %d stopped, %d times sockets were closed; servers %d times killed, %d times stopped",
			diag.Count(killed, "worker"), stopped, cut, servers, frozen)
	})
}
