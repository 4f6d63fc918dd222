package numeric

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// program writes random valid kernels: blocks of two dimensions, of int32 and of
// fp32, combined element by element, reduced, scanned, transposed, multiplied,
// in loops and branches. Floats stay within a known magnitude, and every
// statement's error is bounded, so that results can be compared.
type program struct {
	r    *rand.Rand
	n    int // blocks are n x n
	body []string
	ints []string
	// floats are block variables, with a bound of their magnitude and of the
	// error that rounding may have made in units of 2^-24 of it.
	floats []float
	indent string
}

type float struct {
	name      string
	size, err float64
}

func (p *program) line(format string, args ...any) {
	p.body = append(p.body, p.indent+fmt.Sprintf(format, args...))
}

func (p *program) int() string  { return p.ints[p.r.IntN(len(p.ints))] }
func (p *program) float() float { return p.floats[p.r.IntN(len(p.floats))] }

func (p *program) name() string { return fmt.Sprintf("v%d", len(p.body)) }

// addInt and addFloat make a value known; inside of loops and branches nothing
// new is, as it would not be there afterwards.
func (p *program) addInt(expr string, args ...any) {
	n := p.name()
	p.line(n+" = "+expr, args...)
	p.ints = append(p.ints, n)
}

func (p *program) addFloat(size, err float64, expr string, args ...any) {
	n := p.name()
	if size > 1 { // scaled back by a power of two: exact
		p.line(n+" = ("+expr+") * %v", append(args, math.Ldexp(1, -int(math.Ceil(math.Log2(size)))))...)
		size = 1
	} else {
		p.line(n+" = "+expr, args...)
	}
	p.floats = append(p.floats, float{n, size, err})
}

// statement adds one.
func (p *program) statement() {
	n := float64(p.n)
	row, col := "[:, None]", "[None, :]"
	if p.r.IntN(2) == 0 {
		row, col = col, row
	}
	axis := 0
	if row == "[:, None]" {
		axis = 1
	}
	a, b := p.int(), p.int()
	x, y := p.float(), p.float()
	switch p.r.IntN(16) {
	case 0:
		p.addInt("%s + %s * %d", a, b, p.r.IntN(100))
	case 1:
		p.addInt("(%s ^ %s) - (%s & %d)", a, b, a, p.r.IntN(1<<20))
	case 2:
		p.addInt("tl.maximum(%s, %s) // %d", a, b, 1+p.r.IntN(30))
	case 3:
		p.addInt("tl.where(%s < %s, %s >> %d, %s %% 1000)", a, b, a, p.r.IntN(31), b)
	case 4:
		p.addInt("%s + tl.sum(%s, %d)%s", a, b, axis, row)
	case 5:
		p.addInt("%s ^ tl.max(%s, %d)%s", a, b, axis, row)
	case 6:
		p.addInt("tl.cumsum(%s, %d, reverse=%s)", a, axis, []string{"True", "False"}[p.r.IntN(2)])
	case 7:
		p.addInt("tl.trans(%s) - %s", a, b)
	case 8:
		if p.n < 32 { // the least K of dots of bytes
			break
		}
		// The sum is part of the dot, which saturates on tensor cores and wraps
		// elsewhere: it stays far from the end of the range.
		p.addInt("tl.dot((%s & 127).to(tl.int8), (%s & 127).to(tl.int8)) + (%s >> 8)", a, b, a)
	case 9:
		p.addInt("%s + tl.argmax(%s, %d)%s", a, b, axis, row)
	case 10:
		p.addFloat(x.size+y.size, max(x.err, y.err)*2+2, "%s + %s", x.name, y.name)
	case 11:
		p.addFloat(x.size*y.size, x.err+y.err+2, "%s * %s", x.name, y.name)
	case 12:
		// n additions in any order
		p.addFloat(x.size*n+y.size, (max(x.err, y.err)+n)*2, "tl.sum(%s, %d)%s - %s", x.name, axis, row, y.name)
	case 13:
		p.addFloat(x.size*y.size*n, x.err+y.err+n+2, "tl.dot(%s, tl.trans(%s), input_precision='ieee')", x.name, y.name)
	case 14:
		p.addFloat(x.size*n, x.err+n, "tl.cumsum(%s, %d)", x.name, axis)
	case 15:
		p.addFloat(max(x.size, y.size), max(x.err, y.err), "tl.where(%s < %s, %s, tl.trans(%s))", a, b, x.name, y.name)
	}
}

