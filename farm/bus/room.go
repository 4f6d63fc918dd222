package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Oldest calls f for the objects of a bucket from the oldest on, with the bucket's stream and
// the subject of the object's description, until f returns false. Descriptions that deletions
// left are among them.
func (b *Bus) Oldest(ctx context.Context, s Spec, f func(stream jetstream.Stream, subject string, info *jetstream.ObjectInfo) (bool, error)) error {
	stream, err := b.js.Stream(ctx, "OBJ_"+s.Full())
	if err != nil {
		return err
	}
	for seq := uint64(1); ; {
		m, err := stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject("$O."+s.Full()+".M.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		seq = m.Sequence + 1
		var info jetstream.ObjectInfo
		if err := json.Unmarshal(m.Data, &info); err != nil {
			return fmt.Errorf("an object is described by %q: %w", m.Subject, err)
		}
		info.ModTime = m.Time
		if more, err := f(stream, m.Subject, &info); err != nil || !more {
			return err
		}
	}
}

// roomTries is how often room is made for an object: others may take what is made.
const roomTries = 3

// PutWithRoom puts an object into a bucket, and removes the oldest ones where there is no
// room for it: freed is how many bytes of them. Whoever reads there must bear that an object
// is gone. The error is put's. For an object that is larger than the bucket nothing goes.
func (b *Bus) PutWithRoom(ctx context.Context, s Spec, size int, put func() error) (freed uint64, err error) {
	for try := 0; ; try++ {
		err := put()
		if err == nil || try == roomTries || KindOf(b.Explain(err, "writing")) != Full {
			return freed, err
		}
		n, err2 := b.makeRoom(ctx, s, uint64(size), uint64(size)<<try)
		if err2 != nil {
			return freed, errors.Join(err, err2)
		}
		if n == 0 {
			return freed, err
		}
		freed += n
	}
}

// makeRoom removes the oldest objects until size bytes are free, or all are gone, for one
// object of least bytes. Their
// descriptions go with them: those that a removal leaves would fill the bucket.
func (b *Bus) makeRoom(ctx context.Context, s Spec, least, size uint64) (freed uint64, err error) {
	err = b.Oldest(ctx, s, func(stream jetstream.Stream, subject string, info *jetstream.ObjectInfo) (bool, error) {
		if limit := stream.CachedInfo().Config.MaxBytes; limit > 0 && least > uint64(limit) {
			return false, nil
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return false, err
		}
		if info.NUID != "" {
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+s.Full()+".C."+info.NUID)); err != nil {
				return false, err
			}
		}
		freed += info.Size
		return freed < size, nil
	})
	return freed, err
}
