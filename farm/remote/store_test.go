package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/sign"
	"github.com/tritonc/tritonc/internal/natstest"
)

// patient bounds what a test waits for on a machine under load.
const patient = 20 * time.Second

// machine is a Store with what its user was told.
type machine struct {
	*Store
	mu   sync.Mutex
	said []*diag.Diagnostic
	logs []string
}

func (m *machine) warnings() []*diag.Diagnostic {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said
}

func newKey(t testing.TB) (*sign.Key, sign.Trusted) {
	t.Helper()
	k, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := sign.ParseTrusted("ci", k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return k, trusted
}

func newMachine(t testing.TB, urls []string, k *sign.Key, trusted sign.Trusted, change ...func(*Options)) *machine {
	m := &machine{}
	opts := Options{
		Bus: bus.Options{URLs: urls}, Wait: patient, MaxBytes: 8 << 20, Sign: k, Trusted: trusted,
		Warn: func(d *diag.Diagnostic) { m.mu.Lock(); defer m.mu.Unlock(); m.said = append(m.said, d) },
		Log:  func(s string) { m.mu.Lock(); defer m.mu.Unlock(); m.logs = append(m.logs, s) },
	}
	for _, f := range change {
		f(&opts)
	}
	m.Store = New(opts)
	t.Cleanup(m.Close)
	return m
}

func keyOf(parts ...string) cache.Key {
	h := cache.NewHasher("test")
	for _, p := range parts {
		h.String(p)
	}
	return h.Key()
}

// make does what core does with a kernel of one set of inputs: it takes it, or makes it.
func (m *machine) make(t testing.TB, key string, compile func() []byte) []byte {
	k, entry := keyOf(key), keyOf(key, "entry")
	var claim cache.Claim
	for range 3 {
		if string(m.Index(t.Context(), k)) == "index of "+key {
			if data, _ := m.Entry(t.Context(), entry); data != nil {
				if claim != nil {
					claim.Drop()
				}
				return data
			}
		}
		if claim != nil {
			break
		}
		var waited bool
		if claim, waited = m.Claim(t.Context(), k); claim == nil && !waited {
			break
		}
	}
	data := compile()
	if claim != nil {
		claim.Keep([]byte("index of "+key), entry, data)
	}
	return data
}

func (m *machine) flush(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	if err := m.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// never fails a test in which something is compiled.
func never(t testing.TB) func() []byte {
	return func() []byte {
		t.Helper()
		t.Error("it is compiled")
		return nil
	}
}

// TestTaken: what one machine keeps another takes, to the byte, and knows whose it is.
func TestTaken(t *testing.T) {
	urls := []string{natstest.Run(t).URL()}
	k, trusted := newKey(t)
	a, b := newMachine(t, urls, k, trusted), newMachine(t, urls, nil, trusted)
	for _, size := range []int{0, 1, 100_003, 3 << 20} {
		key := fmt.Sprint("k", size)
		want := append([]byte("x"), random(t, size)...)
		a.make(t, key, func() []byte { return want })
		a.flush(t)
		if got := b.make(t, key, never(t)); !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back as %d others", len(want), len(got))
		}
		if _, who := b.Entry(t.Context(), keyOf(key, "entry")); who != k.Public() {
			t.Errorf("it is signed by %s", who)
		}
	}
	if b.Index(t.Context(), keyOf("none")) != nil {
		t.Error("there is something under a key that nobody used")
	}
	if data, _ := b.Entry(t.Context(), keyOf("none")); data != nil {
		t.Error("there is an entry under a key that nobody used")
	}
	if c := a.Counts(); c.Misses != 4 || c.Kept != 4 || c.WrittenBytes < 3<<20 || c.Hits+c.Errors+c.Refused+c.Offs+c.Skipped != 0 {
		t.Errorf("who made them counts %+v", c)
	}
	if c := b.Counts(); c.Hits != 8 || c.Misses != 2 || c.ReadBytes < 6<<20 || c.Kept+c.WrittenBytes+c.Errors+c.Refused+c.Offs+c.Skipped != 0 || c.Away {
		t.Errorf("who took them counts %+v", c)
	}
	u, err := b.opts.Usage(t.Context())
	if err != nil || u.Entries != 4 || u.Bytes < 3<<20 || u.Limit != 8<<20 || u.Oldest.IsZero() || u.Replicas != 1 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if v, err := b.opts.Verify(t.Context()); err != nil || v.Good != 8 || len(v.Refused) != 0 {
		t.Errorf("verdict %+v, %v", v, err)
	}
	if w := append(a.warnings(), b.warnings()...); len(w) > 0 {
		t.Errorf("warned: %v", w)
	}
	if err := b.opts.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u, err := b.opts.Usage(t.Context()); err != nil || u.Entries != 0 {
		t.Errorf("after cleaning: %+v, %v", u, err)
	}
}

// TestRefused: what is not signed, or by a stranger, or for another key, is as good as
// absent, and the user is told once.
func TestRefused(t *testing.T) {
	ctx := t.Context()
	urls := []string{natstest.Run(t).URL()}
	k, trusted := newKey(t)
	stranger, theirs := newKey(t)
	key, entry := keyOf("k"), keyOf("k", "entry")
	for what, data := range map[string]struct {
		index, entry []byte
		words        string
	}{
		"unsigned":       {[]byte("index of k"), []byte("x"), "not signed"},
		"by a stranger":  {stranger.Seal(kindIndex, key, []byte("index of k")), stranger.Seal(kindEntry, entry, []byte("x")), stranger.Public() + ", who is not trusted"},
		"of another key": {k.Seal(kindIndex, key, []byte("index of k")), k.Seal(kindEntry, keyOf("other"), []byte("x")), "not that of its content"},
		"an index":       {k.Seal(kindIndex, key, []byte("index of k")), k.Seal(kindIndex, entry, []byte("x")), "not that of its content"},
	} {
		t.Run(what, func(t *testing.T) {
			m := newMachine(t, urls, k, trusted)
			c := m.connected(ctx)
			if _, err := c.index.Put(ctx, name(key), data.index); err != nil {
				t.Fatal(err)
			}
			if _, err := c.kernels.PutBytes(ctx, name(entry), data.entry); err != nil {
				t.Fatal(err)
			}
			v, err := m.opts.Verify(ctx)
			if err != nil || len(v.Refused) == 0 || !strings.Contains(v.Refused[0].Why.Error(), data.words) {
				t.Errorf("verdict %+v, %v", v, err)
			}
			compiled := 0
			for range 3 {
				if got, _ := m.Entry(ctx, entry); got != nil {
					t.Errorf("it is taken: %q", got)
				}
			}
			m.make(t, "k", func() []byte { compiled++; return []byte("mine") })
			m.flush(t)
			if c := m.Counts(); c.Refused < 3 || c.Hits != 0 || c.Kept != 1 {
				t.Errorf("counts %+v", c)
			}
			w := m.warnings()
			if compiled != 1 || len(w) != 1 || w[0].Severity != diag.Warning || w[0].Help == "" || !strings.Contains(w[0].Message, data.words) {
				t.Errorf("%d compiles, warned %v", compiled, w)
			}
			if got := newMachine(t, urls, nil, trusted).make(t, "k", never(t)); string(got) != "mine" {
				t.Errorf("another machine gets %q", got)
			}
		})
	}
	// Who trusts another key only does not take it either, and may put its own in its place.
	newMachine(t, urls, stranger, theirs).make(t, "k", func() []byte { return []byte("theirs") })
}

// TestNoServer: whatever is wrong with the server, a compile goes on, with one warning
// that says what to do, and other processes of the machine are quiet.
func TestNoServer(t *testing.T) {
	locked := natstest.Run(t, func(o *server.Options) { o.Authorization = "secret" })
	bare := natstest.Run(t, func(o *server.Options) { o.JetStream = false })
	foreign := natstest.Run(t)
	small := natstest.Run(t, func(o *server.Options) { o.JetStreamMaxStore = 1 << 20 })
	b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{foreign.URL()}, Timeout: patient})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Objects(t.Context(), bus.Spec{Name: "kernels", Form: "kernel 99"}); err != nil {
		t.Fatal(err)
	}
	early, ca := natstest.Certificate(t, time.Now().Add(24*time.Hour))
	tomorrow := natstest.Run(t, func(o *server.Options) { o.TLS, o.TLSConfig = true, early })
	k, trusted := newKey(t)
	for _, tt := range []struct {
		what, url, words string
		wait             time.Duration
		ca               string
	}{
		{"nobody there", "nats://127.0.0.1:1", "there is no NATS server", patient, ""},
		{"a server that says nothing", natstest.Stalled(t), "did not answer within", 50 * time.Millisecond, ""},
		{"wrong credentials", locked.URL(), "refuses", patient, ""},
		{"no JetStream", bare.URL(), "JetStream is off", patient, ""},
		{"another version's bucket", foreign.URL(), "of another version", patient, ""},
		{"no room", small.URL(), "has no room", patient, ""},
		{"a clock a day slow", tomorrow.URL(), "not yet valid", patient, ca},
	} {
		t.Run(tt.what, func(t *testing.T) {
			off := filepath.Join(t.TempDir(), "farm", "off.json")
			with := func(o *Options) { o.Wait, o.OffFile, o.Bus.CA = tt.wait, off, tt.ca; o.Off = time.Hour }
			m := newMachine(t, []string{tt.url}, k, trusted, with)
			compiled := 0
			for range 3 {
				m.make(t, "k", func() []byte { compiled++; return nil })
			}
			if c := m.Counts(); c.Hits != 0 || c.Errors == 0 || c.Errors+c.Skipped+c.Misses < 3 {
				t.Errorf("counts %+v", c)
			}
			w := m.warnings()
			if compiled != 3 || len(w) != 1 || w[0].Help == "" || !strings.Contains(w[0].Message, tt.words) || !strings.HasPrefix(w[0].Message, "the shared cache is not used") {
				t.Errorf("%d compiles, warned %v", compiled, w)
			}
			next := newMachine(t, []string{tt.url}, k, trusted, with)
			next.make(t, "k", func() []byte { return nil })
			if len(next.warnings())+len(next.logs) != 0 {
				t.Errorf("the next process says %v, %q", next.warnings(), next.logs)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*tt.wait)
			defer cancel()
			if _, err := next.opts.Usage(ctx); err == nil || len(diag.All(err)) != 1 {
				t.Errorf("who asks is told %v", err)
			}
		})
	}
}

