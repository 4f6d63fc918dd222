package numeric

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// dotProgram is a random program that multiplies matrices of small whole numbers, whose
// sums every type of it holds exactly: tiles of the products of A (M×K) and B (K×N), and
// what is made of them.
type dotProgram struct {
	m, n, k        int
	bm, bn, bk, bp int
	typ, stored    string // of operands; of A in memory
	turned         [2]bool
	descriptors    [3]bool // for A, B and D
	host           [2]bool // those for A and B are arguments
	store          string  // "pointers", "descriptor", "add"
	// inRegisters is what is done with A before it is multiplied: "", "double", "positive".
	inRegisters string
	// also is what else an iteration does: "", "another" (a second sum, of A as it is),
	// "chain" (the block's product, cut to a range, times D, is summed up, too), "negate"
	// (the sum, in every second iteration), "peek" (stores the sum in the third).
	also string
	// tiles is how a program comes to its tiles: "one", "loop", "flat".
	tiles string
	after bool // the sum, cut to a range, times D is the result
}

// dotVariation is a way to compile and run a dotProgram.
type dotVariation struct {
	warps, stages int
	divided       bool // warp_specialize
	random        bool // the order in which warps run
	options       kerneltest.Options
}

func (v dotVariation) String() string {
	return fmt.Sprintf("%d warps, %d stages, warp_specialize=%v, random order=%v, %v", v.warps, v.stages, v.divided, v.random, v.options)
}

var dotVariations = []dotVariation{
	{warps: 8, stages: 3},
	{warps: 4, stages: 1},
	{warps: 4, stages: 2},
	{warps: 8, stages: 4, random: true},
	{warps: 4, stages: 3, options: kerneltest.Options{"wgmma": "never"}},
	{warps: 4, stages: 3, options: kerneltest.Options{"tma": "never"}},
	{warps: 4, stages: 3, random: true, options: kerneltest.Options{"tma": "always"}},
	{warps: 8, stages: 2, options: kerneltest.Options{"tma": "always", "wgmma": "never"}},
	{warps: 4, stages: 3, divided: true},
	{warps: 4, stages: 2, divided: true, random: true},
	{warps: 4, stages: 4, divided: true, random: true},
	{warps: 4, stages: 1, divided: true},
	{warps: 4, stages: 3, divided: true, options: kerneltest.Options{"tma": "always"}},
	{warps: 4, stages: 3, divided: true, options: kerneltest.Options{"wgmma": "never"}},
	{warps: 4, stages: 3, options: kerneltest.Options{"num_ctas": 2}},
	{warps: 4, stages: 2, random: true, options: kerneltest.Options{"num_ctas": 4}},
	{warps: 8, stages: 3, options: kerneltest.Options{"num_ctas": 2, "tma": "always"}},
	{warps: 4, stages: 3, options: kerneltest.Options{"num_ctas": 2, "wgmma": "never"}},
	{warps: 4, stages: 3, divided: true, options: kerneltest.Options{"num_ctas": 2}},
	{warps: 4, stages: 3, random: true, options: kerneltest.Options{"num_ctas": 8}},
	{warps: 4, stages: 2, random: true, options: kerneltest.Options{"num_ctas": 16, "tma": "always"}},
}

// randomVariation draws each option by itself, so that all combinations come in time.
func randomVariation(r *rand.Rand) dotVariation {
	return dotVariation{
		warps: one(r, 4, 4, 8), stages: 1 + r.IntN(4), divided: r.IntN(2) == 0, random: r.IntN(2) == 0,
		options: kerneltest.Options{
			"wgmma": one(r, "auto", "auto", "never"), "tma": one(r, "auto", "always", "never"), "num_ctas": one(r, 1, 1, 2, 4, 8, 16),
		},
	}
}

