package measure

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/farm/bus"
)

// content is the bytes of a binary or a buffer: those of Bytes or, where there are none,
// Repeat over and over, or the object named Digest. With none of them they are undefined.
type content struct {
	Size   int    `json:"size"`
	Bytes  []byte `json:"bytes,omitempty"`
	Repeat []byte `json:"repeat,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Sizes of what is sent in a task. More of it lies in the bucket.
const (
	inline     = 16 << 10
	repeatUnit = 8
)

// ContentsConfig says how much is kept. Zero fields have defaults.
type ContentsConfig struct {
	MaxBytes int64         // in the bucket: 4 GiB
	MaxAge   time.Duration // there: a week
	// Remembered is how many bytes a worker keeps of those that it read last: 1 GiB.
	Remembered int64
}

func (cfg *ContentsConfig) spec() bus.Spec {
	return bus.Spec{
		Name: "contents", Form: "contents 1", MaxBytes: cmp.Or(cfg.MaxBytes, 4<<30), MaxAge: cmp.Or(cfg.MaxAge, 7*24*time.Hour),
		Clean: "tritonc farm clean",
	}
}

// RemoveContents removes the bucket, of whatever form. The error is a *bus.Error.
func RemoveContents(ctx context.Context, b *bus.Bus) error {
	return b.Remove(ctx, "OBJ_", (&ContentsConfig{}).spec())
}

// Contents is the bucket. Its methods may be called by several goroutines.
type Contents struct {
	bus   *bus.Bus
	spec  bus.Spec
	store jetstream.ObjectStore
	most  int64

	mu    sync.Mutex
	sent  map[string]*sync.Once
	known map[string]*list.Element // of recent
	// recent has what was read, the last first, of which held is the size.
	recent *list.List
	held   int64
}

type remembered struct {
	digest string
	data   []byte
}

// OpenContents opens the bucket of a server, and makes it if it is not there. The error
// is a *bus.Error.
func OpenContents(ctx context.Context, b *bus.Bus, cfg ContentsConfig) (*Contents, error) {
	spec := cfg.spec()
	store, err := b.Objects(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &Contents{
		bus: b, spec: spec, store: store, most: cmp.Or(cfg.Remembered, 1<<30),
		sent: map[string]*sync.Once{}, known: map[string]*list.Element{}, recent: list.New(),
	}, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// describe returns the content of data, which is put into the bucket if it is large.
func (c *Contents) describe(ctx context.Context, data []byte) (content, error) {
	d := content{Size: len(data)}
	switch {
	case len(data) > repeatUnit && repeats(data):
		d.Repeat = bytes.Clone(data[:repeatUnit])
	case len(data) <= inline:
		d.Bytes = data
	default:
		d.Digest = digestOf(data)
		return d, c.put(ctx, d.Digest, data)
	}
	return d, nil
}

// repeats reports whether data is its first bytes over and over.
func repeats(data []byte) bool {
	return bytes.Equal(data[repeatUnit:], data[:len(data)-repeatUnit])
}

// put sends an object that is not there.
func (c *Contents) put(ctx context.Context, digest string, data []byte) (err error) {
	c.mu.Lock()
	once := c.sent[digest]
	if once == nil {
		once = &sync.Once{}
		c.sent[digest] = once
	}
	c.mu.Unlock()
	once.Do(func() {
		_, err = c.store.GetInfo(ctx, digest)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			err = c.putWithRoom(ctx, digest, data)
		}
		if err != nil {
			c.mu.Lock()
			delete(c.sent, digest) // the next one tries
			c.mu.Unlock()
		}
	})
	return c.bus.Explain(err, "sending the contents of an array")
}

// again sends an object that was sent before, and is not there any more.
func (c *Contents) again(ctx context.Context, digest string, data []byte) error {
	c.mu.Lock()
	delete(c.sent, digest)
	c.mu.Unlock()
	return c.put(ctx, digest, data)
}

// putWithRoom sends an object, and removes the oldest ones where there is no room for it.
// A client that still needs one of these sends it again.
func (c *Contents) putWithRoom(ctx context.Context, digest string, data []byte) error {
	_, err := c.bus.PutWithRoom(ctx, c.spec, len(data), func() error {
		_, err := c.store.PutBytes(ctx, digest, data)
		return err
	})
	return err
}

// missingError is that of an object that is not there.
type missingError struct{ digest string }

func (e *missingError) Error() string {
	return fmt.Sprintf("the contents %.12s of an array are gone", e.digest)
}

// getTries is how often an object is read that changes while it is read: two clients may
// have sent it at once.
const getTries = 3

// get returns the bytes of a content; nil of undefined ones. They are not to be changed.
func (c *Contents) get(ctx context.Context, d *content) (data []byte, err error) {
	switch {
	case d.Bytes != nil:
		data = d.Bytes
	case len(d.Repeat) == repeatUnit:
		data = bytes.Repeat(d.Repeat, d.Size/repeatUnit+1)[:d.Size]
	case d.Digest != "":
		if data, err = c.object(ctx, d.Digest); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	if len(data) != d.Size {
		return nil, fmt.Errorf("there are %d bytes, not %d", len(data), d.Size)
	}
	return data, nil
}

func (c *Contents) object(ctx context.Context, digest string) (data []byte, err error) {
	c.mu.Lock()
	if e := c.known[digest]; e != nil {
		c.recent.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*remembered).data, nil
	}
	c.mu.Unlock()
	for range getTries {
		data, err = c.bus.Object(ctx, c.store, digest)
		if err == nil && digestOf(data) != digest {
			err = errors.New("its bytes are others")
		}
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, &missingError{digest}
	}
	if err != nil {
		return nil, fmt.Errorf("the contents %.12s of an array cannot be read: %w", digest, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[digest] == nil && int64(len(data)) <= c.most {
		c.known[digest] = c.recent.PushFront(&remembered{digest, data})
		c.held += int64(len(data))
		for c.held > c.most {
			last := c.recent.Back()
			r := c.recent.Remove(last).(*remembered)
			delete(c.known, r.digest)
			c.held -= int64(len(r.data))
		}
	}
	return data, nil
}
