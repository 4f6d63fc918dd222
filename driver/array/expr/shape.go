package expr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
)

// flip reverses dimensions.
func (t *Tensor) flip(axes []int) (*Tensor, error) {
	strides, first := rowMajor(t.shape), 0
	for _, d := range axes {
		first += strides[d] * max(t.shape[d]-1, 0)
		strides[d] = -strides[d]
	}
	return t.view(t.shape, strides, first)
}

// swapLast exchanges the last two dimensions.
func (t *Tensor) swapLast() (*Tensor, error) {
	n := len(t.shape)
	if n < 2 {
		return nil, fmt.Errorf("%s has no two dimensions to exchange", t)
	}
	order := seq(0, n)
	order[n-2], order[n-1] = n-1, n-2
	return t.permute(order)
}

// reshape gives the elements another shape; one dimension of -1 is what is left.
func (t *Tensor) reshape(shape []int) (*Tensor, error) {
	shape = slices.Clone(shape)
	wrong := fmt.Errorf("%s cannot have the shape %s", t, shapeText(shape))
	open, known := -1, 1
	for d, n := range shape {
		switch {
		case n == -1 && open >= 0:
			return nil, fmt.Errorf("%w: two dimensions are open", wrong)
		case n == -1:
			open = d
		case n < 0:
			return nil, wrong
		default:
			if n > 0 && known > MaxElements/n {
				return nil, wrong
			}
			known *= n
		}
	}
	if open >= 0 {
		if known == 0 || t.len()%known != 0 {
			return nil, fmt.Errorf("%w: %s do not divide by %d", wrong, diag.Count(t.len(), "element"), known)
		}
		shape[open] = t.len() / known
	} else if known != t.len() {
		return nil, fmt.Errorf("%w: it has %s, not %d", wrong, diag.Count(t.len(), "element"), known)
	}
	return t.reshaped(shape), nil
}

// squeeze drops dimensions of 1: the given ones, or all.
func squeeze(a *args) (any, error) {
	t, err := a.tensor("x")
	if err != nil {
		return nil, err
	}
	axes, err := a.axes("axis", t)
	if err != nil {
		return nil, err
	}
	shape := []int{}
	for d, n := range t.shape {
		switch {
		case !slices.Contains(axes, d) || !a.given("axis") && n != 1:
			shape = append(shape, n)
		case n != 1:
			return nil, a.wrong("axis", fmt.Errorf("dimension %d of %s is not 1", d, t))
		}
	}
	return t.reshaped(shape), nil
}

// unsqueeze adds a dimension of 1.
func unsqueeze(a *args) (any, error) {
	t, err := a.tensor("x")
	if err != nil {
		return nil, err
	}
	d, err := a.axis("axis", &Tensor{shape: make([]int, len(t.shape)+1), kind: t.kind}, 0)
	if err != nil {
		return nil, err
	}
	return t.reshaped(slices.Insert(slices.Clone(t.shape), d, 1)), nil
}

// shapeArgument is a shape that is given as one list or as several numbers.
func (a *args) shapeArgument() ([]int, error) {
	if len(a.rest) == 1 {
		return shapeOf(a.rest[0])
	}
	return shapeOf(a.rest)
}

// transpose reverses the dimensions, or reorders them as the numbers of all say. With
// swap two numbers are of dimensions that change places, as PyTorch has it.
func transpose(swap bool) func(a *args) (any, error) {
	return func(a *args) (any, error) { return a.transposed(swap) }
}

func (a *args) transposed(swap bool) (any, error) {
	t, err := a.tensor("x")
	if err != nil {
		return nil, err
	}
	if len(a.rest) == 0 {
		return t.permute(reversed(len(t.shape)))
	}
	list, ok := a.rest[0].([]any)
	if !ok || len(a.rest) > 1 {
		list = a.rest
	}
	order := make([]int, len(list))
	for i, v := range list {
		if order[i], err = axisOf(v, t); err != nil {
			return nil, err
		}
	}
	if swap && len(order) == 2 {
		all := seq(0, len(t.shape))
		all[order[0]], all[order[1]] = order[1], order[0]
		return t.permute(all)
	}
	if check := slices.Clone(order); len(check) != len(t.shape) {
		return nil, fmt.Errorf("%v does not name all dimensions of %s", shapeText(order), t)
	} else if slices.Sort(check); !slices.Equal(check, seq(0, len(check))) {
		return nil, fmt.Errorf("%v names a dimension twice", shapeText(order))
	}
	return t.permute(order)
}

