package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/span"
	"github.com/tritonc/tritonc/farm/bus"
)

// ClientConfig says how a Client works. Zero fields have defaults.
type ClientConfig struct {
	// Window is how many tasks it has queued or under way at a time.
	Window int
	// Grace is how long it waits for a first worker of a class, and for another one
	// when all are gone.
	Grace time.Duration
	// Patience is how long it waits for a server that does not answer.
	Patience time.Duration
	// Recheck is how often it looks for a task that it waits for.
	Recheck time.Duration
	// Sample has one task in so many done twice; less than 1: none.
	Sample int
	// Verifier checks results; nil takes those of anybody.
	Verifier Verifier
	// Log receives what is of interest to somebody who wonders about the farm.
	Log func(format string, args ...any)
}

// Client has tasks done. Its methods may be called from several goroutines.
type Client struct {
	cfg    ClientConfig
	q      *Queue
	window chan struct{}
	ctx    context.Context // of what runs beside the calls
	cancel context.CancelFunc
	leads  sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*waiting // by key
	follows map[string]*follow  // by class
	workers map[string]State    // that are alive, by their IDs
	alive   map[string]int      // how many workers take part in a class
	last    map[string]time.Time
	counts  ClientCounts
	changed chan struct{} // closed when workers change
}

// ClientCounts are what a client did.
type ClientCounts struct {
	Asked    int64 // tasks
	Found    int64 // results that were there
	Queued   int64 // tasks that it published, or that were queued
	Checked  int64 // tasks that were done twice
	Disputed int64 // of these, or otherwise, with results that differ
}

// waiting is a task that callers wait for.
type waiting struct {
	callers int
	ended   chan struct{} // closed when result and err are there
	result  *Result
	err     error
	news    chan struct{} // has a value when there may be a result
	arrived string        // key of the result that the server told of last
}

// follow follows the results of a class.
type follow struct {
	once sync.Once
	sub  jetstream.ConsumeContext
	err  error
}

