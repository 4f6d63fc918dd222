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

// reckoner writes integer arithmetic on indices, program ids and arguments, from
// which the compiler infers what of memory lies together, and computes it for one
// program.
type reckoner struct {
	r     *rand.Rand
	lines []string
	dims  []int
	live  []*reckoned
}

// reckoned is a value of every element, or one for all where its name says so.
type reckoned struct {
	name   string
	scalar bool
	v      []int64
}

// maxOffset bounds what is computed, so that nothing overflows.
const maxOffset = 1 << 28

func (c *reckoner) add(scalar bool, v []int64, expr string) {
	for _, x := range v {
		if max(x, -x) > maxOffset {
			return
		}
	}
	name := fmt.Sprintf("v%d", len(c.lines))
	c.lines = append(c.lines, name+" = "+expr)
	c.live = append(c.live, &reckoned{name, scalar, v})
}

func (c *reckoner) any() *reckoned {
	n := len(c.live)
	return c.live[n-1-min(c.r.IntN(n), c.r.IntN(n))]
}

func (c *reckoner) step() {
	x, y := c.any(), c.any()
	for x.scalar && c.r.IntN(4) > 0 {
		x = c.any()
	}
	each := func(f func(a, b int64) int64) []int64 {
		v := make([]int64, len(x.v))
		for i := range v {
			v[i] = f(x.v[i], y.v[i])
		}
		return v
	}
	k := []int64{1, 2, 3, 4, 5, 8, 12, 16, 32, 48, 64, 100}[c.r.IntN(12)]
	shift := int64(c.r.IntN(5))
	both := x.scalar && y.scalar
	switch c.r.IntN(16) {
	case 0:
		c.add(both, each(func(a, b int64) int64 { return a + b }), x.name+" + "+y.name)
	case 1:
		c.add(both, each(func(a, b int64) int64 { return a - b }), x.name+" - "+y.name)
	case 2:
		c.add(both, each(func(a, b int64) int64 { return a * b }), x.name+" * "+y.name)
	case 3, 4:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a * k }), fmt.Sprintf("%s * %d", x.name, k))
	case 5:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a + k }), fmt.Sprintf("%s + %d", x.name, k))
	case 6:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a / k }), fmt.Sprintf("%s // %d", x.name, k))
	case 7:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a % k }), fmt.Sprintf("%s %% %d", x.name, k))
	case 8:
		for _, b := range y.v {
			if b <= 0 {
				return
			}
		}
		op := []string{"//", "%"}[c.r.IntN(2)]
		c.add(both, each(func(a, b int64) int64 {
			if op == "%" {
				return a % b
			}
			return a / b
		}), x.name+" "+op+" "+y.name)
	case 9:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a & (k - 1) }), fmt.Sprintf("%s & %d", x.name, k-1))
	case 10:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a | k }), fmt.Sprintf("%s | %d", x.name, k))
	case 11:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a ^ k }), fmt.Sprintf("%s ^ %d", x.name, k))
	case 12:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a << shift }), fmt.Sprintf("%s << %d", x.name, shift))
	case 13:
		c.add(x.scalar, each(func(a, _ int64) int64 { return a >> shift }), fmt.Sprintf("%s >> %d", x.name, shift))
	case 14:
		name := []string{"minimum", "maximum"}[c.r.IntN(2)]
		c.add(both, each(func(a, b int64) int64 {
			if name == "minimum" {
				return min(a, b)
			}
			return max(a, b)
		}), fmt.Sprintf("tl.%s(%s, %s)", name, x.name, y.name))
	default:
		c.add(both, each(func(a, b int64) int64 {
			if a%k < b%k {
				return a
			}
			return b
		}), fmt.Sprintf("tl.where(%s %% %d < %s %% %d, %s, %s)", x.name, k, y.name, k, x.name, y.name))
	}
}

// TestRandomOffsets: whatever loads and stores make of what is known about
// addresses and masks, each element comes from where it must and goes there.
func TestRandomOffsets(t *testing.T) {
	eachProgram(t, func(t *testing.T, _ int, r *rand.Rand) { runOffsets(t, r) })
}