// concatenate joins tensors along a dimension.
func concatenate(list []*Tensor, d int) (*Tensor, error) {
	if len(list) == 0 {
		return nil, errors.New("there is nothing to join")
	}
	k, shape := boolean, slices.Clone(list[0].shape)
	shape[d] = 0
	for _, t := range list {
		k = max(k, t.kind)
		same := slices.Clone(t.shape)
		if len(same) == len(shape) {
			same[d] = shape[d]
		}
		if !slices.Equal(same, shape) {
			return nil, fmt.Errorf("shapes %s and %s cannot be joined along dimension %d", shapeText(list[0].shape), shapeText(t.shape), d)
		}
		shape[d] += t.shape[d]
	}
	out, err := makeTensor(k, shape)
	if err != nil {
		return nil, err
	}
	// Each tensor gives a run of elements after the one before, once for each place before d.
	at := 0
	for at < out.len() {
		outer := at / (out.len() / max(product(shape[:d]), 1))
		for _, t := range list {
			run := product(t.shape[d:])
			if k == floating {
				at += copy(out.f[at:], t.as(k).f[outer*run:(outer+1)*run])
			} else {
				at += copy(out.i[at:], t.i[outer*run:(outer+1)*run])
			}
		}
	}
	return out, nil
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// stack joins values of one shape along a new dimension.
func stack(list []any, d int) (*Tensor, error) {
	parts := make([]*Tensor, len(list))
	for i, v := range list {
		t, err := tensorOf(v)
		if err != nil {
			return nil, err
		}
		if d > len(t.shape) {
			return nil, fmt.Errorf("there is no dimension %d", d)
		}
		parts[i] = t.reshaped(slices.Insert(slices.Clone(t.shape), d, 1))
	}
	if len(parts) == 0 {
		return makeTensor(floating, []int{0})
	}
	return concatenate(parts, d)
}

// triangle keeps the elements of the last two dimensions below and at a diagonal,
// or above and at it.
func triangle(lower bool) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		t, err := a.tensor("x")
		if err != nil {
			return nil, err
		}
		k, err := a.integer("k", 0)
		if err != nil {
			return nil, err
		}
		n := len(t.shape)
		if n < 2 {
			return nil, fmt.Errorf("%s is not a matrix", t)
		}
		out, err := makeTensor(t.kind, t.shape)
		if err != nil {
			return nil, err
		}
		rows, cols := t.shape[n-2], t.shape[n-1]
		for i := range t.len() {
			row, col := int64(i/cols%rows), int64(i%cols)
			if d := col - row; lower && d > k || !lower && d < k {
				continue
			}
			if t.kind == floating {
				out.f[i] = t.f[i]
			} else {
				out.i[i] = t.i[i]
			}
		}
		return out, nil
	}
}

// arange counts from a start up to, and without, a stop.
func arange(a *args) (any, error) {
	var n [3]int64
	if len(a.rest) > 3 {
		return nil, errors.New("arange takes a start, a stop and a step")
	}
	for i, v := range a.rest {
		if f, ok := v.(float64); ok {
			return nil, fmt.Errorf("%v is not an integer; scale what arange(n) gives", f)
		}
		var err error
		if n[i], err = integerOf(v); err != nil {
			return nil, err
		}
	}
	start, stop, step := n[0], n[1], n[2]
	switch len(a.rest) {
	case 1:
		start, stop, step = 0, n[0], 1
	case 2:
		step = 1
	}
	if step == 0 {
		return nil, errors.New("a step of 0 leads nowhere")
	}
	count := 0.0
	if (stop > start) == (step > 0) && stop != start {
		count = (float64(stop)-float64(start)-1)/float64(step) + 1
		if step < 0 {
			count = (float64(start)-float64(stop)-1)/-float64(step) + 1
		}
	}
	if count > MaxElements+1 {
		return nil, fmt.Errorf("%.4g elements are too many; %d are allowed", count, MaxElements)
	}
	out, err := makeTensor(signed, []int{int(count)})
	if err != nil {
		return nil, err
	}
	for i := range out.i {
		out.i[i] = start + int64(i)*step
	}
	return out, nil
}