// Connect makes a client of a queue. The caller closes it.
func Connect(ctx context.Context, q *Queue, cfg ClientConfig) (*Client, error) {
	if cfg.Window == 0 {
		cfg.Window = 1024
	}
	for d, v := range map[*time.Duration]time.Duration{
		&cfg.Grace: 5 * time.Second, &cfg.Patience: 30 * time.Second, &cfg.Recheck: 10 * time.Second,
	} {
		if *d == 0 {
			*d = v
		}
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	c := &Client{
		cfg: cfg, q: q, window: make(chan struct{}, cfg.Window), waiting: map[string]*waiting{}, follows: map[string]*follow{},
		workers: map[string]State{}, alive: map[string]int{}, last: map[string]time.Time{}, changed: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	watch, err := q.workers.WatchAll(c.ctx)
	if err != nil {
		c.cancel()
		return nil, q.bus.Explain(err, "following workers")
	}
	go c.watchWorkers(watch)
	return c, nil
}

// closeWait bounds how long Close waits for a server.
const closeWait = 2 * time.Second

// Close ends what runs beside the calls. Calls under way end with an error, and their
// tasks that wait leave the queue.
func (c *Client) Close() {
	c.cancel()
	gone := make(chan struct{})
	go func() { c.leads.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(closeWait):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.follows {
		if f.sub != nil {
			f.sub.Stop()
		}
	}
}

// Counts are what the client did so far.
func (c *Client) Counts() ClientCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// watchWorkers follows which workers are alive.
func (c *Client) watchWorkers(watch jetstream.KeyWatcher) {
	defer func() { _ = watch.Stop() }()
	seen := map[string]time.Time{}
	tick := time.NewTicker(c.q.cfg.Beat)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case entry, ok := <-watch.Updates():
			if !ok {
				return
			}
			if entry == nil {
				continue
			}
			s := State{}
			if entry.Operation() == jetstream.KeyValuePut && json.Unmarshal(entry.Value(), &s) == nil {
				seen[entry.Key()] = time.Now()
				c.setWorker(entry.Key(), &s)
			} else {
				delete(seen, entry.Key())
				c.setWorker(entry.Key(), nil)
			}
		case <-tick.C: // a bucket does not tell what expires in it
			for id, at := range seen {
				if time.Since(at) > 3*c.q.cfg.Beat {
					delete(seen, id)
					c.setWorker(id, nil)
				}
			}
		}
	}
}

// setWorker remembers a worker, or that it is gone.
func (c *Client) setWorker(id string, s *State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, class := range c.workers[id].Classes {
		if c.alive[class]--; c.alive[class] == 0 {
			delete(c.alive, class)
			c.last[class] = time.Now()
		}
	}
	delete(c.workers, id)
	if s != nil {
		c.workers[id] = *s
		for _, class := range s.Classes {
			c.alive[class]++
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Workers lists those that are alive.
func (c *Client) Workers() (list []State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.workers {
		list = append(list, s)
	}
	return list
}

// Announce tells workers of a class, before the first task of it. It waits for a cluster
// that elects a leader.
func (c *Client) Announce(ctx context.Context, class *Class) error {
	begin := time.Now()
	for {
		err := c.q.Announce(ctx, class)
		if err == nil {
			c.mu.Lock()
			c.last[class.ID()] = time.Now()
			c.mu.Unlock()
		}
		if err == nil || !c.q.bus.Electing(err) || ctx.Err() != nil || time.Since(begin) > c.cfg.Patience {
			return err
		}
		c.cfg.Log("the servers of the farm have no leader: %v", err)
		pause(ctx, retryWait)
	}
}

// Others says how workers that are alive and do tasks for the target of a class differ from
// it.
func (c *Client) Others(ctx context.Context, class *Class) (differences []string) {
	c.mu.Lock()
	ids := slices.Sorted(maps.Keys(c.alive))
	c.mu.Unlock()
	for _, id := range ids {
		entry, err := c.q.classes.Get(ctx, id)
		if err != nil {
			continue
		}
		other := &Class{}
		if json.Unmarshal(entry.Value(), other) != nil || other.Target != class.Target {
			continue
		}
		if d := class.Same(other); d != "" && !slices.Contains(differences, d) {
			differences = append(differences, d)
		}
	}
	return differences
}

// NoWorkerError says that there is no worker for a class.
type NoWorkerError struct{ Class string }

func (e *NoWorkerError) Error() string { return "the farm has no worker for this" }

// UnavailableError says that the server does not answer.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the server of the farm does not answer: %v", e.Err)
}

// Unwrap gives the last error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// MismatchError says that two workers made different results of a task. Neither is kept.
type MismatchError struct{ Text string }

func (e *MismatchError) Error() string { return "two workers made different results: " + e.Text }

// TooLargeError says that a task is larger than a message may be.
type TooLargeError struct{ Size, Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the task has %d bytes, and the server of the farm takes %d", e.Size, e.Limit)
}

// Do has a task done and returns its result, which is Done, Failed, Measured or GivenUp. The error is
// ctx's, or one of those above, or an *UntrustedError. Equal tasks that are under way are
// done once.
func (c *Client) Do(ctx context.Context, t *Task) (*Result, error) {
	ctx, s := span.StartKind(ctx, span.Producer, "farm task", span.String("messaging.system", "nats"))
	if span.On(ctx) {
		own := *t
		own.Parent = span.Inject(ctx)
		t = &own
	}
	r, err := c.do(ctx, t, s)
	if r != nil {
		s.Set(span.String("tritonc.worker", r.Worker), span.String("tritonc.result", string(r.Kind)))
	}
	s.End(err)
	return r, err
}

func (c *Client) do(ctx context.Context, t *Task, s span.Span) (*Result, error) {
	if limit := c.q.room(); len(t.Body) > limit {
		return nil, &TooLargeError{len(t.Body), limit}
	}
	key := t.Key()
	c.mu.Lock()
	c.counts.Asked++
	w := c.waiting[key]
	s.Set(span.String("tritonc.task", key), span.Bool("tritonc.task.joined", w != nil))
	if w == nil {
		w = &waiting{ended: make(chan struct{}), news: make(chan struct{}, 1)}
		c.waiting[key] = w
		// The task is everybody's who waits for it: it ends with the last of them.
		c.leads.Go(func() { c.lead(t, key, w) })
	}
	w.callers++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		w.callers--
		c.mu.Unlock()
		w.tell()
	}()
	select {
	case <-w.ended:
		return w.result, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, context.Canceled
	}
}

// tell has who leads w look.
func (w *waiting) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// lead gets the result of a task for all who wait for it.
func (c *Client) lead(t *Task, key string, w *waiting) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	for {
		r, err := c.whole(ctx, t, key, w)
		c.mu.Lock()
		if errors.Is(err, context.Canceled) && c.ctx.Err() == nil && w.callers > 0 {
			c.mu.Unlock() // one came when the last had just left
			continue
		}
		w.result, w.err = r, err
		delete(c.waiting, key)
		close(w.ended)
		c.mu.Unlock()
		return
	}
}

// whole gets the result of a task and, of a sample, has it checked.
func (c *Client) whole(ctx context.Context, t *Task, key string, w *waiting) (*Result, error) {
	select {
	case c.window <- struct{}{}:
		defer func() { <-c.window }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r, err := c.one(ctx, t, key, "", w)
	if err != nil || r.Kind != Done || !c.sampled(key) {
		return r, err
	}
	return c.check(ctx, t, key, r, w)
}

// sampled reports whether a task is one that is done twice.
func (c *Client) sampled(key string) bool {
	var n uint32
	_, err := fmt.Sscanf(key[:8], "%08x", &n)
	return err == nil && c.cfg.Sample > 0 && n%uint32(c.cfg.Sample) == 0
}

// checkEnding makes the name of the second result of a key.
const checkEnding = "-again"

// nobody is the worker that is not to do a second try where there is no choice: the queue
// would else hand it to the only worker again and again, for seconds.
const nobody = "-"

// isAlone reports whether a worker is the only one of a class.
func (c *Client) isAlone(class, worker string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alive[class] == 1 && slices.Contains(c.workers[worker].Classes, class)
}

// check has a task done once more and compares the results.
func (c *Client) check(ctx context.Context, t *Task, key string, r *Result, w *waiting) (*Result, error) {
	again := key + checkEnding
	c.mu.Lock()
	c.waiting[again] = w // which is told of it
	c.counts.Checked++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, again)
		c.mu.Unlock()
	}()
	not := r.Worker
	if c.isAlone(t.Class, not) {
		not = nobody
	}
	second, err := c.one(ctx, t, again, not, w)
	if err != nil {
		return nil, err
	}
	if second.Kind == GivenUp {
		c.cfg.Log("a task could not be done twice: %s", second.Body)
		return r, nil
	}
	if !second.differs(r) {
		return r, nil
	}
	c.drop(ctx, r, second)
	return nil, &MismatchError{disagreement(r, second)}
}

