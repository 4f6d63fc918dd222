package npu

import (
	"math"
	"math/bits"
)

// view is a part of a memory: elements at a base with a stride for each dimension.
type view struct {
	valid bool
	space Space
	elem  Type
	// base is in bytes, of the core's memory or an address of global memory. Sizes and
	// strides are in elements.
	base           int64
	sizes, strides []int64
	// open views have one dimension whose end is not known: a pointer.
	open bool
	// start is where the memory that is viewed begins, of views that were placed in it.
	start  int64
	placed bool
}

// origin is where the memory begins that offsets of casts count from.
func (v *view) origin() int64 {
	if v.placed {
		return v.start
	}
	return v.base
}

// copy is the view as it is, however its register changes.
func (v *view) copy() *view {
	c := *v
	return &c
}

// maxElements is more elements than any memory has.
const maxElements = 1 << 40

// count is how many elements a view has, or -1 where a size is negative or the count
// exceeds any memory.
func (v *view) count() int64 {
	n := int64(1)
	negative := false
	for _, s := range v.sizes {
		if s == 0 {
			return 0
		}
		if negative = negative || s < 0; negative {
			continue
		}
		hi, lo := bits.Mul64(uint64(n), uint64(s))
		if hi != 0 || lo > maxElements {
			return -1
		}
		n = int64(lo)
	}
	if negative {
		return -1
	}
	return n
}

// span is the bytes from the first that the view has to the one after the last; ok is
// false where that leaves 64 bits. The view has elements.
func (v *view) span() (lo, hi int64, ok bool) {
	lo, hi = v.base, v.base
	size := int64(v.elem.Size())
	for d, n := range v.sizes {
		far, fits := mul(n-1, v.strides[d])
		if far, fits = scaled(far, size, fits); !fits {
			return 0, 0, false
		}
		if far < 0 {
			lo, ok = add(lo, far)
		} else {
			hi, ok = add(hi, far)
		}
		if !ok {
			return 0, 0, false
		}
	}
	hi, ok = add(hi, size)
	return lo, hi, ok
}

func scaled(x, size int64, ok bool) (int64, bool) {
	if !ok {
		return 0, false
	}
	return mul(x, size)
}

func mul(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	return p, p/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

func add(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

// runs calls f with the bytes of the view, in row-major order, as ranges of what is
// contiguous.
func (v *view) runs(f func(at, n int64)) {
	size := int64(v.elem.Size())
	run, outer := int64(1), len(v.sizes)
	for outer > 0 {
		d := outer - 1
		if v.sizes[d] != 1 && v.strides[d] != run {
			break
		}
		run *= v.sizes[d]
		outer--
	}
	w := walkOf(v.base, v.sizes[:outer], v.strides[:outer], size)
	for {
		f(w.at, run*size)
		if !w.next() {
			return
		}
	}
}

// walk goes over places with strides in row-major order.
type walk struct {
	at    int64
	sizes []int64
	steps []int64 // in bytes
	index []int64
}

func walkOf(base int64, sizes, strides []int64, elem int64) walk {
	w := walk{at: base, sizes: sizes, steps: make([]int64, len(sizes)), index: make([]int64, len(sizes))}
	for d, s := range strides {
		w.steps[d] = s * elem
	}
	return w
}

// walk goes over the elements.
func (v *view) walk() walk { return walkOf(v.base, v.sizes, v.strides, int64(v.elem.Size())) }

// next goes on; it is false at the end.
func (w *walk) next() bool {
	for d := len(w.sizes) - 1; d >= 0; d-- {
		w.index[d]++
		w.at += w.steps[d]
		if w.index[d] < w.sizes[d] {
			return true
		}
		w.at -= w.steps[d] * w.sizes[d]
		w.index[d] = 0
	}
	return false
}
