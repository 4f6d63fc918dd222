package process

import (
	"fmt"
	"sync"
	"time"
)

// Times of the watch over a process that has calls to answer.
const (
	lookTime = 100 * time.Millisecond
	// stoppedTime is how long a process may stay stopped by a signal. A stop of the
	// whole job in a shell stops us, too, and is over for all at once.
	stoppedTime = 400 * time.Millisecond
	// hangTime is how long a process that runs may leave a ping unanswered: it may
	// have little of a busy machine, or hold a lock of its language.
	hangTime = 10 * time.Second
)

// state of a process, as far as a watch is concerned.
type state int

const (
	running  state = iota
	stopped        // by a signal
	debugged       // and held by the debugger, who may take long
)

// watched counts the calls under way and looks after their process meanwhile.
type watched struct {
	mu      sync.Mutex
	calls   int
	idle    chan struct{} // closed when the last call has ended; nil while there is none
	trouble string        // why the process was killed
}

// Begin says that a call begins, which the function that it returns ends. While
// one is under way, a process that is stopped or does not answer any more is
// killed, and so ends the calls.
func (p *Process) Begin() (end func()) {
	w := &p.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if w.calls == 1 {
		w.idle = make(chan struct{})
		go p.watch(w.idle)
	}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls--
		if w.calls == 0 {
			close(w.idle)
			w.idle = nil
		}
	})
}

// Idle is closed once no call is under way.
func (p *Process) Idle() <-chan struct{} {
	p.watched.mu.Lock()
	defer p.watched.mu.Unlock()
	if idle := p.watched.idle; idle != nil {
		return idle
	}
	idle := make(chan struct{})
	close(idle)
	return idle
}

// watch looks after the process until idle is closed or it has ended. It counts
// looks and not time, which also passes while we are stopped ourselves.
func (p *Process) watch(idle <-chan struct{}) {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	stops, unanswered := 0, 0
	asked := false
	answer := make(chan struct{}, 1)
	for {
		select {
		case <-idle:
			return
		case <-p.child.exited:
			return
		case <-answer:
			asked, unanswered = false, 0
			continue
		case <-tick.C:
		}
		switch p.child.stateNow() {
		case running:
			stops = 0
		case stopped:
			if stops++; stops > int(stoppedTime/lookTime) {
				p.killFor("it was stopped by a signal and did not go on")
				return
			}
		case debugged:
			continue
		}
		rpc := p.rpc.Load()
		if rpc == nil {
			continue // what a start may take is bounded elsewhere
		}
		if !asked {
			asked = true
			go func() {
				_ = (*rpc).Ping() // that it has no such service is an answer, too
				answer <- struct{}{}
			}()
		} else if unanswered++; unanswered > int(p.hangTime/lookTime) {
			p.killFor(fmt.Sprintf("it did not answer for %s", p.hangTime))
			return
		}
	}
}

// killFor kills the process and keeps the reason.
func (p *Process) killFor(why string) {
	p.watched.mu.Lock()
	p.watched.trouble = why
	p.watched.mu.Unlock()
	p.Kill()
}

// reason is why we killed the process, or empty.
func (p *Process) reason() string {
	p.watched.mu.Lock()
	defer p.watched.mu.Unlock()
	return p.watched.trouble
}
