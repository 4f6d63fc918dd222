package simt

import "math"

func f32(b uint32) float32 { return math.Float32frombits(b) }
func f64(b uint64) float64 { return math.Float64frombits(b) }

// The functions below lift an operation on one lane's values to a warp. They
// cost a call a lane; what kernels execute all the time has loops of its own.

func lanes1(f func(a uint32) uint32) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a := w.d32(s), w.u32(s.a)
		a = a[:len(d)]
		for i := range d {
			d[i] = f(a[i])
		}
	}, Class32
}

func lanes2(f func(a, b uint32) uint32) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}, Class32
}

func lanes3(f func(a, b, c uint32) uint32) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a, b, c := w.d32(s), w.u32(s.a), w.u32(s.b), w.u32(s.c)
		a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}, Class32
}

func wide1(f func(a uint64) uint64) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a := w.d64(s), w.u64(s.a)
		a = a[:len(d)]
		for i := range d {
			d[i] = f(a[i])
		}
	}, Class64
}

func wide2(f func(a, b uint64) uint64) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a, b := w.d64(s), w.u64(s.a), w.u64(s.b)
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}, Class64
}

func wide3(f func(a, b, c uint64) uint64) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a, b, c := w.d64(s), w.u64(s.a), w.u64(s.b), w.u64(s.c)
		a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}, Class64
}

// wide1to32 takes a 64-bit operand to a 32-bit result.
func wide1to32(f func(a uint64) uint32) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a := w.d32(s), w.u64(s.a)
		a = a[:len(d)]
		for i := range d {
			d[i] = f(a[i])
		}
	}, Class32
}

// lanes1to64 takes a 32-bit operand to a 64-bit result.
func lanes1to64(f func(a uint32) uint64) (execFunc, Class) {
	return func(w *warp, s *step) {
		d, a := w.d64(s), w.u32(s.a)
		a = a[:len(d)]
		for i := range d {
			d[i] = f(a[i])
		}
	}, Class64
}
