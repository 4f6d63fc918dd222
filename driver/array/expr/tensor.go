package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/driver/array"
)

// MaxElements bounds every value of an expression: 4 GiB of float64.
const MaxElements = 1 << 29

// kind is what a tensor's elements are.
type kind uint8

const (
	boolean kind = iota
	signed
	unsigned
	floating
)

var kindNames = [...]string{"bool", "int", "uint", "float"}

func (k kind) String() string { return kindNames[k] }

// Tensor is an array of an expression, row by row. It is never changed once it is
// made, so that tensors may share elements.
type Tensor struct {
	shape []int
	kind  kind
	f     []float64 // of a floating tensor
	i     []int64   // of any other; bools are 0 and 1, unsigned ones their bits
}

// elements is the number of elements of a shape, if that is not too many.
func elements(shape []int) (int, error) {
	n, empty := 1, slices.Contains(shape, 0)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("a shape cannot have a negative dimension: %s", shapeText(shape))
		}
		if empty {
			continue
		}
		if n > MaxElements/d {
			return 0, fmt.Errorf("an array of shape %s has too many elements; %d are allowed", shapeText(shape), MaxElements)
		}
		n *= d
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

// shapeText writes a shape as Python does.
func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// makeTensor makes a tensor of zeros.
func makeTensor(k kind, shape []int) (*Tensor, error) {
	n, err := elements(shape)
	if err != nil {
		return nil, err
	}
	t := &Tensor{shape: slices.Clone(shape), kind: k}
	if k == floating {
		t.f = make([]float64, n)
	} else {
		t.i = make([]int64, n)
	}
	return t, nil
}

// scalarTensor is a number as a tensor without dimensions; nil for what is none.
func scalarTensor(v any) *Tensor {
	switch v := v.(type) {
	case bool:
		t := &Tensor{kind: boolean, i: []int64{0}}
		if v {
			t.i[0] = 1
		}
		return t
	case int64:
		return &Tensor{kind: signed, i: []int64{v}}
	case float64:
		return &Tensor{kind: floating, f: []float64{v}}
	}
	return nil
}

// FromArray returns the elements of an array.
func FromArray(a *array.Array) (*Tensor, error) {
	k := signed
	switch {
	case a.Type.Float():
		k = floating
	case a.Type.Name == "i1":
		k = boolean
	case a.Type.Name == "u64":
		k = unsigned
	}
	if _, err := elements(a.Shape); err != nil {
		return nil, err
	}
	t := &Tensor{shape: slices.Clone(a.Shape), kind: k}
	if k == floating {
		t.f = a.Floats()
		return t, nil
	}
	t.i = a.Ints()
	if k == boolean {
		for i, v := range t.i {
			t.i[i] = bit(v != 0)
		}
	}
	return t, nil
}

// Array returns the tensor as an array of fp64, i64, u64 or i1.
func (t *Tensor) Array() *array.Array {
	a := array.New(array.Named([...]string{"i1", "i64", "u64", "fp64"}[t.kind]), t.shape...)
	for i, v := range t.f {
		a.Set(i, v)
	}
	for i, v := range t.i {
		a.SetInt(i, v)
	}
	return a
}

// Shape returns the sizes of the dimensions.
func (t *Tensor) Shape() []int { return slices.Clone(t.shape) }

func (t *Tensor) String() string { return t.kind.String() + shapeText(t.shape) }

func (t *Tensor) len() int { return len(t.f) + len(t.i) }

// reshaped is the tensor with another shape of as many elements.
func (t *Tensor) reshaped(shape []int) *Tensor {
	return &Tensor{shape: shape, kind: t.kind, f: t.f, i: t.i}
}

// floats are the elements as float64.
func (t *Tensor) floats() []float64 {
	if t.kind == floating {
		return t.f
	}
	out := make([]float64, len(t.i))
	for i, v := range t.i {
		if t.kind == unsigned {
			out[i] = float64(uint64(v))
		} else {
			out[i] = float64(v)
		}
	}
	return out
}

