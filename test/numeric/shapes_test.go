package numeric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// shaped is a tensor of a random program, with what is in it.
type shaped struct {
	name, typ string
	dims      []int
	v         []int64
}

func (b *shaped) like(dims []int) *shaped {
	return &shaped{typ: b.typ, dims: dims, v: make([]int64, count(dims))}
}

// shaper writes a program of operations that change shapes, and computes what
// they must give.
type shaper struct {
	r      *rand.Rand
	lines  []string
	params []string
	args   []any
	live   []*shaped
	indent string
}

// shapeDefs are the functions that programs combine elements with.
const shapeDefs = `import triton
import triton.language as tl

@triton.jit
def plus(a, b):
    return a + b

@triton.jit
def xor(a, b):
    return a ^ b

@triton.jit
def greater(a, b):
    return tl.where(a > b, a, b)

@triton.jit
def second(a, b):
    return b

@triton.jit
def least(a, i, b, j):
    other = (b < a) | ((b == a) & (j < i))
    return tl.where(other, b, a), tl.where(other, j, i)

@triton.jit
def affine(a, b, c, d):
    return a * c, b * c + d

`

var (
	shapeTypes = []string{"i32", "i32", "i8", "i16", "i64", "u8", "u32", "fp16", "bf16", "fp32", "fp64"}
	combines   = map[string]func(t *array.DType, a, b int64) int64{
		"plus": func(t *array.DType, a, b int64) int64 { return fit(t, a+b) },
		"xor":  func(_ *array.DType, a, b int64) int64 { return a ^ b },
		"greater": func(t *array.DType, a, b int64) int64 {
			if before(t, a, b) {
				return b
			}
			return a
		},
		"second": func(_ *array.DType, _, b int64) int64 { return b },
	}
)

// maxShape is the most elements of a tensor.
const maxShape = 2048

// fit is v as an element of t; floats keep whole numbers as they are.
func fit(t *array.DType, v int64) int64 {
	if t.Float() {
		return v
	}
	return wrap(t, v).i
}

func element(t *array.DType, v int64) num {
	if t.Float() {
		return num{f: float64(v)}
	}
	return wrap(t, v)
}

// number is a whole number as the memory of either kind has it.
func number(v num) int64 { return v.i + int64(v.f) }

func before(t *array.DType, a, b int64) bool {
	if t.Float() {
		return a < b
	}
	return less(t, a, b)
}

// exactly reports whether t has the sum of any n of the values.
func exactly(t *array.DType, values []int64, n int) bool {
	if !t.Float() {
		return true
	}
	man, _ := precision(t)
	for _, v := range values {
		if max(v, -v) > int64(1)<<(man+1)/int64(n) {
			return false
		}
	}
	return true
}

func (s *shaper) line(format string, args ...any) {
	s.lines = append(s.lines, s.indent+fmt.Sprintf(format, args...))
}

func (s *shaper) fresh() string { return fmt.Sprintf("v%d", len(s.lines)) }

// add gives a tensor to the program, unless it is of floats and has numbers that
// they do not have: all floats here are whole numbers, so that nothing rounds.
func (s *shaper) add(b *shaped, expr string, args ...any) *shaped {
	if !exactly(dtype(b.typ), b.v, 1) {
		return nil
	}
	b.name = s.fresh()
	s.line("%s = %s", b.name, fmt.Sprintf(expr, args...))
	s.live = append(s.live, b)
	return b
}

// any is one of the tensors, of the later ones more often.
func (s *shaper) any() *shaped {
	n := len(s.live)
	return s.live[n-1-min(s.r.IntN(n), s.r.IntN(n))]
}

// match is another tensor of b's type and shape, or b itself.
func (s *shaper) match(b *shaped) *shaped {
	var same []*shaped
	for _, c := range s.live {
		if c.typ == b.typ && slices.Equal(c.dims, b.dims) {
			same = append(same, c)
		}
	}
	return same[s.r.IntN(len(same))]
}

func (s *shaper) dims(rank, most int) []int {
	dims := make([]int, rank)
	n := 1
	for d := range dims {
		dims[d] = 1 << s.r.IntN(7)
		for n*dims[d] > most {
			dims[d] /= 2
		}
		n *= dims[d]
	}
	s.r.Shuffle(rank, func(i, j int) { dims[i], dims[j] = dims[j], dims[i] })
	return dims
}

