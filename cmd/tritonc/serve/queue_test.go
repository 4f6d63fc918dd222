package serve

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// waitFor waits until so many places of q are waited for.
func waitFor(t *testing.T, q *Queue, n int) {
	t.Helper()
	for {
		if _, waiting := q.Load(); waiting == n {
			return
		}
		runtime.Gosched()
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
	}
}

// TestQueueIsFair: one that asks for one place goes second, whatever others ask for.
func TestQueueIsFair(t *testing.T) {
	q := NewQueue(1)
	first := q.Lane()
	if err := first.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	ask := func(lane *Lane, name string, waiting int) {
		wg.Go(func() {
			if err := lane.Acquire(t.Context()); err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			lane.Release()
		})
		waitFor(t, q, waiting)
	}
	many, one, two := q.Lane(), q.Lane(), q.Lane()
	ask(many, "many", 1)
	ask(many, "many", 2)
	ask(many, "many", 3)
	ask(one, "one", 4)
	ask(two, "two", 5)
	first.Release()
	wg.Wait()
	if want := []string{"many", "one", "two", "many", "many"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	if running, waiting := q.Load(); running != 0 || waiting != 0 {
		t.Errorf("%d run and %d wait in the end", running, waiting)
	}
}

// TestQueueCancel: one that goes away leaves its place to others.
func TestQueueCancel(t *testing.T) {
	q := NewQueue(1)
	holder, gone, next := q.Lane(), q.Lane(), q.Lane()
	if err := holder.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left, got := make(chan error, 1), make(chan error, 1)
	go func() { left <- gone.Acquire(ctx) }()
	waitFor(t, q, 1)
	go func() { got <- next.Acquire(t.Context()) }()
	waitFor(t, q, 2)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that went away: %v", err)
	}
	waitFor(t, q, 1)
	if err := gone.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	holder.Release()
	if err := <-got; err != nil {
		t.Error(err)
	}
	next.Release()
	if running, waiting := q.Load(); running != 0 || waiting != 0 {
		t.Errorf("%d run and %d wait in the end", running, waiting)
	}
}

// TestQueueBounds: no more work at once than there are places, whoever is cancelled.
func TestQueueBounds(t *testing.T) {
	q := NewQueue(3)
	var now, most atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		lane := q.Lane()
		ctx, cancel := context.WithCancel(t.Context())
		for range 20 {
			wg.Go(func() {
				if lane.Acquire(ctx) != nil {
					return
				}
				n := now.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				now.Add(-1)
				lane.Release()
			})
		}
		if i%2 == 0 {
			cancel()
		} else {
			t.Cleanup(cancel)
		}
	}
	wg.Wait()
	if most.Load() > 3 {
		t.Errorf("%d at once", most.Load())
	}
	if running, waiting := q.Load(); running != 0 || waiting != 0 {
		t.Errorf("%d run and %d wait in the end", running, waiting)
	}
}
