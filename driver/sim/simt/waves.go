package simt

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A wave is the set of blocks that the device holds together: block number k to
// be started belongs to wave k / resident. For each wave the distinct sectors of
// global memory that it touches are recorded, which is what it must bring in at
// least, and which feeds a model of the second-level cache:
//
// A sector stays in the cache from the wave that touches it to the end of the
// next. So a wave misses the sectors that neither it nor the one before touched,
// and every other request hits. The model has no size and no order within a
// wave; its counts are the same on every machine.

// Pages keep the bitmaps small: one covers 1<<pageShift sectors.
const (
	pageShift = 16
	pageWords = 1 << pageShift / 64
)

type sectorPage [pageWords]uint64

// wave is the sectors of one wave, by buffer and page.
type wave struct {
	mu      sync.Mutex
	buffers [][]*sectorPage
}

// page returns a page, which it makes if need be.
func (v *wave) page(buf, page int) *sectorPage {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.buffers) <= buf {
		v.buffers = append(v.buffers, nil)
	}
	for len(v.buffers[buf]) <= page {
		v.buffers[buf] = append(v.buffers[buf], nil)
	}
	p := v.buffers[buf][page]
	if p == nil {
		p = new(sectorPage)
		v.buffers[buf][page] = p
	}
	return p
}

// waves are those of a launch.
type waves struct {
	mu       sync.Mutex
	resident int
	list     []*wave
}

// of returns the wave of the k-th block.
func (s *waves) of(k int) *wave {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := k / s.resident
	for len(s.list) <= n {
		s.list = append(s.list, new(wave))
	}
	return s.list[n]
}

// waveCache is a warp's latest page, which it mostly needs again.
type waveCache struct {
	wave      *wave
	buf, page int
	bits      *sectorPage
}

// touch records the sectors of an access.
func (w *warp) touch(v *view, size int) {
	c := &w.waveCache
	wv := w.cta.wave
	buf := int(v.base>>windowShift) - windowFirst
	last := -1
	for m := v.mask; m != 0; m &= m - 1 {
		off := w.offs[bits.TrailingZeros64(m)]
		for s := off >> sectorShift; s <= (off+size-1)>>sectorShift; s++ {
			if s == last {
				continue
			}
			last = s
			if page := s >> pageShift; c.wave != wv || c.buf != buf || c.page != page {
				*c = waveCache{wv, buf, page, wv.page(buf, page)}
			}
			word, bit := s&(1<<pageShift-1)/64, uint64(1)<<(s&63)
			if p := &c.bits[word]; atomic.LoadUint64(p)&bit == 0 {
				atomic.OrUint64(p, bit)
			}
		}
	}
}

// count sums the distinct sectors of all waves, and those among them that the
// wave before did not touch.
func (s *waves) count() (distinct, misses uint64) {
	for i, v := range s.list {
		for b, pages := range v.buffers {
			for p, page := range pages {
				if page == nil {
					continue
				}
				before := new(sectorPage)
				if i > 0 && b < len(s.list[i-1].buffers) && p < len(s.list[i-1].buffers[b]) {
					if q := s.list[i-1].buffers[b][p]; q != nil {
						before = q
					}
				}
				for k, word := range page {
					distinct += uint64(bits.OnesCount64(word))
					misses += uint64(bits.OnesCount64(word &^ before[k]))
				}
			}
		}
	}
	return distinct, misses
}