// load adds a tensor from memory, whose dimensions lie there in any order.
func (s *shaper) load(dims []int) *shaped {
	typ := shapeTypes[s.r.IntN(len(shapeTypes))]
	t := dtype(typ)
	perm := s.r.Perm(len(dims))
	st, n := make([]int, len(dims)), 1
	for _, d := range perm {
		st[d], n = n, n*dims[d]
	}
	live := slices.Clone(dims)
	for d := range live {
		if live[d] > 1 && s.r.IntN(4) == 0 {
			live[d] -= s.r.IntN(live[d]/2) + 1
		}
	}
	mem := array.New(t, n)
	for i := range n {
		v := int64(s.r.Uint64())
		if t.Float() {
			v %= 3
		} else if s.r.IntN(2) == 0 {
			v %= 8
		}
		put(mem, i, element(t, v))
	}
	b := &shaped{typ: typ, dims: dims, v: make([]int64, n)}
	places(dims, func(i int, at []int) {
		b.v[i] = 3
		if inside(at, live) {
			b.v[i] = number(get(mem, offset(at, st)))
		}
	})
	p := fmt.Sprintf("p%d", len(s.params))
	s.params, s.args = append(s.params, p), append(s.args, mem)
	if len(dims) == 0 {
		return s.add(b, "tl.load(%s)", p)
	}
	off, mask := pointers(dims, live, st)
	if mask != "" {
		mask = ", mask=" + mask + ", other=3"
	}
	return s.add(b, "tl.load(%s + (%s)%s)", p, off, mask)
}

func without(dims []int, d int) []int { return slices.Delete(slices.Clone(dims), d, d+1) }

