package work

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/span"
)

// Handler does tasks.
type Handler interface {
	// Class is that of the tasks for a target which are done here; the error says why there
	// are none: ErrOther where a worker of this sort is not for them at all. It may take as
	// long as a task, and is asked once for a class.
	Class(ctx context.Context, target string) (*Class, error)
	// Do makes a result, which is Done, Failed or Measured. An error is the machine's, and has the
	// task tried by another worker. Do returns soon after ctx has ended.
	Do(ctx context.Context, t *Task) (kind Kind, body []byte, err error)
}

// ErrOther is the error of a Handler for tasks of another sort than its own: a compile's
// is not asked to measure.
var ErrOther = errors.New("a task of another sort")

// Worker does tasks of a Queue.
type Worker struct {
	// ID names the worker, in letters of a subject.
	ID string
	// Host and PID say where it is, for people.
	Host string
	PID  int
	// Build is the program that it is.
	Build string
	// Jobs is how many tasks it does at a time.
	Jobs int
	// TaskTimeout is how long a task may run; 0: for ever.
	TaskTimeout time.Duration
	// Handler does the tasks.
	Handler Handler
	// Signer signs results; nil does not.
	Signer Signer
	// Log receives what is of interest to who runs the worker.
	Log func(format string, args ...any)
	// Observe, if there is one, is told of each task that was done, and how long it took.
	Observe func(outcome string, took time.Duration)

	q     *Queue
	slots chan struct{}
	alone chan struct{} // has a value while a task takes all slots
	count counters
	room  *sync.Cond // is signaled when held changes
	mu    sync.Mutex // guards what follows
	held  int        // tasks that were fetched and are not done
	ended int        // tasks that are done and not answered
	seen  map[string]bool
	own   []string // classes that it serves, sorted
	tasks sync.WaitGroup
	told  chan struct{} // has a value when the worker's state is to be told at once
	// changed has one when it is to be told soon.
	changed chan struct{}
}

// Run works until ctx ends, then finishes the tasks that are under way, or gives them up
// when now ends.
func (w *Worker) Run(ctx, now context.Context, q *Queue) error {
	w.q, w.slots, w.seen = q, make(chan struct{}, w.Jobs), map[string]bool{}
	w.alone = make(chan struct{}, 1)
	w.room, w.told = sync.NewCond(&w.mu), make(chan struct{}, 1)
	w.changed = make(chan struct{}, 1)
	w.count.started = time.Now()
	watch, err := q.classes.WatchAll(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return q.bus.Explain(err, "following classes")
	}
	defer func() { _ = watch.Stop() }()
	var others sync.WaitGroup
	defer others.Wait()
	beating, stop := context.WithCancel(now)
	defer stop()
	others.Go(func() { w.beat(beating) })
	wake := context.AfterFunc(ctx, func() { w.mu.Lock(); w.room.Broadcast(); w.mu.Unlock() })
	defer wake()
	var pulls sync.WaitGroup
	defer w.tasks.Wait()
	defer pulls.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case entry := <-watch.Updates():
			if entry == nil || entry.Operation() != jetstream.KeyValuePut {
				continue // nil marks the end of what there was
			}
			c := &Class{}
			if err := json.Unmarshal(entry.Value(), c); err != nil || c.ID() != entry.Key() {
				w.Log("the class %s is not understood", entry.Key())
				continue
			}
			if w.seen[entry.Key()] {
				continue
			}
			w.seen[entry.Key()] = true
			pulls.Go(func() { w.serve(ctx, now, c) })
		}
	}
}

// serve takes part in a class, if the worker makes the same of its tasks. Else it tells of
// its own class for the target, so that clients can say what differs.
func (w *Worker) serve(ctx, now context.Context, c *Class) {
	id := c.ID()
	in, s := span.Start(ctx, "class", span.String("tritonc.target", c.Target), span.String("tritonc.worker", w.ID))
	own, err := w.Handler.Class(in, c.Target)
	if errors.Is(err, ErrOther) {
		return // the span, which has no end, with it
	}
	s.End(nil) // leaving tasks to others is as it should be
	if err != nil {
		w.Log("%s: tasks are left to others: %v", c.Target, err)
		return
	}
	if difference := own.Same(c); difference != "" {
		w.Log("%s: tasks are left to others, which have %s", c.Target, difference)
		if err := w.q.describe(ctx, own, false); err != nil {
			w.Log("%s: the class cannot be told: %v", c.Target, err)
		}
		return
	}
	w.mu.Lock()
	w.own = append(w.own, id)
	slices.Sort(w.own)
	w.mu.Unlock()
	w.tell()
	w.Log("%s: tasks are taken", c.Target)
	w.pull(ctx, now, id)
}

