package work

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/internal/natstest"
)

// quick are settings with which tests need not wait for minutes.
var quick = Config{AckWait: time.Second, Beat: 200 * time.Millisecond, MaxBytes: 64 << 20}

// soon are those of a client.
var soon = ClientConfig{Grace: 20 * time.Second, Recheck: 500 * time.Millisecond, Patience: 20 * time.Second}

// anyClass is a class that stubs serve.
var anyClass = Class{Target: "any:1", Compiler: "test"}

func connect(t testing.TB, urls ...string) *bus.Bus {
	t.Helper()
	b, err := bus.Connect(t.Context(), bus.Options{URLs: urls, Name: t.Name(), Stay: true, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func open(t testing.TB, cfg Config, urls ...string) *Queue {
	t.Helper()
	q, err := Open(t.Context(), connect(t, urls...), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// stub is a handler whose answer to a body is written here once more, by answer.
type stub struct {
	class Class
	do    func(ctx context.Context, body []byte) ([]byte, error) // nil: at once, answer

	mu   sync.Mutex
	done map[string]int // tasks by their bodies
}

func (s *stub) Class(context.Context, string) (*Class, error) { return &s.class, nil }

func (s *stub) Do(ctx context.Context, t *Task) (Kind, []byte, error) {
	s.mu.Lock()
	if s.done == nil {
		s.done = map[string]int{}
	}
	s.done[string(t.Body)]++
	s.mu.Unlock()
	if s.do != nil {
		body, err := s.do(ctx, t.Body)
		return Done, body, err
	}
	return Done, answer(t.Body), nil
}

func (s *stub) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.done {
		n += k
	}
	return n
}

func (s *stub) times(body string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[body]
}

// answer is what comes of a body.
func answer(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Repeat(sum[:], 1+int(sum[0])), body...)
}

// start starts a worker; calling stop ends it as a signal does.
func start(t testing.TB, q *Queue, id string, h Handler, change ...func(*Worker)) (w *Worker, stop func()) {
	t.Helper()
	w = &Worker{ID: id, Host: "test", Jobs: 2, Handler: h, Log: t.Logf}
	for _, f := range change {
		f(w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, context.Background(), q) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("worker %s: %v", id, err)
			}
		})
	}
	t.Cleanup(stop)
	return w, stop
}

func client(t testing.TB, q *Queue, cfg ClientConfig) *Client {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = t.Logf
	}
	for try := 0; ; try++ { // a cluster under load, or that elects a leader, may not answer at first
		c, err := Connect(t.Context(), q, cfg)
		if err == nil {
			if err = c.Announce(t.Context(), &anyClass); err == nil {
				t.Cleanup(c.Close)
				return c
			}
			c.Close()
		}
		if try == 10 {
			t.Fatal(err)
		}
	}
}

func task(format string, args ...any) *Task {
	return &Task{Class: anyClass.ID(), Body: fmt.Appendf(nil, format, args...)}
}

// all has tasks done at once, and checks each result.
func all(t testing.TB, c *Client, tasks []*Task) {
	t.Helper()
	var wg sync.WaitGroup
	for _, task := range tasks {
		wg.Go(func() {
			r, err := c.Do(t.Context(), task)
			if err != nil {
				t.Errorf("%.40s: %v", task.Body, err)
			} else if r.Kind != Done || !bytes.Equal(r.Body, answer(task.Body)) {
				t.Errorf("%.40s: a wrong result, %s of %s", task.Body, r.Kind, r.Worker)
			}
		})
	}
	wg.Wait()
}

func many(n int) (list []*Task) {
	for i := range n {
		list = append(list, task("%d", i))
	}
	return list
}

