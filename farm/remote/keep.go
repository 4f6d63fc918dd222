package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/farm/bus"
)

// keepTime bounds how long it may take to keep an entry, beside Wait and the time that its
// bytes take. Those wait for it who wait for its claim to end. A server whose disk is full
// says nothing.
const keepTime = 2 * time.Second

// keep writes an entry, then the index that names it, and returns the index's revision.
func (s *Store) keep(c *connection, key cache.Key, index []byte, entry cache.Key, data []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), max(keepTime, s.opts.Wait)+sending(uint64(len(data))))
	defer cancel()
	sealed := s.opts.Sign.Seal(kindEntry, entry, data)
	if err := s.putWithRoom(ctx, c, len(sealed), func() error {
		_, err := c.kernels.PutBytes(ctx, name(entry), sealed)
		return err
	}); err != nil {
		return 0, err
	}
	sealedIndex := s.opts.Sign.Seal(kindIndex, key, index)
	var revision uint64
	err := s.putWithRoom(ctx, c, len(sealedIndex), func() (err error) {
		revision, err = c.index.Put(ctx, name(key), sealedIndex)
		return err
	})
	return revision, err
}

// putWithRoom does put, and makes room where there is none.
func (s *Store) putWithRoom(ctx context.Context, c *connection, size int, put func() error) error {
	for try := 0; ; try++ {
		err := put()
		if err == nil || try == 3 || bus.KindOf(c.bus.Explain(err, "writing")) != bus.Full {
			return err
		}
		freed, err2 := makeRoom(ctx, c, s.opts.kernels(), uint64(size)<<try)
		if err2 != nil {
			return errors.Join(err, err2)
		}
		if freed == 0 {
			return err
		}
		s.log("%d bytes of the oldest kernels went to make room", freed)
	}
}

// oldest calls f for the objects of a bucket from the oldest on, with the subject of its
// description, until f returns false.
func oldest(ctx context.Context, c *connection, spec bus.Spec, f func(stream jetstream.Stream, subject string, info *jetstream.ObjectInfo) (bool, error)) error {
	stream, err := c.bus.JetStream().Stream(ctx, "OBJ_"+spec.Full())
	if err != nil {
		return err
	}
	for seq := uint64(1); ; {
		m, err := stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject("$O."+spec.Full()+".M.>"))
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

// makeRoom removes the oldest objects until size bytes are free, or all are gone. Their
// descriptions go with them: those that a removal leaves would fill the bucket.
func makeRoom(ctx context.Context, c *connection, spec bus.Spec, size uint64) (freed uint64, err error) {
	err = oldest(ctx, c, spec, func(stream jetstream.Stream, subject string, info *jetstream.ObjectInfo) (bool, error) {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return false, err
		}
		if info.NUID != "" {
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+spec.Full()+".C."+info.NUID)); err != nil {
				return false, err
			}
		}
		freed += info.Size
		return freed < size, nil
	})
	return freed, err
}
