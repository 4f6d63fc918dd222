package expr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// span is start:stop:step of an index.
type span struct{ start, stop, step any }

// subscript evaluates x[…].
func (c *evaluator) subscript(e *syntax.Subscript) (any, error) {
	v, err := c.eval(e.Value)
	if err != nil {
		return nil, err
	}
	elts := []syntax.Expr{e.Slice}
	if t, ok := e.Slice.(*syntax.Tuple); ok {
		elts = t.Elts
	}
	items := make([]any, len(elts))
	for i, at := range elts {
		if items[i], err = c.indexItem(at); err != nil {
			return nil, err
		}
	}
	if list, ok := v.([]any); ok && len(items) == 1 {
		return pickItem(list, items[0])
	}
	t, err := tensorOf(v)
	if err != nil {
		return nil, err
	}
	return t.index(items)
}

func (c *evaluator) indexItem(e syntax.Expr) (any, error) {
	s, ok := e.(*syntax.Slice)
	if !ok {
		return c.eval(e)
	}
	var out span
	for _, part := range []struct {
		e  syntax.Expr
		to *any
	}{{s.Lower, &out.start}, {s.Upper, &out.stop}, {s.Step, &out.step}} {
		if part.e == nil {
			continue
		}
		v, err := c.eval(part.e)
		if err != nil {
			return nil, err
		}
		if v != nil {
			n, err := integerOf(v)
			if err != nil {
				return nil, c.fail(part.e, err)
			}
			*part.to = n
		}
	}
	return out, nil
}

// pickItem is an element of a tuple, or a part of it.
func pickItem(list []any, item any) (any, error) {
	if s, ok := item.(span); ok {
		first, n, step, err := s.of(len(list))
		if err != nil {
			return nil, err
		}
		out := make([]any, n)
		for i := range out {
			out[i] = list[first+i*step]
		}
		return out, nil
	}
	i, err := integerOf(item)
	if err != nil {
		return nil, err
	}
	at, ok := place(i, len(list))
	if !ok {
		return nil, fmt.Errorf("index %d is out of range for %s", i, diag.Count(len(list), "value"))
	}
	return list[at], nil
}

