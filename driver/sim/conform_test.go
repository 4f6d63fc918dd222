package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A conform is one instruction with operands of given types. The suite runs each
// over many operand values: here against references written independently of
// the simulator, and on a GPU, where there is one, against the hardware.
type conform struct {
	// text is the PTX between loads and stores; $d is the result, $a, $b, $c the
	// operands.
	text string
	d    string
	src  []string // types of $a, $b, $c
	// ref computes the result's bits; nil where only hardware can tell.
	ref func(v []uint64) uint64
	// ulp is how far results may be from ref and from the hardware, in units of
	// the last place of d; 0 means equal bits.
	ulp float64
	// hw is the distance allowed from hardware where it differs from ulp, and
	// skip leaves out operands for which PTX defines no result.
	hw   float64
	skip func(v []uint64) bool
	// abs allows an absolute error, for functions with such a bound.
	abs float64
}

// ptxBits is the width of a type in memory.
func ptxBits(t string) int {
	switch {
	case t == "pred":
		return 8
	case strings.HasPrefix(t, "e") || strings.HasSuffix(t, "e4m3x2") || strings.HasSuffix(t, "e5m2x2"):
		return 16
	case strings.HasSuffix(t, "x2"):
		return 32
	case t == "tf32":
		return 32
	case strings.HasSuffix(t, "64"):
		return 64
	case strings.HasSuffix(t, "32"):
		return 32
	case strings.HasSuffix(t, "16"):
		return 16
	}
	return 8
}

// regType is the register a value of type t lives in.
func regType(t string) string {
	if n := ptxBits(t); n > 8 {
		return fmt.Sprintf("b%d", n)
	}
	return "b16"
}

