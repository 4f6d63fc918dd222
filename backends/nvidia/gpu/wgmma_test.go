package gpu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/driver/sim"
)

// wgmmaTypes are the dots of warpgroups. Of 8-bit floats the sum keeps 13 bits below
// the greatest term, in each of its steps.
var wgmmaTypes = []dotType{
	{"f16", "f32", halfOperand, floatOperand, float32s, 2, 1e-6, 0, ""},
	{"f16", "f16", halfOperand, halfOperand, float16s, 2, 2e-3, 1e-3, ""},
	{"bf16", "f32", bfloatOperand, floatOperand, float32s, 2, 1e-6, 0, ""},
	{"f32", "f32", tf32Operand, floatOperand, float32s, 1, 1e-6, 0, "inputPrecision = 0 : i32"},
	{"i8", "i32", int8Operand, int32Operand, int32s, 4, 0, 0, ""},
	{"f8E4M3FN", "f32", fp8Operand(ir.F8E4M3FN), floatOperand, float32s, 4, 4e-3, 0, "maxNumImpreciseAcc = 1073741824 : i32"},
	{"f8E5M2", "f32", fp8Operand(ir.F8E5M2), floatOperand, float32s, 4, 4e-3, 0, "maxNumImpreciseAcc = 1073741824 : i32"},
	{"f8E4M3FN", "f16", smallFP8(ir.F8E4M3FN), halfOperand, float16s, 4, 4e-3, 1e-3, ""},
}

// smallFP8 is fp8Operand of numbers below 2, of which sums do not leave f16.
func smallFP8(kind ir.FloatKind) func(*rand.Rand, int) operand {
	return func(r *rand.Rand, n int) operand {
		o := fp8Operand(kind)(r, n)
		for i, v := range o.values {
			if v >= 2 || v <= -2 {
				o.bytes[i], o.values[i] = 0, 0
			}
		}
		return o
	}
}

// impreciseTypes are dots of 8-bit floats of which the unit adds only so many terms at
// its own precision.
var impreciseTypes = []dotType{
	{"f8E4M3FN", "f32", fp8Operand(ir.F8E4M3FN), floatOperand, float32s, 4, 4e-3, 0, "maxNumImpreciseAcc = 32 : i32"},
	{"f8E5M2", "f32", fp8Operand(ir.F8E5M2), floatOperand, float32s, 4, 4e-3, 0, "maxNumImpreciseAcc = 64 : i32"},
	{"f8E5M2", "f32", fp8Operand(ir.F8E5M2), floatOperand, float32s, 4, 4e-3, 0, "maxNumImpreciseAcc = 96 : i32"},
}

// bits is the width of the operands' elements.
func (ty dotType) bits() int { return 32 / ty.kWidth }

// A groupDot is one dot of warpgroups, and how its operands come to it.
type groupDot struct {
	ty      dotType
	m, n, k int
	warps   [2]int
	instrN  int
	a, b    sharedForm
	inRegs  bool   // A
	useC    string // "", "true" or "false"
	async   bool
	zero    bool // C is the constant zero
}

// sharedForm is how an operand lies in shared memory.
type sharedForm struct {
	swizzle int
	turned  bool   // the first dimension is contiguous
	by      string // "", "trans" (a view of the transpose), "index" (one of an array) or "store"
}

func (f sharedForm) encoding(bits int, turned bool) string {
	return fmt.Sprintf("#ttg.nvmma_shared<{swizzlingByteWidth = %d, transposed = %v, elementBitWidth = %d}>", f.swizzle, turned, bits)
}

