package serve

import (
	"context"
	"slices"
	"sync"
)

// Queue lets so many work at a time. Those who wait have a Lane each, and Lanes go
// round: one that asks for a thousand places does not hold up one that asks for one.
type Queue struct {
	mu      sync.Mutex
	limit   int
	free    int     // places; none while somebody waits
	waiting []*Lane // which goes next first
}

// NewQueue makes a Queue of limit places.
func NewQueue(limit int) *Queue { return &Queue{limit: limit, free: limit} }

// Lane is one command's part of a Queue.
type Lane struct {
	queue   *Queue
	waiting []chan struct{} // closed when there is a place
}

// Lane makes a Lane of the queue.
func (q *Queue) Lane() *Lane { return &Lane{queue: q} }

// Acquire waits for a place, which Release gives back. The error is ctx's.
func (l *Lane) Acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := l.queue
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return nil
	}
	place := make(chan struct{})
	if l.waiting = append(l.waiting, place); len(l.waiting) == 1 {
		q.waiting = append(q.waiting, l)
	}
	q.mu.Unlock()
	select {
	case <-place:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(l.waiting, place)
	if i < 0 { // it came at the same time
		q.release()
		return ctx.Err()
	}
	if l.waiting = slices.Delete(l.waiting, i, i+1); len(l.waiting) == 0 {
		q.waiting = slices.DeleteFunc(q.waiting, func(other *Lane) bool { return other == l })
	}
	return ctx.Err()
}

// Release gives a place back.
func (l *Lane) Release() {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	l.queue.release()
}

func (q *Queue) release() {
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	l := q.waiting[0]
	q.waiting = q.waiting[1:]
	close(l.waiting[0])
	if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
		q.waiting = append(q.waiting, l)
	}
}

// Load is how many places are taken, and how many are waited for.
func (q *Queue) Load() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.waiting {
		waiting += len(l.waiting)
	}
	return q.limit - q.free, waiting
}
