package expr

import (
	"fmt"
	"math"
	"slices"
)

// last brings dimensions to the end and joins them there: rows of the size elements
// that are combined.
func (t *Tensor) last(axes []int) (rows *Tensor, size int, err error) {
	order, size := []int{}, 1
	for d := range t.shape {
		if !slices.Contains(axes, d) {
			order = append(order, d)
		}
	}
	for _, d := range axes {
		size *= t.shape[d]
	}
	rows, err = t.permute(append(order, axes...))
	return rows, size, err
}

// reducedShape is the shape without the axes, or with ones in their places.
func reducedShape(shape, axes []int, keep bool) []int {
	out := []int{}
	for d, n := range shape {
		switch {
		case !slices.Contains(axes, d):
			out = append(out, n)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}

// reduction combines rows of elements: of floats by f, of integers by i. The kinds
// that have none of their own are taken as floats.
type reduction struct {
	name string
	f    func(row []float64) float64
	i    func(row []int64, k kind) int64
	// of floats, a result that is an integer: a place
	place func(row []float64) int64
	// bools says that the result is a bool; empty, that a row may have no elements.
	bools, empty bool
}

// reduce applies a reduction as its call says.
func (r *reduction) reduce(a *args) (any, error) {
	t, err := a.tensor("x")
	if err != nil {
		return nil, err
	}
	axes, err := a.axes("axis", t)
	if err != nil {
		return nil, err
	}
	keep, err := a.flag("keepdims")
	if err != nil {
		return nil, err
	}
	return r.along(t, axes, keep)
}

func (r *reduction) along(t *Tensor, axes []int, keep bool) (*Tensor, error) {
	rows, size, err := t.last(axes)
	if err != nil {
		return nil, err
	}
	shape := reducedShape(t.shape, axes, keep)
	n, err := elements(shape)
	if err != nil {
		return nil, err
	}
	if size == 0 && n > 0 && !r.empty {
		return nil, fmt.Errorf("%s of no elements is not defined: %s", r.name, t)
	}
	if rows.kind == floating && r.f == nil && r.place == nil {
		return nil, fmt.Errorf("%s is for integers and bools, not for %s", r.name, t)
	}
	out := &Tensor{shape: shape}
	switch {
	case r.i != nil && rows.kind != floating:
		switch {
		case r.bools:
			out.kind = boolean
		case r.place != nil:
			out.kind = signed
		default:
			out.kind = promote(rows.kind, signed)
		}
		out.i = eachRow(rows.i, n, size, func(row []int64) int64 { return r.i(row, rows.kind) })
	case r.place != nil:
		if out.kind = signed; r.bools {
			out.kind = boolean
		}
		out.i = eachRow(rows.floats(), n, size, r.place)
	default:
		out.kind = floating
		out.f = eachRow(rows.floats(), n, size, r.f)
	}
	return out, nil
}

func eachRow[E, R any](in []E, n, size int, f func(row []E) R) []R {
	out := make([]R, n)
	for i := range out {
		out[i] = f(in[i*size : (i+1)*size])
	}
	return out
}

// less orders integers of a kind.
func less(a, b int64, k kind) bool {
	if k == unsigned {
		return uint64(a) < uint64(b)
	}
	return a < b
}

// before orders floats, a NaN after all others.
func before(a, b float64) bool { return a < b || b != b && a == a }

func floatSum(row []float64) float64 {
	sum := 0.0
	for _, v := range row {
		sum += v
	}
	return sum
}

func floatProd(row []float64) float64 {
	p := 1.0
	for _, v := range row {
		p *= v
	}
	return p
}

func floatMean(row []float64) float64 { return floatSum(row) / float64(len(row)) }

// squares is the sum of the squared differences from the mean.
func squares(row []float64) float64 {
	mean, sum := floatMean(row), 0.0
	for _, v := range row {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// greatest is the place of the greatest element, the first of several; a NaN is
// greater than all numbers, as NumPy has it.
func greatest(row []float64) int64 {
	at := 0
	for i, v := range row {
		if v > row[at] || v != v && row[at] == row[at] {
			at = i
		}
	}
	return int64(at)
}

// least is the place of the least element; a NaN is less than all numbers.
func least(row []float64) int64 {
	at := 0
	for i, v := range row {
		if v < row[at] || v != v && row[at] == row[at] {
			at = i
		}
	}
	return int64(at)
}

// intPlace is the place of the greatest or least integer.
func intPlace(row []int64, k kind, most bool) int64 {
	at := 0
	for i, v := range row {
		if most && less(row[at], v, k) || !most && less(v, row[at], k) {
			at = i
		}
	}
	return int64(at)
}

var reductions = []*reduction{
	{name: "sum", empty: true, f: floatSum, i: func(row []int64, _ kind) int64 {
		sum := int64(0)
		for _, v := range row {
			sum += v
		}
		return sum
	}},
	{name: "prod", empty: true, f: floatProd, i: func(row []int64, _ kind) int64 {
		p := int64(1)
		for _, v := range row {
			p *= v
		}
		return p
	}},
	{name: "xor_sum", empty: true, i: func(row []int64, _ kind) int64 {
		x := int64(0)
		for _, v := range row {
			x ^= v
		}
		return x
	}},
	{name: "mean", empty: true, f: floatMean},
	{name: "max", f: func(row []float64) float64 { return row[greatest(row)] }, i: func(row []int64, k kind) int64 { return row[intPlace(row, k, true)] }},
	{name: "min", f: func(row []float64) float64 { return row[least(row)] }, i: func(row []int64, k kind) int64 { return row[intPlace(row, k, false)] }},
	{name: "argmax", place: greatest, i: func(row []int64, k kind) int64 { return intPlace(row, k, true) }},
	{name: "argmin", place: least, i: func(row []int64, k kind) int64 { return intPlace(row, k, false) }},
	{name: "any", empty: true, bools: true, place: func(row []float64) int64 {
		return bit(slices.ContainsFunc(row, func(v float64) bool { return v != 0 }))
	}, i: func(row []int64, _ kind) int64 {
		return bit(slices.ContainsFunc(row, func(v int64) bool { return v != 0 }))
	}},
	{name: "all", empty: true, bools: true, place: func(row []float64) int64 {
		return bit(!slices.Contains(row, 0))
	}, i: func(row []int64, _ kind) int64 {
		return bit(!slices.Contains(row, 0))
	}},
	{name: "logsumexp", empty: true, f: logSumExp},
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// logSumExp subtracts the greatest element first, so that nothing overflows.
func logSumExp(row []float64) float64 {
	if len(row) == 0 {
		return math.Inf(-1)
	}
	most := row[greatest(row)]
	if math.IsInf(most, 0) || most != most {
		return most // of infinities alone, or with a NaN
	}
	sum := 0.0
	for _, v := range row {
		sum += math.Exp(v - most)
	}
	return most + math.Log(sum)
}

// variance is var, or std, of which it is the square.
func variance(root bool) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		ddof, err := a.integer("ddof", 0)
		if err != nil {
			return nil, err
		}
		r := reduction{name: "var", empty: true, f: func(row []float64) float64 {
			v := squares(row) / max(float64(len(row))-float64(ddof), 0)
			if root {
				v = math.Sqrt(v)
			}
			return v
		}}
		return r.reduce(a)
	}
}

// sequence works on rows of one dimension and leaves their shape. Rows of
// integers go by i; where that is nil, they are floats.
type sequence struct {
	name string
	f    func(row, out []float64)
	i    func(row, out []int64, k kind)
	// standard is the axis where none is given: 0 stands for the only one.
	standard int
}

func (s *sequence) run(a *args) (any, error) {
	t, err := a.tensor("x")
	if err != nil {
		return nil, err
	}
	if s.standard == 0 {
		if err := a.needAxis(t); err != nil {
			return nil, err
		}
	}
	d, err := a.axis("axis", t, s.standard)
	if err != nil {
		return nil, err
	}
	reverse, err := a.flag("reverse")
	if err != nil {
		return nil, err
	}
	if reverse {
		if t, err = t.flip([]int{d}); err != nil {
			return nil, err
		}
	}
	out, err := s.along(t, d)
	if err == nil && reverse {
		out, err = out.flip([]int{d})
	}
	return out, err
}

func (s *sequence) along(t *Tensor, d int) (*Tensor, error) {
	rows, size, err := t.last([]int{d})
	if err != nil {
		return nil, err
	}
	out := &Tensor{shape: rows.shape, kind: promote(rows.kind, signed)}
	if s.i != nil && rows.kind != floating {
		out.i = make([]int64, len(rows.i))
		for at := 0; at < len(out.i); at += size {
			s.i(rows.i[at:at+size], out.i[at:at+size], rows.kind)
		}
	} else {
		in := rows.floats()
		out.kind, out.f = floating, make([]float64, len(in))
		for at := 0; at < len(in); at += size {
			s.f(in[at:at+size], out.f[at:at+size])
		}
	}
	return out.permute(putBack(len(t.shape), d))
}

// putBack is the order that moves the last dimension to place d.
func putBack(rank, d int) []int {
	order := append(seq(0, d), rank-1)
	return append(order, seq(d, rank-1)...)
}

// scan makes the sequence of an operation that is applied from the first element on.
func scan(name string, f func(a, b float64) float64, i func(a, b int64, k kind) int64) *sequence {
	return &sequence{
		name: name,
		f: func(row, out []float64) {
			for n, v := range row {
				if n > 0 {
					v = f(out[n-1], v)
				}
				out[n] = v
			}
		},
		i: func(row, out []int64, k kind) {
			for n, v := range row {
				if n > 0 {
					v = i(out[n-1], v, k)
				}
				out[n] = v
			}
		},
	}
}

var sequences = []*sequence{
	scan("cumsum", func(a, b float64) float64 { return a + b }, func(a, b int64, _ kind) int64 { return a + b }),
	scan("cumprod", func(a, b float64) float64 { return a * b }, func(a, b int64, _ kind) int64 { return a * b }),
	scan("cummax", func(a, b float64) float64 { return max(a, b) }, func(a, b int64, k kind) int64 {
		if less(a, b, k) {
			return b
		}
		return a
	}),
	scan("cummin", func(a, b float64) float64 { return min(a, b) }, func(a, b int64, k kind) int64 {
		if less(b, a, k) {
			return b
		}
		return a
	}),
	{name: "softmax", standard: -1, f: func(row, out []float64) {
		most, sum := row[greatest(row)], 0.0
		for i, v := range row {
			out[i] = math.Exp(v - most)
			sum += out[i]
		}
		for i := range out {
			out[i] /= sum
		}
	}},
	{name: "log_softmax", standard: -1, f: func(row, out []float64) {
		most, sum := row[greatest(row)], 0.0
		for _, v := range row {
			sum += math.Exp(v - most)
		}
		for i, v := range row {
			out[i] = v - most - math.Log(sum)
		}
	}},
}

// order sorts the places of a row, equal elements in their order.
func order[E any](row []E, places []int64, before func(a, b E) bool) {
	for i := range places {
		places[i] = int64(i)
	}
	slices.SortStableFunc(places, func(a, b int64) int {
		switch {
		case before(row[a], row[b]):
			return -1
		case before(row[b], row[a]):
			return 1
		}
		return 0
	})
}

// sorted is sort, or argsort, which gives the places. NaNs come after all numbers,
// or before them where the order descends.
func sorted(places bool) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		t, err := a.tensor("x")
		if err != nil {
			return nil, err
		}
		d, err := a.axis("axis", t, -1)
		if err != nil {
			return nil, err
		}
		down, err := a.flag("descending")
		if err != nil {
			return nil, err
		}
		rows, size, err := t.last([]int{d})
		if err != nil {
			return nil, err
		}
		at := make([]int64, rows.len())
		for i := 0; i < len(at); i += size {
			if rows.kind == floating {
				order(rows.f[i:i+size], at[i:i+size], func(a, b float64) bool {
					if down {
						a, b = b, a
					}
					return before(a, b)
				})
			} else {
				order(rows.i[i:i+size], at[i:i+size], func(a, b int64) bool {
					if down {
						a, b = b, a
					}
					return less(a, b, rows.kind)
				})
			}
		}
		out := &Tensor{shape: rows.shape, kind: signed, i: at}
		if !places {
			out = rows.pick(at, size)
		}
		return out.permute(putBack(len(t.shape), d))
	}
}

// pick takes from each row of size elements those at places.
func (t *Tensor) pick(places []int64, size int) *Tensor {
	out := &Tensor{shape: t.shape, kind: t.kind}
	for i, p := range places {
		from := i/size*size + int(p)
		if t.kind == floating {
			out.f = append(out.f, t.f[from])
		} else {
			out.i = append(out.i, t.i[from])
		}
	}
	return out
}
