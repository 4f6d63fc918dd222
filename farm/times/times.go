package times

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/bus"
)

const (
	bucket = "times"
	// form is that of keys and values. It changes with them.
	form = "times 1"
	// maxText bounds the text of an entry: a space has 65,536 configurations at most.
	maxText = 64 << 20
)

// Config says how much is kept, and how long. Zero fields have defaults.
type Config struct {
	MaxBytes int64         // 256 MiB
	MaxAge   time.Duration // a year
}

// Store is the bucket. Its methods may be called by several goroutines.
type Store struct {
	bus *bus.Bus
	kv  jetstream.KeyValue
}

// Open opens the bucket of a server, and makes it if it is not there. The error is a
// *bus.Error, as those of the methods are, unless ctx ends.
func Open(ctx context.Context, b *bus.Bus, cfg Config) (*Store, error) {
	kv, err := b.KeyValue(ctx, bus.Spec{
		Name: bucket, Form: form, MaxBytes: cmp.Or(cfg.MaxBytes, 256<<20), MaxAge: cmp.Or(cfg.MaxAge, 365*24*time.Hour),
	})
	if err != nil {
		return nil, err
	}
	return &Store{b, kv}, nil
}

// keyOf is the key of an entry in the bucket.
func keyOf(e *tune.Entry) string {
	return kernelKey(e.Kernel) + "." + hash(e.Source) + "." + hash(e.Key.String(), e.Device, e.Target, e.Measure, e.Tritonc, e.Backend)
}

func kernelKey(name string) string { return hash(name) }

// hash is one of texts, none of which has a zero byte.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// Waits between tries of a writer that others came before.
const (
	leastWait = time.Millisecond
	mostWait  = 100 * time.Millisecond
)

// Add merges an entry into the bucket, and returns what is there now.
func (s *Store) Add(ctx context.Context, e *tune.Entry) (*tune.Entry, error) {
	key := keyOf(e)
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		merged, err := s.try(ctx, key, e)
		if !errors.Is(err, jetstream.ErrKeyExists) && !isWrongSequence(err) {
			return merged, s.bus.Explain(err, "keeping times")
		}
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, s.bus.Explain(ctx.Err(), "keeping times")
		}
	}
}

func isWrongSequence(err error) bool {
	var api jetstream.JetStreamError
	if !errors.As(err, &api) || api.APIError() == nil {
		return false
	}
	code := api.APIError().ErrorCode
	return code == jetstream.JSErrCodeStreamWrongLastSequence || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// try merges an entry once. The error is jetstream's of a revision that is not the last
// if somebody else has written meanwhile.
func (s *Store) try(ctx context.Context, key string, e *tune.Entry) (*tune.Entry, error) {
	all, revision := &tune.File{}, uint64(0)
	old, err := s.kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
	case err != nil:
		return nil, err
	default:
		if all, err = decode(old.Value()); err != nil {
			return nil, s.unreadable(key, err)
		}
		revision = old.Revision()
	}
	all.Add(e)
	text, err := encode(all)
	if err != nil {
		return nil, err
	}
	if most := s.bus.Conn().MaxPayload(); int64(len(text)) > most-(4<<10) {
		return nil, diag.Errorf(diag.Pos{}, "the times of %s of '%s' are too many for one message of the NATS server: %d bytes, and it takes %d",
			diag.Count(len(all.Entries[0].Configs), "configuration"), e.Kernel, len(text), most).
			WithHelp("raise max_payload there, or keep them in a file (--write)")
	}
	if revision == 0 {
		_, err = s.kv.Create(ctx, key, text)
	} else {
		_, err = s.kv.Update(ctx, key, text, revision)
	}
	return all.Entries[0], err
}

func (s *Store) unreadable(key string, err error) error {
	return diag.Errorf(diag.Pos{}, "the times under %s in the bucket of the NATS server %s cannot be read: %v", key, s.bus.Options().Servers(), err).
		WithHelp("another program has written there: remove the key, or have the server's permissions name who may write")
}

// Kernel returns the times of a kernel, by all versions of its file, the newest last: of
// two times of one configuration by two versions of tritonc the newer one's counts.
func (s *Store) Kernel(ctx context.Context, name string) (*tune.File, error) {
	const doing = "reading times"
	watch, err := s.kv.Watch(ctx, kernelKey(name)+".>", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, s.bus.Explain(err, doing)
	}
	defer func() { _ = watch.Stop() }()
	var found []jetstream.KeyValueEntry
	for {
		select {
		case <-ctx.Done():
			return nil, s.bus.Explain(ctx.Err(), doing)
		case entry, ok := <-watch.Updates():
			if !ok {
				return nil, s.bus.Explain(io.EOF, doing)
			}
			if entry != nil {
				found = append(found, entry)
				continue
			}
		}
		break // nil marks the end of what there is
	}
	slices.SortFunc(found, func(a, b jetstream.KeyValueEntry) int { return cmp.Compare(a.Revision(), b.Revision()) })
	all := &tune.File{}
	for _, entry := range found {
		one, err := decode(entry.Value())
		if err == nil && (len(one.Entries) != 1 || keyOf(one.Entries[0]) != entry.Key()) {
			err = errors.New("they are of something else")
		}
		if err != nil {
			return nil, s.unreadable(entry.Key(), err)
		}
		all.Add(one.Entries...)
	}
	return all, nil
}

// encode makes the value of a file with one entry.
func encode(f *tune.File) ([]byte, error) {
	text, err := f.Text()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func decode(value []byte) (*tune.File, error) {
	r, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("they are more than %d MiB", maxText>>20)
	}
	return tune.Read("it", text)
}
