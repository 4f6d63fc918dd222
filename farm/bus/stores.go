package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Version is that of the names on the server and of the rules by which they are used.
const Version = 1

const (
	namePrefix = "tritonc_v"
	// markVersion and markForm are keys of a stream's or bucket's metadata.
	markVersion = "tritonc.version"
	markForm    = "tritonc.form"
)

// Spec is a stream or bucket to have.
type Spec struct {
	Name string // in lower case letters and digits
	// Form says how what lies there is written. One of another form is not used.
	Form     string
	MaxBytes int64         // 0: no limit but the server's
	MaxAge   time.Duration // after which what lies there goes; 0: never
	// MarkerTTL, for a bucket of keys, has watchers told of a key that went by age: the
	// mark of that stays for so long. At least a second.
	MarkerTTL time.Duration
	// Memory keeps it in the server's memory: for what is worth nothing after a restart.
	Memory bool
	// Clean is the command that removes it, for messages about one of another form.
	Clean string
}

// Full is the name on the server.
func (s *Spec) Full() string { return nameOf(Version, s.Name) }

func nameOf(version int, name string) string {
	return namePrefix + strconv.Itoa(version) + "_" + name
}

// Subject is the subject of our own that parts make.
func Subject(parts ...string) string {
	return "tritonc.v" + strconv.Itoa(Version) + "." + strings.Join(parts, ".")
}

func (s *Spec) marks() map[string]string {
	return map[string]string{markVersion: strconv.Itoa(Version), markForm: s.Form}
}

func (s *Spec) storage() jetstream.StorageType {
	if s.Memory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// check refuses what has the name and is not ours, or is of another form.
func (b *Bus) check(s *Spec, marks map[string]string) error {
	version, ok := marks[markVersion]
	switch {
	case !ok:
		return b.opts.errorf(Foreign, nil, "%s on the NATS server %s was not made by tritonc", s.Full(), b.opts.Servers()).
			withHelp("rename or remove it there, or use another account")
	case version != strconv.Itoa(Version) || marks[markForm] != s.Form:
		return b.opts.errorf(Foreign, nil, "%s on the NATS server %s is of another version: its form is %q, and this tritonc knows %q", s.Full(), b.opts.Servers(), marks[markForm], s.Form).
			withHelp("use one version of tritonc with this server, or remove what the other made (" + s.Clean + ")")
	}
	return nil
}

// newer returns the Error for a server that has the stream or bucket in a newer version
// only: whoever runs the server has gone on, and a second one would take its room.
func (b *Bus) newer(ctx context.Context, prefix string, s *Spec) error {
	list := b.js.StreamNames(ctx)
	for name := range list.Name() {
		rest, ok := strings.CutPrefix(name, prefix+namePrefix)
		if !ok {
			continue
		}
		number, name, ok := strings.Cut(rest, "_")
		if n, err := strconv.Atoi(number); ok && err == nil && name == s.Name && n > Version {
			return b.opts.errorf(Foreign, nil, "the NATS server %s has %s, which is newer than this tritonc: it knows version %d", b.opts.Servers(), nameOf(n, s.Name), Version).
				withHelp("update tritonc, or name another server")
		}
	}
	return b.Explain(list.Err(), "listing streams")
}

// have returns what get finds, or make makes; prefix is what JetStream puts before the
// names of streams of this kind.
func have[T any](ctx context.Context, b *Bus, s *Spec, prefix string, get func() (T, map[string]string, error), create func() error) (T, error) {
	var none T
	doing := fmt.Sprintf("opening %s", s.Full())
	found, marks, err := get()
	if isAbsent(err) {
		if err := b.newer(ctx, prefix, s); err != nil {
			return none, err
		}
		if err := create(); err != nil && !exists(err) {
			return none, b.Explain(err, "making "+s.Full())
		}
		found, marks, err = get() // somebody else may have made it meanwhile
	}
	if err != nil {
		return none, b.Explain(err, doing)
	}
	if err := b.check(s, marks); err != nil {
		return none, err
	}
	return found, nil
}

func isAbsent(err error) bool {
	return errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}

func exists(err error) bool {
	return errors.Is(err, jetstream.ErrBucketExists) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse)
}

// KeyValue returns a bucket of keys, which is made if it is not there. Limits and
// replicas are those that it was made with.
func (b *Bus) KeyValue(ctx context.Context, s Spec) (jetstream.KeyValue, error) {
	return have(ctx, b, &s, "KV_", func() (jetstream.KeyValue, map[string]string, error) {
		kv, err := b.js.KeyValue(ctx, s.Full())
		if err != nil {
			return nil, nil, err
		}
		status, err := kv.Status(ctx)
		if err != nil {
			return nil, nil, err
		}
		return kv, status.Metadata(), nil
	}, func() error {
		_, err := b.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: s.Full(), TTL: s.MaxAge, MaxBytes: s.MaxBytes, LimitMarkerTTL: s.MarkerTTL,
			Storage: s.storage(), Replicas: max(b.opts.Replicas, 1), Metadata: s.marks(),
		})
		return err
	})
}

// Objects returns a bucket of objects, which is made if it is not there.
func (b *Bus) Objects(ctx context.Context, s Spec) (jetstream.ObjectStore, error) {
	return have(ctx, b, &s, "OBJ_", func() (jetstream.ObjectStore, map[string]string, error) {
		store, err := b.js.ObjectStore(ctx, s.Full())
		if err != nil {
			return nil, nil, err
		}
		status, err := store.Status(ctx)
		if err != nil {
			return nil, nil, err
		}
		return store, status.Metadata(), nil
	}, func() error {
		_, err := b.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: s.Full(), TTL: s.MaxAge, MaxBytes: s.MaxBytes,
			Storage: s.storage(), Replicas: max(b.opts.Replicas, 1), Metadata: s.marks(),
		})
		return err
	})
}

// Stream returns a stream, which is made if it is not there: of config, whose name,
// limits, storage, replicas and metadata are s's. Subjects are best those of Subject.
func (b *Bus) Stream(ctx context.Context, s Spec, config jetstream.StreamConfig) (jetstream.Stream, error) {
	config.Name, config.MaxBytes, config.MaxAge = s.Full(), s.MaxBytes, s.MaxAge
	config.Storage, config.Replicas, config.Metadata = s.storage(), max(b.opts.Replicas, 1), s.marks()
	if config.MaxBytes == 0 {
		config.MaxBytes = -1
	}
	return have(ctx, b, &s, "", func() (jetstream.Stream, map[string]string, error) {
		stream, err := b.js.Stream(ctx, s.Full())
		if err != nil {
			return nil, nil, err
		}
		return stream, stream.CachedInfo().Config.Metadata, nil
	}, func() error {
		_, err := b.js.CreateStream(ctx, config)
		return err
	})
}

// Remove removes a stream or bucket with all that it holds, of whatever form; one that is
// not there is no error. prefix is what JetStream puts before the names of its kind: KV_,
// OBJ_, or nothing. What has the name and was not made by tritonc stays, with an Error.
func (b *Bus) Remove(ctx context.Context, prefix string, s Spec) error {
	stream, err := b.js.Stream(ctx, prefix+s.Full())
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return b.Explain(err, "removing "+s.Full())
	}
	marks := stream.CachedInfo().Config.Metadata
	s.Form = marks[markForm]
	if err := b.check(&s, marks); err != nil {
		return err
	}
	return b.Explain(b.js.DeleteStream(ctx, prefix+s.Full()), "removing "+s.Full())
}
