package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A warpCase is an instruction that the lanes of a warp execute together. Its
// text reads registers %a0, %a1, … and writes %d0, %d1, …
type warpCase struct {
	text    string
	in, out []string // types
	// gen makes the value of input i in one lane; nil takes operand.
	gen func(r *rand.Rand, i int, t string) uint64
	// ref computes the outputs of a warp: in[i][lane] to out[i][lane].
	ref func(in [][]uint64) [][]uint64
	// close, where it is set, compares output i of a lane with what ref returned.
	close func(in [][]uint64, got, want uint64, lane, i int) bool
	// exactHW demands the hardware's bits.
	exactHW bool
}

func (c *warpCase) kernelText(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry k%d(.param .u64 pin, .param .u64 pout)\n{\n", i)
	b.WriteString("\t.reg .b32 %t<8>;\n\t.reg .b64 %p<4>;\n\t.reg .pred %q<4>;\n")
	decl := func(name byte, ts []string) {
		for k, t := range ts {
			fmt.Fprintf(&b, "\t.reg .%s %%%c%d;\n", regType(t), name, k)
		}
	}
	decl('a', c.in)
	decl('d', c.out)
	b.WriteString("\tmov.u32 %t0, %tid.x;\n\tmov.u32 %t1, %ctaid.x;\n\tmad.lo.s32 %t0, %t1, 32, %t0;\n\tld.param.u64 %p1, [pin];\n\tld.param.u64 %p2, [pout];\n")
	fmt.Fprintf(&b, "\tmad.wide.u32 %%p1, %%t0, %d, %%p1;\n\tmad.wide.u32 %%p2, %%t0, %d, %%p2;\n", 8*len(c.in), 8*len(c.out))
	for k, t := range c.in {
		fmt.Fprintf(&b, "\tld.global.b%d %%a%d, [%%p1+%d];\n", ptxBits(t), k, 8*k)
	}
	fmt.Fprintf(&b, "\t%s\n", c.text)
	for k, t := range c.out {
		fmt.Fprintf(&b, "\tst.global.b%d [%%p2+%d], %%d%d;\n", ptxBits(t), 8*k, k)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

func runWarpCase(t testing.TB, m *Module, i int, c *warpCase, r *rand.Rand, trials int) (in, got []uint64) {
	in = make([]uint64, trials*32*len(c.in))
	for k := range in {
		i := k % len(c.in)
		if c.gen != nil {
			in[k] = c.gen(r, i, c.in[i])
		} else {
			in[k] = operand(r, c.in[i])
		}
	}
	d := New(Options{Chip: H200})
	out := Upload(d, "out", make([]uint64, trials*32*len(c.out)))
	launch(t, d, m, fmt.Sprintf("k%d", i), Dim(trials), Dim(32), 0, Upload(d, "in", in), out)
	return in, Download[uint64](out)
}

// lanesOf cuts a trial's values out, by register and lane.
func lanesOf(v []uint64, trial, n int) [][]uint64 {
	out := make([][]uint64, n)
	for i := range out {
		out[i] = make([]uint64, 32)
		for l := range 32 {
			out[i][l] = v[(trial*32+l)*n+i]
		}
	}
	return out
}

func TestWarpInstructions(t *testing.T) {
	r := newRand(t)
	cases := warpCases()
	var text strings.Builder
	text.WriteString(strings.Replace(conformHead, "8.0", "8.4", 1)) // fp8 dots
	for i := range cases {
		text.WriteString(cases[i].kernelText(i))
	}
	m, err := Load("warp.ptx", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	const trials = 20
	for i := range cases {
		c := &cases[i]
		in, got := runWarpCase(t, m, i, c, r, trials)
		if c.ref == nil {
			continue
		}
		bad := 0
		for k := range trials {
			args := lanesOf(in, k, len(c.in))
			want, have := c.ref(args), lanesOf(got, k, len(c.out))
			for o := range want {
				for l := range 32 {
					ok := have[o][l] == want[o][l]
					if c.close != nil {
						ok = c.close(args, have[o][l], want[o][l], l, o)
					}
					if !ok {
						if bad++; bad <= 3 {
							t.Errorf("%s: lane %d output %d is %s, want %s", c.text, l, o, showValue(c.out[o], have[o][l]), showValue(c.out[o], want[o][l]))
						}
					}
				}
			}
		}
	}
}

func warpCases() []warpCase {
	var out []warpCase
	out = append(out, shuffleCases()...)
	out = append(out, atomicCases()...)
	return append(out, mmaCases()...)
}

func shuffleCases() []warpCase {
	var out []warpCase
	word := []string{"b32"}
	for _, mode := range []string{"up", "down", "bfly", "idx"} {
		for _, width := range []int{32, 16, 8, 4} {
			c := 31
			if mode == "up" {
				c = 0
			}
			c |= (32 - width) << 8
			out = append(out, warpCase{
				text: fmt.Sprintf("shfl.sync.%s.b32 %%d0|%%q0, %%a0, %%a1, %d, -1; selp.u32 %%d1, 1, 0, %%q0;", mode, c),
				in:   []string{"b32", "b32"}, out: []string{"b32", "b32"}, exactHW: true,
				ref: func(in [][]uint64) [][]uint64 {
					o := [][]uint64{make([]uint64, 32), make([]uint64, 32)}
					for l := range 32 {
						base, off := l/width*width, l%width
						b := int(in[1][l] & 31)
						j := 0
						switch mode {
						case "up":
							j = off - b
						case "down":
							j = off + b
						case "bfly":
							j = off ^ b
						case "idx":
							j = b % width
						}
						src := l
						ok := j >= 0 && j < width
						if mode == "bfly" {
							ok = (l ^ b) <= base+width-1
							j = (l ^ b) - base
						}
						if ok {
							src = base + j
							o[1][l] = 1
						}
						o[0][l] = in[0][src]
					}
					return o
				},
			})
		}
	}
	ballot := func(in []uint64) uint32 {
		m := uint32(0)
		for l, v := range in {
			if v&1 != 0 {
				m |= 1 << l
			}
		}
		return m
	}
	flag := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	skewed := func(r *rand.Rand, _ int, _ string) uint64 { // mostly all equal
		if r.IntN(20) == 0 {
			return r.Uint64() & 3
		}
		return 1
	}
	for _, mode := range []string{"all", "any", "uni"} {
		out = append(out, warpCase{
			text: "setp.eq.u32 %q1, %a0, 1; vote.sync." + mode + ".pred %q0, %q1, -1; selp.u32 %d0, 1, 0, %q0;",
			in:   word, out: word, gen: skewed, exactHW: true,
			ref: func(in [][]uint64) [][]uint64 {
				n := 0
				for _, v := range in[0] {
					n += int(flag(v == 1))
				}
				v := map[string]bool{"all": n == 32, "any": n > 0, "uni": n == 0 || n == 32}[mode]
				return [][]uint64{repeatLane(flag(v))}
			},
		})
	}
	out = append(out, warpCase{
		text: "and.b32 %t4, %a0, 1; setp.eq.u32 %q1, %t4, 1; vote.sync.ballot.b32 %d0, %q1, -1;",
		in:   word, out: word, exactHW: true,
		ref: func(in [][]uint64) [][]uint64 { return [][]uint64{repeatLane(uint64(ballot(in[0])))} },
	})
	for _, n := range []int{32, 64} {
		t := fmt.Sprintf("b%d", n)
		out = append(out, warpCase{
			text: "match.any.sync." + t + " %d0, %a0, -1;", in: []string{t}, out: word, gen: skewed, exactHW: true,
			ref: func(in [][]uint64) [][]uint64 {
				o := make([]uint64, 32)
				for l := range o {
					for k, v := range in[0] {
						o[l] |= flag(v == in[0][l]) << k
					}
				}
				return [][]uint64{o}
			},
		}, warpCase{
			text: "match.all.sync." + t + " %d0|%q0, %a0, -1; selp.u32 %d1, 1, 0, %q0;", in: []string{t}, out: []string{"b32", "b32"}, gen: skewed, exactHW: true,
			ref: func(in [][]uint64) [][]uint64 {
				all := true
				for _, v := range in[0] {
					all = all && v == in[0][0]
				}
				return [][]uint64{repeatLane(flag(all) * 0xffffffff), repeatLane(flag(all))}
			},
		})
	}
	redux := func(op, t string, f func(a, b uint64) uint64) {
		out = append(out, warpCase{
			text: "redux.sync." + op + "." + t + " %d0, %a0, -1;", in: []string{t}, out: word, exactHW: true,
			ref: func(in [][]uint64) [][]uint64 {
				v := in[0][0]
				for _, x := range in[0][1:] {
					v = f(v, x) & 0xffffffff
				}
				return [][]uint64{repeatLane(v)}
			},
		})
	}
	redux("add", "u32", func(a, b uint64) uint64 { return a + b })
	redux("add", "s32", func(a, b uint64) uint64 { return a + b })
	redux("min", "u32", func(a, b uint64) uint64 { return min(a, b) })
	redux("max", "u32", func(a, b uint64) uint64 { return max(a, b) })
	redux("min", "s32", func(a, b uint64) uint64 { return uint64(min(int32(a), int32(b))) })
	redux("max", "s32", func(a, b uint64) uint64 { return uint64(max(int32(a), int32(b))) })
	redux("and", "b32", func(a, b uint64) uint64 { return a & b })
	redux("or", "b32", func(a, b uint64) uint64 { return a | b })
	redux("xor", "b32", func(a, b uint64) uint64 { return a ^ b })
	out = append(out, warpCase{
		text: "elect.sync %d0|%q0, -1; selp.u32 %d1, 1, 0, %q0;", in: word, out: []string{"b32", "b32"}, exactHW: true,
		ref: func([][]uint64) [][]uint64 {
			o := [][]uint64{repeatLane(0), repeatLane(0)}
			o[1][0] = 1
			return o
		},
	})
	// Matrices through shared memory: each lane stores 16 bytes, then a warp loads
	// or stores them by ldmatrix and stmatrix.
	for _, trans := range []string{"", ".trans"} {
		out = append(out, warpCase{
			text: "{ .shared .align 16 .b8 buf" + trimDot(trans) + "[512]; mov.u32 %t5, buf" + trimDot(trans) + "; mov.u32 %t4, %tid.x; shl.b32 %t4, %t4, 4; add.u32 %t5, %t5, %t4; " +
				"st.shared.v4.b32 [%t5], {%a0, %a1, %a2, %a3}; bar.warp.sync -1; " +
				"ldmatrix.sync.aligned.m8n8.x4" + trans + ".shared.b16 {%d0, %d1, %d2, %d3}, [%t5]; }",
			in: []string{"b32", "b32", "b32", "b32"}, out: []string{"b32", "b32", "b32", "b32"}, exactHW: true,
			ref: func(in [][]uint64) [][]uint64 {
				// Matrix k, row i is what lane 8k+i stored: element j in word j/2.
				at := func(k, i, j int) uint64 { return in[j/2][8*k+i] >> (16 * (j % 2)) & 0xffff }
				o := make([][]uint64, 4)
				for k := range o {
					o[k] = make([]uint64, 32)
					for l := range 32 {
						i, j := l/4, l%4*2
						if trans == "" {
							o[k][l] = at(k, i, j) | at(k, i, j+1)<<16
						} else {
							o[k][l] = at(k, j, i) | at(k, j+1, i)<<16
						}
					}
				}
				return o
			},
		}, warpCase{
			text: "{ .shared .align 16 .b8 sbuf" + trimDot(trans) + "[512]; mov.u32 %t5, sbuf" + trimDot(trans) + "; mov.u32 %t4, %tid.x; shl.b32 %t4, %t4, 4; add.u32 %t5, %t5, %t4; " +
				"stmatrix.sync.aligned.m8n8.x4" + trans + ".shared.b16 [%t5], {%a0, %a1, %a2, %a3}; bar.warp.sync -1; " +
				"ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%t5]; }",
			in: []string{"b32", "b32", "b32", "b32"}, out: []string{"b32", "b32", "b32", "b32"}, exactHW: true,
			ref: func(in [][]uint64) [][]uint64 {
				o := make([][]uint64, 4)
				for w := range o {
					o[w] = make([]uint64, 32)
					for l := range 32 {
						k, i := l/8, l%8
						for h := range 2 {
							row, col := i, 2*w+h
							if trans != "" {
								row, col = col, row
							}
							o[w][l] |= in[k][row*4+col/2] >> (16 * (col % 2)) & 0xffff << (16 * h)
						}
					}
				}
				return o
			},
		})
	}
	return out
}

func trimDot(s string) string { return strings.TrimPrefix(s, ".") }

func repeatLane(v uint64) []uint64 {
	out := make([]uint64, 32)
	for i := range out {
		out[i] = v
	}
	return out
}

// mmaShape is one form of mma.sync.
type mmaShape struct {
	m, n, k int
	a, c    string // element types; b is a, d is c
	sat     bool
}

var mmaForms = []mmaShape{
	{16, 8, 8, "f16", "f32", false},
	{16, 8, 16, "f16", "f32", false},
	{16, 8, 8, "f16", "f16", false},
	{16, 8, 16, "f16", "f16", false},
	{16, 8, 8, "bf16", "f32", false},
	{16, 8, 16, "bf16", "f32", false},
	{16, 8, 4, "tf32", "f32", false},
	{16, 8, 8, "tf32", "f32", false},
	{16, 8, 32, "e4m3", "f32", false},
	{16, 8, 32, "e5m2", "f32", false},
	{8, 8, 16, "s8", "s32", false},
	{8, 8, 16, "u8", "s32", true},
	{16, 8, 16, "s8", "s32", false},
	{16, 8, 32, "s8", "s32", true},
	{16, 8, 32, "u8", "s32", false},
	{8, 8, 32, "s4", "s32", false},
	{16, 8, 32, "u4", "s32", false},
	{16, 8, 64, "s4", "s32", false},
	{8, 8, 4, "f64", "f64", false},
	{16, 8, 4, "f64", "f64", false},
	{16, 8, 8, "f64", "f64", false},
	{16, 8, 16, "f64", "f64", false},
}

func elemBits(t string) int {
	switch t {
	case "s4", "u4":
		return 4
	case "s8", "u8", "e4m3", "e5m2":
		return 8
	case "f16", "bf16":
		return 16
	case "f64":
		return 64
	}
	return 32
}

func (s *mmaShape) text() (text string, na, nb, nc int) {
	per := func(elems int, t string) int { return max(elems*elemBits(t)/32/max(32, elemBits(t)), 1) }
	na, nb, nc = per(s.m*s.k, s.a), per(s.k*s.n, s.a), per(s.m*s.n, s.c)
	list := func(c byte, from, n int) string {
		var p []string
		for i := range n {
			p = append(p, fmt.Sprintf("%%%c%d", c, from+i))
		}
		return "{" + strings.Join(p, ", ") + "}"
	}
	sat := ""
	if s.sat {
		sat = ".satfinite"
	}
	return fmt.Sprintf("mma.sync.aligned.m%dn%dk%d.row.col%s.%s.%s.%s.%s %s, %s, %s, %s;", s.m, s.n, s.k, sat, s.c, s.a, s.a, s.c,
		list('d', 0, nc), list('a', 0, na), list('a', na, nb), list('a', na+nb, nc)), na, nb, nc
}

// elemValue is the number that n bits of type t encode.
func elemValue(t string, v uint64) float64 {
	switch t {
	case "s4":
		return float64(int8(v<<4) >> 4)
	case "u4":
		return float64(v & 15)
	case "s8":
		return float64(int8(v))
	case "u8":
		return float64(uint8(v))
	case "s32":
		return float64(int32(v))
	case "tf32":
		return floatFormats["f32"].value(v & 0xffffe000)
	}
	f := floatFormats[t]
	return f.value(v & (1<<(f.mant+f.exp+1) - 1))
}

// fragment is the matrix that registers hold, by the tables of the PTX manual:
// element i of a lane's fragment of A (m×k), B (k×n) or C (m×n).
func (s *mmaShape) place(which byte, lane, i int) (row, col int) {
	g, t := lane/4, lane%4
	e := max(32/elemBits(s.a), 1) // elements of a register
	switch which {
	case 'c':
		if s.m == 8 {
			return g, t*2 + i
		}
		return g + i/2*8, t*2 + i%2
	case 'b':
		return i/e*4*e + t*e + i%e, g
	}
	r := i / e
	if s.m == 8 {
		return g, r*4*e + t*e + i%e
	}
	return g + r%2*8, r/2*4*e + t*e + i%e
}

func (s *mmaShape) unpack(which byte, regs [][]uint64, t string, rows, cols int) []float64 {
	out := make([]float64, rows*cols)
	eb := elemBits(t)
	per := max(32/eb, 1)
	for r := range regs {
		for l := range 32 {
			for j := range per {
				row, col := s.place(which, l, r*per+j)
				v := regs[r][l] >> (j * eb)
				if eb < 64 {
					v &= 1<<eb - 1
				}
				out[row*cols+col] = elemValue(t, v)
			}
		}
	}
	return out
}

func mmaCases() []warpCase {
	var out []warpCase
	for _, s := range mmaForms {
		text, na, nb, nc := s.text()
		reg := "b32"
		if s.a == "f64" {
			reg = "f64"
		}
		c := warpCase{text: text, exactHW: true}
		for range na + nb + nc {
			c.in = append(c.in, reg)
		}
		for range nc {
			c.out = append(c.out, reg)
		}
		c.gen = func(r *rand.Rand, i int, _ string) uint64 {
			t := s.a
			if i >= na+nb {
				t = s.c
			}
			return mmaOperand(r, t)
		}
		var a, b, cc, magnitude []float64
		c.ref = func(in [][]uint64) [][]uint64 {
			a = s.unpack('a', in[:na], s.a, s.m, s.k)
			b = s.unpack('b', in[na:na+nb], s.a, s.k, s.n)
			cc = s.unpack('c', in[na+nb:], s.c, s.m, s.n)
			want := product(a, b, s.m, s.n, s.k)
			magnitude = make([]float64, len(want))
			for i := range want {
				magnitude[i] = math.Abs(cc[i])
				for k := range s.k {
					magnitude[i] += math.Abs(a[i/s.n*s.k+k] * b[k*s.n+i%s.n])
				}
				want[i] += cc[i]
				if s.sat {
					want[i] = min(max(want[i], math.MinInt32), math.MaxInt32)
				}
			}
			return resultPlaces(s, nc, want)
		}
		c.close = func(_ [][]uint64, got, want uint64, lane, i int) bool {
			per := max(32/elemBits(s.c), 1)
			for j := range per {
				row, col := s.place('c', lane, i*per+j)
				w := mmaWant[int(want)+j]
				v := got >> (j * elemBits(s.c))
				if elemBits(s.c) < 64 {
					v &= 1<<elemBits(s.c) - 1
				}
				g := elemValue(s.c, v)
				// Each of the k fused steps rounds once, and the reference twice.
				tol := map[string]float64{"f16": 0x1p-9, "f32": 0x1p-20, "f64": 0x1p-53 * float64(3*s.k+1), "s32": 0}[s.c]
				if limit := map[string]float64{"f16": 65000, "f32": 3e38}[s.c]; limit > 0 && !(math.Abs(w) < limit) {
					continue // an overflow, an infinity or a NaN
				}
				if s.c == "s32" {
					if uint32(int64(w)) != uint32(int64(g)) {
						return false
					}
				} else if math.Abs(g-w) > tol*magnitude[row*s.n+col] {
					return false
				}
			}
			return true
		}
		out = append(out, c)
	}
	return out
}

// mmaWant holds the wanted results of the latest reference call, which close
// looks up: an output word of f16 pairs is too narrow for two float64.
var mmaWant []float64

func resultPlaces(s mmaShape, nc int, want []float64) [][]uint64 {
	per := max(32/elemBits(s.c), 1)
	mmaWant = mmaWant[:0]
	o := make([][]uint64, nc)
	for r := range o {
		o[r] = make([]uint64, 32)
		for l := range 32 {
			o[r][l] = uint64(len(mmaWant))
			for j := range per {
				row, col := s.place('c', l, r*per+j)
				mmaWant = append(mmaWant, want[row*s.n+col])
			}
		}
	}
	return o
}

// mmaOperand fills a register with elements of type t of moderate size.
func mmaOperand(r *rand.Rand, t string) uint64 {
	switch t {
	case "s32":
		if r.IntN(4) == 0 {
			return uint64(uint32(math.MaxInt32 - r.IntN(1000)))
		}
		return uint64(uint32(r.IntN(1<<20) - 1<<19))
	case "f64":
		return math.Float64bits(r.NormFloat64() * math.Ldexp(1, r.IntN(20)-10))
	}
	eb := elemBits(t)
	v := uint64(0)
	for j := 0; j < 32; j += eb {
		v |= mmaElement(r, t) & (1<<eb - 1) << j
	}
	return v
}

func mmaElement(r *rand.Rand, t string) uint64 {
	if r.IntN(24) == 0 {
		return r.Uint64() // any exponent, infinities and NaNs among them
	}
	switch t {
	case "s4", "u4", "s8", "u8":
		return r.Uint64()
	case "f32", "tf32":
		return uint64(math.Float32bits(float32(r.NormFloat64() * math.Ldexp(1, r.IntN(12)-6))))
	case "bf16":
		return uint64(toBF16(float32(r.NormFloat64() * math.Ldexp(1, r.IntN(12)-6))))
	case "f16":
		return uint64(toHalf(float32(r.NormFloat64() * math.Ldexp(1, r.IntN(6)-3))))
	case "e4m3":
		return r.Uint64() & 0xbf // small numbers, no NaN
	case "e5m2":
		return r.Uint64()&0x83 | uint64(10+r.IntN(10))<<2
	}
	return r.Uint64()
}