// TestTasks: tasks are done, equal ones once, whoever asks and when.
func TestTasks(t *testing.T) {
	s := natstest.Run(t)
	h := &stub{class: anyClass}
	start(t, open(t, quick, s.URL()), "one", h)
	start(t, open(t, quick, s.URL()), "two", h)
	a, b := client(t, open(t, quick, s.URL()), soon), client(t, open(t, quick, s.URL()), soon)
	var wg sync.WaitGroup
	for _, c := range []*Client{a, b} {
		wg.Go(func() { all(t, c, append(many(200), many(200)...)) })
	}
	wg.Wait()
	all(t, a, many(200))
	if n := h.total(); n != 200 {
		t.Errorf("%d tasks were done, want 200", n)
	}
	if n := a.Counts().Found; n < 200 {
		t.Errorf("the client found %d results that were there, want 200 or more", n)
	}
	status, err := open(t, quick, s.URL()).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.Tasks != 0 || status.Results != 200 || len(status.Workers) != 2 || len(status.Queues) != 1 || status.Queues[0].Workers != 2 {
		t.Errorf("the status is %+v", status)
	}
}

// TestOnce: a thousand clients that ask for one thing at once have it done once.
func TestOnce(t *testing.T) {
	s := natstest.Run(t)
	gate := make(chan struct{})
	h := &stub{class: anyClass, do: func(_ context.Context, body []byte) ([]byte, error) {
		<-gate
		return answer(body), nil
	}}
	start(t, open(t, quick, s.URL()), "one", h)
	start(t, open(t, quick, s.URL()), "two", h)
	const clients, each = 10, 100
	var wg sync.WaitGroup
	for range clients {
		c := client(t, open(t, quick, s.URL()), soon)
		var same []*Task
		for range each {
			same = append(same, task("the same"))
		}
		wg.Go(func() { all(t, c, same) })
	}
	time.AfterFunc(200*time.Millisecond, func() { close(gate) })
	wg.Wait()
	if n := h.total(); n != 1 {
		t.Errorf("%d times, want once", n)
	}
}

// TestLargeResults: what is too large for a message goes another way.
func TestLargeResults(t *testing.T) {
	s := natstest.Run(t)
	large := func(body []byte) []byte { return bytes.Repeat(body, 1<<20) }
	h := &stub{class: anyClass, do: func(_ context.Context, body []byte) ([]byte, error) { return large(body), nil }}
	start(t, open(t, quick, s.URL()), "one", h)
	c := client(t, open(t, quick, s.URL()), soon)
	for range 2 {
		r, err := c.Do(t.Context(), task("abc"))
		if err != nil || !bytes.Equal(r.Body, large([]byte("abc"))) {
			t.Fatalf("%d bytes, %v", len(r.Body), err)
		}
	}
	if n := h.total(); n != 1 {
		t.Errorf("%d times, want once", n)
	}
}

// TestRoom: where the bucket of large results is full the oldest go, and a client that still
// waits for one of them gets it all the same. A result that never fits is given up, and
// takes the place of no other.
func TestRoom(t *testing.T) {
	s := natstest.Run(t)
	cfg := quick
	cfg.MaxBytes, cfg.Inline = 2<<20, 1<<10
	large := func(body []byte) []byte {
		seed := sha256.Sum256(body)
		out := make([]byte, 150_000+int(seed[0])*500)
		_, _ = rand.NewChaCha8(seed).Read(out) // it never fails
		return out
	}
	h := &stub{class: anyClass, do: func(_ context.Context, body []byte) ([]byte, error) {
		if string(body) == "enormous" {
			return make([]byte, 3<<20), nil
		}
		return large(body), nil
	}}
	start(t, open(t, cfg, s.URL()), "one", h)
	start(t, open(t, cfg, s.URL()), "two", h)
	q := open(t, cfg, s.URL())
	c := client(t, q, soon)
	get := func(tasks []*Task) {
		var wg sync.WaitGroup
		for _, task := range tasks {
			wg.Go(func() {
				if r, err := c.Do(t.Context(), task); err != nil || r.Kind != Done || !bytes.Equal(r.Body, large(task.Body)) {
					t.Errorf("%s: %v, %+.80v", task.Body, err, r)
				}
			})
		}
		wg.Wait()
	}
	const tasks = 60 // of 13 MB
	get(many(tasks))
	before, again := h.total(), many(tasks)[tasks-3:]
	get(again) // the last ones are there, or are made anew
	r, err := c.Do(t.Context(), task("enormous"))
	if err != nil || r.Kind != GivenUp || !strings.Contains(string(r.Body), "its result has 3145728 bytes, and the farm keeps results of 1966080 bytes at most") {
		t.Errorf("%v, %+v", err, r)
	}
	now := h.total()
	if n := h.times("enormous"); n != 1 {
		t.Errorf("what cannot be kept was done %d times", n)
	}
	get(again)
	if n := h.total() - now; n > 0 {
		t.Errorf("%d results went for one that cannot be kept", n)
	}
	if old := many(1); before >= tasks { // the first is gone, and is made anew
		get(old)
	}
	t.Logf("%d tasks were done %d times", tasks, before)
}