// step adds one operation, where the tensor that was drawn has it.
func (s *shaper) step() {
	x := s.any()
	t, rank := dtype(x.typ), len(x.dims)
	d := 0
	if rank > 0 {
		d = s.r.IntN(rank)
	}
	st := strides(x.dims, false)
	switch s.r.IntN(23) {
	case 0: // arithmetic
		y := s.match(x)
		k := s.r.IntN(5)
		if t.Float() {
			k = s.r.IntN(3)
		}
		b := x.like(x.dims)
		for i := range b.v {
			p, q := x.v[i], y.v[i]
			b.v[i] = fit(t, []int64{p + q, p - q, p * q, p & q, p ^ q}[k])
		}
		s.add(b, "%s %s %s", x.name, []string{"+", "-", "*", "&", "^"}[k], y.name)
	case 1:
		y := s.match(x)
		b := x.like(x.dims)
		for i := range b.v {
			if b.v[i] = y.v[i]; before(t, x.v[i], y.v[i]) {
				b.v[i] = fit(t, -x.v[i])
			}
		}
		s.add(b, "tl.where(%s < %s, -%s, %s)", x.name, y.name, x.name, y.name)
	case 2: // another type
		to := shapeTypes[s.r.IntN(len(shapeTypes))]
		b := x.like(x.dims)
		b.typ = to
		for i := range b.v {
			b.v[i] = fit(dtype(to), x.v[i])
			if t.Float() && b.v[i] != x.v[i] {
				return // not defined
			}
		}
		s.add(b, "%s.to(%s)", x.name, pyType(to))
	case 3:
		if rank == 5 {
			return
		}
		at := s.r.IntN(rank + 1)
		b := x.like(slices.Insert(slices.Clone(x.dims), at, 1))
		copy(b.v, x.v)
		if rank == 0 {
			s.add(b, "tl.full([1], 0, %s) + %s", pyType(x.typ), x.name)
			return
		}
		s.add(b, "tl.expand_dims(%s, %d)", x.name, at)
	case 4:
		if rank == 0 || x.dims[d] != 1 {
			return
		}
		dims := slices.Clone(x.dims)
		dims[d] = 2 << s.r.IntN(4)
		if count(dims) > maxShape {
			return
		}
		b := x.like(dims)
		places(dims, func(i int, at []int) {
			from := slices.Clone(at)
			from[d] = 0
			b.v[i] = x.v[offset(from, st)]
		})
		s.add(b, "tl.broadcast_to(%s, [%s])", x.name, list(dims))
	case 5, 6:
		if rank < 2 {
			return
		}
		perm := s.r.Perm(rank)
		dims := make([]int, rank)
		for k, p := range perm {
			dims[k] = x.dims[p]
		}
		b := x.like(dims)
		places(dims, func(i int, at []int) {
			o := 0
			for k, p := range perm {
				o += at[k] * st[p]
			}
			b.v[i] = x.v[o]
		})
		s.add(b, "tl.permute(%s, [%s])", x.name, list(perm))
	case 7:
		if rank == 0 {
			return
		}
		dims, rest := []int{}, count(x.dims)
		for len(dims) < 4 && s.r.IntN(4) > 0 {
			n := 1 << s.r.IntN(5)
			for n > rest {
				n /= 2
			}
			dims, rest = append(dims, n), rest/n
		}
		dims = append(dims, rest)
		s.r.Shuffle(len(dims), func(i, j int) { dims[i], dims[j] = dims[j], dims[i] })
		b := x.like(dims)
		copy(b.v, x.v)
		s.add(b, "tl.reshape(%s, [%s])", x.name, list(dims))
	case 8, 9: // a reduction
		if rank == 0 {
			return
		}
		name := []string{"plus", "greater", "xor"}[s.r.IntN(3)]
		if t.Float() && name == "xor" || name == "plus" && !exactly(t, x.v, x.dims[d]) {
			name = "greater"
		}
		b := x.like(without(x.dims, d))
		keep := s.r.IntN(3) == 0
		places(b.dims, func(i int, at []int) {
			from := slices.Insert(slices.Clone(at), d, 0)
			o := offset(from, st)
			b.v[i] = x.v[o]
			for k := 1; k < x.dims[d]; k++ {
				b.v[i] = combines[name](t, b.v[i], x.v[o+k*st[d]])
			}
		})
		if keep {
			b.dims = slices.Insert(b.dims, d, 1)
			s.add(b, "tl.reduce(%s, %d, %s, keep_dims=True)", x.name, d, name)
			return
		}
		s.add(b, "tl.reduce(%s, %d, %s)", x.name, d, name)
	case 10: // of pairs
		if rank == 0 {
			return
		}
		b, c := x.like(without(x.dims, d)), x.like(without(x.dims, d))
		c.typ = "i32"
		places(b.dims, func(i int, at []int) {
			o := offset(slices.Insert(slices.Clone(at), d, 0), st)
			b.v[i] = x.v[o]
			for k := 1; k < x.dims[d]; k++ {
				if v := x.v[o+k*st[d]]; before(t, v, b.v[i]) {
					b.v[i], c.v[i] = v, int64(k)
				}
			}
		})
		pair := s.fresh()
		s.line("%s = tl.reduce((%s, tl.broadcast_to(%s, [%s])), %d, least)", pair, x.name, axis(rank, d, x.dims[d]), list(x.dims), d)
		s.add(b, "%s[0]", pair)
		s.add(c, "%s[1]", pair)
	case 11: // a scan
		if rank == 0 {
			return
		}
		name := []string{"plus", "xor", "greater", "second"}[s.r.IntN(4)]
		if t.Float() && name == "xor" || name == "plus" && !exactly(t, x.v, x.dims[d]) {
			name = "greater"
		}
		back := s.r.IntN(2) == 0
		b := x.like(x.dims)
		s.along(x, d, back, func(o, before int) {
			if b.v[o] = x.v[o]; before >= 0 {
				b.v[o] = combines[name](t, b.v[before], x.v[o])
			}
		})
		s.add(b, "tl.associative_scan(%s, %d, %s, reverse=%s)", x.name, d, name, python(back))
	case 12: // of pairs
		if rank == 0 {
			return
		}
		if t.Float() {
			return // products of many
		}
		y := s.match(x)
		back := s.r.IntN(2) == 0
		b, c := x.like(x.dims), x.like(x.dims)
		s.along(x, d, back, func(o, before int) {
			if b.v[o], c.v[o] = x.v[o], y.v[o]; before >= 0 {
				b.v[o], c.v[o] = fit(t, b.v[before]*x.v[o]), fit(t, c.v[before]*x.v[o]+y.v[o])
			}
		})
		pair := s.fresh()
		s.line("%s = tl.associative_scan((%s, %s), %d, affine, reverse=%s)", pair, x.name, y.name, d, python(back))
		s.add(b, "%s[0]", pair)
		s.add(c, "%s[1]", pair)
	case 13:
		if rank == 0 || t.Size > 4 {
			return
		}
		n := x.dims[d]
		b := x.like(x.dims)
		y := s.match(x)
		places(x.dims, func(i int, at []int) {
			from := slices.Clone(at)
			from[d] = int(y.v[i] & int64(n-1))
			b.v[i] = x.v[offset(from, st)]
		})
		s.add(b, "tl.gather(%s, %s.to(tl.int32) & %d, %d)", x.name, y.name, n-1, d)
	case 14:
		if rank != 1 || len(x.v) < 2 {
			return
		}
		bins := 2 << s.r.IntN(6)
		b := &shaped{typ: "i32", dims: []int{bins}, v: make([]int64, bins)}
		mask := ""
		for i := range x.v {
			if v := x.v[i] & int64(bins-1); v != 1 {
				b.v[v]++
			}
		}
		small := s.fresh()
		s.line("%s = %s.to(tl.int32) & %d", small, x.name, bins-1)
		mask = fmt.Sprintf(", mask=%s != 1", small)
		s.add(b, "tl.histogram(%s, %d%s)", small, bins, mask)
	case 15:
		if rank == 5 || 2*len(x.v) > maxShape {
			return
		}
		y := s.match(x)
		b := x.like(append(slices.Clone(x.dims), 2))
		for i := range x.v {
			b.v[2*i], b.v[2*i+1] = x.v[i], y.v[i]
		}
		s.add(b, "tl.join(%s, %s)", x.name, y.name)
	case 16:
		if rank == 0 || x.dims[rank-1] != 2 {
			return
		}
		b, c := x.like(x.dims[:rank-1:rank-1]), x.like(x.dims[:rank-1:rank-1])
		for i := range b.v {
			b.v[i], c.v[i] = x.v[2*i], x.v[2*i+1]
		}
		pair := s.fresh()
		s.line("%s = tl.split(%s)", pair, x.name)
		s.add(b, "%s[0]", pair)
		s.add(c, "%s[1]", pair)
	case 17:
		if len(x.v) < 2 {
			return
		}
		b := x.like(x.dims)
		s.along(x, d, false, func(o, _ int) {
			k := o / st[d] % x.dims[d]
			b.v[o] = x.v[o+(x.dims[d]-1-2*k)*st[d]]
		})
		s.add(b, "tl.flip(%s, %d)", x.name, d)
	case 18, 19: // a dot with itself, transposed; the order of dimensions is any
		if rank < 2 || rank > 3 || x.dims[rank-1] < 32 || count(x.dims)/x.dims[rank-1]*x.dims[rank-2] > maxShape {
			return
		}
		m, depth := x.dims[rank-2], x.dims[rank-1]
		b := x.like(append(slices.Clone(x.dims[:rank-1]), m))
		b.typ = "i32"
		narrow, result := "i8", "i32"
		if t.Float() {
			narrow, result = []string{"fp16", "bf16", "fp64", "fp32"}[s.r.IntN(4)], "fp32"
			if narrow == "fp64" && onNPU() {
				narrow = "fp32" // an NPU has no dots of f64
			}
			if narrow == "fp64" {
				result = narrow
			}
			if !exactly(dtype(narrow), x.v, 1) || !exactly(dtype("fp32"), x.v, 1<<12) {
				return
			}
			b.typ = result
		}
		places(b.dims, func(i int, at []int) {
			row := slices.Clone(at)
			row[rank-1] = 0
			p := offset(row, st)
			row[rank-2] = at[rank-1]
			q := offset(row, st)
			sum := int64(0)
			for k := range depth {
				if t.Float() {
					sum += x.v[p+k] * x.v[q+k]
				} else {
					sum += int64(int8(x.v[p+k])) * int64(int8(x.v[q+k]))
				}
			}
			b.v[i] = sum
		})
		swap := []int{1, 0}
		if rank == 3 {
			swap = []int{0, 2, 1}
		}
		small := s.fresh()
		s.line("%s = %s.to(%s)", small, x.name, pyType(narrow))
		s.add(b, "tl.dot(%s, tl.permute(%s, [%s]), out_dtype=%s, input_precision='ieee')", small, small, list(swap), pyType(result))
	case 20: // sorted, along the last dimension
		if rank == 0 || x.dims[rank-1] < 2 || x.dims[rank-1] > 32 || len(x.v) > 512 {
			return
		}
		down := s.r.IntN(2) == 0
		b := x.like(x.dims)
		copy(b.v, x.v)
		n := x.dims[rank-1]
		for i := 0; i < len(b.v); i += n {
			slices.SortFunc(b.v[i:i+n], func(p, q int64) int {
				switch {
				case p == q:
					return 0
				case before(t, p, q) != down:
					return -1
				}
				return 1
			})
		}
		s.add(b, "tl.sort(%s, descending=%s)", x.name, python(down))
	case 21: // the first of the greatest, as the language's library finds it
		if rank == 0 {
			return
		}
		b, c := x.like(without(x.dims, d)), x.like(without(x.dims, d))
		if x.typ == "bf16" {
			b.typ = "fp32"
		}
		c.typ = "i32"
		places(b.dims, func(i int, at []int) {
			o := offset(slices.Insert(slices.Clone(at), d, 0), st)
			b.v[i] = x.v[o]
			for k := 1; k < x.dims[d]; k++ {
				if v := x.v[o+k*st[d]]; before(t, b.v[i], v) {
					b.v[i], c.v[i] = v, int64(k)
				}
			}
		})
		pair := s.fresh()
		s.line("%s = tl.max(%s, %d, return_indices=True)", pair, x.name, d)
		s.add(b, "%s[0]", pair)
		s.add(c, "%s[1]", pair)
	default: // a loop with a reduction, whose result spreads again
		if rank == 0 {
			return
		}
		trips := s.r.IntN(4)
		b := x.like(x.dims)
		copy(b.v, x.v)
		for iter := range trips {
			next := slices.Clone(b.v)
			places(without(x.dims, d), func(_ int, at []int) {
				o := offset(slices.Insert(slices.Clone(at), d, 0), st)
				all := int64(0)
				for k := range x.dims[d] {
					switch v := b.v[o+k*st[d]]; {
					case !t.Float():
						all ^= v
					case k == 0 || v > all:
						all = v
					}
				}
				for k := range x.dims[d] {
					next[o+k*st[d]] = fit(t, b.v[o+k*st[d]]*3+all+int64(iter))
				}
			})
			b.v = next
		}
		s.params, s.args = append(s.params, fmt.Sprintf("n%d", len(s.params))), append(s.args, trips)
		n := s.params[len(s.params)-1]
		if s.add(b, "%s", x.name) == nil {
			return
		}
		combine := "xor"
		if t.Float() {
			combine = "greater"
		}
		s.line("for i in range(%s):", n)
		s.line("    %s = %s * 3 + tl.reduce(%s, %d, %s, keep_dims=True) + i.to(%s)", b.name, b.name, b.name, d, combine, pyType(x.typ))
	}
}