// block adds a loop or a branch around assignments to what is known.
func (p *program) block() {
	v := p.int()
	p.line("%s = %s + 1", p.name(), v) // so that names stay apart
	switch p.r.IntN(4) {
	case 0:
		p.line("for i in range(trips):")
		p.line("    %s = %s * 3 + tl.sum(%s, 1)[:, None] + i", v, v, p.int())
	case 1:
		p.line("if trips > %d:", p.r.IntN(5))
		p.line("    %s = %s ^ tl.trans(%s)", v, v, p.int())
		p.line("else:")
		p.line("    %s = tl.cumsum(%s, 0)", v, v)
	case 2:
		p.line("for i in tl.range(trips, num_stages=%d):", 1+p.r.IntN(4))
		p.line("    %s += tl.load(p + (i * %d) %% %d + o) * (i + 1)", v, p.n, p.n)
	case 3: // a product of small integers: exact
		d, stages := p.name(), ""
		if p.r.IntN(2) == 0 {
			stages = fmt.Sprintf(", num_stages=%d", 1+p.r.IntN(4))
		}
		p.line("%s = tl.zeros((%d, %d), tl.float32)", d, p.n, p.n)
		p.line("for i in tl.range(trips%s):", stages)
		p.line("    %s = tl.dot(tl.load(h + i * %d + o), tl.load(h + (i + 1) * %d + o), %s)", d, p.n*p.n, p.n*p.n, d)
		p.line("%s += %s.to(tl.int32)", v, d)
	}
}

// text is the kernel.
func (p *program) text() string {
	var s strings.Builder
	s.WriteString("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(p, q, h, r, s, trips):\n")
	for _, l := range p.body {
		s.WriteString("    " + l + "\n")
	}
	return s.String()
}

func randomProgram(r *rand.Rand) *program {
	p := &program{r: r, n: 16 << r.IntN(2)}
	p.line("o = tl.arange(0, %d)[:, None] * %d + tl.arange(0, %d)[None, :]", p.n, p.n, p.n)
	p.line("a = tl.load(p + o)")
	p.line("b = tl.load(p + o + %d)", p.n)
	p.line("x = tl.load(q + o)")
	p.line("y = tl.trans(x) * 0.5")
	p.ints = []string{"a", "b"}
	p.floats = []float{{"x", 1, 0}, {"y", 0.5, 0}}
	for range 4 + r.IntN(8) {
		if r.IntN(4) == 0 {
			p.block()
		} else {
			p.statement()
		}
	}
	p.line("tl.store(r + o, %s)", p.ints[len(p.ints)-1])
	p.line("tl.store(s + o, %s)", p.floats[len(p.floats)-1].name)
	return p
}

// maxTrips is how often the loops of programs run at most.
const maxTrips = 5

// A variation is a way to compile a program that must not change its results.
type variation struct {
	warps, stages int
	options       kerneltest.Options // beside those two
}

func (v variation) String() string {
	return fmt.Sprint(v.warps, " warps, ", v.stages, " stages, ", v.options)
}

// machines are tried on every program, the first to compare with.
var machines = []variation{{1, 3, nil}, {4, 1, nil}, {4, 2, nil}, {4, 3, nil}, {4, 4, nil}, {8, 3, nil}}

// choices are tried in turn: each pass left out that can be, and options on which results
// do not depend, such as LLVM's optimizer, and operands that are read ahead.
func choices(t *testing.T) []variation {
	t.Helper()
	name := "cuda:80"
	if onAMD() {
		name = os.Getenv(kerneltest.TargetEnv)
	}
	target, err := core.ParseTarget(name)
	if err != nil {
		t.Fatal(err)
	}
	backend, target, err := kerneltest.Select(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	o, err := backend.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	stages, err := backend.AddStages(t.Context(), sdk.AddStagesRequest{Target: target, OptionsJSON: o.OptionsJSON})
	if err != nil {
		t.Fatal(err)
	}
	out := []variation{
		{4, 3, kerneltest.Options{"prefetch_operands": true}},
		{4, 4, kerneltest.Options{"prefetch_operands": true}},
		{4, 3, kerneltest.Options{"ptx": "direct"}},
		{4, 3, kerneltest.Options{"ptx": "llvm"}},
	}
	if onAMD() {
		out = nil
		for _, o := range amdOptions() {
			out = append(out, variation{4, 3, o})
		}
	}
	known := map[string]bool{}
	for _, s := range stages.Stages {
		for _, row := range s.Passes {
			if known[row.Name] || s.Pipeline == "" {
				continue
			}
			known[row.Name] = true
			skip := kerneltest.Options{"skip_passes": []string{row.Name}}
			given, err := json.Marshal(skip)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := backend.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: string(given)}); err == nil {
				out = append(out, variation{4, 3, skip})
			}
		}
	}
	return out
}