// TestOff: a server that failed is left alone for a while, by all processes, and not for
// longer than that, nor for a note that is not theirs.
func TestOff(t *testing.T) {
	s := natstest.Run(t)
	k, trusted := newKey(t)
	off := filepath.Join(t.TempDir(), "off.json")
	open := func(d time.Duration) *machine {
		return newMachine(t, []string{s.URL()}, k, trusted, func(o *Options) { o.OffFile, o.Off = off, d })
	}
	m := open(time.Hour)
	s.Stop()
	m.make(t, "k", func() []byte { return nil })
	s.Restart()
	if c := open(time.Hour).connected(t.Context()); c != nil {
		t.Error("the server is tried again at once")
	}
	if c := open(time.Minute).connected(t.Context()); c == nil {
		t.Error("a time that nobody here sets, as by a clock a day fast, counts")
	}
	other := newMachine(t, []string{s.URL(), s.URL()}, k, trusted, func(o *Options) { o.OffFile, o.Off = off, time.Hour })
	if other.connected(t.Context()) == nil {
		t.Error("what failed with other servers counts")
	}
	for _, text := range []string{"", "{}", "nonsense"} {
		if err := os.WriteFile(off, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if open(time.Hour).connected(t.Context()) == nil {
			t.Errorf("%q counts", text)
		}
	}
	if c := m.Counts(); c.Offs != 1 || c.Errors != 1 || !c.Away || c.Off <= 0 || !m.Away() {
		t.Errorf("counts %+v", c)
	}
	short := open(10 * time.Millisecond)
	s.Stop()
	short.make(t, "k", func() []byte { return nil })
	s.Restart()
	for end := time.Now().Add(patient); short.connected(t.Context()) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server is left alone for ever")
		}
	}
	if c := short.Counts(); c.Offs < 1 || c.Away || c.Off < 0.01 || short.Away() {
		t.Errorf("counts %+v", c)
	}
}