// kernelText is the PTX of case i: out[tid] = op(a[tid], b[tid], c[tid]).
func (c *conform) kernelText(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry k%d(.param .u64 out, .param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 n)\n{\n", i)
	b.WriteString("\t.reg .b32 %t<8>;\n\t.reg .b64 %p<8>;\n\t.reg .pred %q<8>;\n")
	fmt.Fprintf(&b, "\t.reg .%s %%d;\n", map[bool]string{true: "pred", false: regType(c.d)}[c.d == "pred"])
	for k, s := range c.src {
		fmt.Fprintf(&b, "\t.reg .%s %%%c;\n", map[bool]string{true: "pred", false: regType(s)}[s == "pred"], 'a'+k)
	}
	b.WriteString("\tmov.u32 %t0, %tid.x;\n\tmov.u32 %t1, %ctaid.x;\n\tmov.u32 %t2, %ntid.x;\n\tmad.lo.s32 %t0, %t1, %t2, %t0;\n")
	b.WriteString("\tld.param.u32 %t3, [n];\n\tsetp.ge.u32 %q0, %t0, %t3;\n\t@%q0 ret;\n")
	for k, s := range c.src {
		n := ptxBits(s)
		fmt.Fprintf(&b, "\tld.param.u64 %%p1, [p%c];\n\tmad.wide.u32 %%p1, %%t0, %d, %%p1;\n", 'a'+k, n/8)
		if s == "pred" {
			fmt.Fprintf(&b, "\tld.global.u8 %%t4, [%%p1];\n\tsetp.ne.u32 %%%c, %%t4, 0;\n", 'a'+k)
		} else {
			fmt.Fprintf(&b, "\tld.global.b%d %%%c, [%%p1];\n", n, 'a'+k)
		}
	}
	text := c.text
	for _, o := range []string{"$d", "$a", "$b", "$c"} {
		text = strings.ReplaceAll(text, o, "%"+o[1:])
	}
	fmt.Fprintf(&b, "\t%s\n", text)
	fmt.Fprintf(&b, "\tld.param.u64 %%p1, [out];\n\tmad.wide.u32 %%p1, %%t0, %d, %%p1;\n", ptxBits(c.d)/8)
	if c.d == "pred" {
		b.WriteString("\tselp.u32 %t4, 1, 0, %d;\n\tst.global.u8 [%p1], %t4;\n")
	} else {
		fmt.Fprintf(&b, "\tst.global.b%d [%%p1], %%d;\n", ptxBits(c.d))
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

const conformHead = ".version 8.0\n.target sm_90\n.address_size 64\n"

// operands makes values of a type: the edges of its range and values near to
// them, random bits, and numbers of moderate size.
func operands(r *rand.Rand, t string, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = operand(r, t)
	}
	return out
}

func operand(r *rand.Rand, t string) uint64 {
	switch t {
	case "pred":
		return r.Uint64() & 1
	case "f16x2", "bf16x2":
		h := strings.TrimSuffix(t, "x2")
		return operand(r, h)<<16 | operand(r, h)
	case "e4m3x2", "e5m2x2":
		return r.Uint64() & 0xffff
	}
	n := ptxBits(t)
	mask := ^uint64(0) >> (64 - n)
	if f := floatFormats[t]; f != nil {
		return floatOperand(r, f)
	}
	switch r.IntN(6) {
	case 0:
		edges := []uint64{
			0, 1, 2, 3, 7, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, ^uint64(0), ^uint64(1),
			1 << (n - 1), 1<<(n-1) - 1, 1<<(n-1) + 1, mask >> 2, 1 << (n / 2),
		}
		return edges[r.IntN(len(edges))] & mask
	case 1:
		return uint64(int64(r.IntN(200)-100)) & mask
	case 2:
		return r.Uint64() & mask >> r.IntN(n)
	}
	return r.Uint64() & mask
}

// floatEdges are the numbers around which formats and roundings change.
func floatEdges(f *floatFormat) []uint64 {
	bias, top := uint64(1)<<(f.exp-1)-1, uint64(1)<<f.exp-1
	edges := []uint64{
		0, 1, 2, 1<<f.mant - 1, 1 << f.mant, 1<<f.mant + 1, bias << f.mant, bias<<f.mant + 1, bias<<f.mant - 1,
		(bias - 1) << f.mant, (bias + 1) << f.mant, top<<f.mant - 1, top << f.mant, top<<f.mant + 1<<(f.mant-1), top<<f.mant + 1,
		(bias + 31) << f.mant, (bias + uint64(f.mant)) << f.mant,
	}
	for i := range edges {
		edges[i] &= 1<<(f.mant+f.exp) - 1
	}
	return edges
}

// crossEdges puts pairs of edges of both signs in place of the first operands.
func crossEdges(f *floatFormat, a, b []uint64) {
	e := floatEdges(f)
	for i := range e {
		e = append(e, e[i]|1<<(f.mant+f.exp))
	}
	for i := 0; i < len(e)*len(e) && i < len(a)/2; i++ {
		a[i], b[i] = e[i%len(e)], e[i/len(e)]
	}
}

func floatOperand(r *rand.Rand, f *floatFormat) uint64 {
	sign := r.Uint64() & 1 << (f.mant + f.exp)
	m := r.Uint64() & (1<<f.mant - 1)
	bias := uint64(1)<<(f.exp-1) - 1
	top := uint64(1)<<f.exp - 1
	switch r.IntN(10) {
	case 0:
		if r.IntN(4) == 0 {
			return sign | top<<f.mant | m // a NaN with a payload, or infinity
		}
		e := floatEdges(f)
		return sign | e[r.IntN(len(e))]
	case 1:
		return sign | m // subnormal
	case 2:
		return r.Uint64() & (1<<(f.mant+f.exp+1) - 1)
	case 3:
		// Few significant bits: sums and products that end in ties.
		m &= ^uint64(0) << (f.mant / 2)
	case 4:
		m &= 7
	}
	e := bias + uint64(r.IntN(9)) - 4
	if r.IntN(3) == 0 {
		e = bias + uint64(r.IntN(2*int(f.mant)+4)) - uint64(f.mant) - 2
	}
	e = min(max(e, 1), top-1)
	return sign | e<<f.mant | m
}

// pack stores values of n bits.
func pack(v []uint64, n int) []byte {
	out := make([]byte, 0, len(v)*n/8)
	for _, x := range v {
		for k := range n / 8 {
			out = append(out, byte(x>>(8*k)))
		}
	}
	return out
}

func unpack(b []byte, n int) []uint64 {
	out := make([]uint64, len(b)*8/n)
	for i := range out {
		for k := range n / 8 {
			out[i] |= uint64(b[i*n/8+k]) << (8 * k)
		}
	}
	return out
}

// TestInstructions runs the suite on the simulator, against the references.
func TestInstructions(t *testing.T) {
	r := newRand(t)
	cases := conforms()
	n := 1200
	if testing.Short() {
		n = 200
	}
	for i := range cases {
		c := &cases[i]
		m, err := Load("conform.ptx", []byte(conformHead+c.kernelText(i)))
		if err != nil {
			t.Fatal(err)
		}
		args, got := runConform(t, m, i, c, r, n)
		if c.ref == nil {
			continue
		}
		bad := 0
		v := make([]uint64, len(c.src))
		for k := range n {
			for s := range v {
				v[s] = args[s][k]
			}
			if c.skip != nil && c.skip(v) {
				continue
			}
			want := c.ref(v)
			if !c.close(got[k], want, c.ulp) {
				if bad++; bad <= 3 {
					t.Errorf("%s: operands %s give %s, want %s", c.text, c.show(v), showValue(c.d, got[k]), showValue(c.d, want))
				}
			}
		}
		if bad > 3 {
			t.Errorf("%s: %d of %d results differ", c.text, bad, n)
		}
	}
	t.Logf("%d instructions", len(cases))
}

func runConform(t testing.TB, m *Module, i int, c *conform, r *rand.Rand, n int) (args [][]uint64, got []uint64) {
	d := New(Options{Chip: H200})
	params := []any{d.Alloc("out", n*ptxBits(c.d)/8)}
	for _, s := range c.src {
		v := operands(r, s, n)
		args = append(args, v)
	}
	if len(c.src) > 1 && c.src[0] == c.src[1] && floatFormats[c.src[0]] != nil {
		crossEdges(floatFormats[c.src[0]], args[0], args[1])
	}
	for k, s := range c.src {
		params = append(params, Upload(d, s, pack(args[k], ptxBits(s))))
	}
	for len(params) < 4 {
		params = append(params, nil)
	}
	out := params[0].(*Buffer)
	launch(t, d, m, fmt.Sprintf("k%d", i), Dim(cdiv(n, 128)), Dim(128), 0, append(params, int32(n))...)
	return args, unpack(out.Read(), ptxBits(c.d))
}

func (c *conform) show(v []uint64) string {
	var parts []string
	for i, x := range v {
		parts = append(parts, showValue(c.src[i], x))
	}
	return strings.Join(parts, ", ")
}

func showValue(t string, v uint64) string {
	s := fmt.Sprintf("0x%0*x", ptxBits(t)/4, v)
	if f := floatFormats[t]; f != nil {
		s += fmt.Sprintf(" (%g)", f.value(v))
	}
	return s
}

// close compares a result with the wanted one.
func (c *conform) close(got, want uint64, ulp float64) bool {
	if got == want {
		return true
	}
	if ulp == 0 && c.abs == 0 {
		return false
	}
	f := floatFormats[c.d]
	if f == nil {
		if t := strings.TrimSuffix(c.d, "x2"); t != c.d {
			h := &conform{d: t}
			return h.close(got&0xffff, want&0xffff, ulp) && h.close(got>>16, want>>16, ulp)
		}
		return false
	}
	return f.distance(got, want) <= ulp || c.abs > 0 && abs(f.value(got)-f.value(want)) <= c.abs
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