// randomForm is any arrangement of a matrix of rows by cols that wgmma reads: K,
// dimension kDim, is contiguous unless the elements have 16 bits.
func randomForm(r *rand.Rand, rows, cols, kDim, bits int) sharedForm {
	f := sharedForm{turned: kDim == 0, by: []string{"", "trans", "index", "store"}[r.IntN(4)]}
	if bits == 16 {
		f.turned = r.IntN(2) == 0
	}
	row := cols
	if f.turned {
		row = rows
	}
	widths := []int{32}
	for w := 64; w <= 128 && w <= row*bits/8; w *= 2 {
		widths = append(widths, w)
	}
	f.swizzle = widths[r.IntN(len(widths))]
	return f
}

// alloc is text that puts %v<name>, of rows by cols, into shared memory as %s<name>,
// and the type of that.
func (f sharedForm) alloc(r *rand.Rand, name, elem, blocked string, rows, cols, bits, warps int) (text, typ string) {
	desc := func(dims, enc, mutable string) string {
		return fmt.Sprintf("!ttg.memdesc<%sx%s, %s, #ttg.shared_memory%s>", dims, elem, enc, mutable)
	}
	dims := times([]int{rows, cols})
	enc := f.encoding(bits, f.turned)
	tensor := fmt.Sprintf("tensor<%sx%s, %s>", dims, elem, blocked)
	switch f.by {
	case "trans":
		turned := times([]int{cols, rows})
		other := fmt.Sprintf("#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = %s, warpsPerCTA = %s, order = [1, 0]}>",
			list(spreadOver(r, 2, 32)), list(spreadOver(r, 2, warps)))
		from, to := desc(turned, f.encoding(bits, !f.turned), ""), desc(dims, enc, "")
		t := fmt.Sprintf("tensor<%sx%s, %s>", turned, elem, other)
		transposed := strings.NewReplacer("order = [0, 1]", "order = [1, 0]", "order = [1, 0]", "order = [0, 1]").Replace(blocked)
		transposed = swapPairs(transposed)
		return fmt.Sprintf("    %%t%[1]s = tt.trans %%v%[1]s {order = array<i32: 1, 0>} : %[2]s -> tensor<%[3]sx%[4]s, %[5]s>\n"+
			"    %%c%[1]s = ttg.convert_layout %%t%[1]s : tensor<%[3]sx%[4]s, %[5]s> -> %[6]s\n"+
			"    %%m%[1]s = ttg.local_alloc %%c%[1]s : (%[6]s) -> %[7]s\n"+
			"    %%s%[1]s = ttg.memdesc_trans %%m%[1]s {order = array<i32: 1, 0>} : %[7]s -> %[8]s\n",
			name, tensor, turned, elem, transposed, t, from, to), to
	case "index":
		whole, one := desc("2x"+dims, enc, ", mutable"), desc(dims, enc, ", mutable")
		return fmt.Sprintf("    %%i%[1]s = arith.constant %[2]d : i32\n    %%m%[1]s = ttg.local_alloc : () -> %[3]s\n"+
			"    %%s%[1]s = ttg.memdesc_index %%m%[1]s[%%i%[1]s] : %[3]s -> %[4]s\n"+
			"    ttg.local_store %%v%[1]s, %%s%[1]s : %[5]s -> %[4]s\n", name, r.IntN(2), whole, one, tensor), one
	case "store":
		one := desc(dims, enc, ", mutable")
		return fmt.Sprintf("    %%s%[1]s = ttg.local_alloc : () -> %[2]s\n    ttg.local_store %%v%[1]s, %%s%[1]s : %[3]s -> %[2]s\n", name, one, tensor), one
	}
	one := desc(dims, enc, "")
	return fmt.Sprintf("    %%s%[1]s = ttg.local_alloc %%v%[1]s : (%[3]s) -> %[2]s\n", name, one, tensor), one
}

// swapPairs exchanges the two numbers of each list but that of the order.
func swapPairs(enc string) string {
	parts := strings.Split(enc, " = [")
	for i := 1; i < len(parts)-1; i++ {
		inner, rest, _ := strings.Cut(parts[i], "]")
		x, y, _ := strings.Cut(inner, ", ")
		parts[i] = y + ", " + x + "]" + rest
	}
	return strings.Join(parts, " = [")
}