// TestOnce: of machines that want one kernel at once, one compiles it, also where the one
// that has the claim dies before.
func TestOnce(t *testing.T) {
	urls := []string{natstest.Run(t).URL()}
	k, trusted := newKey(t)
	lease := func(o *Options) { o.Lease = 2 * time.Second }
	t.Run("many", func(t *testing.T) {
		var compiles atomic.Int32
		var wg sync.WaitGroup
		for range 40 {
			m := newMachine(t, urls, k, trusted, lease)
			wg.Go(func() {
				got := m.make(t, "many", func() []byte {
					time.Sleep(20 * time.Millisecond)
					compiles.Add(1)
					return []byte("x")
				})
				if string(got) != "x" || len(m.warnings()) > 0 {
					t.Errorf("got %q, warned %v", got, m.warnings())
				}
			})
		}
		wg.Wait()
		if n := compiles.Load(); n != 1 {
			t.Errorf("%d compiles", n)
		}
	})
	t.Run("a compile fails", func(t *testing.T) {
		a, b := newMachine(t, urls, k, trusted, lease), newMachine(t, urls, k, trusted, lease)
		claim, _ := a.Claim(t.Context(), keyOf("failing"))
		if claim == nil {
			t.Fatal("there is no claim")
		}
		done := make(chan bool)
		go func() {
			compiled := false
			b.make(t, "failing", func() []byte { compiled = true; return []byte("x") })
			done <- compiled
		}()
		claim.Drop()
		if !<-done {
			t.Error("nobody compiles it")
		}
	})
	t.Run("a machine dies", func(t *testing.T) {
		a, b := newMachine(t, urls, k, trusted, lease), newMachine(t, urls, k, trusted, lease)
		if claim, _ := a.Claim(t.Context(), keyOf("dying")); claim == nil {
			t.Fatal("there is no claim")
		}
		a.connected(t.Context()).bus.Close()
		compiled := false
		b.make(t, "dying", func() []byte { compiled = true; return []byte("x") })
		if !compiled || len(b.warnings()) > 0 {
			t.Errorf("nobody compiles it: %v", b.warnings())
		}
	})
	t.Run("a slow one is not robbed", func(t *testing.T) {
		a, b := newMachine(t, urls, k, trusted, lease), newMachine(t, urls, k, trusted, lease, func(o *Options) { o.Patience = 3 * time.Second })
		claim, _ := a.Claim(t.Context(), keyOf("slow"))
		got, waited := b.Claim(t.Context(), keyOf("slow")) // longer than a lease
		if got != nil || waited {
			t.Errorf("a claim that is renewed is given to another: %v, %v", got, waited)
		}
		claim.Drop()
	})
	t.Run("readers", func(t *testing.T) {
		a, b := newMachine(t, urls, k, trusted), newMachine(t, urls, nil, trusted)
		if claim, waited := b.Claim(t.Context(), keyOf("read")); claim != nil || waited {
			t.Error("a machine without a key has a claim, or waits for nobody")
		}
		claim, _ := a.Claim(t.Context(), keyOf("read"))
		got := make(chan []byte)
		go func() { got <- b.make(t, "read", func() []byte { return []byte("own") }) }()
		claim.Keep([]byte("index of read"), keyOf("read", "entry"), []byte("shared"))
		if data := <-got; string(data) != "shared" && string(data) != "own" {
			t.Errorf("got %q", data)
		}
		a.flush(t)
		if data := b.make(t, "read", never(t)); string(data) != "shared" {
			t.Errorf("got %q", data)
		}
	})
	t.Run("of no use", func(t *testing.T) {
		// The index is there, and no entry that this machine can use: it has a claim at once.
		a, b := newMachine(t, urls, k, trusted), newMachine(t, urls, k, trusted)
		claim, _ := a.Claim(t.Context(), keyOf("useless"))
		claim.Keep([]byte("another index"), keyOf("useless", "other entry"), []byte("x"))
		a.flush(t)
		got, _ := b.Claim(t.Context(), keyOf("useless"))
		if got == nil {
			t.Fatal("there is no claim")
		}
		got.Drop()
	})
}