// TestPoison: a task that fails wherever it is tried is given up after three tries, with
// what was said of it, and is tried anew when it is asked for again. Others go on.
func TestPoison(t *testing.T) {
	s := natstest.Run(t)
	h := &stub{class: anyClass}
	h.do = func(ctx context.Context, body []byte) ([]byte, error) {
		switch string(body) {
		case "fails":
			return nil, errors.New("a tool is missing")
		case "panics":
			panic("BUG: of a test")
		case "hangs":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return answer(body), nil
	}
	brief := func(w *Worker) { w.TaskTimeout = 50 * time.Millisecond }
	start(t, open(t, quick, s.URL()), "one", h, brief)
	start(t, open(t, quick, s.URL()), "two", h, brief)
	c := client(t, open(t, quick, s.URL()), soon)
	for round := 1; round <= 2; round++ {
		var wg sync.WaitGroup
		for body, want := range map[string]string{"fails": "a tool is missing", "panics": "BUG: of a test", "hangs": "it took longer than 50ms"} {
			wg.Go(func() {
				r, err := c.Do(t.Context(), task("%s", body))
				if err != nil {
					t.Error(err)
					return
				}
				if text := string(r.Body); r.Kind != GivenUp || !strings.Contains(text, "tried 3 times") || strings.Count(text, want) != 3 {
					t.Errorf("%s: %s: %s", body, r.Kind, text)
				}
				h.mu.Lock()
				defer h.mu.Unlock()
				if n := h.done[body]; n != 3*round {
					t.Errorf("%s was tried %d times, want %d", body, n, 3*round)
				}
			})
		}
		wg.Wait()
	}
	all(t, c, many(20))
}

// TestClasses: a worker leaves what it would make otherwise to others, and a client that
// nobody serves is told so.
func TestClasses(t *testing.T) {
	s := natstest.Run(t)
	foreign := &stub{class: Class{Target: "any:1", Compiler: "another"}}
	start(t, open(t, quick, s.URL()), "foreign", foreign)
	short := soon
	short.Grace = time.Second
	q := open(t, quick, s.URL())
	c := client(t, q, short)
	if _, err := c.Do(t.Context(), task("x")); !errors.As(err, new(*NoWorkerError)) {
		t.Fatalf("got %v", err)
	}
	if got := c.Others(t.Context(), &anyClass); !slices.Equal(got, []string{"another build of tritonc"}) {
		t.Errorf("the workers differ by %q", got)
	}
	if n := foreign.total(); n != 0 {
		t.Errorf("the foreign worker did %d tasks", n)
	}
	status, err := q.Status(t.Context())
	if err != nil || status.Tasks != 0 {
		t.Errorf("%d tasks are left in the queue, %v", status.Tasks, err)
	}
}

// TestDifference: what tells two classes apart is named.
func TestDifference(t *testing.T) {
	base := Class{Target: "any:1", Compiler: "c", Programs: []string{"backend x 1", "tool llc 22"}}
	for _, tt := range []struct {
		change func(*Class)
		want   string
	}{
		{func(*Class) {}, ""},
		{func(c *Class) { c.Target = "any:2" }, "another target, any:2"},
		{func(c *Class) { c.Compiler = "d" }, "another build of tritonc"},
		{func(c *Class) { c.Programs[1] = "tool llc 23" }, "another tool llc"},
		{func(c *Class) { c.Programs = c.Programs[:1] }, "another tool llc"},
		{func(c *Class) { c.Programs = append(c.Programs, "tool ld 1") }, "another tool ld"},
		{func(c *Class) { c.Programs = nil }, "another backend x"},
	} {
		other := base
		other.Programs = slices.Clone(base.Programs)
		tt.change(&other)
		if got := base.Same(&other); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if (base.ID() == other.ID()) != (tt.want == "") {
			t.Errorf("%q: the IDs do not tell", tt.want)
		}
	}
}

// TestAbandoned: a task for which nobody waits any more leaves the queue.
func TestAbandoned(t *testing.T) {
	s := natstest.Run(t)
	q := open(t, quick, s.URL())
	c := client(t, q, soon)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := c.Do(ctx, task("x")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	for {
		status, err := q.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if status.Tasks == 0 {
			break
		}
		pause(t.Context(), 10*time.Millisecond)
	}
}

// TestClose: a client that ends takes its tasks out of the queue.
func TestClose(t *testing.T) {
	s := natstest.Run(t)
	q := open(t, quick, s.URL())
	c := client(t, q, soon)
	var wg sync.WaitGroup
	for _, task := range many(50) {
		wg.Go(func() {
			if _, err := c.Do(t.Context(), task); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	for {
		status, err := q.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if status.Tasks == 50 {
			break
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	c.Close()
	wg.Wait()
	if status, err := q.Status(t.Context()); err != nil || status.Tasks != 0 {
		t.Errorf("%d tasks are left, %v", status.Tasks, err)
	}
}

// TestTooLarge: what no message can be is refused at once.
func TestTooLarge(t *testing.T) {
	s := natstest.Run(t)
	c := client(t, open(t, quick, s.URL()), soon)
	var large *TooLargeError
	if _, err := c.Do(t.Context(), task("%s", strings.Repeat("x", 1<<20))); !errors.As(err, &large) || large.Size != 1<<20 || large.Limit >= 1<<20 {
		t.Errorf("got %v", err)
	}
}

// keys is a signer and verifier for tests: those with the same text trust each other.
type keys string

func (k keys) sum(statement []byte) string {
	return digestOf(append([]byte(k), statement...))
}

func (k keys) Sign(statement []byte) string { return k.sum(statement) }

func (k keys) Verify(statement []byte, signature string) error {
	if signature != k.sum(statement) {
		return errors.New("nobody who is trusted signed it")
	}
	return nil
}

// TestSignatures: results that nobody signed who is trusted are refused, and so are those
// whose bytes were changed.
func TestSignatures(t *testing.T) {
	s := natstest.Run(t)
	strict := soon
	strict.Verifier = keys("k")
	for name, signer := range map[string]Signer{"signed": keys("k"), "unsigned": nil, "unknown": keys("other")} {
		h := &stub{class: anyClass}
		_, stop := start(t, open(t, quick, s.URL()), name, h, func(w *Worker) { w.Signer = signer })
		c := client(t, open(t, quick, s.URL()), strict)
		r, err := c.Do(t.Context(), task("%s", name))
		if name == "signed" {
			if err != nil || r.Worker != name {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.As(err, new(*UntrustedError)) {
			t.Errorf("%s: got %v", name, err)
		}
		stop()
	}
	// A result whose signature is that of another key's result.
	q := open(t, quick, s.URL())
	victim := task("victim")
	r := &Result{Kind: Done, Body: []byte("evil"), Worker: "evil", digest: digestOf([]byte("evil"))}
	if err := q.store(t.Context(), victim.Class, victim.Key(), r, replay{keys("k"), statement(victim.Class, task("other").Key(), r)}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, q, strict).Do(t.Context(), victim); !errors.As(err, new(*UntrustedError)) {
		t.Errorf("got %v", err)
	}
	// And one whose digest is right of another body.
	r.digest = digestOf([]byte("good"))
	other := task("second victim")
	if err := q.store(t.Context(), other.Class, other.Key(), r, keys("k"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, q, strict).Do(t.Context(), other); !errors.As(err, new(*UntrustedError)) {
		t.Errorf("got %v", err)
	}
}

// replay signs another statement than it is given.
type replay struct {
	keys
	what []byte
}

func (r replay) Sign([]byte) string { return r.keys.Sign(r.what) }

// TestSample: of a sample each task is done twice, by two workers; where they differ it is
// told, and no result is kept.
func TestSample(t *testing.T) {
	s := natstest.Run(t)
	var bad atomic.Bool
	good := &stub{class: anyClass}
	wrong := &stub{class: anyClass, do: func(_ context.Context, body []byte) ([]byte, error) {
		if bad.Load() {
			return append(answer(body), '!'), nil
		}
		return answer(body), nil
	}}
	start(t, open(t, quick, s.URL()), "good", good)
	start(t, open(t, quick, s.URL()), "wrong", wrong)
	cfg := soon
	cfg.Sample = 4
	q := open(t, quick, s.URL())
	c := client(t, q, cfg)
	all(t, c, many(200))
	checked := c.Counts().Checked
	if checked < 20 || checked > 80 {
		t.Errorf("%d of 200 tasks were done twice, want a fourth", checked)
	}
	if n := good.total() + wrong.total(); n != 200+int(checked) {
		t.Errorf("%d tasks were done, want 200 and %d", n, checked)
	}
	good.mu.Lock()
	for body, n := range good.done {
		if n > 1 {
			t.Errorf("one worker did both tries of %s", body)
		}
	}
	good.mu.Unlock()

	bad.Store(true)
	cfg.Sample = 1
	c = client(t, q, cfg)
	for i := range 10 {
		t2 := task("new %d", i)
		if _, err := c.Do(t.Context(), t2); !errors.As(err, new(*MismatchError)) || !strings.Contains(err.Error(), "good made") {
			t.Fatalf("got %v", err)
		}
		for _, key := range []string{t2.Key(), t2.Key() + checkEnding} {
			if _, _, err := q.find(t.Context(), t2.Class, key); !errors.Is(err, errNoResult) {
				t.Errorf("a result is kept: %v", err)
			}
		}
	}
}

// TestSampleAlone: where one worker is there alone it does both tries, and is handed each once.
func TestSampleAlone(t *testing.T) {
	s := natstest.Run(t)
	patient := quick
	patient.AckWait, patient.Beat = time.Minute, 5*time.Second
	h := &stub{class: anyClass}
	start(t, open(t, patient, s.URL()), "alone", h)
	cfg := soon
	cfg.Sample = 1
	q := open(t, patient, s.URL())
	c := client(t, q, cfg)
	for _, task := range many(20) {
		if r, err := c.Do(t.Context(), task); err != nil || r.Kind != Done {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	consumer, err := q.consumer(t.Context(), anyClass.ID())
	if err != nil {
		t.Fatal(err)
	}
	info, err := consumer.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, handed := h.total(), info.Delivered.Consumer; n != 40 || handed != 40 {
		t.Errorf("20 tasks were done %d times, and handed out %d times, want 40", n, handed)
	}
}

// TestDispute: a worker that makes another result than the one that is there says so.
func TestDispute(t *testing.T) {
	s := natstest.Run(t)
	q := open(t, quick, s.URL())
	h := &stub{class: anyClass}
	x := task("x")
	var late atomic.Bool
	h.do = func(ctx context.Context, body []byte) ([]byte, error) {
		if late.CompareAndSwap(false, true) { // another one is faster
			r := &Result{Kind: Done, Body: []byte("other"), Worker: "other", digest: digestOf([]byte("other"))}
			if err := q.store(ctx, x.Class, x.Key(), r, nil, 0); err != nil {
				t.Error(err)
			}
		}
		return answer(body), nil
	}
	start(t, q, "one", h)
	deadline := time.Now().Add(20 * time.Second)
	if err := q.publish(t.Context(), x, x.Key(), ""); err != nil {
		t.Fatal(err)
	}
	c := client(t, q, soon)
	for {
		r, _, err := q.find(t.Context(), x.Class, x.Key())
		if err == nil && r.Kind == Disputed {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody disputes: %v", err)
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	if _, err := c.Do(t.Context(), x); !errors.As(err, new(*MismatchError)) {
		t.Errorf("got %v", err)
	}
	all(t, c, []*Task{x}) // which is done anew
}

// measurer is a stub whose results come out another way each time.
type measurer struct{ *stub }

func (m measurer) Do(ctx context.Context, t *Task) (Kind, []byte, error) {
	_, body, err := m.stub.Do(ctx, t)
	return Measured, body, err
}

// TestMeasured: of two measurements of one task the first counts, nobody disputes it, and
// none is done twice to compare.
func TestMeasured(t *testing.T) {
	q := open(t, quick, natstest.Run(t).URL())
	h := &stub{class: anyClass}
	x := task("x")
	h.do = func(ctx context.Context, body []byte) ([]byte, error) {
		r := &Result{Kind: Measured, Body: []byte("first"), Worker: "other", digest: digestOf([]byte("first"))}
		if err := q.store(ctx, x.Class, x.Key(), r, nil, 0); err != nil { // another one is faster
			t.Error(err)
		}
		return []byte("second"), nil
	}
	start(t, q, "one", measurer{h})
	cfg := soon
	cfg.Sample = 1
	c := client(t, q, cfg)
	for range 2 {
		r, err := c.Do(t.Context(), x)
		if err != nil || r.Kind != Measured || string(r.Body) != "first" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if h.total() != 1 {
		t.Errorf("it was measured %d times", h.total())
	}
}

// TestFull: a queue without room makes clients wait, and loses nothing.
func TestFull(t *testing.T) {
	s := natstest.Run(t)
	cfg := quick
	cfg.MaxBytes = 64 << 10
	q := open(t, cfg, s.URL())
	start(t, open(t, cfg, s.URL()), "one", &stub{class: anyClass, do: func(_ context.Context, body []byte) ([]byte, error) {
		time.Sleep(time.Millisecond)
		return body[:8], nil
	}})
	c := client(t, q, soon)
	var wg sync.WaitGroup
	var ok atomic.Int64
	for i := range 100 {
		body := fmt.Appendf(nil, "%08d%s", i, strings.Repeat("x", 4096))
		wg.Go(func() {
			r, err := c.Do(t.Context(), &Task{Class: anyClass.ID(), Body: body})
			if err != nil || !bytes.Equal(r.Body, body[:8]) {
				t.Errorf("%s: %v", body[:8], err)
				return
			}
			ok.Add(1)
		})
	}
	wg.Wait()
	if ok.Load() != 100 {
		t.Errorf("%d of 100", ok.Load())
	}
}

// TestNoServer: a client whose server ends is told so, and does not wait for ever.
func TestNoServer(t *testing.T) {
	s := natstest.Run(t)
	cfg := soon
	cfg.Patience = time.Second
	c := client(t, open(t, quick, s.URL()), cfg)
	time.AfterFunc(200*time.Millisecond, s.Stop)
	_, err := c.Do(t.Context(), task("x"))
	if !errors.As(err, new(*UnavailableError)) && !errors.As(err, new(*NoWorkerError)) {
		t.Errorf("got %v", err)
	}
}