// module is a kernel that loads A, B and C, multiplies and stores.
func (g groupDot) module(r *rand.Rand) string {
	var b strings.Builder
	ty, warps := g.ty, g.warps[0]*g.warps[1]
	fmt.Fprintf(&b, "  tt.func public @k(%%a: !tt.ptr<%s>, %%b: !tt.ptr<%s>, %%c: !tt.ptr<%s>, %%o: !tt.ptr<%s>) {\n", ty.a, ty.a, ty.c, ty.c)
	load := func(name, elem, enc string, rows, cols int) {
		text, index := linear("i"+name, []int{rows, cols}, enc)
		dims := times([]int{rows, cols})
		b.WriteString(text + pointers(name, name, index, dims, elem, enc))
		fmt.Fprintf(&b, "    %%v%s = tt.load %%%s_p : tensor<%sx!tt.ptr<%s>, %s>\n", name, name, dims, elem, enc)
	}
	mma := fmt.Sprintf("#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [%d, %d], instrShape = [16, %d, %d]}>", g.warps[0], g.warps[1], g.instrN, 256/ty.bits())
	blocked := func() string {
		return fmt.Sprintf("#ttg.blocked<{sizePerThread = %s, threadsPerWarp = %s, warpsPerCTA = %s, order = %s}>",
			list(spreadOver(r, 2, 1<<r.IntN(4))), list(spreadOver(r, 2, 32)), list(spreadOver(r, 2, warps)), list(r.Perm(2)))
	}
	x, typeX := "%va", ""
	if g.inRegs {
		enc := fmt.Sprintf("#ttg.dot_op<{opIdx = 0, parent = %s, kWidth = %d}>", mma, ty.kWidth)
		load("a", ty.a, enc, g.m, g.k)
		typeX = fmt.Sprintf("tensor<%dx%dx%s, %s>", g.m, g.k, ty.a, enc)
	} else {
		from := blocked()
		load("a", ty.a, from, g.m, g.k)
		text, t := g.a.alloc(r, "a", ty.a, from, g.m, g.k, ty.bits(), warps)
		b.WriteString(text)
		x, typeX = "%sa", t
	}
	from := blocked()
	load("b", ty.a, from, g.k, g.n)
	text, typeY := g.b.alloc(r, "b", ty.a, from, g.k, g.n, ty.bits(), warps)
	b.WriteString(text)
	result := fmt.Sprintf("tensor<%dx%dx%s, %s>", g.m, g.n, ty.c, mma)
	if g.zero {
		zero := "0.000000e+00"
		if ty.c == "i32" {
			zero = "0"
		}
		fmt.Fprintf(&b, "    %%vc = arith.constant dense<%s> : %s\n", zero, result)
	} else {
		load("c", ty.c, mma, g.m, g.n)
	}
	use, attrs := "", []string{}
	if g.useC != "" {
		fmt.Fprintf(&b, "    %%u = arith.constant %s\n", g.useC)
		use = ", %u"
	}
	if ty.prec != "" {
		attrs = append(attrs, ty.prec)
	}
	if g.async {
		attrs = append(attrs, "isAsync = true")
	}
	dict := ""
	if len(attrs) > 0 {
		dict = " {" + strings.Join(attrs, ", ") + "}"
	}
	fmt.Fprintf(&b, "    %%d = ttng.warp_group_dot %s, %%sb, %%vc%s%s : %s * %s -> %s\n", x, use, dict, typeX, typeY, result)
	d := "%d"
	if g.async {
		fmt.Fprintf(&b, "    %%w:2 = ttng.warp_group_dot_wait %%d, %%sb {pendings = 0 : i32} : %s, %s\n", result, typeY)
		d = "%w#0"
	}
	text, index := linear("io", []int{g.m, g.n}, mma)
	b.WriteString(text + pointers("o", "o", index, times([]int{g.m, g.n}), ty.c, mma))
	fmt.Fprintf(&b, "    tt.store %%o_p, %s : tensor<%dx%dx!tt.ptr<%s>, %s>\n    tt.return\n  }\n", d, g.m, g.n, ty.c, mma)
	src := strings.Replace(moduleOf(b.String()), `"ttg.num-warps" = 4`, fmt.Sprintf(`"ttg.num-warps" = %d`, warps), 1)
	return strings.Replace(src, "cuda:80", "cuda:90", 1)
}