// TestRoom: the oldest entries make room for new ones; one that never fits is told once,
// and what is there can still be read.
func TestRoom(t *testing.T) {
	urls := []string{natstest.Run(t).URL()}
	k, trusted := newKey(t)
	m := newMachine(t, urls, k, trusted, func(o *Options) { o.MaxBytes = 1 << 20 })
	const size = 150_000
	for i := range 20 {
		m.make(t, fmt.Sprint("k", i), func() []byte { return random(t, size) })
		m.flush(t)
	}
	if w := m.warnings(); len(w) > 0 {
		t.Fatalf("warned: %v", w)
	}
	m.make(t, "k19", never(t))
	u, err := m.opts.Usage(t.Context())
	if err != nil || u.Entries < 4 || u.Entries > 7 || u.Bytes > 1<<20 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if data, _ := m.Entry(t.Context(), keyOf("k0", "entry")); data != nil {
		t.Error("the oldest is there")
	}
	// One that is larger than any that goes for it.
	m.make(t, "larger", func() []byte { return random(t, 700_000) })
	m.flush(t)
	m.make(t, "larger", never(t))
	for range 2 {
		m.make(t, "large", func() []byte { return random(t, 2<<20) })
		m.flush(t)
	}
	if w := m.warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "has no room") || w[0].Help == "" {
		t.Errorf("warned: %v", w)
	}
	if claim, waited := m.Claim(t.Context(), keyOf("k20")); claim != nil || waited {
		t.Error("a claim is given though nothing can be kept")
	}
}

