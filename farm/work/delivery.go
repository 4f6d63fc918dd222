package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/span"
)

// delivery is one try of a task.
type delivery struct {
	*Worker
	msg        jetstream.Msg
	class, key string
	tries      int  // this one included
	again      bool // the task was done, and is to be done once more by another worker
}

// Bounds of how long a worker leaves a task to another.
const (
	leaveWait = 100 * time.Millisecond
	maxLeft   = 30
)

// leave gives a task back that another worker is to do, if there is one.
func (d *delivery) leave() bool {
	if !d.again || d.msg.Headers().Get(headerNot) != d.ID || d.tries > maxLeft {
		return false
	}
	// At random, or two workers could be handed each other's task again and again.
	_ = d.msg.NakWithDelay(leaveWait/4 + rand.N(leaveWait))
	return true
}

// isDone acknowledges a task that has a result: its acknowledgement was lost, or it was
// queued while another worker was about to end it.
func (d *delivery) isDone(ctx context.Context) bool {
	_, _, err := d.q.find(ctx, d.class, d.key)
	if err != nil {
		return false // if the server is gone, the task will be done twice
	}
	_ = d.msg.Ack()
	return true
}

// isSuspect reports whether this is the last try or a later one. The task is done alone
// then: of tasks whose worker dies at once one may be the reason, and others are not.
func (d *delivery) isSuspect() bool { return d.tries >= d.q.cfg.Tries && !d.again }

// isHopeless reports whether the task was tried too often. A delivery to a worker that died
// before it began the task is not a try; of the first one nobody noted whether it was.
func (d *delivery) isHopeless(ctx context.Context) bool {
	if d.again {
		return d.tries > maxLeft+d.q.cfg.Tries
	}
	if d.tries <= d.q.cfg.Tries {
		return false
	}
	begun := 0
	for _, a := range d.attempts(ctx) {
		if a.Try > 1 {
			begun++
		}
	}
	return begun >= d.q.cfg.Tries-1
}

// span begins one of the task, below that of who asked for it.
func (d *delivery) span(ctx context.Context, meta *jetstream.MsgMetadata) (context.Context, span.Span) {
	ctx = span.Extract(ctx, d.msg.Headers().Get(headerParent))
	return span.StartKind(ctx, span.Consumer, "task",
		span.String("messaging.system", "nats"), span.String("tritonc.worker", d.ID), span.String("tritonc.task", d.key),
		span.Int("tritonc.task.try", d.tries), span.Bool("tritonc.task.again", d.again),
		span.Float("tritonc.task.queued_seconds", time.Since(meta.Timestamp).Seconds()))
}

// do has the handler do the task.
func (d *delivery) do(ctx context.Context) (_ *Result, err error) {
	if d.TaskTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.TaskTimeout, fmt.Errorf("it took longer than %s", d.TaskTimeout))
		defer cancel()
	}
	if d.tries > 1 { // should the worker die of it, it is known who did
		d.note(ctx, "began and did not end")
	}
	defer func() {
		if v := recover(); v != nil {
			d.Log("a task failed: %v\n%s", v, debug.Stack())
			err = fmt.Errorf("%v", v)
		}
	}()
	d.count.begin()
	start := time.Now()
	kind, body, err := d.Handler.Do(ctx, &Task{Class: d.class, Body: d.msg.Data(), Again: d.again})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	d.count.end(err == nil, time.Since(start))
	if d.Observe != nil {
		outcome := "done"
		if err != nil {
			outcome = "failed"
		}
		d.Observe(outcome, time.Since(start))
	}
	if err != nil {
		return nil, err
	}
	return &Result{Kind: kind, Body: body, Worker: d.ID, digest: digestOf(body)}, nil
}

