package work

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/internal/natstest"
	"github.com/tritonc/tritonc/internal/testseed"
)

// mortal is a worker that can be killed.
type mortal struct {
	bus  *bus.Bus
	stop context.CancelFunc // kills it
	done chan struct{}
}

// kill ends the worker as the end of its process would: the server hears no more of it,
// and what it had under way is lost.
func (m *mortal) kill() {
	m.bus.Close()
	m.stop()
	<-m.done
}

func startMortal(t *testing.T, id string, h Handler, cfg Config, urls []string) *mortal {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	m := &mortal{stop: cancel, done: make(chan struct{})}
	for { // servers come and go
		b, err := bus.Connect(ctx, bus.Options{URLs: urls, Name: id, Stay: true, Replicas: 3, Timeout: 10 * time.Second})
		if err == nil {
			m.bus = b
			break
		}
		pause(t.Context(), retryWait)
	}
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			q, err := Open(ctx, m.bus, cfg)
			if err == nil {
				w := &Worker{ID: id, Host: "test", Jobs: 2, Handler: h, Log: func(string, ...any) {}}
				err = w.Run(ctx, ctx, q)
			}
			if err != nil {
				pause(ctx, retryWait)
			}
		}
	}()
	return m
}

// TestDeadly: a task that kills whoever does it is given up after three workers, and says
// which of them began it again. What they did beside it others do.
func TestDeadly(t *testing.T) {
	s := natstest.Run(t)
	cfg := Config{AckWait: time.Second, Beat: 200 * time.Millisecond, MaxBytes: 64 << 20} // a busy machine is silent for that long at times
	c := client(t, open(t, cfg, s.URL()), soon)
	const workers = 4
	var dead [workers]atomic.Bool
	var living [workers]*mortal
	for i := range living {
		h := &stub{class: anyClass}
		h.do = func(ctx context.Context, body []byte) ([]byte, error) {
			if string(body) == "deadly" {
				dead[i].Store(true)
				go living[i].kill()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			pause(ctx, 5*time.Millisecond)
			return answer(body), ctx.Err()
		}
		living[i] = startMortal(t, fmt.Sprintf("w%d", i), h, cfg, []string{s.URL()})
	}
	var wg sync.WaitGroup
	wg.Go(func() { all(t, c, many(300)) })
	r, err := c.Do(t.Context(), task("deadly"))
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	n := 0
	for i := range dead {
		if dead[i].Load() {
			n++
		} else {
			living[i].kill()
		}
	}
	text := string(r.Body)
	if n != 3 || r.Kind != GivenUp || !strings.Contains(text, "it was tried 3 times") || strings.Count(text, ": began and did not end") != 2 {
		t.Errorf("%d workers died; %s: %s", n, r.Kind, text)
	}
}

// caughtUp reports whether each server has what the others have. A cluster survives the
// loss of one server of three, and one that has just come back counts as lost until then.
func caughtUp(servers []*natstest.Server) bool {
	for _, s := range servers {
		if !s.JetStreamIsCurrent() {
			return false
		}
		for _, name := range []string{tasksName, resultsName} {
			spec := bus.Spec{Name: name}
			if !s.JetStreamIsStreamCurrent(server.DEFAULT_GLOBAL_ACCOUNT, spec.Full()) {
				return false
			}
		}
	}
	return true
}

// openCluster opens a queue on three servers. A new cluster may lack peers for a while.
func openCluster(t *testing.T, cfg Config, urls []string) (*bus.Bus, *Queue) {
	t.Helper()
	b, err := bus.Connect(t.Context(), bus.Options{URLs: urls, Name: t.Name(), Stay: true, Replicas: 3, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	for end := time.Now().Add(2 * time.Minute); ; pause(t.Context(), retryWait) {
		q, err := Open(t.Context(), b, cfg)
		if err == nil {
			return b, q
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestOnceCluster: of a thousand requests at once for ten tasks, by clients of three servers
// that replicate, each task is done once. Half of the results go by the bucket of objects.
func TestOnceCluster(t *testing.T) {
	urls := natstest.URLs(natstest.Cluster(t, 3))
	cfg := Config{AckWait: 30 * time.Second, Beat: time.Second, MaxBytes: 64 << 20, Inline: 4 << 10}
	_, first := openCluster(t, cfg, urls)
	h := &stub{class: anyClass}
	start(t, first, "one", h)
	start(t, open(t, cfg, urls[1:]...), "two", h)
	const clients, tasks, each = 10, 10, 10
	var wg sync.WaitGroup
	for i := range clients {
		c := client(t, open(t, cfg, urls[i%3], urls[(i+1)%3]), ClientConfig{Grace: time.Minute, Patience: time.Minute})
		var list []*Task
		for range each {
			list = append(list, many(tasks)...)
		}
		wg.Go(func() { all(t, c, list) })
	}
	wg.Wait()
	if n := h.total(); n != tasks {
		t.Errorf("%d tasks were done %d times", tasks, n)
	}
}

// TestElection announces a class to three servers of which two are gone, and come back once
// it has failed.
func TestElection(t *testing.T) {
	servers := natstest.Cluster(t, 3)
	urls := natstest.URLs(servers)
	openCluster(t, Config{MaxBytes: 64 << 20}, urls)
	b, err := bus.Connect(t.Context(), bus.Options{URLs: urls, Name: t.Name(), Stay: true, Replicas: 3, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	q, err := Open(t.Context(), b, Config{MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	failed := make(chan struct{})
	c := client(t, q, ClientConfig{Patience: time.Minute, Log: func(string, ...any) { once.Do(func() { close(failed) }) }})
	servers[0].Stop()
	servers[1].Stop()
	class := anyClass
	class.Target = "another"
	told := make(chan error, 1)
	go func() { told <- c.Announce(t.Context(), &class) }()
	select {
	case <-failed:
	case err := <-told:
		t.Fatalf("with one server of three it ended with %v", err)
	}
	servers[0].Restart()
	servers[1].Restart()
	if err := <-told; err != nil {
		t.Error(err)
	}
}

// TestFaults: of three servers one is killed and comes back, workers are killed and others
// come, connections are cut; no result is lost, none comes twice, and no byte is wrong.
func TestFaults(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	servers := natstest.Cluster(t, 3)
	urls := natstest.URLs(servers)
	cfg := Config{AckWait: 700 * time.Millisecond, Beat: 200 * time.Millisecond, MaxBytes: 64 << 20, Tries: 50}
	h := &stub{class: anyClass, do: func(ctx context.Context, body []byte) ([]byte, error) {
		pause(ctx, time.Duration(2+len(answer(body))%16)*time.Millisecond)
		return answer(body), ctx.Err()
	}}
	b, q := openCluster(t, cfg, urls)
	client := client(t, q, ClientConfig{Grace: time.Minute, Patience: time.Minute, Recheck: time.Second, Window: 64, Sample: 16, Log: func(string, ...any) {}})

	// Tasks come in batches. While one is under way something fails, and the next but one
	// waits for its end: so many things fail, however fast this machine is.
	const batches, each, workers = 15, 60, 4
	var killed, cut, restarted int
	var got [batches * each]atomic.Int32
	living := make([]*mortal, workers)
	for i := range living {
		living[i] = startMortal(t, fmt.Sprintf("w%d", i), h, cfg, urls)
	}
	defer func() {
		for _, m := range living {
			m.kill()
		}
	}()
	start := func(batch int) (finished *atomic.Int64, ended chan struct{}) {
		finished, ended = &atomic.Int64{}, make(chan struct{})
		var all sync.WaitGroup
		for k := range each {
			i := batch*each + k
			all.Go(func() {
				defer finished.Add(1)
				task := task("%d of seed %d", i, seed)
				r, err := client.Do(t.Context(), task)
				switch {
				case err != nil:
					t.Errorf("task %d: %v", i, err)
				case r.Kind != Done || !bytes.Equal(r.Body, answer(task.Body)):
					t.Errorf("task %d: a wrong result, %s: %.80s", i, r.Kind, r.Body)
				default:
					got[i].Add(1)
				}
			})
		}
		go func() { all.Wait(); close(ended) }()
		return finished, ended
	}
	down := -1 // the server that is down
	before := make(chan struct{})
	close(before)
	for batch := range batches {
		finished, ended := start(batch)
		for some := int64(rnd.IntN(each)); finished.Load() < some; pause(t.Context(), time.Millisecond) {
		}
		switch batch % 5 {
		case 0, 2:
			i := rnd.IntN(workers)
			living[i].kill()
			living[i] = startMortal(t, fmt.Sprintf("w%d", workers+batch), h, cfg, urls)
			killed++
		case 1:
			_ = living[rnd.IntN(workers)].bus.Conn().ForceReconnect() // an error: it is doing so
			_ = b.Conn().ForceReconnect()
			cut++
		case 3:
			for !caughtUp(servers) {
				pause(t.Context(), 20*time.Millisecond)
			}
			down = rnd.IntN(len(servers))
			servers[down].Stop()
		case 4:
			servers[down].Restart()
			restarted++
		}
		<-before
		before = ended
	}
	<-before
	for i := range got {
		if n := got[i].Load(); n != 1 {
			t.Errorf("task %d has %d results", i, n)
		}
	}
	t.Logf("%d tasks, %d tries; %d workers killed, %d connections cut, %d servers restarted; %d checked",
		len(got), h.total(), killed, cut, restarted, client.Counts().Checked)
}