// TestKilled: a server that is killed while a compile waits, or has a claim, ends neither.
func TestKilled(t *testing.T) {
	s := natstest.Run(t)
	k, trusted := newKey(t)
	a, b := newMachine(t, []string{s.URL()}, k, trusted), newMachine(t, []string{s.URL()}, k, trusted)
	claim, _ := a.Claim(t.Context(), keyOf("k"))
	if claim == nil {
		t.Fatal("there is no claim")
	}
	done := make(chan bool)
	go func() {
		compiled := false
		b.make(t, "k", func() []byte { compiled = true; return []byte("x") })
		done <- compiled
	}()
	for s.NumSubscriptions() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Stop()
	if !<-done {
		t.Error("nobody compiles it")
	}
	claim.Keep([]byte("index of k"), keyOf("k", "entry"), []byte("x"))
	a.flush(t)
	for _, m := range []*machine{a, b} {
		if w := m.warnings(); len(w) != 1 || w[0].Help == "" {
			t.Errorf("warned: %v", w)
		}
	}
}

// TestCluster: with three replicas a server may die, and every entry is there.
func TestCluster(t *testing.T) {
	list := natstest.Cluster(t, 3)
	k, trusted := newKey(t)
	three := func(o *Options) { o.Bus.Replicas = 3 }
	a := newMachine(t, natstest.URLs(list), k, trusted, three)
	want := map[string][]byte{}
	for i := range 8 {
		key := fmt.Sprint("k", i)
		want[key] = random(t, 10_000)
		a.make(t, key, func() []byte { return want[key] })
	}
	a.flush(t)
	list[0].Stop()
	b := newMachine(t, natstest.URLs(list[1:]), k, trusted, three, func(o *Options) {
		o.Wait, o.Off = time.Second, time.Millisecond // what was asked of a leader that is gone is not answered
	})
	end := time.Now().Add(2 * patient)
	for key, data := range want {
		for ; ; time.Sleep(10 * time.Millisecond) { // until a new leader is elected
			if got, _ := b.Entry(t.Context(), keyOf(key, "entry")); got != nil {
				if !bytes.Equal(got, data) {
					t.Errorf("%s is not what it was", key)
				}
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s is lost: %q", key, b.logs)
			}
		}
	}
	u, err := b.opts.Usage(t.Context())
	if err != nil || u.Replicas != 3 || u.Entries != len(want) {
		t.Errorf("usage %+v, %v", u, err)
	}
}