// answer stores what came of the task and acknowledges it, or gives it back. The error is
// why the task has no result of this try.
func (d *delivery) answer(ctx context.Context, r *Result, err error) error {
	if err == nil {
		err = d.keepResult(ctx, r)
	}
	if unfit := (*unfitError)(nil); errors.As(err, &unfit) { // on every worker
		d.giveUp(ctx, unfit.Error())
		return err
	}
	switch {
	case err == nil:
		_ = d.msg.Ack()
	case ctx.Err() != nil: // the worker ends
		_ = d.msg.Nak()
	default:
		d.Log("a task is given back: %v", err)
		d.note(ctx, err.Error())
		_ = d.msg.NakWithDelay(retryWait)
	}
	return err
}

// keepResult stores a result. It tries again while the server fails, as long as the
// server would wait for a worker that is silent.
func (d *delivery) keepResult(ctx context.Context, r *Result) error {
	end := time.Now().Add(d.q.cfg.AckWait)
	after := uint64(0)
	for {
		err := d.q.store(ctx, d.class, d.key, r, d.Signer, after)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errStored):
			other, _, err := d.q.find(ctx, d.class, d.key)
			switch {
			case errors.Is(err, errNoResult): // it went meanwhile
				after = 0
				continue
			case err != nil:
			case other.Kind == Disputed || other.Kind == GivenUp || !other.differs(r):
				return nil
			default:
				d.Log("two workers disagree: %s", disagreement(other, r))
				text := []byte(disagreement(other, r))
				r = &Result{Kind: Disputed, Body: text, Worker: d.ID, digest: digestOf(text)}
				after = other.seq
				continue
			}
		}
		if time.Now().After(end) || ctx.Err() != nil || errors.As(err, new(*unfitError)) {
			return err
		}
		pause(ctx, retryWait)
	}
}

// disagreement says whose results differ.
func disagreement(a, b *Result) string {
	what := func(r *Result) string {
		if r.Kind == Done {
			return fmt.Sprintf("%s made %.12s", r.Worker, r.digest)
		}
		return r.Worker + " failed"
	}
	return what(a) + " and " + what(b)
}

// giveUpTried gives up a task that was tried too often.
func (d *delivery) giveUpTried(ctx context.Context) {
	var text strings.Builder
	fmt.Fprintf(&text, "it was tried %d times, and each time the worker failed, or was lost", d.q.cfg.Tries)
	for _, a := range d.attempts(ctx) {
		fmt.Fprintf(&text, "\n%s: %s", a.Worker, a.Reason)
	}
	d.giveUp(ctx, text.String())
}

// giveUp ends a task with a result that says why there is none.
func (d *delivery) giveUp(ctx context.Context, why string) {
	d.Log("a task is given up: %s", why)
	r := &Result{Kind: GivenUp, Body: []byte(why), Worker: d.ID, digest: digestOf([]byte(why))}
	if err := d.keepResult(ctx, r); err != nil {
		_ = d.msg.NakWithDelay(retryWait)
		return
	}
	d.count.giveUp()
	_ = d.q.tries.Purge(ctx, d.key)
	_ = d.msg.Ack()
}

// attempt is one failed try.
type attempt struct {
	Worker string `json:"worker"`
	Try    int    `json:"try"`
	Reason string `json:"reason"`
}

// attempts are the failed tries, as far as somebody could note them.
func (d *delivery) attempts(ctx context.Context) (list []attempt) {
	entry, err := d.q.tries.Get(ctx, d.key)
	if err == nil {
		_ = json.Unmarshal(entry.Value(), &list)
	}
	return list
}

// note remembers how this try went; it may replace what was noted of it before. One
// worker at a time has the task, so that nobody else writes.
func (d *delivery) note(ctx context.Context, reason string) {
	list := d.attempts(ctx)
	if n := len(list); n > 0 && list[n-1].Try == d.tries {
		list = list[:n-1]
	}
	text, err := json.Marshal(append(list, attempt{d.ID, d.tries, reason}))
	if err == nil {
		_, err = d.q.tries.Put(ctx, d.key, text)
	}
	if err != nil && ctx.Err() == nil {
		d.Log("a failed try cannot be noted: %v", err)
	}
}
