package host

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/array"
)

// view is a tensor of the same memory, changed.
func (t *Tensor) view(change func(v *Tensor)) *Tensor {
	v := *t
	v.shape, v.strides, v.grad = slices.Clone(t.shape), slices.Clone(t.strides), nil
	change(&v)
	return &v
}

func (t *Tensor) transposed() *Tensor {
	return t.view(func(v *Tensor) {
		slices.Reverse(v.shape)
		slices.Reverse(v.strides)
	})
}

func (t *Tensor) swapped(a, b int64) *Tensor {
	i, j := t.dimension(a, len(t.shape)), t.dimension(b, len(t.shape))
	return t.view(func(v *Tensor) {
		v.shape[i], v.shape[j] = v.shape[j], v.shape[i]
		v.strides[i], v.strides[j] = v.strides[j], v.strides[i]
	})
}

func (t *Tensor) permuted(dims []int64) *Tensor {
	seen := make([]bool, len(t.shape))
	return t.view(func(v *Tensor) {
		if len(dims) != len(t.shape) {
			eval.Fail("permute() of %s of a tensor of %d", diag.Count(len(dims), "dimension"), len(t.shape))
		}
		for i, d := range dims {
			at := t.dimension(d, len(t.shape))
			if seen[at] {
				eval.Fail("permute() has dimension %d twice", d)
			}
			seen[at] = true
			v.shape[i], v.strides[i] = t.shape[at], t.strides[at]
		}
	})
}

func (t *Tensor) unsqueezed(dim int64) *Tensor {
	i := t.dimension(dim, len(t.shape)+1)
	stride := int64(1)
	if i < len(t.shape) {
		stride = t.shape[i] * t.strides[i]
	}
	return t.view(func(v *Tensor) {
		v.shape, v.strides = slices.Insert(v.shape, i, 1), slices.Insert(v.strides, i, stride)
	})
}

func (t *Tensor) squeezed(c *call) any {
	only := -1
	if c.has("dim") {
		only = t.dimension(c.integer("dim", 0), len(t.shape))
	}
	return t.view(func(v *Tensor) {
		v.shape, v.strides = nil, nil
		for i, n := range t.shape {
			if n != 1 || only >= 0 && i != only {
				v.shape, v.strides = append(v.shape, n), append(v.strides, t.strides[i])
			}
		}
	})
}

func (t *Tensor) expanded(shape []int64) *Tensor {
	lead := len(shape) - len(t.shape)
	if lead < 0 {
		eval.Fail("expand() of a tensor of %s to %d", diag.Count(len(t.shape), "dimension"), len(shape))
	}
	return t.view(func(v *Tensor) {
		v.shape, v.strides = slices.Clone(shape), make([]int64, len(shape))
		for i := range shape {
			if i < lead {
				continue
			}
			switch n := t.shape[i-lead]; {
			case shape[i] == -1 || shape[i] == n:
				v.shape[i], v.strides[i] = n, t.strides[i-lead]
			case n != 1:
				eval.Fail("expand() of dimension %d from %d to %d", i, n, shape[i])
			}
		}
	})
}

// reshaped is t in another shape, of which one size may be -1: of the same memory
// where it is contiguous, else of a copy.
func (t *Tensor) reshaped(how string, shape []int64, same bool) *Tensor {
	shape = slices.Clone(shape)
	known, open := int64(1), -1
	for i, n := range shape {
		if n == -1 && open < 0 {
			open = i
			continue
		}
		known *= n
	}
	if open >= 0 && known > 0 {
		shape[open] = t.numel() / known
		known *= shape[open]
	}
	if known != t.numel() {
		eval.Fail("%s() of %s to %s", how, diag.Count(t.numel(), "element"), eval.Repr(tuple(shape)))
	}
	from := t
	if !t.isContiguous() {
		if same {
			eval.FailHelp("use reshape()", "view() of a tensor that is not contiguous")
		}
		from = t.dense()
	}
	return from.view(func(v *Tensor) { v.shape, v.strides = shape, contiguous(shape) })
}

// dense is t if it is contiguous, else a contiguous copy.
func (t *Tensor) dense() *Tensor {
	if t.isContiguous() {
		return t
	}
	t.program.note("torch.Tensor.contiguous")
	return t.copied()
}

// copied is a contiguous copy.
func (t *Tensor) copied() *Tensor {
	from := t.memory.values(t.program)
	size, n := t.memory.elem.Size, int64(from.Len())
	out := t.program.newTensor(t.dtype, slices.Clone(t.shape))
	return out.fill(out.memory.n, func(x *array.Array) {
		t.each(func(i int, at int64) {
			at = at % n * int64(size)
			copy(x.Data[i*size:(i+1)*size], from.Data[at:])
		})
	})
}

// each visits the elements row by row: their number, and their place in memory.
func (t *Tensor) each(f func(i int, at int64)) {
	index := make([]int64, len(t.shape))
	at := t.offset
	for i := range int(t.numel()) {
		if i&0xfffff == 0 && t.program.ctx.Err() != nil {
			t.program.fail("copying a tensor", t.program.ctx.Err())
		}
		f(i, at)
		for d := len(index) - 1; d >= 0; d-- {
			index[d]++
			at += t.strides[d]
			if index[d] < t.shape[d] {
				break
			}
			at -= t.shape[d] * t.strides[d]
			index[d] = 0
		}
	}
}

// Index is t[key]: integers, slices, None and the ellipsis.
func (t *Tensor) Index(key any) any {
	keys := []any{key}
	if tup, ok := key.(*eval.Tuple); ok {
		keys = tup.Elems
	}
	used := 0
	for _, k := range keys {
		if _, dots := k.(syntax.Ellipsis); k != nil && !dots {
			used++
		}
	}
	if used > len(t.shape) {
		eval.Fail("too many indices for a tensor of %s", diag.Count(len(t.shape), "dimension"))
	}
	return t.view(func(v *Tensor) {
		v.shape, v.strides = nil, nil
		d := 0
		keep := func(n int) {
			v.shape, v.strides = append(v.shape, t.shape[d:d+n]...), append(v.strides, t.strides[d:d+n]...)
			d += n
		}
		for _, k := range keys {
			switch k := plain(k).(type) {
			case nil:
				v.shape, v.strides = append(v.shape, 1), append(v.strides, 1)
			case syntax.Ellipsis:
				keep(len(t.shape) - used)
			case *eval.Slice:
				first, n, step := bounds(k, t.shape[d])
				v.offset += first * t.strides[d]
				v.shape, v.strides = append(v.shape, n), append(v.strides, t.strides[d]*step)
				d++
			case int64:
				v.offset += int64(t.dimension(k, int(t.shape[d]))) * t.strides[d]
				d++
			default:
				missing("torch.Tensor.__getitem__(%s)", eval.TypeName(k))
			}
		}
		keep(len(t.shape) - d)
	})
}

// bounds are the first index of a slice, how many there are, and how far apart.
func bounds(s *eval.Slice, n int64) (first, count, step int64) {
	get := func(v any, absent int64) int64 {
		if v == nil {
			return absent
		}
		i := integer("a slice", v)
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	step = 1
	if s.Step != nil {
		if step = integer("a slice", s.Step); step < 1 {
			eval.Fail("the step of a slice of a tensor must be positive")
		}
	}
	first = get(s.Start, 0)
	last := get(s.Stop, n)
	return first, max(0, (last-first+step-1)/step), step
}