// check runs the dot and compares it with a sum in float64.
func (g groupDot) check(t *testing.T, r *rand.Rand) {
	t.Helper()
	src := g.module(r)
	kern := build(t, "dot.ttgir", src, 90)
	a, b, c := g.ty.data(r, g.m*g.k), g.ty.data(r, g.k*g.n), g.ty.acc(r, g.m*g.n)
	d := sim.New(sim.Options{Chip: sim.H200, Random: true, Seed: r.Uint64()})
	o := d.Alloc("o", len(c.bytes))
	kern.run(t, d, sim.Dim(1), sim.Upload(d, "a", a.bytes), sim.Upload(d, "b", b.bytes), sim.Upload(d, "c", c.bytes), o)
	want, bound := product(a.values, b.values, g.m, g.n, g.k), make([]float64, g.m*g.n)
	if g.ty.eps > 0 {
		bound = sumBound(a.values, b.values, g.m, g.n, g.k, g.ty.eps)
	}
	if !g.zero && g.useC != "false" {
		for i, v := range c.values {
			want[i] += v
			bound[i] += g.ty.eps * abs(v)
		}
	}
	within(t, "o", g.ty.out(o.Read()), want, bound, g.ty.rtol)
	if t.Failed() {
		t.Fatalf("%+v\n%s", g, src)
	}
}

// randomGroupDot is any dot of a type.
func randomGroupDot(r *rand.Rand, ty dotType) groupDot {
	bits := ty.bits()
	g := groupDot{
		ty: ty, m: 64 << r.IntN(2), k: 256 / bits << r.IntN(4),
		warps: [][2]int{{4, 1}, {4, 1}, {8, 1}, {4, 2}, {8, 2}, {4, 4}}[r.IntN(6)],
		// A's registers are those of rows that all columns of warps share.
		inRegs: r.IntN(3) == 0, async: r.IntN(2) == 0, zero: r.IntN(3) == 0,
		useC: []string{"", "", "true", "false"}[r.IntN(4)],
	}
	g.instrN = 8 << r.IntN(6)
	if ty.a == "i8" {
		g.instrN = min(g.instrN, 128)
	}
	// As many columns as the warps side by side take, or fewer, which they then
	// compute more than once, or more.
	g.n = max(16, min(g.instrN*g.warps[1]>>1<<r.IntN(3), 256), g.instrN)
	g.a = randomForm(r, g.m, g.k, 1, bits)
	g.b = randomForm(r, g.k, g.n, 0, bits)
	return g
}

// TestWarpGroupDots: dots of warpgroups of all types, with operands in all
// arrangements, by one to four warpgroups.
func TestWarpGroupDots(t *testing.T) {
	r := newRand(t)
	for i := range 8 * len(wgmmaTypes) {
		randomGroupDot(r, wgmmaTypes[i%len(wgmmaTypes)]).check(t, r)
	}
}

