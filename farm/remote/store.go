package remote

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/sign"
)

// Defaults of Options.
const (
	DefaultWait     = 50 * time.Millisecond
	DefaultOff      = 30 * time.Second
	DefaultLease    = 10 * time.Second
	DefaultPatience = 2 * time.Minute
	DefaultSize     = 4 << 30
	DefaultAge      = 30 * 24 * time.Hour
)

// Options say where a Store is and how it behaves. Zeros are the defaults.
type Options struct {
	Bus bus.Options
	// Wait is how long one question to the server may take.
	Wait time.Duration
	// Off is how long a server is left alone that did not answer, or not well.
	Off time.Duration
	// OffFile is where processes of this machine tell one another of that; "" for nowhere.
	OffFile string
	// Lease is how long a claim lasts whose owner says nothing.
	Lease time.Duration
	// Patience is how long another's compile is waited for.
	Patience time.Duration
	// MaxBytes and MaxAge are those of buckets that are not there yet.
	MaxBytes int64
	MaxAge   time.Duration
	// Sign signs what is kept; nil: nothing is kept.
	Sign *sign.Key
	// Trusted are those whose entries are taken.
	Trusted sign.Trusted
	// Warn tells the user of something, once; nil drops it.
	Warn func(*diag.Diagnostic)
	// Log receives what is of interest to somebody who wonders about the cache; nil drops
	// it.
	Log func(message string)
}

func (o *Options) complete() {
	for _, d := range []struct{ at, to *time.Duration }{
		{&o.Wait, ptr(DefaultWait)},
		{&o.Off, ptr(DefaultOff)},
		{&o.Lease, ptr(DefaultLease)},
		{&o.Patience, ptr(DefaultPatience)},
		{&o.MaxAge, ptr(DefaultAge)},
	} {
		if *d.at == 0 {
			*d.at = *d.to
		}
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultSize
	}
	o.Bus.Timeout = o.Wait
}

func ptr[T any](v T) *T { return &v }

// Forms of what lies in the buckets; they change with it.
const (
	entryForm = "kernel 1"
	indexForm = "index 1"
	claimForm = "claim 1"
)

// clean is the command that empties the cache.
const clean = "tritonc cache clean --remote"

func (o *Options) kernels() bus.Spec {
	return bus.Spec{Name: "kernels", Form: entryForm, MaxBytes: o.MaxBytes, MaxAge: o.MaxAge, Clean: clean}
}

func (o *Options) index() bus.Spec {
	return bus.Spec{Name: "index", Form: indexForm, MaxBytes: max(o.MaxBytes/16, 1<<20), MaxAge: o.MaxAge, Clean: clean}
}

func (o *Options) claims() bus.Spec {
	return bus.Spec{Name: "claims", Form: claimForm, MaxBytes: 64 << 20, MaxAge: o.Lease, Memory: true, Clean: clean}
}

// Store is the shared cache. Its methods may be called by several goroutines at once.
type Store struct {
	opts Options

	mu       sync.Mutex
	conn     *connection
	offUntil time.Time
	noWrites time.Time          // until then nothing is kept: there is no room, or it is not allowed
	told     map[string]bool    // what was warned of
	counts   cache.Counts       // but for Off since awayAt, and Away
	claimed  map[cache.Key]bool // what this process is to make: it looked before
	awayAt   time.Time          // since when the server is left alone; zero: it is not

	pending sync.WaitGroup // what is being kept
}

// connection is one with its buckets open.
type connection struct {
	bus     *bus.Bus
	kernels jetstream.ObjectStore
	index   jetstream.KeyValue
	claims  jetstream.KeyValue
}

var _ cache.Away = (*Store)(nil)

// New makes a Store. It connects when it is asked for something.
func New(opts Options) *Store {
	opts.complete()
	return &Store{opts: opts, told: map[string]bool{}, claimed: map[cache.Key]bool{}}
}

// Close waits for what is being kept, no longer than for a question, and ends the
// connection.
func (s *Store) Close() {
	done := make(chan struct{})
	go func() {
		s.pending.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(s.opts.Wait):
		s.log("what was to be kept on the server is not, in %v", s.opts.Wait)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.bus.Close()
		s.conn = nil
	}
	s.offUntil = time.Now().Add(24 * time.Hour)
}