// drop deletes results that nobody is to use.
func (c *Client) drop(ctx context.Context, list ...*Result) {
	c.mu.Lock()
	c.counts.Disputed++
	c.mu.Unlock()
	for _, r := range list {
		if err := c.q.results.DeleteMsg(ctx, r.seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			c.cfg.Log("a result cannot be deleted: %v", err)
		}
	}
}

// catchUp is how long a server is given first to know what another one of its cluster knows.
const catchUp = 2 * time.Millisecond

// requestWait bounds one request: its answer may have gone with a server, which a second
// request finds out.
const requestWait = 5 * time.Second

// one gets the result of a task, under its key or that of its second result.
func (c *Client) one(ctx context.Context, t *Task, key, not string, w *waiting) (_ *Result, err error) {
	queued := false
	clean := false // whether there was no result since this call began
	defer func() {
		if queued && (errors.Is(err, context.Canceled) || errors.As(err, new(*NoWorkerError))) {
			c.giveBack(t.Class, key)
		}
	}()
	if err := c.follow(ctx, t.Class); err != nil {
		return nil, c.failed(ctx, err)
	}
	answered := time.Now() // by the server
	timer := time.NewTimer(0)
	defer timer.Stop()
	for try := 0; ; try++ {
		c.mu.Lock()
		abandoned, arrived := w.callers == 0, w.arrived == key
		c.mu.Unlock()
		if abandoned || ctx.Err() != nil {
			return nil, context.Canceled
		}
		bounded, cancel := context.WithTimeout(ctx, min(requestWait, c.cfg.Patience))
		r, err := c.look(bounded, t.Class, key, clean)
		for wait := catchUp; arrived && errors.Is(err, errNoResult) && wait < time.Second; wait *= 2 {
			pause(bounded, wait) // another server than the one that told was asked
			r, err = c.look(bounded, t.Class, key, clean)
		}
		if errors.Is(err, errNoResult) {
			clean = true
			queued = true // even if that is not known: the answer may be lost
			err = c.q.publish(bounded, t, key, not)
		}
		cancel()
		if r != nil || errors.As(err, new(*UntrustedError)) || errors.As(err, new(*MismatchError)) {
			if try == 0 && r != nil {
				c.mu.Lock()
				c.counts.Found++
				c.mu.Unlock()
			}
			return r, err
		}
		wait := c.cfg.Recheck + time.Duration(rand.Int64N(int64(c.cfg.Recheck)/4+1))
		switch {
		case err == nil:
			answered = time.Now()
			if try == 0 {
				c.mu.Lock()
				c.counts.Queued++
				c.mu.Unlock()
			}
		case errors.Is(err, errFull): // the workers will make room
			answered, wait = time.Now(), retryWait
		case time.Since(answered) > c.cfg.Patience:
			return nil, c.failed(ctx, err)
		default:
			c.cfg.Log("the server of the farm fails: %v", err)
			wait = retryWait
		}
		timer.Reset(wait)
		if err := c.await(ctx, t.Class, w, timer.C); err != nil {
			return nil, err
		}
	}
}

