package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/farm/bus"
)

// Names of streams, buckets and subjects, which the bus completes.
const (
	tasksName   = "tasks"
	resultsName = "results"
	classesName = "classes"
	workersName = "workers"
	triesName   = "tries"
	objectsName = "objects"
	taskPart    = "task"
	resultPart  = "result"
)

// form is that of all messages. It changes with what is in them.
const form = "farm 1"

// Config says how a Queue works. Zero fields have defaults.
type Config struct {
	// MaxBytes bounds the tasks that wait, and the results that are kept, each.
	MaxBytes int64
	// MaxAge is how long tasks wait and results are kept.
	MaxAge time.Duration
	// AckWait is how long a worker may be silent about a task that it holds.
	AckWait time.Duration
	// Tries is how often a task is tried.
	Tries int
	// Inline is the size of a result up to which it is sent in a message.
	Inline int
	// Beat is how often a worker tells what it does.
	Beat time.Duration
}

func (c *Config) setDefaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.MaxAge, 24*time.Hour)
	set(&c.AckWait, 30*time.Second)
	set(&c.Beat, 5*time.Second)
	if c.MaxBytes == 0 {
		c.MaxBytes = 1 << 30
	}
	if c.Tries == 0 {
		c.Tries = 3
	}
	if c.Inline == 0 {
		c.Inline = 512 << 10
	}
}

// Queue is the streams and buckets of a farm.
type Queue struct {
	cfg     Config
	bus     *bus.Bus
	js      jetstream.JetStream
	tasks   jetstream.Stream
	results jetstream.Stream
	classes jetstream.KeyValue
	workers jetstream.KeyValue
	tries   jetstream.KeyValue
	objects jetstream.ObjectStore
}

// spec is that of the streams and the bucket that hold tasks and results.
func (q *Queue) spec(name string) bus.Spec {
	return bus.Spec{Name: name, Form: form, MaxBytes: q.cfg.MaxBytes, MaxAge: q.cfg.MaxAge, Clean: clean}
}

// clean is the command that removes all of it.
const clean = "tritonc farm clean"

// Remove removes the streams and buckets of a queue, of whatever form. The error is a
// *bus.Error.
func Remove(ctx context.Context, b *bus.Bus) error {
	for _, it := range []struct{ prefix, name string }{
		{"", tasksName}, {"", resultsName}, {"KV_", classesName}, {"KV_", workersName}, {"KV_", triesName}, {"OBJ_", objectsName},
	} {
		if err := b.Remove(ctx, it.prefix, bus.Spec{Name: it.name, Form: form, Clean: clean}); err != nil {
			return err
		}
	}
	return nil
}

// Open opens the queue of a server, and makes what is missing of it. The error is a
// *bus.Error.
func Open(ctx context.Context, b *bus.Bus, cfg Config) (*Queue, error) {
	cfg.setDefaults()
	q := &Queue{cfg: cfg, bus: b, js: b.JetStream()}
	var err error
	q.tasks, err = b.Stream(ctx, q.spec(tasksName), jetstream.StreamConfig{
		Subjects: []string{bus.Subject(taskPart, ">")}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	})
	if err != nil {
		return nil, err
	}
	q.results, err = b.Stream(ctx, q.spec(resultsName), jetstream.StreamConfig{
		Subjects: []string{bus.Subject(resultPart, ">")}, MaxMsgsPerSubject: 1, AllowDirect: true,
	})
	if err != nil {
		return nil, err
	}
	small := func(name string) bus.Spec {
		return bus.Spec{Name: name, Form: form, MaxBytes: 16 << 20, MaxAge: cfg.MaxAge, Clean: clean}
	}
	workers := small(workersName)
	workers.MaxAge, workers.Memory = 3*cfg.Beat, true
	for _, of := range []struct {
		kv   *jetstream.KeyValue
		spec bus.Spec
	}{
		{&q.classes, small(classesName)}, {&q.workers, workers}, {&q.tries, small(triesName)},
	} {
		if *of.kv, err = b.KeyValue(ctx, of.spec); err != nil {
			return nil, err
		}
	}
	q.objects, err = b.Objects(ctx, q.spec(objectsName))
	return q, err
}

// consumer is that of a class, which its workers share.
func (q *Queue) consumer(ctx context.Context, class string) (jetstream.Consumer, error) {
	c, err := q.tasks.Consumer(ctx, class)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = q.tasks.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: class, FilterSubject: bus.Subject(taskPart, class, ">"), AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: q.cfg.AckWait, MaxDeliver: -1, MaxAckPending: 1 << 16, MaxWaiting: 1 << 13,
			InactiveThreshold: q.cfg.MaxAge,
		})
		if errors.Is(err, jetstream.ErrConsumerExists) {
			c, err = q.tasks.Consumer(ctx, class)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the consumer %s: %w", class, err)
	}
	return c, nil
}