// Flush waits until all is kept that Claims were given, or the context ends.
func (s *Store) Flush(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.pending.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) log(format string, args ...any) {
	if s.opts.Log != nil {
		s.opts.Log("shared cache: " + fmt.Sprintf(format, args...))
	}
}

// warn tells the user of something, once of its kind.
func (s *Store) warn(kind string, d *diag.Diagnostic) {
	s.mu.Lock()
	told := s.told[kind]
	s.told[kind] = true
	s.mu.Unlock()
	if told || s.opts.Warn == nil {
		return
	}
	w := *d
	w.Severity = diag.Warning
	s.opts.Warn(&w)
}

// connected is a connection with its buckets, or nil while the server is left alone.
func (s *Store) connected(ctx context.Context) *connection {
	c, err := s.connect(ctx)
	if err != nil {
		s.tell(err)
	}
	return c
}

func (s *Store) connect(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && !s.conn.bus.Conn().IsClosed() {
		return s.conn, nil
	}
	if time.Now().Before(s.offUntil) {
		return nil, nil
	}
	if until := s.readOff(); time.Now().Before(until) {
		s.offUntil = until
		s.leave()
		return nil, nil
	}
	begin := time.Now()
	bounded, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	c, err := open(bounded, &s.opts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil // the user's affair
		}
		s.counts.Errors++
		s.turnOff()
		return nil, err
	}
	s.conn = c
	if !s.awayAt.IsZero() {
		s.counts.Off += time.Since(s.awayAt).Seconds()
		s.awayAt = time.Time{}
	}
	s.log("connected with %s in %v", s.opts.Bus.Servers(), time.Since(begin).Round(10*time.Microsecond))
	return c, nil
}

// open connects, and opens the buckets side by side.
func open(ctx context.Context, o *Options) (*connection, error) {
	b, err := bus.Connect(ctx, o.Bus)
	if err != nil {
		return nil, err
	}
	c := &connection{bus: b}
	var wg sync.WaitGroup
	errs := make([]error, 3)
	wg.Go(func() { c.kernels, errs[0] = b.Objects(ctx, o.kernels()) })
	wg.Go(func() { c.index, errs[1] = b.KeyValue(ctx, o.index()) })
	wg.Go(func() { c.claims, errs[2] = b.KeyValue(ctx, o.claims()) })
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			b.Close()
			return nil, err
		}
	}
	return c, nil
}

// failed takes note of an error of the server while something was done.
func (s *Store) failed(ctx context.Context, c *connection, err error, doing string) {
	if ctx.Err() != nil {
		return // the user's affair
	}
	err = c.bus.Explain(err, doing)
	s.mu.Lock()
	s.counts.Errors++
	if kind := bus.KindOf(err); kind == bus.Full || kind == bus.Denied {
		s.noWrites = time.Now().Add(s.opts.Off)
	} else {
		s.turnOff()
	}
	s.mu.Unlock()
	s.tell(err)
}

// failedToKeep takes note of an error of the server while something was kept: what is
// there may still be read.
func (s *Store) failedToKeep(c *connection, err error) {
	err = c.bus.Explain(err, "writing to the shared cache")
	var slow *bus.Error
	if errors.As(err, &slow) && slow.Kind == bus.Slow {
		slow.Diagnostic().WithHelp("its disk may be full, or it is overloaded; tritonc compiles without it")
	}
	s.mu.Lock()
	s.counts.Errors++
	s.noWrites = time.Now().Add(s.opts.Off)
	s.mu.Unlock()
	s.tell(err)
}

// turnOff leaves the server alone for a while. s.mu is held.
func (s *Store) turnOff() {
	s.offUntil = time.Now().Add(s.opts.Off)
	s.counts.Offs++
	s.leave()
	s.writeOff()
	if s.conn != nil {
		s.conn.bus.Close()
		s.conn = nil
	}
}

// tell warns of an error of the server.
func (s *Store) tell(err error) {
	s.log("%v", err)
	for _, d := range diag.All(err) {
		w := *d
		w.Message = "the shared cache is not used: " + w.Message
		s.warn("server", &w)
	}
}

// name is that of a key in a bucket.
func name(key cache.Key) string { return hex.EncodeToString(key[:]) }

// Kinds of signed data.
const (
	kindEntry = "entry"
	kindIndex = "index"
)

