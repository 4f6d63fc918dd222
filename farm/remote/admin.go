package remote

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/farm/bus"
)

// Usage is what the buckets hold.
type Usage struct {
	Server   string        // its version
	Entries  int           // kernels
	Bytes    uint64        // of the bucket of kernels, on the server
	Limit    int64         // of Bytes; less than 1: the server's
	MaxAge   time.Duration // of an entry; 0: for ever
	Replicas int
	Oldest   time.Time // entry, by the server's clock; zero where there is none
	Trip     time.Duration
}

// Usage asks what the buckets hold. Unlike what a compile asks, it says what is wrong,
// and waits as long as the context.
func (o Options) Usage(ctx context.Context) (*Usage, error) {
	var u Usage
	err := o.with(ctx, func(c *connection) error {
		status, err := c.kernels.Status(ctx)
		if err != nil {
			return err
		}
		u.Bytes, u.MaxAge, u.Replicas, u.Server = status.Size(), status.TTL(), status.Replicas(), c.bus.Conn().ConnectedServerVersion()
		stream, err := c.bus.JetStream().Stream(ctx, "OBJ_"+kernelsOf(&o).Full())
		if err != nil {
			return err
		}
		u.Limit = stream.CachedInfo().Config.MaxBytes
		if u.Trip, err = c.bus.Conn().RTT(); err != nil {
			return err
		}
		return c.bus.Oldest(ctx, o.kernels(), func(_ jetstream.Stream, _ string, info *jetstream.ObjectInfo) (bool, error) {
			if !info.Deleted {
				if u.Entries++; u.Oldest.IsZero() {
					u.Oldest = info.ModTime
				}
			}
			return true, nil
		})
	})
	return &u, err
}

func kernelsOf(o *Options) *bus.Spec {
	s := o.kernels()
	return &s
}

// Verdict is what a look at every entry found.
type Verdict struct {
	Good    int
	Refused []Refused
}

// Refused is an entry that no machine with these trusted keys takes.
type Refused struct {
	Kind, Name string
	Why        error
}

// Verify reads every entry and index, and checks who signed it.
func (o Options) Verify(ctx context.Context) (*Verdict, error) {
	var v Verdict
	check := func(kind, name string, sealed []byte, err error) {
		var key cache.Key
		if n, err2 := hex.Decode(key[:], []byte(name)); err == nil && (err2 != nil || n != len(key)) {
			err = errors.New("its name is not that of a key")
		}
		if err == nil {
			_, _, err = o.Trusted.Open(kind, key, sealed)
		}
		if err != nil {
			v.Refused = append(v.Refused, Refused{kind, name, err})
			return
		}
		v.Good++
	}
	err := o.with(ctx, func(c *connection) error {
		err := c.bus.Oldest(ctx, o.kernels(), func(_ jetstream.Stream, _ string, info *jetstream.ObjectInfo) (bool, error) {
			if info.Deleted {
				return true, nil
			}
			if info.Size > maxEntry {
				check(kindEntry, info.Name, nil, errors.New("it is too large"))
				return true, nil
			}
			sealed, err := c.kernels.GetBytes(ctx, info.Name)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			check(kindEntry, info.Name, sealed, err)
			return true, nil
		})
		if err != nil {
			return err
		}
		keys, err := c.index.ListKeys(ctx)
		if err != nil {
			return err
		}
		defer keys.Stop()
		for key := range keys.Keys() {
			e, err := c.index.Get(ctx, key)
			switch {
			case errors.Is(err, jetstream.ErrKeyNotFound):
			case err != nil:
				return err
			default:
				check(kindIndex, key, e.Value(), nil)
			}
		}
		return nil
	})
	return &v, err
}

// Clean removes the buckets with all that they hold. Those of tritonc that are of another
// form go, too; what has their name and is another's is an error.
func (o Options) Clean(ctx context.Context) error {
	o.complete()
	o.Bus.Timeout = bus.DefaultTimeout
	b, err := bus.Connect(ctx, o.Bus)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, it := range []struct {
		prefix string
		spec   bus.Spec
	}{{"OBJ_", o.kernels()}, {"KV_", o.index()}, {"KV_", o.claims()}} {
		if err := b.Remove(ctx, it.prefix, it.spec); err != nil {
			return err
		}
	}
	return nil
}

// with connects for f, and explains its error.
func (o Options) with(ctx context.Context, f func(c *connection) error) error {
	o.complete()
	o.Bus.Timeout = bus.DefaultTimeout
	c, err := open(ctx, &o)
	if err != nil {
		return err
	}
	defer c.bus.Close()
	return c.bus.Explain(f(c), "looking at the shared cache")
}

// Trusts reports whether entries are taken that somebody with an ID has signed.
func (o *Options) Trusts(id string) bool { return o.Trusted.Knows(id) }