// TestWarpGroupImprecise: sums of 8-bit floats that are to be more precise than the
// unit's are added in f32, every so many terms; a great accumulator does not
// swallow small terms, as it does in the unit.
func TestWarpGroupImprecise(t *testing.T) {
	r := newRand(t)
	for i := range 4 * len(impreciseTypes) {
		g := randomGroupDot(r, impreciseTypes[i%len(impreciseTypes)])
		g.check(t, r)
		terms := 0
		fmt.Sscanf(g.ty.prec, "maxNumImpreciseAcc = %d", &terms)
		kern := build(t, "dot.ttgir", g.module(r), 90)
		adds := strings.Count(kern.ptx, "add.f32") + strings.Count(kern.ptx, "add.rn.f32")
		chunks := (g.k + terms - 1) / terms
		if terms > g.k {
			chunks = 0
		} else if g.zero {
			chunks--
		}
		tile := max(g.m, 16*g.warps[0]) * max(g.n, g.instrN*g.warps[1]) / (32 * g.warps[0] * g.warps[1])
		if adds != chunks*tile {
			t.Errorf("%+v: %d additions, want %d for each of %d elements", g, adds, chunks, tile)
		}
	}
	one, great := impreciseTypes[0], float32(1<<20)
	one.eps = 1e-6
	one.data = func(_ *rand.Rand, n int) operand {
		b, w := make([]byte, n), make([]float64, n)
		for i := range b {
			b[i], w[i] = 0x38, 1
		}
		return operand{b, w}
	}
	one.acc = func(_ *rand.Rand, n int) operand {
		c := make([]float32, n)
		for i := range c {
			c[i] = great
		}
		return operand{sim.Bytes(c), doubles(c)}
	}
	g := groupDot{ty: one, m: 64, n: 64, k: 128, warps: [2]int{4, 1}, instrN: 64, a: sharedForm{swizzle: 128}, b: sharedForm{swizzle: 128, turned: true}}
	g.check(t, r)
}

// TestWarpGroupColumns: every number of columns of an instruction.
func TestWarpGroupColumns(t *testing.T) {
	r := newRand(t)
	for _, ty := range wgmmaTypes {
		for n := 8; n <= 256; n *= 2 {
			if ty.a == "i8" && n > 128 {
				continue
			}
			g := randomGroupDot(r, ty)
			g.m, g.k, g.instrN, g.n = 64, 256/ty.bits(), n, max(n, 16)
			g.warps = [2]int{4, 1}
			g.a, g.b = randomForm(r, g.m, g.k, 1, ty.bits()), randomForm(r, g.k, g.n, 0, ty.bits())
			g.check(t, r)
		}
	}
}

// TestWarpGroupRefused: what wgmma does not read is told at the line of the source.
func TestWarpGroupRefused(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"swizzlingByteWidth = 0, transposed = false", "swizzlingByteWidth = 128, transposed = false", "operand A: the buffer is not arranged as the instruction reads matrices"},
		{"swizzlingByteWidth = 64, transposed = false", "swizzlingByteWidth = 0, transposed = true", "operand B: the buffer is not arranged as the instruction reads matrices"},
	} {
		src := strings.NewReplacer("FORMA", c.a, "FORMB", c.b).Replace(moduleOf(kernelText + `
  tt.func private @f(%a: !ttg.memdesc<64x32xf16, #ttg.nvmma_shared<{FORMA, elementBitWidth = 16}>, #ttg.shared_memory>, %b: !ttg.memdesc<32x64xf16, #ttg.nvmma_shared<{FORMB, elementBitWidth = 16}>, #ttg.shared_memory>, %c: tensor<64x64xf32, #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>>) {
    %d = ttng.warp_group_dot %a, %b, %c : !ttg.memdesc<64x32xf16, #ttg.nvmma_shared<{FORMA, elementBitWidth = 16}>, #ttg.shared_memory> * !ttg.memdesc<32x64xf16, #ttg.nvmma_shared<{FORMB, elementBitWidth = 16}>, #ttg.shared_memory> -> tensor<64x64xf32, #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>> loc("k.py":7:11)
    tt.return
  }
`))
		_, err := lower.Module(parse(t, "dot.ttgir", src), &Target{CC: 90}, lower.Options{})
		if err == nil || !strings.Contains(err.Error(), "k.py:7:12: error: ttng.warp_group_dot: "+c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
