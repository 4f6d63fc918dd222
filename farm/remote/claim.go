package remote

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/farm/bus"
)

// Words that the value of a claim begins with.
const (
	held = "held " // and by whom
	kept = "kept " // and the revision of the index since when
)

// pollEvery is how often those who wait look at a claim besides being told of its end.
const pollEvery = 250 * time.Millisecond

// claimSubject tells of the ends of the claims on a key.
func claimSubject(key cache.Key) string { return bus.Subject("claim", name(key)) }

// Claim implements cache.Shared.
func (s *Store) Claim(ctx context.Context, key cache.Key) (cache.Claim, bool) {
	c := s.connected(ctx)
	if c == nil {
		return nil, false
	}
	got, state, err := s.tryClaim(ctx, c, key)
	for end := time.Now().Add(s.opts.Wait); err == nil && state == claimGone && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		got, state, err = s.tryClaim(ctx, c, key)
	}
	if err != nil {
		s.failed(ctx, c, err, "claiming a kernel of the shared cache")
		return nil, false
	}
	switch state {
	case claimOurs:
		return got, false
	case claimKept:
		return nil, true
	case claimHeld:
		begin := time.Now()
		over, err := s.await(ctx, c, key)
		s.count(func(n *cache.Counts) { n.Waits++; n.Waited += time.Since(begin).Seconds() })
		if err != nil {
			s.failed(ctx, c, err, "waiting for a kernel that another machine compiles")
			return nil, false
		}
		if !over {
			s.log("another machine has been compiling %s for %v; it is compiled here, too", name(key), s.opts.Patience)
			return nil, false
		}
		return nil, true
	}
	return nil, false
}

// claimState is what became of a try to claim.
type claimState int

const (
	claimNone claimState = iota // nobody has it, and we may not
	claimOurs                   // we have it
	claimHeld                   // another has it
	claimKept                   // another had it, and what it was about is there
	claimGone                   // another had it until now: try again
)

// tryClaim claims a key, or says how things stand.
func (s *Store) tryClaim(ctx context.Context, c *connection, key cache.Key) (cache.Claim, claimState, error) {
	bounded, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	s.mu.Lock()
	writes := s.opts.Sign != nil && time.Now().After(s.noWrites)
	s.mu.Unlock()
	value := []byte(held + nuid.Next())
	if writes {
		revision, err := c.claims.Create(bounded, name(key), value)
		if err == nil {
			return s.newClaim(c, key, value, revision), claimOurs, nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return nil, claimNone, err
		}
	}
	e, err := c.claims.Get(bounded, name(key))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound) && writes:
		return nil, claimGone, nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, claimNone, nil
	case err != nil:
		return nil, claimNone, err
	}
	revision, done := strings.CutPrefix(string(e.Value()), kept)
	if !done {
		return nil, claimHeld, nil
	}
	// It was kept a moment ago, and is of no use to the caller; or this server did not
	// know of it when the caller looked.
	if err := s.awaitIndex(bounded, c, key, revision); err != nil {
		return nil, claimNone, err
	}
	if !writes {
		return nil, claimKept, nil
	}
	now, err := c.claims.Update(bounded, name(key), value, e.Revision())
	switch {
	case isConflict(err):
		return nil, claimHeld, nil
	case err != nil:
		return nil, claimNone, err
	}
	return s.newClaim(c, key, value, now), claimOurs, nil
}