// along calls f for the elements of x in the order of dimension d, or against it,
// with the place of the one before, -1 for the first.
func (s *shaper) along(x *shaped, d int, back bool, f func(o, before int)) {
	st := strides(x.dims, false)
	places(without(x.dims, d), func(_ int, at []int) {
		o := offset(slices.Insert(slices.Clone(at), d, 0), st)
		n := x.dims[d]
		for k := range n {
			to, before := o+k*st[d], o+(k-1)*st[d]
			if back {
				to, before = o+(n-1-k)*st[d], o+(n-k)*st[d]
			}
			if k == 0 {
				before = -1
			}
			f(to, before)
		}
	})
}

func python(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

// TestRandomShapes: programs of operations on whole numbers of any shape, up to rank
// five and blocks larger and smaller than the tensors, give what Go computes.
func TestRandomShapes(t *testing.T) {
	eachProgram(t, func(t *testing.T, _ int, r *rand.Rand) { runShapes(t, r) })
}

func runShapes(t *testing.T, r *rand.Rand) {
	s := &shaper{r: r}
	for range 2 + r.IntN(2) {
		s.load(s.dims(r.IntN(6), maxShape))
	}
	s.load(s.dims(1, maxShape))
	for range 6 + r.IntN(12) {
		s.step()
	}
	// What is stored: the last ones.
	var outs []*array.Array
	last := s.live[max(0, len(s.live)-8):]
	for k, b := range last {
		o := fmt.Sprintf("o%d", k)
		out := kerneltest.Empty(b.typ, count(b.dims))
		outs = append(outs, out)
		s.params, s.args = append(s.params, o), append(s.args, out)
		if len(b.dims) == 0 {
			s.line("tl.store(%s, %s)", o, b.name)
			continue
		}
		off, _ := pointers(b.dims, b.dims, strides(b.dims, false))
		s.line("tl.store(%s + (%s), %s)", o, off, b.name)
	}
	text := shapeDefs + "@triton.jit\ndef kernel(" + strings.Join(s.params, ", ") + "):\n    " + strings.Join(s.lines, "\n    ") + "\n"
	warps := 1 << r.IntN(6)
	if onAMD() {
		warps = min(warps, 16) // of 64 lanes
	}
	target := fmt.Sprint("cuda:", capabilities()[r.IntN(len(capabilities()))])
	k := kerneltest.Kernel{Source: text, Name: "kernel", Target: target}.Warps(warps)
	if _, err := k.TryRun(t, kerneltest.Grid(1), s.args...); err != nil {
		t.Fatalf("%s, %d warps: %s\n%s", target, warps, kerneltest.Text(err), text)
	}
	for k, b := range last {
		bad := 0
		for i := range b.v {
			if got := number(get(outs[k], i)); got != b.v[i] {
				if bad++; bad < 4 {
					t.Errorf("%s, %d warps: element %d of %s is %d, must be %d", target, warps, i, b.name, got, b.v[i])
				}
			}
		}
		if bad > 0 {
			t.Errorf("%d of %d elements of %s are wrong", bad, len(b.v), b.name)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