// place counts an index from the front; ok is false where it is out of range.
func place(i int64, n int) (at int, ok bool) {
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

// of is what a slice takes of n elements, as Python has it: what lies outside is
// left out.
func (s span) of(n int) (first, count, step int, err error) {
	stride := int64(1)
	if s.step != nil {
		stride = s.step.(int64)
	}
	if stride == 0 {
		return 0, 0, 0, errors.New("a step of 0 leads nowhere")
	}
	lo, hi := int64(0), int64(n)
	if stride < 0 {
		lo, hi = -1, int64(n)-1
	}
	bound := func(v any, standard int64) int64 {
		if v == nil {
			return standard
		}
		i := v.(int64)
		if i < 0 {
			i += int64(n)
		}
		return min(max(i, lo), hi)
	}
	var from, to int64
	if stride > 0 {
		from, to = bound(s.start, lo), bound(s.stop, hi)
		if to > from {
			count = int((to-from-1)/stride) + 1
		}
	} else {
		from, to = bound(s.start, hi), bound(s.stop, lo)
		if from > to {
			count = int((from-to-1)/max(-stride, 1)) + 1
		}
	}
	if count < 2 {
		stride = 1 // it may be anything
	}
	if count == 0 {
		from = 0
	}
	return int(from), count, int(stride), nil
}

// index is t[items…]: integers, slices, None, "...", arrays of places, and arrays of
// bools, as NumPy's.
func (t *Tensor) index(items []any) (*Tensor, error) {
	items, err := t.complete(items)
	if err != nil {
		return nil, err
	}
	fancy := slices.ContainsFunc(items, func(v any) bool { _, ok := v.(*Tensor); return ok })
	// First what chooses by strides alone; chosen says which dimensions of the
	// result arrays of places are for.
	all := rowMajor(t.shape)
	var shape, strides, chosen []int
	var places []*Tensor
	first, d := 0, 0
	lastItem, apart := -1, false
	for i, item := range items {
		switch v := item.(type) {
		case nil:
			shape, strides = append(shape, 1), append(strides, 0)
			continue
		case span:
			from, n, step, err := v.of(t.shape[d])
			if err != nil {
				return nil, err
			}
			first += from * all[d]
			shape, strides = append(shape, n), append(strides, step*all[d])
		case *Tensor:
			apart = apart || lastItem >= 0 && lastItem != i-1
			lastItem = i
			chosen, places = append(chosen, len(shape)), append(places, v)
			shape, strides = append(shape, t.shape[d]), append(strides, all[d])
		default:
			n, err := integerOf(v)
			if err != nil {
				return nil, err
			}
			at, ok := place(n, t.shape[d])
			if !ok {
				return nil, fmt.Errorf("index %d is out of range for dimension %d of %s", n, d, t)
			}
			if fancy { // beside arrays of places it is one
				apart = apart || lastItem >= 0 && lastItem != i-1
				lastItem = i
				chosen, places = append(chosen, len(shape)), append(places, scalarTensor(n))
				shape, strides = append(shape, t.shape[d]), append(strides, all[d])
			} else {
				first += at * all[d]
			}
		}
		d++
	}
	out, err := t.view(shape, strides, first)
	if err != nil || !fancy {
		return out, err
	}
	return out.take(chosen, places, apart)
}

// complete spells out "..." and arrays of bools, and adds what is left out.
func (t *Tensor) complete(items []any) ([]any, error) {
	var out []any
	used, dots := 0, -1
	for _, item := range items {
		switch v := item.(type) {
		case ellipsis:
			if dots >= 0 {
				return nil, errors.New("an index has one ... at most")
			}
			dots = len(out)
			continue
		case bool:
			return nil, errors.New("an index cannot be True or False")
		case []any:
			list, err := stack(v, 0)
			if err != nil {
				return nil, err
			}
			item = list
		}
		if mask, ok := item.(*Tensor); ok && mask.kind == boolean {
			if used+len(mask.shape) > len(t.shape) || !slices.Equal(mask.shape, t.shape[used:used+len(mask.shape)]) || dots >= 0 {
				return nil, fmt.Errorf("the mask %s does not fit %s", mask, t)
			}
			for _, at := range mask.nonzero() {
				out = append(out, at)
			}
			used += len(mask.shape)
			continue
		}
		if x, ok := item.(*Tensor); ok && x.kind == floating {
			return nil, fmt.Errorf("%s holds no indices", x)
		}
		if item != nil {
			used++
		}
		out = append(out, item)
	}
	if used > len(t.shape) {
		return nil, fmt.Errorf("%d indices are too many for %s", used, t)
	}
	if dots < 0 {
		dots = len(out)
	}
	for range len(t.shape) - used {
		out = slices.Insert(out, dots, any(span{}))
	}
	return out, nil
}

// nonzero are the places of the elements that are true, an array for each
// dimension.
func (t *Tensor) nonzero() []*Tensor {
	out := make([]*Tensor, len(t.shape))
	for d := range out {
		out[d] = &Tensor{kind: signed, i: []int64{}}
	}
	strides := rowMajor(t.shape)
	for i, v := range t.i {
		if v == 0 {
			continue
		}
		for d, s := range strides {
			out[d].i = append(out[d].i, int64(i/s%t.shape[d]))
		}
	}
	for _, x := range out {
		x.shape = []int{len(x.i)}
	}
	return out
}

// take replaces dimensions by the elements at places, which broadcast. Their own
// dimensions come where the first of these was, or first of all where others lie
// between these.
func (t *Tensor) take(dims []int, places []*Tensor, apart bool) (*Tensor, error) {
	list, shape, steps, err := align(places...)
	if err != nil {
		return nil, err
	}
	rest := []int{}
	for d := range t.shape {
		if !slices.Contains(dims, d) {
			rest = append(rest, d)
		}
	}
	from, err := t.permute(append(slices.Clone(dims), rest...))
	if err != nil {
		return nil, err
	}
	tail := from.shape[len(dims):]
	out, err := makeTensor(t.kind, append(slices.Clone(shape), tail...))
	if err != nil {
		return nil, err
	}
	run, n := product(tail), product(shape)
	for i := range n {
		row := 0
		for k, p := range list {
			size := from.shape[k]
			at, ok := place(p.i[i*steps[k]], size)
			if !ok {
				return nil, fmt.Errorf("index %d is out of range for a dimension of %d", p.i[i*steps[k]], size)
			}
			row = row*size + at
		}
		if t.kind == floating {
			copy(out.f[i*run:(i+1)*run], from.f[row*run:])
		} else {
			copy(out.i[i*run:(i+1)*run], from.i[row*run:])
		}
	}
	if front := dims[0]; !apart && front > 0 {
		k := len(shape)
		order := seq(k, k+front)
		order = append(order, seq(0, k)...)
		return out.permute(append(order, seq(k+front, len(out.shape))...))
	}
	return out, nil
}

// takeAlong is t with dimension d chosen by places of the same other dimensions.
func (t *Tensor) takeAlong(places *Tensor, d int) (*Tensor, error) {
	if places.kind == floating {
		return nil, fmt.Errorf("%s holds no indices", places)
	}
	same := slices.Clone(places.shape)
	if len(same) == len(t.shape) {
		same[d] = t.shape[d]
	}
	if !slices.Equal(same, t.shape) {
		return nil, fmt.Errorf("indices of shape %s do not fit %s along dimension %d", shapeText(places.shape), t, d)
	}
	rows, size, err := t.last([]int{d})
	if err != nil {
		return nil, err
	}
	at, n, err := places.last([]int{d})
	if err != nil {
		return nil, err
	}
	out, err := makeTensor(t.kind, at.shape)
	if err != nil {
		return nil, err
	}
	for i, p := range at.i {
		k, ok := place(p, size)
		if !ok {
			return nil, fmt.Errorf("index %d is out of range for a dimension of %d", p, size)
		}
		if t.kind == floating {
			out.f[i] = rows.f[i/n*size+k]
		} else {
			out.i[i] = rows.i[i/n*size+k]
		}
	}
	return out.permute(putBack(len(t.shape), d))
}