// await waits for news, or until the timer says that the task is to be looked for. The
// error is a *NoWorkerError when no worker is there for the class for too long.
func (c *Client) await(ctx context.Context, class string, w *waiting, due <-chan time.Time) error {
	for {
		c.mu.Lock()
		changed, alive, since := c.changed, c.alive[class], time.Since(c.last[class])
		c.mu.Unlock()
		var lonely <-chan time.Time
		if alive == 0 {
			if since > c.cfg.Grace {
				return &NoWorkerError{class}
			}
			timer := time.NewTimer(c.cfg.Grace - since + time.Millisecond)
			defer timer.Stop()
			lonely = timer.C
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
			return nil
		case <-w.news:
			return nil
		case <-changed:
		case <-lonely:
		}
	}
}

// giveBack takes a task out of the queue for which nobody waits here. Another client
// that waits for it publishes it again.
func (c *Client) giveBack(class, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Second)
	defer cancel()
	if err := c.q.withdraw(ctx, class, key); err != nil {
		c.cfg.Log("a task stays in the queue: %v", err)
	}
}

// look looks for a result. The error is errNoResult where there is none, and where the task
// was given up, unless clean: before this call began, which is tried anew. (Times would
// tell, too, if all clocks were right.)
func (c *Client) look(ctx context.Context, class, key string, clean bool) (*Result, error) {
	r, signature, err := c.q.find(ctx, class, key)
	if err != nil {
		return nil, err
	}
	if err := r.check(class, key, signature, c.cfg.Verifier); err != nil {
		return nil, err
	}
	switch r.Kind {
	case Done, Failed, Measured:
		return r, nil
	case GivenUp:
		if clean {
			return r, nil
		}
		c.cfg.Log("a task that was given up before is tried anew")
		return nil, errors.Join(errNoResult, c.q.results.DeleteMsg(ctx, r.seq))
	case Disputed:
		c.drop(ctx, r)
		return nil, &MismatchError{string(r.Body)}
	}
	return nil, &UntrustedError{r.Worker, fmt.Sprintf("%q is not a kind of result that this build knows", r.Kind)}
}

// follow has the client told of results of a class.
func (c *Client) follow(ctx context.Context, class string) error {
	c.mu.Lock()
	f := c.follows[class]
	if f == nil {
		f = &follow{}
		c.follows[class] = f
	}
	c.mu.Unlock()
	f.once.Do(func() {
		var consumer jetstream.Consumer
		consumer, f.err = c.q.results.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{bus.Subject(resultPart, class, ">")}, DeliverPolicy: jetstream.DeliverNewPolicy, HeadersOnly: true,
		})
		if f.err != nil {
			return
		}
		sub, err := consumer.Consume(func(msg jetstream.Msg) {
			_, key := names(msg.Subject())
			c.mu.Lock()
			w := c.waiting[key]
			if w != nil {
				w.arrived = key
				w.tell()
			}
			c.mu.Unlock()
		}, jetstream.PullMaxMessages(4096))
		c.mu.Lock()
		f.sub, f.err = sub, err
		c.mu.Unlock()
	})
	return f.err
}

// failed is the error of a server that fails.
func (c *Client) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &UnavailableError{err}
}