// as is the tensor with another kind; floats become integers by losing their
// fraction.
func (t *Tensor) as(k kind) *Tensor {
	out := &Tensor{shape: t.shape, kind: k}
	switch {
	case t.kind == k:
		return t
	case k == floating:
		out.f = t.floats()
	case k == boolean:
		out.i = make([]int64, t.len())
		for i, v := range t.f {
			if v != 0 {
				out.i[i] = 1
			}
		}
		for i, v := range t.i {
			if v != 0 {
				out.i[i] = 1
			}
		}
	case t.kind == floating:
		out.i = make([]int64, len(t.f))
		for i, v := range t.f {
			out.i[i] = truncate(v, k == unsigned)
		}
	default:
		out.i = t.i
	}
	return out
}

// truncate is the integer that a float becomes toward zero: a NaN is 0, and what
// is out of range the nearest integer.
func truncate(v float64, unsigned bool) int64 {
	switch {
	case v != v:
		return 0
	case unsigned && v >= 1<<63:
		if v >= 1<<64 {
			return -1
		}
		return int64(uint64(v))
	case v >= 1<<63:
		return math.MaxInt64
	case v < -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

// rowMajor are the strides of a shape, in elements.
func rowMajor(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for d := len(shape) - 1; d >= 0; d-- {
		strides[d] = n
		n *= shape[d]
	}
	return strides
}

// view copies the elements that a shape, its strides and the first element's place
// choose.
func (t *Tensor) view(shape, strides []int, first int) (*Tensor, error) {
	out, err := makeTensor(t.kind, shape)
	if err != nil {
		return nil, err
	}
	gather(out.f, t.f, shape, strides, first)
	gather(out.i, t.i, shape, strides, first)
	return out, nil
}

func gather[E any](out, in []E, shape, strides []int, first int) {
	if len(out) == 0 {
		return
	}
	last := len(shape) - 1
	if last < 0 {
		out[0] = in[first]
		return
	}
	index := make([]int, last)
	n, step := shape[last], strides[last]
	for at := 0; at < len(out); at += n {
		from := first
		for i := range n {
			out[at+i] = in[from]
			from += step
		}
		for d := last - 1; d >= 0; d-- {
			first += strides[d]
			if index[d]++; index[d] < shape[d] {
				break
			}
			first -= strides[d] * shape[d]
			index[d] = 0
		}
	}
}

// permute reorders the dimensions.
func (t *Tensor) permute(order []int) (*Tensor, error) {
	if slices.IsSorted(order) {
		return t, nil
	}
	all := rowMajor(t.shape)
	shape, strides := make([]int, len(order)), make([]int, len(order))
	for i, d := range order {
		shape[i], strides[i] = t.shape[d], all[d]
	}
	return t.view(shape, strides, 0)
}

// expand repeats the tensor to a shape that it broadcasts to.
func (t *Tensor) expand(shape []int) (*Tensor, error) {
	if slices.Equal(shape, t.shape) {
		return t, nil
	}
	more := len(shape) - len(t.shape)
	wrong := fmt.Errorf("shape %s does not broadcast to %s", shapeText(t.shape), shapeText(shape))
	if more < 0 {
		return nil, wrong
	}
	all, strides := rowMajor(t.shape), make([]int, len(shape))
	for d, n := range t.shape {
		switch {
		case n == shape[more+d]:
			strides[more+d] = all[d]
		case n != 1:
			return nil, wrong
		}
	}
	return t.view(shape, strides, 0)
}

// broadcast is the shape that several go together in: they are aligned at their
// last dimensions, and a dimension of 1 is repeated.
func broadcast(shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]int, rank)
	for d := range out {
		out[d] = 1
		for _, s := range shapes {
			i := d - (rank - len(s))
			if i < 0 || s[i] == 1 || s[i] == out[d] {
				continue
			}
			if out[d] != 1 {
				texts := make([]string, len(shapes))
				for k, s := range shapes {
					texts[k] = shapeText(s)
				}
				return nil, fmt.Errorf("shapes %s do not broadcast: dimension %d is %d and %d",
					strings.Join(texts[:len(texts)-1], ", ")+" and "+texts[len(texts)-1], d-rank, out[d], s[i])
			}
			out[d] = s[i]
		}
	}
	return out, nil
}
