package remote

import (
	"context"
	"time"

	"github.com/tritonc/tritonc/core/cache"
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
	if err == nil {
		s.count(func(n *cache.Counts) { n.Kept++; n.WrittenBytes += int64(len(sealed) + len(sealedIndex)) })
	}
	return revision, err
}

// putWithRoom does put, and removes the oldest kernels where there is no room for it.
func (s *Store) putWithRoom(ctx context.Context, c *connection, size int, put func() error) error {
	freed, err := c.bus.PutWithRoom(ctx, s.opts.kernels(), size, put)
	if freed > 0 {
		s.log("%d bytes of the oldest kernels went to make room", freed)
	}
	return err
}