// TestOnceCluster: a fleet of machines that start cold compiles each kernel once, though each
// asks another of three servers, which learn of one another's a moment later.
func TestOnceCluster(t *testing.T) {
	urls := natstest.URLs(natstest.Cluster(t, 3))
	k, trusted := newKey(t)
	const machines, kernels, each = 6, 6, 6
	var compiles atomic.Int32
	var wg sync.WaitGroup
	var list []*machine
	for i := range machines {
		m := newMachine(t, []string{urls[i%3], urls[(i+1)%3]}, k, trusted, func(o *Options) { o.Bus.Replicas = 3 })
		for end := time.Now().Add(patient); m.connected(t.Context()) == nil; time.Sleep(10 * time.Millisecond) {
			m.mu.Lock()
			m.said = nil // a new cluster may lack peers for a while
			m.mu.Unlock()
			m.Store.mu.Lock()
			m.offUntil = time.Time{}
			m.Store.mu.Unlock()
			if time.Now().After(end) {
				t.Fatalf("no connection: %q", m.logs)
			}
		}
		list = append(list, m)
	}
	for _, m := range list {
		for n := range kernels * each {
			key := fmt.Sprint("k", n%kernels)
			wg.Go(func() {
				got := m.make(t, key, func() []byte {
					compiles.Add(1)
					return bytes.Repeat([]byte(key), 10_000)
				})
				if !bytes.Equal(got, bytes.Repeat([]byte(key), 10_000)) {
					t.Errorf("%s: got %d bytes", key, len(got))
				}
			})
		}
	}
	wg.Wait()
	for n := range 15 { // what one has kept the next one reads, whichever server answers
		data := bytes.Repeat([]byte{byte(n)}, 300_000)
		key := fmt.Sprint("later ", n)
		list[0].make(t, key, func() []byte { return data })
		list[0].flush(t)
		if got, _ := list[1+n%2].Entry(t.Context(), keyOf(key, "entry")); !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes", key, len(got))
		}
	}
	if n := compiles.Load(); n != kernels {
		t.Errorf("%d requests for %d kernels: %d compiles", machines*kernels*each, kernels, n)
		for _, m := range list {
			t.Logf("%q", m.logs)
		}
	}
}

// TestCleanForeign: what has our name and is another's stays.
func TestCleanForeign(t *testing.T) {
	s := natstest.Run(t)
	b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{s.URL()}, Timeout: patient})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.JetStream().CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "tritonc_v1_index"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Objects(t.Context(), bus.Spec{Name: "kernels", Form: "kernel 99"}); err != nil {
		t.Fatal(err)
	}
	err = Options{Bus: bus.Options{URLs: []string{s.URL()}}}.Clean(t.Context())
	if bus.KindOf(err) != bus.Foreign {
		t.Errorf("got %v", err)
	}
	if _, err := b.JetStream().KeyValue(t.Context(), "tritonc_v1_index"); err != nil {
		t.Error(err)
	}
	if _, err := b.JetStream().ObjectStore(t.Context(), "tritonc_v1_kernels"); !errors.Is(err, jetstream.ErrBucketNotFound) {
		t.Errorf("tritonc's own of another form stays: %v", err)
	}
}

// BenchmarkHit is a hit of 100 KB on the loopback device.
func BenchmarkHit(b *testing.B) {
	urls := []string{natstest.Run(b).URL()}
	k, trusted := newKey(b)
	m := newMachine(b, urls, k, trusted)
	data := random(b, 100_000)
	m.make(b, "k", func() []byte { return data })
	m.flush(b)
	b.Run("connected", func(b *testing.B) {
		for b.Loop() {
			m.make(b, "k", never(b))
		}
	})
	b.Run("connecting", func(b *testing.B) { // what a process has that compiles one kernel
		for b.Loop() {
			m := newMachine(b, urls, k, trusted)
			m.make(b, "k", never(b))
			m.Close()
		}
	})
}