func runOffsets(t *testing.T, r *rand.Rand) {
	c := &reckoner{r: r}
	n := 1 << (1 + r.IntN(10))
	c.dims = []int{n}
	if r.IntN(2) == 0 {
		inner := 1 << r.IntN(7)
		c.dims = []int{max(1, n/inner), inner}
	}
	n = count(c.dims)
	// One program of a grid that has others, which do nothing.
	pid := int64(r.IntN(3))
	args := []int64{16 * (1 + int64(r.IntN(20))), 1 + int64(r.IntN(99)), 32}
	filled := func(v int64) []int64 {
		all := make([]int64, n)
		for i := range all {
			all[i] = v
		}
		return all
	}
	for d := range c.dims {
		v := make([]int64, n)
		places(c.dims, func(i int, at []int) { v[i] = int64(at[d]) })
		c.add(false, v, axis(len(c.dims), d, c.dims[d]))
	}
	if len(c.dims) == 2 {
		v := make([]int64, n)
		inner := int64(c.dims[1])
		for i := range v {
			v[i] = c.live[0].v[i]*inner + c.live[1].v[i]
		}
		c.add(false, v, fmt.Sprintf("v0 * %d + v1", inner))
	}
	index := c.live[len(c.live)-1]
	c.add(true, filled(pid), "tl.program_id(0)")
	for k, a := range args {
		c.add(true, filled(a), fmt.Sprintf("n%d", k))
	}
	for range 4 + r.IntN(14) {
		c.step()
	}
	// The last addresses that lie near enough, and for the store the last that
	// differ; a mask that is of both kinds if one can be had.
	off, stored := index, index
	for _, b := range c.live {
		if slices.Max(b.v)-slices.Min(b.v) > 1<<14 || b.scalar {
			continue
		}
		off = b
		if len(slices.Compact(slices.Sorted(slices.Values(b.v)))) == n {
			stored = b
		}
	}
	least, most := slices.Min(off.v), slices.Max(off.v)
	bottom, top := slices.Min(stored.v), slices.Max(stored.v)
	a, b := c.any(), c.any()
	for range 20 {
		some := 0
		for i := range n {
			if a.v[i] < b.v[i] {
				some++
			}
		}
		if some > 0 && some < n {
			break
		}
		a, b = c.any(), c.any()
	}
	typ := []string{"i8", "i16", "i32", "i64", "fp16", "fp32"}[r.IntN(6)]
	e := dtype(typ)
	trips, stride := 1+r.IntN(3), r.IntN(3)*16
	x := array.New(e, int(most-least)+1+trips*stride)
	for i := range x.Len() {
		put(x, i, element(e, int64(r.IntN(50))))
	}
	out, first := array.New(e, int(top-bottom)+1), int64(7)
	for i := range out.Len() {
		put(out, i, element(e, first))
	}
	want := make([]int64, out.Len())
	for i := range want {
		want[i] = first
	}
	for i := range n {
		live := a.v[i] < b.v[i]
		sum := int64(0)
		for iter := range trips {
			if live {
				sum += number(get(x, int(off.v[i]-least)+iter*stride))
			} else {
				sum += 5
			}
		}
		if live {
			want[stored.v[i]-bottom] = fit(e, sum)
		}
	}
	shape := list(c.dims)
	// Values that lack a dimension get it from the zero of all.
	lines := append(c.lines,
		fmt.Sprintf("zero = tl.zeros([%s], tl.int32)", shape),
		fmt.Sprintf("mask = (%s + zero) < (%s + zero)", a.name, b.name),
		fmt.Sprintf("from_ = x + (%s + zero - (%d))", off.name, least),
		fmt.Sprintf("acc = tl.zeros([%s], %s)", shape, pyType(typ)),
		"for i in range(trips):",
		"    acc += tl.load(from_, mask=mask, other=5)",
		fmt.Sprintf("    from_ += %d", stride),
		fmt.Sprintf("tl.store(out + (%s + zero - (%d)), acc, mask=mask)", stored.name, bottom))
	text := "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel(x, out, n0, n1, n2, trips, mine):\n    if tl.program_id(0) == mine:\n        " +
		strings.Join(lines, "\n        ") + "\n"
	warps := 1 << r.IntN(4)
	target := fmt.Sprint("cuda:", capabilities()[r.IntN(len(capabilities()))])
	k := kerneltest.Kernel{Source: text, Name: "kernel", Target: target}.Warps(warps)
	if _, err := k.TryRun(t, kerneltest.Grid(3), x, out, args[0], args[1], args[2], trips, pid); err != nil {
		t.Fatalf("%s, %d warps: %s\n%s", target, warps, kerneltest.Text(err), text)
	}
	for i := range want {
		if got := number(get(out, i)); got != want[i] {
			t.Fatalf("%s, %d warps: element %d is %d, must be %d\n%s", target, warps, i, got, want[i], text)
		}
	}
}