func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// awaitIndex waits until the server that answers has a revision of a key's index.
func (s *Store) awaitIndex(ctx context.Context, c *connection, key cache.Key, revision string) error {
	want, ok := parseRevision(revision)
	if !ok {
		return nil // nobody wrote it who is to be waited for
	}
	for {
		e, err := c.index.Get(ctx, name(key))
		if err == nil && e.Revision() >= want {
			return nil
		}
		if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // it may have gone by age
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func parseRevision(text string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// await waits until nobody holds a claim on a key; false after Patience.
func (s *Store) await(ctx context.Context, c *connection, key cache.Key) (over bool, err error) {
	ends := make(chan *nats.Msg, 1)
	sub, err := c.bus.Conn().ChanSubscribe(claimSubject(key), ends)
	if err != nil {
		return false, err
	}
	defer sub.Unsubscribe()
	patience := time.NewTimer(s.opts.Patience)
	defer patience.Stop()
	for {
		bounded, cancel := context.WithTimeout(ctx, s.opts.Wait)
		e, err := c.claims.Get(bounded, name(key)) // by which the server knows of the subscription
		if err == nil && strings.HasPrefix(string(e.Value()), kept) {
			err = s.awaitIndex(bounded, c, key, strings.TrimPrefix(string(e.Value()), kept))
			cancel()
			return true, err
		}
		cancel()
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-patience.C:
			return false, nil
		case m := <-ends:
			bounded, cancel := context.WithTimeout(ctx, s.opts.Wait)
			err := s.awaitIndex(bounded, c, key, string(m.Data))
			cancel()
			return true, err
		case <-time.After(pollEvery):
		}
	}
}

// claim is one that this process holds.
type claim struct {
	s   *Store
	c   *connection
	key cache.Key

	mu       sync.Mutex
	value    []byte
	revision uint64
	lost     bool
	stop     chan struct{}
	ended    sync.Once
}

// newClaim renews a claim until it ends.
func (s *Store) newClaim(c *connection, key cache.Key, value []byte, revision uint64) *claim {
	cl := &claim{s: s, c: c, key: key, value: value, revision: revision, stop: make(chan struct{})}
	s.count(func(*cache.Counts) { s.claimed[key] = true })
	go cl.renew()
	return cl
}

func (cl *claim) renew() {
	t := time.NewTicker(cl.s.opts.Lease / 3)
	defer t.Stop()
	for {
		select {
		case <-cl.stop:
			return
		case <-t.C:
			if !cl.update(cl.value) {
				return
			}
		}
	}
}

// update writes a claim anew; false where somebody else has it now.
func (cl *claim) update(value []byte) bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.lost {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), cl.s.opts.Lease/3)
	defer cancel()
	revision, err := cl.c.claims.Update(ctx, name(cl.key), value, cl.revision)
	switch {
	case err == nil:
		cl.revision = revision
	case isConflict(err):
		cl.lost = true
		cl.s.log("the claim on %s has expired", name(cl.key))
	default:
		cl.s.log("the claim on %s cannot be renewed: %v", name(cl.key), err)
	}
	return !cl.lost
}

// end ends a claim; told goes to those who wait.
func (cl *claim) end(told string) {
	cl.ended.Do(func() {
		close(cl.stop)
		cl.s.count(func(*cache.Counts) { delete(cl.s.claimed, cl.key) })
		if told != "" {
			cl.update([]byte(kept + told))
		} else {
			cl.mu.Lock()
			ctx, cancel := context.WithTimeout(context.Background(), cl.s.opts.Lease/3)
			if err := cl.c.claims.Delete(ctx, name(cl.key), jetstream.LastRevision(cl.revision)); err != nil && !cl.lost {
				cl.s.log("the claim on %s cannot be ended: %v", name(cl.key), err)
			}
			cancel()
			cl.mu.Unlock()
		}
		if err := cl.c.bus.Conn().Publish(claimSubject(cl.key), []byte(told)); err != nil {
			cl.s.log("%v", err)
		}
	})
}

// Drop implements cache.Claim.
func (cl *claim) Drop() {
	cl.s.pending.Go(func() { cl.end("") })
}

// Keep implements cache.Claim.
func (cl *claim) Keep(index []byte, entry cache.Key, data []byte) {
	cl.s.pending.Go(func() {
		revision, err := cl.s.keep(cl.c, cl.key, index, entry, data)
		if err != nil {
			cl.end("") // first, for others wait for it
			cl.s.failedToKeep(cl.c, err)
			return
		}
		cl.end(fmt.Sprint(revision))
	})
}