// unsealed opens what lies under a key; nil where it is not signed by somebody who is
// trusted.
func (s *Store) unsealed(kind string, key cache.Key, sealed []byte) ([]byte, *sign.Trustee) {
	data, who, err := s.opts.Trusted.Open(kind, key, sealed)
	if err == nil {
		return data, who
	}
	s.log("the %s %s is refused: %v", kind, name(key), err)
	s.count(func(n *cache.Counts) { n.Refused++ })
	d := s.opts.Bus.Errorf("an entry of the shared cache at %s is refused: %v", s.opts.Bus.Servers(), err)
	var unknown *sign.UnknownError
	if errors.As(err, &unknown) {
		d.WithHelp("if you know whose key it is, list it in the table [farm.trusted] of tritonc.toml; else ask who can write to the server (tritonc cache verify --remote lists such entries)")
	} else {
		d.WithHelp("somebody wrote it who has no key; ask who can write to the server (tritonc cache verify --remote lists such entries)")
	}
	s.warn(fmt.Sprintf("%T", err), d)
	return nil, nil
}

// Index implements cache.Shared.
func (s *Store) Index(ctx context.Context, key cache.Key) []byte {
	c := s.connected(ctx)
	if c == nil {
		s.count(func(n *cache.Counts) { n.Skipped++ })
		return nil
	}
	data, _, err := s.readIndex(ctx, c, key)
	switch {
	case err != nil:
		s.failed(ctx, c, err, "reading the shared cache")
	case data == nil:
		s.count(func(n *cache.Counts) {
			if !s.claimed[key] {
				n.Misses++
			}
		})
	}
	return data
}

// readIndex returns an index and its revision; 0 where there is none.
func (s *Store) readIndex(ctx context.Context, c *connection, key cache.Key) ([]byte, uint64, error) {
	bounded, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	e, err := c.index.Get(bounded, name(key))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data, _ := s.unsealed(kindIndex, key, e.Value())
	return data, e.Revision(), nil
}

// Bounds of an entry: its size, and how fast a server sends one at least.
const (
	maxEntry    = 256 << 20
	bytesPerSec = 20 << 20
)

// sending is how long a server may take for so many bytes, or to take them.
func sending(size uint64) time.Duration { return time.Duration(size) * time.Second / bytesPerSec }

// Entry implements cache.Shared.
func (s *Store) Entry(ctx context.Context, key cache.Key) (data []byte, signer string) {
	c := s.connected(ctx)
	if c == nil {
		return nil, ""
	}
	wait := time.Now().Add(s.opts.Wait)
	absent := false
	c.bus.CatchUp(ctx, func() bool {
		data, signer, absent = s.readEntry(ctx, c, key)
		return absent && time.Now().Before(wait)
	})
	switch {
	case data != nil:
		s.count(func(n *cache.Counts) { n.Hits++; n.ReadBytes += int64(len(data)) })
	case absent:
		s.count(func(n *cache.Counts) { n.Misses++ })
	}
	return data, signer
}

// readEntry reads an entry once. It reports whether another try may find it.
func (s *Store) readEntry(ctx context.Context, c *connection, key cache.Key) (data []byte, signer string, again bool) {
	// The server has Wait to say what there is, and then to send it.
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(s.opts.Wait, cancel)
	defer timer.Stop()
	found, err := c.kernels.Get(bounded, name(key))
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, "", true
	case err != nil:
		if bounded.Err() != nil {
			err = context.DeadlineExceeded
		}
		s.failed(ctx, c, err, "reading the shared cache")
		return nil, "", false
	}
	defer found.Close()
	info, err := found.Info()
	if err != nil || info.Size > maxEntry {
		s.log("the entry %s is not read: %+v, %v", name(key), info, err)
		return nil, "", false
	}
	timer.Reset(s.opts.Wait + sending(info.Size))
	sealed, err := io.ReadAll(io.LimitReader(found, int64(info.Size)+1))
	if err != nil {
		// Its pieces may have gone by age, or to make room, before the rest.
		s.log("the entry %s cannot be read: %v", name(key), err)
		return nil, "", true
	}
	data, who := s.unsealed(kindEntry, key, sealed)
	if who == nil {
		return nil, "", false
	}
	return data, who.ID(), false
}
