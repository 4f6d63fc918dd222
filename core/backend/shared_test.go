package backend

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// madeKey is a key for tests.
func madeKey(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// TestMadeOnce: of calls that want the same at once one makes it, and the next if that
// fails or goes away.
func TestMadeOnce(t *testing.T) {
	s := newMadeSet(1000)
	const calls = 10
	failure := errors.New("failure")
	var mu sync.Mutex
	runs, failed, made := 0, 0, 0
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			m, _, err := s.get(t.Context(), madeKey("a"), func() (*Made, error) {
				mu.Lock()
				defer mu.Unlock()
				if runs++; runs <= 3 {
					return nil, failure
				}
				return &Made{Data: []byte(fmt.Sprint(runs))}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, failure):
				failed++
			case err != nil || string(m.Data) != "4":
				t.Errorf("%v, %v", m, err)
			default:
				made++
			}
		})
	}
	wg.Wait()
	if runs != 4 || failed != 3 || made != calls-3 {
		t.Errorf("%d runs, %d failed, %d made", runs, failed, made)
	}
}

// TestMadeWaitsNoLonger: one whose context ends does not wait for another's run.
func TestMadeWaitsNoLonger(t *testing.T) {
	s := newMadeSet(1000)
	began, goOn := make(chan bool), make(chan bool)
	over := make(chan error)
	go func() {
		_, _, err := s.get(t.Context(), madeKey("a"), func() (*Made, error) {
			close(began)
			<-goOn
			return &Made{}, nil
		})
		over <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.get(ctx, madeKey("a"), func() (*Made, error) { panic("BUG: it is made twice") }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(goOn)
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestMadeBound: what was used last stays within the limit.
func TestMadeBound(t *testing.T) {
	s := newMadeSet(10)
	get := func(key string, size int) (before bool) {
		t.Helper()
		m, before, err := s.get(t.Context(), madeKey(key), func() (*Made, error) {
			return &Made{Data: []byte(strings.Repeat("x", size-1)), Said: []byte("y")}, nil
		})
		if err != nil || m.size() != size {
			t.Fatalf("%s: %v, %v", key, m, err)
		}
		held := 0
		for _, r := range s.rows {
			held += r.made.size()
		}
		if held != s.bytes || held > 10 {
			t.Fatalf("%d bytes are held, %d counted", held, s.bytes)
		}
		return before
	}
	for i, tt := range []struct {
		key    string
		size   int
		before bool
	}{
		{"a", 4, false}, {"b", 4, false}, {"a", 4, true}, {"c", 4, false}, // b goes
		{"a", 4, true}, {"b", 4, false}, {"big", 11, false}, {"big", 11, false}, {"a", 4, false},
	} {
		if before := get(tt.key, tt.size); before != tt.before {
			t.Errorf("step %d: made before is %v", i, before)
		}
	}
}
