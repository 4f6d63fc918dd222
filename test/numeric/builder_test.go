package numeric

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// builder gathers one kernel: inputs that are loaded, and checks that compute
// something from them and store it.
type builder struct {
	config
	r *rand.Rand
	// dims are the sizes of the config's tensors, powers of two; live says how
	// many elements of each dimension exist in memory.
	dims, live []int

	defs   []string // functions that checks call
	body   []string // before the checks
	params []string
	args   []any
	checks []*check
	loaded int
}

// tensor is what a kernel's value must be: elements row by row, of which those
// outside live never reached memory.
type tensor struct {
	name string // in the kernel
	typ  *array.DType
	dims []int
	v    []num
}

// num is an element: an integer of its type (64-bit unsigned ones as the bits),
// or a float.
type num struct {
	i int64
	f float64
}

// check is one operation and what must come out.
type check struct {
	name string
	text []string // statements
	expr string   // the value to store
	out  string   // its element type in memory
	dims []int    // of the result; nil is those of the config, masked
	want []num
	// ulps of the result's type that it may be off; 0 is exact.
	ulps float64
	// bound is a further error allowed, by element; nil is none.
	bound []float64
	// store, where set, is the statements that write to the memory named o.
	store func(o string) []string
	// start is what the memory holds before; nil is nothing.
	start []num
	// extra are further arguments of the store.
	extra string
	// accept, where set, replaces the comparison.
	accept func(i int, got num) bool

	array *array.Array // the output
}

func newBuilder(c config, seed uint64) *builder {
	h := fnv.New64a()
	fmt.Fprint(h, c)
	b := &builder{config: c, r: rand.New(rand.NewPCG(seed, h.Sum64()))}
	b.dims, b.live = c.shape()
	return b
}

func dtype(name string) *array.DType {
	d := array.Named(name)
	if d == nil {
		panic("BUG: no type " + name)
	}
	return d
}

func count(dims []int) int { return array.Count(dims) }

// strides of a dense array; of columns, with the first dimension contiguous.
func strides(dims []int, columns bool) []int {
	s := make([]int, len(dims))
	n := 1
	for k := range dims {
		d := len(dims) - 1 - k
		if columns {
			d = k
		}
		s[d], n = n, n*dims[d]
	}
	return s
}

// places calls f with the number of each element of dims and with its index.
func places(dims []int, f func(i int, at []int)) {
	at := make([]int, len(dims))
	for i := range count(dims) {
		f(i, at)
		for d := len(dims) - 1; d >= 0; d-- {
			if at[d]++; at[d] < dims[d] {
				break
			}
			at[d] = 0
		}
	}
}

func inside(at, live []int) bool {
	for d := range at {
		if at[d] >= live[d] {
			return false
		}
	}
	return true
}

func offset(at, strides []int) int {
	o := 0
	for d := range at {
		o += at[d] * strides[d]
	}
	return o
}

// axis is arange over one dimension of a tensor, shaped to broadcast.
func axis(rank, d, n int) string {
	if rank == 1 {
		return fmt.Sprintf("tl.arange(0, %d)", n)
	}
	at := slices.Repeat([]string{"None"}, rank)
	at[d] = ":"
	return fmt.Sprintf("tl.arange(0, %d)[%s]", n, strings.Join(at, ", "))
}

// pointers are the offsets of a tensor's elements, and a mask where live is
// less than dims.
func pointers(dims, live, strides []int) (offsets, mask string) {
	var sum, and []string
	for d, n := range dims {
		a := axis(len(dims), d, n)
		sum = append(sum, fmt.Sprintf("%s * %d", a, strides[d]))
		if live[d] < n {
			and = append(and, fmt.Sprintf("(%s < %d)", a, live[d]))
		}
	}
	return strings.Join(sum, " + "), strings.Join(and, " & ")
}

// room is memory for n elements, up to a whole word: before cc 90 LLVM makes
// atomic operations on bf16 of those on the word around it.
func (b *builder) room(t *array.DType, n int) *array.Array {
	if t.Size == 2 && b.words {
		n += n % 2
	}
	return array.New(t, n)
}