// describe puts a class into its bucket: anew, so that it stays, or if it is not there.
func (q *Queue) describe(ctx context.Context, c *Class, anew bool) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if anew {
		_, err = q.classes.Put(ctx, c.ID(), text)
		return err
	}
	if _, err = q.classes.Create(ctx, c.ID(), text); errors.Is(err, jetstream.ErrKeyExists) {
		return nil
	}
	return err
}

// Announce tells workers and clients of a class, which has a queue from then on.
func (q *Queue) Announce(ctx context.Context, c *Class) error {
	err := q.describe(ctx, c, true)
	if err == nil {
		_, err = q.consumer(ctx, c.ID())
	}
	return q.bus.Explain(err, "telling of a class of tasks")
}

// headRoom is what a message has beside its body, at most.
const headRoom = 4 << 10

// room is how large the body of a message may be.
func (q *Queue) room() int { return int(q.bus.Conn().MaxPayload()) - headRoom }

// names splits the subject of a task or a result.
func names(subject string) (class, key string) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 2 {
		return "", ""
	}
	return tokens[len(tokens)-2], tokens[len(tokens)-1]
}

// errNoResult is the error of find where there is none.
var errNoResult = errors.New("there is no result")

// find reads the result of a key, whose signature the caller checks.
func (q *Queue) find(ctx context.Context, class, key string) (*Result, string, error) {
	msg, err := q.results.GetLastMsgForSubject(ctx, bus.Subject(resultPart, class, key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, "", errNoResult
	}
	if err != nil {
		return nil, "", err
	}
	r := resultOf(msg.Header)
	r.Body, r.seq = msg.Data, msg.Sequence
	if msg.Header.Get(headerObject) != "" {
		r.Body, err = q.bus.Object(ctx, q.objects, r.digest)
		if errors.Is(err, jetstream.ErrObjectNotFound) { // it is older, and gone
			return nil, "", errors.Join(errNoResult, q.results.DeleteMsg(ctx, r.seq))
		}
		if err != nil {
			return nil, "", err
		}
	}
	return r, msg.Header.Get(headerSignature), nil
}

// errStored is that of a result which another worker has stored.
var errStored = errors.New("there is a result already")

// store keeps a result where the last under its key has the sequence after: 0 for none.
func (q *Queue) store(ctx context.Context, class, key string, r *Result, s Signer, after uint64) error {
	msg := nats.NewMsg(bus.Subject(resultPart, class, key))
	msg.Header, msg.Data = r.header(class, key, s), r.Body
	if len(r.Body) > min(q.cfg.Inline, q.room()) {
		if err := q.storeObject(ctx, r); err != nil {
			return err
		}
		msg.Header.Set(headerObject, "1")
		msg.Data = nil
	}
	_, err := q.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(after))
	if isWrongSequence(err) {
		return errStored
	}
	return err
}

// unfitError is that of a result which is larger than the bucket of results.
type unfitError struct{ size, limit int64 }

func (e *unfitError) Error() string {
	return fmt.Sprintf("its result has %d bytes, and the farm keeps results of %d bytes at most", e.size, e.limit)
}

// storeObject keeps the body of a result that is too large for a message. The oldest ones
// make room for it: a client that still waits for one of these asks for its task again.
func (q *Queue) storeObject(ctx context.Context, r *Result) error {
	spec := q.spec(objectsName)
	_, err := q.bus.PutWithRoom(ctx, spec, len(r.Body), func() error {
		_, err := q.objects.PutBytes(ctx, r.digest, r.Body)
		return err
	})
	if err == nil || bus.KindOf(q.bus.Explain(err, "storing a result")) != bus.Full {
		return err
	}
	stream, err2 := q.js.Stream(ctx, "OBJ_"+spec.Full())
	if err2 != nil {
		return errors.Join(err, err2)
	}
	limit := stream.CachedInfo().Config.MaxBytes
	if size := int64(len(r.Body)); limit > 0 && size > limit-limit/16 { // what goes with the bytes counts
		return &unfitError{size, limit - limit/16}
	}
	return err
}

func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// errFull is that of a queue without room.
var errFull = errors.New("the queue is full")

// storeFailed is the server's code of a message that a stream's limits refuse.
const storeFailed jetstream.ErrorCode = 10077

// publish queues a task, unless it is queued or under way.
func (q *Queue) publish(ctx context.Context, t *Task, key, not string) error {
	msg := nats.NewMsg(bus.Subject(taskPart, t.Class, key))
	msg.Data = t.Body
	if not != "" {
		msg.Header.Set(headerNot, not)
	}
	if t.Parent != "" {
		msg.Header.Set(headerParent, t.Parent)
	}
	_, err := q.js.PublishMsg(ctx, msg)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == storeFailed {
		if strings.Contains(api.Description, "per subject") {
			return nil // it is there
		}
		return fmt.Errorf("%w: %s", errFull, api.Description)
	}
	return err
}

// withdraw takes a task that waits out of the queue.
func (q *Queue) withdraw(ctx context.Context, class, key string) error {
	return q.tasks.Purge(ctx, jetstream.WithPurgeSubject(bus.Subject(taskPart, class, key)))
}
