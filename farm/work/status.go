package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// Status is what a farm does.
type Status struct {
	Queues  []QueueStatus `json:"queues"`
	Workers []State       `json:"workers"`
	Tasks   uint64        `json:"tasks"`   // in the queue or under way
	Results uint64        `json:"results"` // that are kept
	Bytes   uint64        `json:"bytes"`   // of these
}

// QueueStatus is one class.
type QueueStatus struct {
	Class     string `json:"class"`
	Target    string `json:"target"`
	Waiting   uint64 `json:"waiting"`   // tasks that no worker holds
	Held      int    `json:"held"`      // tasks that a worker holds
	Redone    int    `json:"redone"`    // of these, more than once
	Workers   int    `json:"workers"`   // that take part
	Described *Class `json:"described"` // what the class is
}

// Status asks the server what the farm does.
func (q *Queue) Status(ctx context.Context) (*Status, error) {
	s := &Status{Queues: []QueueStatus{}, Workers: []State{}}
	for _, b := range []struct {
		kv  jetstream.KeyValue
		add func(key string, value []byte)
	}{
		{q.workers, func(_ string, value []byte) {
			var w State
			if json.Unmarshal(value, &w) == nil {
				s.Workers = append(s.Workers, w)
			}
		}},
		{q.classes, func(key string, value []byte) {
			c := &Class{}
			if json.Unmarshal(value, c) == nil {
				s.Queues = append(s.Queues, QueueStatus{Class: key, Target: c.Target, Described: c})
			}
		}},
	} {
		if err := each(ctx, b.kv, b.add); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(s.Workers, func(a, b State) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Queues, func(a, b QueueStatus) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Class, b.Class))
	})
	for i := range s.Queues {
		u := &s.Queues[i]
		for _, w := range s.Workers {
			if slices.Contains(w.Classes, u.Class) {
				u.Workers++
			}
		}
		consumer, err := q.tasks.Consumer(ctx, u.Class)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		info := consumer.CachedInfo()
		u.Waiting, u.Held, u.Redone = info.NumPending, info.NumAckPending, info.NumRedelivered
	}
	tasks, err := q.tasks.Info(ctx)
	if err != nil {
		return nil, err
	}
	results, err := q.results.Info(ctx)
	if err != nil {
		return nil, err
	}
	s.Tasks, s.Results, s.Bytes = tasks.State.Msgs, results.State.Msgs, results.State.Bytes
	return s, nil
}

// each calls do for each entry of a bucket.
func each(ctx context.Context, kv jetstream.KeyValue, do func(key string, value []byte)) error {
	watch, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-watch.Updates():
			if !ok || entry == nil {
				return nil
			}
			do(entry.Key(), entry.Value())
		}
	}
}