// param adds an argument and returns its name.
func (b *builder) param(prefix string, a any) string {
	name := fmt.Sprintf("%s%d", prefix, len(b.args))
	b.params, b.args = append(b.params, name), append(b.args, a)
	return name
}

// define adds functions to the file.
func (b *builder) define(text string) {
	if text = strings.TrimSpace(text); !slices.Contains(b.defs, text) {
		b.defs = append(b.defs, text)
	}
}

// load makes an input of the config's dims in the config's layout. Elements
// beyond live are other.
func (b *builder) load(typ string, other num, gen func(i int) num) *tensor {
	return b.loadDims(typ, b.dims, b.live, other, gen)
}

func (b *builder) loadDims(typ string, dims, live []int, other num, gen func(i int) num) *tensor {
	t := &tensor{typ: dtype(typ), dims: dims, v: make([]num, count(dims))}
	st := strides(live, b.layout == columns)
	mem := b.room(t.typ, count(live))
	places(dims, func(i int, at []int) {
		t.v[i] = other
		if inside(at, live) {
			t.v[i] = gen(i)
			put(mem, offset(at, st), t.v[i])
		}
	})
	p := b.param("p", mem)
	t.name = fmt.Sprintf("x%d", b.loaded)
	b.loaded++
	b.body = append(b.body, b.loadText(t, p, dims, live, st, other)...)
	return t
}

// loadText loads, and brings the value into the layout.
func (b *builder) loadText(t *tensor, p string, dims, live, st []int, other num) []string {
	if len(dims) == 0 {
		return []string{fmt.Sprintf("%s = tl.load(%s)", t.name, p)}
	}
	layout := b.layout
	if layout == slice { // one more dimension, along which all is equal
		dims, live, st = append(slices.Clone(dims), 2), append(slices.Clone(live), 2), append(slices.Clone(st), 0)
	}
	o, m := pointers(dims, live, st)
	if m != "" {
		m = fmt.Sprintf(", mask=%s, other=%s", m, literal(t.typ, other))
	}
	text := []string{fmt.Sprintf("%s = tl.load(%s + (%s)%s)", t.name, p, o, m)}
	switch layout {
	case slice:
		b.define("@triton.jit\ndef first_of(a, b):\n    return a")
		text = append(text, fmt.Sprintf("%s = tl.reduce(%s, %d, first_of)", t.name, t.name, len(dims)-1))
	case mma:
		n := count(dims)
		if n < 256 {
			break // less than a tile of a dot
		}
		z := fmt.Sprintf("z%d", n)
		if !slices.Contains(b.params, z) {
			b.params, b.args = append(b.params, z), append(b.args, array.New(dtype("fp16"), n))
			text = append(text,
				fmt.Sprintf("za%d = tl.load(%s + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])", n, z),
				fmt.Sprintf("zb%d = tl.load(%s + tl.arange(0, 16)[:, None] * %d + tl.arange(0, %d)[None, :])", n, z, n/16, n/16),
				fmt.Sprintf("zd%d = tl.dot(za%d, zb%d) < 1.0", n, n, n))
		}
		cond := fmt.Sprintf("tl.reshape(zd%d, (%s))", n, list(dims))
		text = append(text, fmt.Sprintf("%s = tl.where(%s, %s, %s ^ %s)", t.name, cond, t.name, t.name, t.name))
		if t.typ.Float() {
			text[len(text)-1] = fmt.Sprintf("%s = tl.where(%s, %s, -%s)", t.name, cond, t.name, t.name)
			if t.typ.Size == 1 {
				text = text[:len(text)-1] // no arithmetic on 8-bit floats
			}
		}
	}
	return text
}

// list is numbers as the elements of a tuple in Python.
func list(n []int) string {
	var s strings.Builder
	for _, v := range n {
		fmt.Fprintf(&s, "%d, ", v)
	}
	return s.String()
}

