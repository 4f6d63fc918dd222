package work

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// until visits until the meter stops it, or n times.
func until(m *Meter, n int) (err error) {
	defer Catch(&err)
	for range n {
		m.Visit()
	}
	return nil
}

func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := Start(ctx)
	defer m.End()
	if err := until(m, 3*visitsALook); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := until(m, visitsALook); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after %d visits", err, m.Visits())
	}
	if err := until(m, 3*visitsALook); err != nil {
		t.Errorf("stopped twice: %v", err)
	}
	again := Start(ctx)
	again.visits, again.next = 1, visitsALook
	defer func() {
		if err := Stopped(recover()); !errors.Is(err, context.Canceled) {
			t.Errorf("Check: got %v", err)
		}
	}()
	again.Check()
}

func TestZeroMeterOnlyCounts(t *testing.T) {
	var m Meter
	if err := until(&m, 5*visitsALook); err != nil || m.Visits() != 5*visitsALook {
		t.Errorf("got %v, %d visits", err, m.Visits())
	}
}

func TestOtherPanicsPass(t *testing.T) {
	defer func() {
		if p := recover(); p != "BUG: other" {
			t.Errorf("got %v", p)
		}
	}()
	var err error
	defer Catch(&err)
	panic("BUG: other")
}

// A compile that holds more than it may is stopped, and told in which step.
func TestStopsOverMemory(t *testing.T) {
	const limit = 64 << 20
	before := make([]byte, 2*limit) // held before the compile: counts for nothing
	for i := 0; i < len(before); i += 4096 {
		before[i] = 1
	}
	m := Start(WithMemory(t.Context(), limit))
	defer m.End()
	m.Enter("pass hoard")
	var held [][]byte
	err := func() (err error) {
		defer Catch(&err)
		for range 64 {
			b := make([]byte, 4<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
			m.Add(visitsALook * (looksAtHeap + 1))
		}
		return nil
	}()
	var over *OverMemory
	if !errors.As(err, &over) || over.Step != "pass hoard" || !strings.Contains(err.Error(), "in pass hoard") {
		t.Fatalf("got %v with %d MiB held", err, 4*len(held))
	}
	if n := len(held) * 4 << 20; n > 2*limit {
		t.Errorf("stopped at %d bytes", n)
	} else if n < limit/2 {
		t.Errorf("stopped at %d bytes of its own; the limit is %d", n, limit)
	}
	runtime.KeepAlive(before)
}

// TestCollectsSeldom: compiles have the collector's target raised, which ends with
// them; one that somebody else has set stays. What is no longer in use counts for
// none of the limit.
func TestCollectsSeldom(t *testing.T) {
	for of, during := range map[int]int{standardPercent: compilePercent, 50: 50} {
		old := debug.SetGCPercent(of)
		first, second := Start(WithMemory(t.Context(), 64<<20)), Start(WithMemory(t.Context(), 64<<20))
		first.End()
		if got := debug.SetGCPercent(during); got != during {
			t.Errorf("of %d: %d during a compile", of, got)
		}
		err := func() (err error) {
			defer Catch(&err)
			for range 1000 {
				b := make([]byte, 1<<20)
				b[len(b)-1] = 1
				second.Add(visitsALook * (looksAtHeap + 1))
			}
			return nil
		}()
		if err != nil {
			t.Errorf("a thousand MiB of garbage: %v", err)
		}
		second.End()
		if got := debug.SetGCPercent(old); got != of {
			t.Errorf("of %d: %d after the compiles", of, got)
		}
	}
	debug.FreeOSMemory() // what is left over would be held before the compiles of other tests
}

// TestCollectsSeldomAlways: a process that compiles has the target of its compiles from the start,
// until more is in use; while compiles run it has it even then.
func TestCollectsSeldomAlways(t *testing.T) {
	// A GOGC of the tests' would stay.
	defer debug.SetGCPercent(debug.SetGCPercent(standardPercent))
	now := func() int { // the target in force
		percent := debug.SetGCPercent(standardPercent)
		debug.SetGCPercent(percent)
		return percent
	}
	settled := func(want func(percent int) bool) int {
		for range 1000 {
			runtime.GC() // whose end the finalizer is told of, in a goroutine of its own
			if percent := now(); want(percent) {
				return percent
			}
			time.Sleep(time.Millisecond)
		}
		return now()
	}
	defer forgetSeldom()
	runtime.GC()
	CollectSeldom()
	small := func(percent int) bool { return percent > standardPercent }
	if percent := settled(small); !small(percent) {
		t.Fatalf("with %d bytes in use: %d", inUse(), percent)
	}
	held := make([]byte, 2*spareBytes)
	large := func(percent int) bool { return percent == standardPercent }
	if percent := settled(large); !large(percent) {
		t.Errorf("with %d bytes in use: %d", inUse(), percent)
	}
	m := Start(WithMemory(t.Context(), 64<<20))
	runtime.GC()
	if percent := now(); percent != compilePercent {
		t.Errorf("during a compile: %d", percent)
	}
	m.End()
	if percent := settled(large); !large(percent) {
		t.Errorf("after it: %d", percent)
	}
	runtime.KeepAlive(held)
	if percent := settled(small); !small(percent) {
		t.Errorf("with %d bytes in use again: %d", inUse(), percent)
	}
}

// forgetSeldom undoes CollectSeldom.
func forgetSeldom() {
	target.mu.Lock()
	defer target.mu.Unlock()
	target.idle.Stop()
	target.seldom, target.idle = false, nil
	target.settle()
}

// TestFreesWhenIdle: a process that has compiled and does so no more gives back what it
// does not use, and not while it compiles.
func TestFreesWhenIdle(t *testing.T) {
	defer func(d time.Duration) { idleTime = d }(idleTime)
	idleTime = 20 * time.Millisecond
	debug.FreeOSMemory()
	before := heldBytes()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nobody but the timer collects
	CollectSeldom()
	defer forgetSeldom()
	m := Start(WithMemory(t.Context(), 1<<30))
	for range 64 {
		b := make([]byte, 1<<20)
		b[len(b)-1] = 1
	}
	time.Sleep(5 * idleTime)
	if grown := heldBytes() - before; grown < 60<<20 {
		t.Errorf("during a compile the process has grown by %d bytes", grown)
	}
	m.End()
	grown := heldBytes() - before
	for range 200 {
		if grown = heldBytes() - before; grown < 16<<20 {
			return
		}
		time.Sleep(idleTime)
	}
	t.Errorf("the process still holds %d bytes more than before", grown)
}

// Of two compiles the one that did more is the one to end, and their limits add up.
func TestHeaviestEnds(t *testing.T) {
	idle := Start(WithMemory(t.Context(), 1))
	defer idle.End()
	busy := Start(WithMemory(t.Context(), 1))
	defer busy.End()
	if err := until(idle, 1); !errors.As(err, new(*OverMemory)) {
		t.Errorf("with no visits elsewhere: %v", err)
	}
	busy.visits = 1 << 20
	busy.memory.visits.Store(busy.visits)
	if err := until(idle, 20*visitsALook); err != nil {
		t.Errorf("idle: %v", err)
	}
	if err := until(busy, 20*visitsALook); !errors.As(err, new(*OverMemory)) {
		t.Errorf("busy: %v", err)
	}
	room := Start(WithMemory(t.Context(), 1<<50))
	busy.End()
	busy = Start(WithMemory(t.Context(), 1))
	busy.visits = 1 << 20
	if err := until(busy, 20*visitsALook); err != nil {
		t.Errorf("with another's limit: %v", err)
	}
	room.End()
	busy.End()
}
