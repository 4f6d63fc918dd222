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
	"github.com/tritonc/tritonc/farm/sign"
)

const (
	bucket = "times"
	// form is that of keys and values. It changes with them.
	form = "times 2"
	// kindTimes is what is signed.
	kindTimes = "times"
	// maxText bounds the text of an entry: a space has 65,536 configurations at most.
	maxText = 64 << 20
)

// Config says how much is kept, and how long. Zero fields have defaults.
type Config struct {
	MaxBytes int64         // 256 MiB
	MaxAge   time.Duration // a year
	// Sign signs what is kept; nil: it is not signed.
	Sign *sign.Key
	// Trusted are those whose times are taken; none: those of anybody.
	Trusted sign.Trusted
}

// Store is the bucket. Its methods may be called by several goroutines.
type Store struct {
	bus *bus.Bus
	kv  jetstream.KeyValue
	cfg Config
}

func (cfg *Config) spec() bus.Spec {
	return bus.Spec{
		Name: bucket, Form: form, MaxBytes: cmp.Or(cfg.MaxBytes, 256<<20), MaxAge: cmp.Or(cfg.MaxAge, 365*24*time.Hour),
		Clean: "tritonc farm clean --times",
	}
}

// Remove removes the bucket, of whatever form. The error is a *bus.Error.
func Remove(ctx context.Context, b *bus.Bus) error { return b.Remove(ctx, "KV_", (&Config{}).spec()) }

// Open opens the bucket of a server, and makes it if it is not there. The error is a
// *bus.Error, as those of the methods are, unless ctx ends.
func Open(ctx context.Context, b *bus.Bus, cfg Config) (*Store, error) {
	kv, err := b.KeyValue(ctx, cfg.spec())
	if err != nil {
		return nil, err
	}
	return &Store{b, kv, cfg}, nil
}

// keyOf is the key of an entry in the bucket, but for the signer.
func keyOf(e *tune.Entry) string {
	return kernelKey(e.Kernel) + "." + hash(e.Source) + "." + hash(e.Key.String(), e.Device, e.Target, e.Measure, e.Tritonc, e.Backend)
}

// nobody is the signer of what is not signed.
const nobody = "unsigned"

// signer is the part of the keys of what this Store writes that says who signed it.
func (s *Store) signer() string {
	if s.cfg.Sign == nil {
		return nobody
	}
	return hash(s.cfg.Sign.Public())
}

// seal makes the value of a key.
func (s *Store) seal(key string, f *tune.File) ([]byte, error) {
	data, err := encode(f)
	if err != nil || s.cfg.Sign == nil {
		return data, err
	}
	return s.cfg.Sign.Seal(kindTimes, sha256.Sum256([]byte(key)), data), nil
}

// refusedError is the error of a value that is not signed as it should be.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// unseal reads the value of a key. The error is a *refusedError where nobody has signed it
// who is trusted.
func (s *Store) unseal(trusted sign.Trusted, key string, value []byte) (*tune.File, error) {
	var data []byte
	var err error
	if at := sha256.Sum256([]byte(key)); len(trusted) > 0 {
		data, _, err = trusted.Open(kindTimes, at, value)
	} else {
		data, err = sign.OpenAnyones(kindTimes, at, value)
	}
	if err != nil {
		return nil, &refusedError{err}
	}
	f, err := decode(data)
	if err == nil && (len(f.Entries) != 1 || !strings.HasPrefix(key, keyOf(f.Entries[0])+".")) {
		err = errors.New("they are of something else")
	}
	return f, err
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

// Add merges an entry into the bucket, and returns what is there now of this signer.
func (s *Store) Add(ctx context.Context, e *tune.Entry) (*tune.Entry, error) {
	key := keyOf(e) + "." + s.signer()
	var own sign.Trusted
	if s.cfg.Sign != nil {
		var err error
		if own, err = sign.ParseTrusted("own", s.cfg.Sign.Public()); err != nil {
			return nil, err
		}
	}
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		merged, err := s.try(ctx, own, key, e)
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
func (s *Store) try(ctx context.Context, own sign.Trusted, key string, e *tune.Entry) (*tune.Entry, error) {
	all, revision := &tune.File{}, uint64(0)
	old, err := s.kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
	case err != nil:
		return nil, err
	default:
		revision = old.Revision()
		all, err = s.unseal(own, key, old.Value())
		switch {
		case err != nil && own != nil: // somebody else wrote it under our name: ours takes its place
			all = &tune.File{}
		case err != nil:
			return nil, s.unreadable(key, err)
		}
	}
	all.Add(e)
	text, err := s.seal(key, all)
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
// two times of one configuration by two versions of tritonc, or two signers, the newer
// one's counts. Refused says why entries are not among them that nobody has signed who is
// trusted, each reason once.
func (s *Store) Kernel(ctx context.Context, name string) (found *tune.File, refused []error, err error) {
	found, refused, err = s.kernel(ctx, name)
	return found, refused, s.bus.Explain(err, "reading times")
}

func (s *Store) kernel(ctx context.Context, name string) (all *tune.File, refused []error, err error) {
	watch, err := s.kv.Watch(ctx, kernelKey(name)+".>", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = watch.Stop() }()
	var found []jetstream.KeyValueEntry
	for {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case entry, ok := <-watch.Updates():
			if !ok {
				return nil, nil, io.EOF
			}
			if entry != nil {
				found = append(found, entry)
				continue
			}
		}
		break // nil marks the end of what there is
	}
	slices.SortFunc(found, func(a, b jetstream.KeyValueEntry) int { return cmp.Compare(a.Revision(), b.Revision()) })
	all = &tune.File{}
	for _, entry := range found {
		one, err := s.unseal(s.cfg.Trusted, entry.Key(), entry.Value())
		var no *refusedError
		switch {
		case errors.As(err, &no):
			if !slices.ContainsFunc(refused, func(known error) bool { return known.Error() == no.Error() }) {
				refused = append(refused, no.err)
			}
		case err != nil:
			return nil, nil, s.unreadable(entry.Key(), err)
		default:
			all.Add(one.Entries...)
		}
	}
	return all, refused, nil
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