// retryWait is how long a worker waits after the server has failed it.
const retryWait = 200 * time.Millisecond

// fetchWait is how long one request for a task waits at the server.
const fetchWait = 5 * time.Second

// pull fetches tasks of a class while there is room for them.
func (w *Worker) pull(ctx, now context.Context, class string) {
	var consumer jetstream.Consumer
	for {
		if !w.awaitRoom(ctx) {
			return
		}
		var err error
		if consumer == nil {
			consumer, err = w.q.consumer(ctx, class)
		}
		wait, cancel := context.WithTimeout(ctx, fetchWait)
		var batch jetstream.MessageBatch
		if err == nil {
			batch, err = consumer.Fetch(1, jetstream.FetchContext(wait))
		}
		if err == nil {
			for msg := range batch.Messages() {
				w.move(1, 0)
				w.tasks.Go(func() { w.handle(ctx, now, msg) })
			}
			err = batch.Error()
		}
		cancel()
		if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			continue
		}
		if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, nats.ErrNoResponders) {
			consumer = nil
		}
		pause(ctx, retryWait)
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// awaitRoom waits until one more task may be fetched: as many as there are jobs, and one
// that begins when the first of them ends. Those that are done wait for the server alone,
// and count only where it is slow. It reports false once ctx has ended.
func (w *Worker) awaitRoom(ctx context.Context) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for (w.held > w.Jobs || w.ended > 4*w.Jobs) && ctx.Err() == nil {
		w.room.Wait()
	}
	return ctx.Err() == nil
}

// move counts tasks that are held and that have ended.
func (w *Worker) move(held, ended int) {
	w.mu.Lock()
	w.held += held
	w.ended += ended
	w.mu.Unlock()
	w.room.Broadcast()
}

// handle does one task that was fetched.
func (w *Worker) handle(ctx, now context.Context, msg jetstream.Msg) {
	stop := w.keep(now, msg)
	defer stop()
	held := 1
	defer func() { w.move(-held, held-1) }()
	class, key := names(msg.Subject())
	meta, err := msg.Metadata()
	if err != nil || key == "" {
		w.Log("a task is not understood and dropped: %s", msg.Subject())
		_ = msg.Term()
		return
	}
	d := &delivery{Worker: w, msg: msg, class: class, key: key, tries: int(meta.NumDelivered)}
	d.again = msg.Headers().Get(headerNot) != ""
	if d.leave() || d.isDone(now) {
		return
	}
	if d.isHopeless(now) {
		d.giveUpTried(now)
		return
	}
	slots := 1
	if d.isSuspect() {
		slots = w.Jobs
	}
	if !w.take(ctx, slots) { // it has not begun
		_ = msg.Nak()
		return
	}
	in, s := d.span(now, meta)
	result, err := d.do(in)
	w.free(slots)
	held = 0
	w.move(-1, 1)
	s.Event("done")
	s.End(d.answer(in, result, err))
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// take takes slots, of which a task has one or all. It reports false once ctx has ended.
func (w *Worker) take(ctx context.Context, n int) bool {
	if n > 1 {
		select { // one at a time, or two of them could wait for each other
		case w.alone <- struct{}{}:
			defer func() { <-w.alone }()
		case <-ctx.Done():
			return false
		}
	}
	for i := range n {
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			w.free(i)
			return false
		}
	}
	if ctx.Err() != nil {
		w.free(n)
		return false
	}
	return true
}

func (w *Worker) free(n int) {
	for range n {
		<-w.slots
	}
}

// keep tells the server again and again that the task is held; calling what it returns
// ends that.
func (w *Worker) keep(ctx context.Context, msg jetstream.Msg) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(w.q.cfg.AckWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = msg.InProgress() // without a server the task goes back
			}
		}
	}()
	return cancel
}
