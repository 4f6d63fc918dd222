package work

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// State is what a worker does, as it tells it now and then.
type State struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Build   string    `json:"build"`
	Started time.Time `json:"started"`
	Jobs    int       `json:"jobs"`    // tasks at a time
	Running int       `json:"running"` // now
	Done    int64     `json:"done"`    // tasks with a result
	Failed  int64     `json:"failed"`  // that went to other workers
	GivenUp int64     `json:"given_up"`
	Busy    float64   `json:"busy"` // seconds of all tasks
	Rate    float64   `json:"rate"` // tasks per second, of late
	Classes []string  `json:"classes"`
}

// counters count what a worker does.
type counters struct {
	mu      sync.Mutex
	started time.Time
	state   State
	recent  []time.Time // when tasks ended, within rateSpan
	busy    time.Duration
}

// rateSpan is what "of late" means.
const rateSpan = 30 * time.Second

func (c *counters) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Running++
}

func (c *counters) end(ok bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Running--
	c.busy += took
	if !ok {
		c.state.Failed++
		return
	}
	c.state.Done++
	c.recent = append(c.recent, time.Now())
	c.forget()
}

func (c *counters) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.GivenUp++
}

func (c *counters) forget() {
	old := time.Now().Add(-rateSpan)
	n := 0
	for n < len(c.recent) && c.recent[n].Before(old) {
		n++
	}
	c.recent = c.recent[n:]
}

func (c *counters) get() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	s := c.state
	s.Busy, s.Started = c.busy.Seconds(), c.started
	span := min(rateSpan, max(time.Since(c.started), time.Second))
	s.Rate = float64(len(c.recent)) / span.Seconds()
	return s
}

// State is what the worker does.
func (w *Worker) State() State {
	s := w.count.get()
	s.ID, s.Host, s.PID, s.Build, s.Jobs = w.ID, w.Host, w.PID, w.Build, w.Jobs
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Classes = append([]string{}, w.own...)
	return s
}

// tell has the worker's state told at once.
func (w *Worker) tell() {
	select {
	case w.told <- struct{}{}:
	default:
	}
}

// tellWait is how long a worker that ends one task after another waits before it tells of them.
const tellWait = time.Second

// beat tells the worker's state now and then, soon after tasks have ended, and that it is
// gone in the end.
func (w *Worker) beat(ctx context.Context) {
	tick := time.NewTicker(w.q.cfg.Beat)
	defer tick.Stop()
	var later <-chan time.Time // when to tell of tasks that have ended
	for {
		if text, err := json.Marshal(w.State()); err == nil {
			_, _ = w.q.workers.Put(ctx, w.ID, text) // it is told again soon
		}
		for wait := true; wait; {
			select {
			case <-ctx.Done():
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer cancel()
				_ = w.q.workers.Delete(last, w.ID) // else it expires
				return
			case <-w.changed:
				if later == nil {
					later = time.After(tellWait)
				}
			case <-later:
				later, wait = nil, false
			case <-tick.C:
				wait = false
			case <-w.told:
				wait = false
			}
		}
	}
}