// withClusters adds a cluster of any size, where the target has them.
func withClusters(r *rand.Rand, all []variation, target string) []variation {
	if target != "cuda:90" || !onCUDA() {
		return all
	}
	return append(slices.Clip(all), variation{4, 3, kerneltest.Options{"num_ctas": 2 << r.IntN(4)}})
}

// TestRandomPrograms: however many warps compute a program, in however many
// stages, with whichever passes, the result is the same; that of floats within
// its bound.
func TestRandomPrograms(t *testing.T) {
	all := choices(t)
	each := max(2, (len(all)+programs()-1)/programs()) // so that every choice is tested
	eachProgram(t, func(t *testing.T, i int, r *rand.Rand) {
		mine := slices.Clone(machines)
		for k := range each {
			mine = append(mine, all[(i*each+k)%len(all)])
		}
		agree(t, r, mine)
	})
}

// programs is how many random programs of each kind are tried.
func programs() int {
	if n, err := strconv.Atoi(os.Getenv("TRITONC_PROGRAMS")); err == nil {
		return n
	}
	if os.Getenv("TRITONC_ALL") != "" {
		return 2000
	}
	return 24
}

// eachProgram runs a test of each random program, side by side, with its number
// and what it is drawn from.
func eachProgram(t *testing.T, run func(t *testing.T, i int, r *rand.Rand)) {
	r := kerneltest.Rand(t)
	for i := range programs() {
		seed := r.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			run(t, i, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func agree(t *testing.T, r *rand.Rand, variations []variation) {
	p := randomProgram(r)
	n := p.n * p.n
	ints, floats := kerneltest.Randint(r, -1<<31, 1<<31, "i32", 2*n+p.n), array.New(dtype("fp32"), n)
	small := array.New(dtype("fp16"), (maxTrips+1)*n)
	for i := range n {
		floats.Set(i, r.Float64()*2-1)
	}
	for i := range small.Len() {
		small.Set(i, float64(r.IntN(17)-8))
	}
	target := fmt.Sprintf("cuda:%d", pick(r, capabilities()))
	variations = withClusters(r, variations, target)
	trips := r.IntN(maxTrips + 1)
	var first, firstFloats *array.Array
	for _, v := range variations {
		got, gotFloats := kerneltest.Empty("i32", n), kerneltest.Empty("fp32", n)
		k := kerneltest.Kernel{Source: p.text(), Target: target, Options: kerneltest.Options{"num_warps": v.warps, "num_stages": v.stages}}
		if _, err := k.With(portable(v.options)).TryRun(t, kerneltest.Grid(1), ints, floats, small, got, gotFloats, trips); err != nil {
			t.Fatalf("%s, %s: %s\n%s", target, v, kerneltest.Text(err), p.text())
		}
		if first == nil {
			first, firstFloats = got, gotFloats
			continue
		}
		// Each of two results is off by at most the bound.
		last := p.floats[len(p.floats)-1]
		bound := 2 * last.size * last.err * 0x1p-23
		for i := range n {
			if got.Int(i) != first.Int(i) {
				t.Fatalf("%s: element %d is %d with %s, %d with %s\n%s", target, i, first.Int(i), variations[0], got.Int(i), v, p.text())
			}
			if d := math.Abs(gotFloats.At(i) - firstFloats.At(i)); !(d <= bound) {
				t.Fatalf("%s: element %d is %v with %s, %v with %s; they may differ by %v\n%s",
					target, i, firstFloats.At(i), variations[0], gotFloats.At(i), v, bound, p.text())
			}
		}
	}
}