// one is any of the values.
func one[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func randomDots(r *rand.Rand) *dotProgram {
	p := &dotProgram{
		bm: one(r, 64, 64, 128, 32), bn: one(r, 16, 32, 64, 128), bk: one(r, 16, 32, 64), bp: one(r, 16, 32, 64),
		typ:         one(r, "fp16", "fp16", "bf16", "fp32", "i8", "fp8e5", "fp8e4nv"),
		turned:      [2]bool{r.IntN(3) == 0, r.IntN(2) == 0},
		descriptors: [3]bool{r.IntN(3) > 0, r.IntN(3) > 0, r.IntN(2) > 0},
		store:       one(r, "pointers", "descriptor", "add"),
		inRegisters: one(r, "", "", "double", "positive"),
		also:        one(r, "", "", "another", "chain", "negate", "peek"),
		tiles:       one(r, "one", "loop", "flat"),
		after:       r.IntN(4) == 0,
	}
	switch p.typ {
	case "fp8e5", "fp8e4nv", "i8":
		p.bk = max(p.bk, 32) // the least depth of a dot
		p.bn, p.bp = max(p.bn, 32), max(p.bp, 32)
		p.inRegisters = ""
	case "fp32":
		p.bk, p.bn = min(p.bk, 32), min(p.bn, 64) // four buffers of which fit
	}
	p.stored = p.typ
	if p.typ == "fp16" || p.typ == "bf16" {
		p.stored = one(r, p.typ, p.typ, p.typ, "i8", "fp8e5")
	}
	p.m, p.n, p.k = 16*(1+r.IntN(2*p.bm/16)), 16*(1+r.IntN(2*p.bn/16)), 16*r.IntN(5*p.bk/16)
	for i := range p.host {
		p.host[i] = p.descriptors[i] && p.k > 0 && r.IntN(2) == 0
	}
	return p
}

// isInt reports whether the sums are integers.
func (p *dotProgram) isInt() bool { return p.typ == "i8" }

// sum is the type of sums.
func (p *dotProgram) sum() string {
	if p.isInt() {
		return "i32"
	}
	return "fp32"
}

// tlTypes are types' names in kernels.
var tlTypes = map[string]string{
	"fp16": "tl.float16", "bf16": "tl.bfloat16", "fp32": "tl.float32", "i8": "tl.int8", "fp8e5": "tl.float8e5", "fp8e4nv": "tl.float8e4nv", "i32": "tl.int32",
}

// text is the kernel.
func (p *dotProgram) text() string {
	var s strings.Builder
	depth := 1
	line := func(format string, args ...any) {
		s.WriteString(strings.Repeat("    ", depth) + fmt.Sprintf(format, args...) + "\n")
	}
	s.WriteString("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(a, b, d, o, e, M, N, K, S: tl.constexpr, WS: tl.constexpr):\n")
	descriptor := func(name, rows, cols string, br, bc int) {
		line("%s_desc = tl.make_tensor_descriptor(%s, [%s, %s], [%s, 1], [%d, %d])", name, name, rows, cols, cols, br, bc)
	}
	zero := "0.0"
	if p.stored == "i8" { // then A, and maybe all
		zero = "0"
	}
	// load has a block of a matrix, turned round where it lies so in memory.
	load := func(to, from, row, col, rows, cols string, br, bc int, byDesc, turned bool) {
		if turned {
			row, col, rows, cols, br, bc = col, row, cols, rows, bc, br
		}
		end := ""
		if turned {
			end = ".T"
		}
		if byDesc {
			line("%s = %s_desc.load([%s, %s])%s", to, from, row, col, end)
			return
		}
		line("%s_r = %s + tl.arange(0, %d)", to, row, br)
		line("%s_c = %s + tl.arange(0, %d)", to, col, bc)
		line("%s = tl.load(%s + %s_r[:, None] * %s + %s_c[None, :], (%s_r[:, None] < %s) & (%s_c[None, :] < %s), other=%s)%s",
			to, from, to, cols, to, to, rows, to, cols, zero, end)
	}
	bcols := p.bn
	if p.after {
		bcols = p.bp
	}
	line("columns = tl.cdiv(N, %d) * %d", p.bn, bcols) // of the result
	for i, name := range []string{"a", "b"} {
		if p.host[i] {
			line("%s_desc = %s", name, name)
		}
	}
	if p.descriptors[0] && !p.host[0] {
		if p.turned[0] {
			descriptor("a", "K", "M", p.bk, p.bm)
		} else {
			descriptor("a", "M", "K", p.bm, p.bk)
		}
	}
	if p.descriptors[1] && !p.host[1] {
		if p.turned[1] {
			descriptor("b", "N", "K", p.bn, p.bk)
		} else {
			descriptor("b", "K", "N", p.bk, p.bn)
		}
	}
	if p.descriptors[2] && p.usesD() {
		descriptor("d", fmt.Sprint(2*p.bn), fmt.Sprint(p.bp), p.bn, p.bp)
	}
	if p.store != "pointers" {
		descriptor("o", "M", "columns", p.bm, bcols)
	}
	line("tiles = tl.cdiv(M, %d) * tl.cdiv(N, %d)", p.bm, p.bn)
	inner := ", warp_specialize=WS"
	if p.tiles == "one" {
		line("tile = tl.program_id(0)")
	} else {
		line("for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=%s, warp_specialize=WS):", map[bool]string{true: "True", false: "False"}[p.tiles == "flat"])
		depth, inner = 2, ""
	}
	line("m = tile // tl.cdiv(N, %d) * %d", p.bn, p.bm)
	line("n = tile %% tl.cdiv(N, %d)", p.bn)
	zeros := func(name string, cols int) { line("%s = tl.zeros((%d, %d), %s)", name, p.bm, cols, tlTypes[p.sum()]) }
	zeros("acc", p.bn)
	if p.also == "another" {
		zeros("odd", p.bn)
	}
	if p.also == "chain" {
		zeros("more", p.bp)
	}
	line("for i in tl.range(0, tl.cdiv(K, %d), num_stages=S%s):", p.bk, inner)
	depth++
	load("x", "a", "m", fmt.Sprintf("i * %d", p.bk), "M", "K", p.bm, p.bk, p.descriptors[0], p.turned[0])
	load("y", "b", fmt.Sprintf("i * %d", p.bk), fmt.Sprintf("n * %d", p.bn), "K", "N", p.bk, p.bn, p.descriptors[1], p.turned[1])
	if p.stored != p.typ {
		line("x = x.to(%s)", tlTypes[p.typ])
	}
	switch p.inRegisters {
	case "double":
		line("w = x * 2")
	case "positive":
		line("w = tl.where(x > 0, x, 0)")
	default:
		line("w = x")
	}
	dot := func(x, y, acc string) string {
		if p.isInt() {
			return fmt.Sprintf("tl.dot(%s, %s, %s, out_dtype=tl.int32)", x, y, acc)
		}
		return fmt.Sprintf("tl.dot(%s, %s, %s)", x, y, acc)
	}
	cut := func(v string) string {
		return fmt.Sprintf("tl.minimum(tl.maximum(%s, -2), 2).to(%s)", v, tlTypes[p.typ])
	}
	line("acc = %s", dot("w", "y", "acc"))
	switch p.also {
	case "another":
		line("odd = %s", dot("x", "y", "odd"))
	case "chain":
		load("z", "d", fmt.Sprintf("i %% 2 * %d", p.bn), "0", fmt.Sprint(2*p.bn), fmt.Sprint(p.bp), p.bn, p.bp, p.descriptors[2], false)
		line("part = %s", strings.Replace(dot("x", "y", "None"), ", None", "", 1))
		line("more = %s", dot(cut("part"), "z", "more"))
	case "negate":
		line("if i %% 2 == 1:")
		line("    acc = -acc")
	case "peek":
		line("if i == 2:")
		line("    tl.store(e + tile * %d + tl.arange(0, %d)[:, None] * %d + tl.arange(0, %d)[None, :], acc)", p.bm*p.bn, p.bm, p.bn, p.bn)
	}
	depth--
	switch p.also {
	case "another":
		line("acc += odd")
	case "chain":
		line("tl.store(e + tile * %d + tl.arange(0, %d)[:, None] * %d + tl.arange(0, %d)[None, :], more)", p.bm*p.bp, p.bm, p.bp, p.bp)
	}
	if p.after {
		load("z", "d", "0", "0", fmt.Sprint(2*p.bn), fmt.Sprint(p.bp), p.bn, p.bp, p.descriptors[2], false)
		line("acc = %s", strings.Replace(dot(cut("acc"), "z", "None"), ", None", "", 1))
	}
	switch p.store {
	case "descriptor":
		line("o_desc.store([m, n * %d], acc)", bcols)
	case "add":
		line("o_desc.atomic_add([m, n * %d], acc)", bcols)
	default:
		line("row = m + tl.arange(0, %d)", p.bm)
		line("tl.store(o + row[:, None] * columns + n * %d + tl.arange(0, %d)[None, :], acc, row[:, None] < M)", bcols, bcols)
	}
	return s.String()
}

// usesD reports whether the program reads D.
func (p *dotProgram) usesD() bool { return p.after || p.also == "chain" }

// results are what the program leaves in o and e, where e was zero.
func (p *dotProgram) results(a, b, d func(i, j int) float64) (o, e []float64) {
	cut := func(v float64) float64 { return min(max(v, -2), 2) }
	rows, across := (p.m+p.bm-1)/p.bm, (p.n+p.bn-1)/p.bn
	columns, ecols := p.bn, p.bn
	if p.after {
		columns = p.bp
	}
	if p.also == "chain" {
		ecols = p.bp
	}
	o, e = make([]float64, p.m*across*columns), make([]float64, rows*across*p.bm*ecols)
	acc, odd, part := make([]float64, p.bm*p.bn), make([]float64, p.bm*p.bn), make([]float64, p.bm*p.bn)
	for tile := range rows * across {
		m, n := tile/across*p.bm, tile%across*p.bn
		at := e[tile*p.bm*ecols:][:p.bm*ecols]
		clear(acc)
		clear(odd)
		for i := 0; i*p.bk < p.k; i++ {
			clear(part)
			for r := 0; r < p.bm && m+r < p.m; r++ {
				for k := i * p.bk; k < min((i+1)*p.bk, p.k); k++ {
					x := a(m+r, k)
					w := x
					switch p.inRegisters {
					case "double":
						w = 2 * x
					case "positive":
						w = max(x, 0)
					}
					for c := 0; c < p.bn && n+c < p.n; c++ {
						y := b(k, n+c)
						acc[r*p.bn+c] += w * y
						part[r*p.bn+c] += x * y
					}
				}
			}
			switch p.also {
			case "another":
				for j, v := range part {
					odd[j] += v
				}
			case "chain":
				for r := range p.bm {
					for c := range p.bn {
						v := cut(part[r*p.bn+c])
						for q := range p.bp {
							at[r*p.bp+q] += v * d(i%2*p.bn+c, q)
						}
					}
				}
			case "negate":
				if i%2 == 1 {
					for j := range acc {
						acc[j] = -acc[j]
					}
				}
			case "peek":
				if i == 2 {
					copy(at, acc)
				}
			}
		}
		if p.also == "another" {
			for j, v := range odd {
				acc[j] += v
			}
		}
		for r := 0; r < p.bm && m+r < p.m; r++ {
			to := o[(m+r)*across*columns+tile%across*columns:][:columns]
			if !p.after {
				copy(to, acc[r*p.bn:][:p.bn])
				continue
			}
			for c := range p.bn {
				for q := range p.bp {
					to[q] += cut(acc[r*p.bn+c]) * d(c, q)
				}
			}
		}
	}
	return o, e
}

// maxSum is how many elements of a sum a warp has at most where LLVM makes machine code.
const maxSum = 128 * warpSize

// TestRandomDots: programs of dots on cuda:90, by wgmma or not, by TMA or by pointers, with
// warps that copy, as clusters, with any number of stages, compute what they say; on AMD's
// GPUs with their options.
func TestRandomDots(t *testing.T) {
	each := 6
	known, drawn := dotVariations, randomVariation
	if onAMD() {
		known, drawn = amdVariations(), randomAMD
	}
	eachProgram(t, func(t *testing.T, i int, r *rand.Rand) {
		if i%2 == 1 && programs() <= 24 {
			t.Skip("every second program is left out where there are few")
		}
		p := randomDots(r)
		matrix := func(typ string, rows, cols int, turned bool) (*array.Array, func(i, j int) float64) {
			if turned {
				rows, cols = cols, rows
			}
			x := kerneltest.Randint(r, -2, 3, typ, max(rows, 1), max(cols, 1))
			return x, func(i, j int) float64 {
				if turned {
					i, j = j, i
				}
				return x.At(i*cols + j)
			}
		}
		a, atA := matrix(p.stored, p.m, p.k, p.turned[0])
		b, atB := matrix(p.typ, p.k, p.n, p.turned[1])
		d, atD := matrix(p.typ, 2*p.bn, p.bp, false)
		wantO, wantE := p.results(atA, atB, atD)
		tiles := (p.m + p.bm - 1) / p.bm * ((p.n + p.bn - 1) / p.bn)
		grid := tiles
		if p.tiles != "one" {
			grid = (tiles + 2) / 3
		}
		variations := []dotVariation{{warps: 4, stages: 3}}
		for k := range each {
			variations = append(variations, known[(i/2*each+k)%len(known)])
		}
		variations = append(variations, drawn(r))
		if last := &variations[len(variations)-1]; onAMD() {
			last.warps = max(last.warps, p.bm*p.bn/maxSum) // LLVM takes minutes for more
		}
		passed := func(i int, x *array.Array, rows, cols int) any {
			if !p.host[i] {
				return x
			}
			if p.turned[i] {
				rows, cols = cols, rows
			}
			return &launch.Descriptor{Array: x, Block: []int{rows, cols}}
		}
		for _, v := range variations {
			o, e := kerneltest.Zeros(p.sum(), len(wantO)), kerneltest.Zeros(p.sum(), len(wantE))
			k := kerneltest.Kernel{
				Source: p.text(), Target: "cuda:90", Options: kerneltest.Options{"num_warps": v.warps, "num_stages": v.stages},
				Sim: simulated.Options{Random: v.random && !onNPU(), Seed: 11},
			}
			if _, err := k.With(portable(v.options)).TryRun(t, kerneltest.Grid(grid), passed(0, a, p.bm, p.bk), passed(1, b, p.bk, p.bn), d, o, e, p.m, p.n, p.k, v.stages, v.divided); err != nil {
				if onAMD() && strings.Contains(err.Error(), "bytes of shared memory, and a block may have") {
					t.Logf("%s: %v", v, err) // programs are made for the 227 KiB of cuda:90
					continue
				}
				t.Fatalf("%+v\n%s: %s\n%s", *p, v, kerneltest.Text(err), p.text())
			}
			for _, out := range []struct {
				name string
				got  *array.Array
				want []float64
			}{{"o", o, wantO}, {"e", e, wantE}} {
				for j, w := range out.want {
					if g := out.got.At(j); g != w {
						t.Fatalf("%+v\n%s: %s[%d] is %v, want %v\n%s", *p, v, out.name, j, g, w, p.text())
					}
				}
			}
		}
	})
}