// literal is a number in Python.
func literal(t *array.DType, v num) string {
	switch {
	case !t.Float() && t.Name == "u64":
		return fmt.Sprint(uint64(v.i))
	case !t.Float():
		return fmt.Sprint(v.i)
	case v.f != v.f || math.IsInf(v.f, 0):
		return fmt.Sprintf("float('%v')", v.f)
	}
	s := fmt.Sprintf("%g", v.f)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func put(a *array.Array, i int, v num) {
	if a.Type.Float() {
		a.Set(i, v.f)
	} else {
		a.SetInt(i, v.i)
	}
}

func get(a *array.Array, i int) num {
	if a.Type.Float() {
		return num{f: a.At(i)}
	}
	return num{i: a.Int(i)}
}

// check adds an operation.
func (b *builder) check(c check) { b.checks = append(b.checks, &c) }

// exact adds an operation on whole elements: f gives the result for the
// element number i.
func (b *builder) exact(name, expr, out string, f func(i int) num) { b.near(name, expr, out, 0, f) }

// near is exact but for some ulps.
func (b *builder) near(name, expr, out string, ulps float64, f func(i int) num) {
	want := make([]num, count(b.dims))
	places(b.dims, func(i int, at []int) {
		if inside(at, b.live) {
			want[i] = f(i)
		}
	})
	b.check(check{name: name, expr: expr, out: out, want: want, ulps: ulps})
}

// output makes a check's memory.
func (b *builder) output(c *check) (live, st []int) {
	dims := c.dims
	live = dims
	if c.dims == nil {
		dims, live = b.dims, b.live
	}
	st = strides(live, b.layout == columns && c.dims == nil)
	c.array = b.room(dtype(c.out), count(live))
	c.array.Unset = true
	if c.start != nil {
		c.array.Unset = false
		places(dims, func(i int, at []int) {
			if inside(at, live) {
				put(c.array, offset(at, st), c.start[i])
			}
		})
	}
	return live, st
}

// kernel is the text of a kernel of some checks, and its arguments.
func (b *builder) kernel(checks []*check) (string, []any) {
	params, args := slices.Clone(b.params), slices.Clone(b.args)
	body := slices.Clone(b.body)
	for k, c := range checks {
		live, st := b.output(c)
		dims := c.dims
		if dims == nil {
			dims = b.dims
		}
		o := fmt.Sprintf("o%d", k)
		params, args = append(params, o), append(args, c.array)
		body = append(body, "# "+c.name)
		body = append(body, c.text...)
		if c.store != nil {
			body = append(body, c.store(o)...)
			continue
		}
		if len(dims) == 0 {
			body = append(body, fmt.Sprintf("tl.store(%s, %s%s)", o, c.expr, c.extra))
			continue
		}
		off, mask := pointers(dims, live, st)
		if mask != "" {
			mask = ", mask=" + mask
		}
		body = append(body, fmt.Sprintf("tl.store(%s + (%s), %s%s%s)", o, off, c.expr, mask, c.extra))
	}
	var s strings.Builder
	s.WriteString("import triton\nimport triton.language as tl\n\n\n")
	for _, d := range b.defs {
		s.WriteString(d + "\n\n\n")
	}
	fmt.Fprintf(&s, "@triton.jit\ndef kernel(%s):\n", strings.Join(params, ", "))
	for _, line := range body {
		s.WriteString("    " + line + "\n")
	}
	return s.String(), args
}

// mistake is a check that failed, or a kernel that did not run.
type mistake struct {
	check string
	text  string
}

// fresh is kernel with memory of its own: a kernel may write its inputs.
func (b *builder) fresh(checks []*check) (string, []any) {
	text, args := b.kernel(checks)
	for i, a := range args {
		if a, ok := a.(*array.Array); ok && i < len(b.args) {
			args[i] = a.Clone()
		}
	}
	return text, args
}

// try compiles and runs a kernel of some checks.
func (b *builder) try(t testing.TB, checks []*check) (text string, wrong []mistake, err error) {
	text, args := b.fresh(checks)
	k := kerneltest.Kernel{Source: text, Name: "kernel", Target: fmt.Sprintf("cuda:%d", b.cc)}.Warps(b.nwarps)
	if len(b.options) > 0 {
		k = k.With(b.options)
	}
	_, err = k.TryRun(t, kerneltest.Grid(max(1, b.programs)), args...)
	if err != nil {
		return text, nil, errors.New(kerneltest.Text(err))
	}
	for _, c := range checks {
		if s := b.compare(c); s != "" {
			wrong = append(wrong, mistake{c.name, s})
		}
	}
	return text, wrong, nil
}

// compare returns how an output differs from what it must be, or "".
func (b *builder) compare(c *check) string {
	dims, live := c.dims, c.dims
	if dims == nil {
		dims, live = b.dims, b.live
	}
	st := strides(live, b.layout == columns && c.dims == nil)
	var s strings.Builder
	bad := 0
	places(dims, func(i int, at []int) {
		if !inside(at, live) {
			return
		}
		got := get(c.array, offset(at, st))
		if c.ok(i, got) {
			return
		}
		if bad++; bad <= 4 {
			fmt.Fprintf(&s, "  %v is %s", at, literal(c.array.Type, got))
			if c.want != nil {
				fmt.Fprintf(&s, ", must be %s", literal(c.array.Type, c.want[i]))
			}
			s.WriteString("\n")
		}
	})
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d elements are wrong:\n%s", c.name, bad, count(live), s.String())
}

// ok reports whether element i may be got.
func (c *check) ok(i int, got num) bool {
	if c.accept != nil {
		return c.accept(i, got)
	}
	want, t := c.want[i], c.array.Type
	if !t.Float() {
		return got.i == want.i
	}
	w, g := want.f, got.f
	switch {
	case w != w || g != g:
		return w != w && g != g
	case g == w:
		return true
	}
	slack := c.ulps * ulp(t, w)
	if c.bound != nil {
		slack += c.bound[i]
	}
	return math.Abs(g-w) <= slack
}

// ulp is the distance of v, a value of t or nearly so, to its neighbour.
func ulp(t *array.DType, v float64) float64 {
	man, least := precision(t)
	_, e := math.Frexp(v)
	return math.Ldexp(1, max(e-1, least)-man)
}

// precision returns the bits of a float type's fraction and the exponent of its
// least normal number.
func precision(t *array.DType) (fraction, least int) {
	switch t.Name {
	case "fp64":
		return 52, -1022
	case "fp32":
		return 23, -126
	case "bf16":
		return 7, -126
	case "fp16":
		return 10, -14
	case "fp8e5":
		return 2, -14
	}
	return 3, -6 // fp8e4nv
}

// run compiles, runs and compares; on failure it looks for the least kernel
// that fails.
func (b *builder) run(t testing.TB) {
	t.Helper()
	text, wrong, err := b.try(t, b.checks)
	if err == nil && len(wrong) == 0 {
		return
	}
	if os.Getenv(kerneltest.StoreEnv) != "" { // nobody has compiled each operation alone
		for _, w := range wrong {
			t.Error(w.text)
		}
		t.Errorf("%v\n%s", err, text)
		return
	}
	found := false
	for _, c := range b.checks {
		if err == nil && !slices.ContainsFunc(wrong, func(m mistake) bool { return m.check == c.name }) {
			continue
		}
		alone, w, e := b.try(t, []*check{c})
		switch {
		case e != nil && !onCUDA() && tooMuchShared(e):
			t.Skipf("the device is smaller than those that the suite is for: %v", e)
		case e != nil && !onCUDA() && strings.Contains(e.Error(), "input_precision must be one of"):
			t.Skipf("the device lacks the precision: %v", e)
		case e != nil && onNPU() && strings.Contains(e.Error(), "the cube unit of an NPU does not multiply matrices of"):
			t.Skipf("the device lacks the dot: %v", e)
		case e != nil:
			t.Errorf("%s: %v\n%s", c.name, e, alone)
			found = true
		case len(w) > 0:
			t.Errorf("%s\n%s", w[0].text, alone)
			found = true
		}
	}
	if found || err != nil && tooMuchShared(err) {
		return // alone, each operation has room
	}
	for _, w := range wrong {
		t.Errorf("%s(only together with the other operations)", w.text)
	}
	t.Errorf("%v\n%s", err, text)
}

// tooMuchShared reports whether a kernel needs more shared memory than its target
// or its device has.
func tooMuchShared(err error) bool {
	return strings.Contains(err.Error(), "bytes of shared memory, and a block may have") ||
		strings.Contains(err.Error(), "bytes of shared memory; a block") ||
		strings.Contains(err.Error(), "ub overflow")
}
