package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/driver/sim"
)

// list prints a list as the IR does.
func list(x []int) string { return strings.ReplaceAll(fmt.Sprint(x), " ", ", ") }

// times prints a shape as the IR does.
func times(shape []int) string {
	s := make([]string, len(shape))
	for i, n := range shape {
		s[i] = fmt.Sprint(n)
	}
	return strings.Join(s, "x")
}

func volume(shape []int) int {
	n := 1
	for _, x := range shape {
		n *= x
	}
	return n
}

// linear is text that computes the row-major index of each element of a tensor
// of any rank, and the name of that value.
func linear(name string, shape []int, enc string) (text, index string) {
	var b strings.Builder
	stride, sum := 1, ""
	for d := len(shape) - 1; d >= 0; d-- {
		// The range has the layout from which the other dimensions, the outermost
		// first, are expanded.
		encs := []string{enc}
		var axes []int
		for o := len(shape) - 1; o >= 0; o-- {
			if o != d {
				encs = append(encs, fmt.Sprintf("#ttg.slice<{dim = %d, parent = %s}>", o, encs[len(encs)-1]))
				axes = append(axes, o)
			}
		}
		v := fmt.Sprintf("%%%s_%d", name, d)
		fmt.Fprintf(&b, "    %s = tt.make_range {end = %d : i32, start = 0 : i32} : tensor<%dxi32, %s>\n", v, shape[d], shape[d], encs[len(encs)-1])
		small := []int{shape[d]}
		for i := len(axes) - 1; i >= 0; i-- {
			from := times(small)
			small = slices.Insert(small, axes[i], 1)
			fmt.Fprintf(&b, "    %s_%d = tt.expand_dims %s {axis = %d : i32} : tensor<%sxi32, %s> -> tensor<%sxi32, %s>\n",
				v, i, v, axes[i], from, encs[i+1], times(small), encs[i])
			v = fmt.Sprintf("%s_%d", v, i)
		}
		fmt.Fprintf(&b, "    %s_s = arith.constant dense<%d> : tensor<%sxi32, %s>\n", v, stride, times(small), enc)
		fmt.Fprintf(&b, "    %s_m = arith.muli %s, %s_s : tensor<%sxi32, %s>\n", v, v, v, times(small), enc)
		part := v + "_m"
		if !slices.Equal(small, shape) {
			part = v + "_w"
			fmt.Fprintf(&b, "    %s = tt.broadcast %s_m : tensor<%sxi32, %s> -> tensor<%sxi32, %s>\n", part, v, times(small), enc, times(shape), enc)
		}
		if sum != "" {
			fmt.Fprintf(&b, "    %s_t = arith.addi %s, %s : tensor<%sxi32, %s>\n", v, sum, part, times(shape), enc)
			part = v + "_t"
		}
		sum, stride = part, stride*shape[d]
	}
	return b.String(), sum[1:]
}

// spreadOver splits a power of two at random over the dimensions.
func spreadOver(r *rand.Rand, rank, total int) []int {
	s := make([]int, rank)
	for i := range s {
		s[i] = 1
	}
	for ; total > 1; total /= 2 {
		s[r.IntN(rank)] *= 2
	}
	return s
}

// dotType is a row of the table of dots.
type dotType struct {
	a, c   string // element types
	data   func(*rand.Rand, int) operand
	acc    func(*rand.Rand, int) operand // of C
	out    func([]byte) []float64
	kWidth int
	eps    float64
	rtol   float64
	prec   string
}

var dotTypes = []dotType{
	{"f16", "f32", halfOperand, floatOperand, float32s, 2, 1e-6, 0, ""},
	{"f16", "f16", halfOperand, halfOperand, float16s, 2, 2e-3, 1e-3, ""},
	{"bf16", "f32", bfloatOperand, floatOperand, float32s, 2, 1e-6, 0, ""},
	{"f32", "f32", tf32Operand, floatOperand, float32s, 1, 1e-6, 0, ", inputPrecision = tf32"},
	{"f64", "f64", doubleOperand, doubleOperand, sim.Slice[float64], 1, 1e-14, 0, ""},
	{"i8", "i32", int8Operand, int32Operand, int32s, 4, 0, 0, ""},
}

// dotModule is a kernel that loads A, B and C, brings A and B to their layouts,
// through a buffer or by a conversion, and stores A·B + C.
func dotModule(r *rand.Rand, ty dotType, batch, m, n, k, warps int, result, encA, encB string) string {
	dims := func(x, y int) []int {
		if batch > 0 {
			return []int{batch, x, y}
		}
		return []int{x, y}
	}
	rank := len(dims(1, 1))
	var b strings.Builder
	fmt.Fprintf(&b, "  tt.func public @k(%%a: !tt.ptr<%s>, %%b: !tt.ptr<%s>, %%c: !tt.ptr<%s>, %%o: !tt.ptr<%s>) {\n", ty.a, ty.a, ty.c, ty.c)
	load := func(name, elem, enc string, shape []int) {
		text, index := linear("i"+name, shape, enc)
		b.WriteString(text + pointers(name, name, index, times(shape), elem, enc))
		fmt.Fprintf(&b, "    %%v%s = tt.load %%%s_p : tensor<%sx!tt.ptr<%s>, %s>\n", name, name, times(shape), elem, enc)
	}
	blocked := func() string {
		return fmt.Sprintf("#ttg.blocked<{sizePerThread = %s, threadsPerWarp = %s, warpsPerCTA = %s, order = %s}>",
			list(spreadOver(r, rank, 1<<r.IntN(4))), list(spreadOver(r, rank, 32)), list(spreadOver(r, rank, warps)), list(r.Perm(rank)))
	}
	for _, x := range []struct {
		name, enc string
		shape     []int
	}{{"a", encA, dims(m, k)}, {"b", encB, dims(k, n)}} {
		from, dims := blocked(), times(x.shape)
		load(x.name, ty.a, from, x.shape)
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "    %%w%s = ttg.convert_layout %%v%s : tensor<%sx%s, %s> -> tensor<%sx%s, %s>\n", x.name, x.name, dims, ty.a, from, dims, ty.a, x.enc)
			continue
		}
		desc := fmt.Sprintf("!ttg.memdesc<%sx%s, #ttg.swizzled_shared<{vec = %d, perPhase = %d, maxPhase = %d, order = %s}>, #ttg.shared_memory>",
			dims, ty.a, 1<<r.IntN(5), 1<<r.IntN(3), 1<<r.IntN(4), list(r.Perm(rank)))
		fmt.Fprintf(&b, "    %%s%s = ttg.local_alloc %%v%s : (tensor<%sx%s, %s>) -> %s\n", x.name, x.name, dims, ty.a, from, desc)
		fmt.Fprintf(&b, "    %%w%s = ttg.local_load %%s%s : %s -> tensor<%sx%s, %s>\n", x.name, x.name, desc, dims, ty.a, x.enc)
	}
	shape := dims(m, n)
	load("c", ty.c, result, shape)
	fmt.Fprintf(&b, "    %%d = tt.dot %%wa, %%wb, %%vc%s : tensor<%sx%s, %s> * tensor<%sx%s, %s> -> tensor<%sx%s, %s>\n",
		ty.prec, times(dims(m, k)), ty.a, encA, times(dims(k, n)), ty.a, encB, times(shape), ty.c, result)
	text, index := linear("io", shape, result)
	b.WriteString(text + pointers("o", "o", index, times(shape), ty.c, result))
	fmt.Fprintf(&b, "    tt.store %%o_p, %%d : tensor<%sx!tt.ptr<%s>, %s>\n    tt.return\n  }\n", times(shape), ty.c, result)
	return strings.Replace(moduleOf(b.String()), `"ttg.num-warps" = 4`, fmt.Sprintf(`"ttg.num-warps" = %d`, warps), 1)
}

// checkDot runs a module of dotModule.
func checkDot(t *testing.T, r *rand.Rand, src string, cc int, ty dotType, batch, m, n, k int) {
	t.Helper()
	kern := build(t, "dot.ttgir", src, cc)
	batch = max(batch, 1)
	a, b := ty.data(r, batch*m*k), ty.data(r, batch*k*n)
	d := sim.New(sim.Options{})
	c := ty.acc(r, batch*m*n)
	o := d.Alloc("o", len(c.bytes))
	kern.run(t, d, sim.Dim(1), sim.Upload(d, "a", a.bytes), sim.Upload(d, "b", b.bytes), sim.Upload(d, "c", c.bytes), o)
	got := ty.out(o.Read())
	for i := range batch {
		x, y := a.values[i*m*k:(i+1)*m*k], b.values[i*k*n:(i+1)*k*n]
		bound := make([]float64, m*n)
		if ty.eps > 0 {
			bound = sumBound(x, y, m, n, k, ty.eps)
		}
		want := product(x, y, m, n, k)
		for j, v := range c.values[i*m*n : (i+1)*m*n] {
			want[j] += v
			bound[j] += ty.eps * abs(v)
		}
		within(t, fmt.Sprintf("o of batch %d", i), got[i*m*n:(i+1)*m*n], want, bound, ty.rtol)
	}
	if t.Failed() {
		t.Fatalf("%d×%d×%d×%d for cc %d\n%s", batch, m, n, k, cc, src)
	}
}

// Dots by matrix instructions over types, sizes down to less than one tile,
// warps, batches, runs along K, and how the operands get their layouts.
func TestDotLayouts(t *testing.T) {
	r := newRand(t)
	for i := range 36 {
		ty := dotTypes[i%len(dotTypes)]
		batch, rank := 0, 2
		if r.IntN(3) == 0 {
			batch, rank = 1<<r.IntN(3), 3
		}
		m, n, k := 1<<r.IntN(7), 1<<r.IntN(7), 1<<r.IntN(7)
		warps := 1 << r.IntN(4)
		instr := []int{16, 8}
		if rank == 3 {
			instr = []int{1, 16, 8}
		}
		mma := fmt.Sprintf("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = %s, instrShape = %s}>", list(spreadOver(r, rank, warps)), list(instr))
		kWidth := ty.kWidth << r.IntN(3)
		op := func(i int) string {
			return fmt.Sprintf("#ttg.dot_op<{opIdx = %d, parent = %s, kWidth = %d}>", i, mma, kWidth)
		}
		src := dotModule(r, ty, batch, m, n, k, warps, mma, op(0), op(1))
		checkDot(t, r, src, []int{80, 90}[r.IntN(2)], ty, batch, m, n, k)
	}
}

// Dots by multiply-adds with any blocked layout.
func TestDotBlocked(t *testing.T) {
	r := newRand(t)
	types := []dotType{
		{"f32", "f32", floatOperand, floatOperand, float32s, 0, 4e-6, 0, ""},
		{"f16", "f16", halfOperand, halfOperand, float16s, 0, 2e-2, 1e-3, ""},
		{"f16", "f32", halfOperand, floatOperand, float32s, 0, 4e-6, 0, ""},
		{"bf16", "f32", bfloatOperand, floatOperand, float32s, 0, 4e-6, 0, ""},
		{"f64", "f64", doubleOperand, doubleOperand, sim.Slice[float64], 0, 1e-14, 0, ""},
		{"i8", "i32", int8Operand, int32Operand, int32s, 0, 0, 0, ""},
	}
	for i := range 24 {
		ty := types[i%len(types)]
		batch, rank := 0, 2
		if r.IntN(3) == 0 {
			batch, rank = 1<<r.IntN(3), 3
		}
		m, n, k := 1<<r.IntN(6), 1<<r.IntN(6), 1<<r.IntN(5)
		warps := 1 << r.IntN(4)
		parent := fmt.Sprintf("#ttg.blocked<{sizePerThread = %s, threadsPerWarp = %s, warpsPerCTA = %s, order = %s}>",
			list(spreadOver(r, rank, 1<<r.IntN(4))), list(spreadOver(r, rank, 32)), list(spreadOver(r, rank, warps)), list(r.Perm(rank)))
		op := func(i int) string { return fmt.Sprintf("#ttg.dot_op<{opIdx = %d, parent = %s}>", i, parent) }
		src := dotModule(r, ty, batch, m, n, k, warps, parent, op(0), op(1))
		checkDot(t, r, src, 80, ty, batch, m, n, k)
	}
}

func int32Operand(r *rand.Rand, n int) operand {
	x, w := make([]int32, n), make([]float64, n)
	for i := range x {
		x[i] = int32(r.IntN(2000) - 1000)
		w[i] = float64(x[i])
	}
	return operand{sim.Bytes(x), w}
}

// fp8Operand holds finite numbers of an 8-bit format.
func fp8Operand(kind ir.FloatKind) func(*rand.Rand, int) operand {
	return func(r *rand.Rand, n int) operand {
		b, w := make([]byte, n), make([]float64, n)
		for i := range b {
			w[i] = math.NaN()
			for math.IsNaN(w[i]) || math.IsInf(w[i], 0) {
				b[i] = byte(r.UintN(256))
				w[i] = ir.BitsToFloat(kind, uint64(b[i]))
			}
		}
		return operand{b, w}
	}
}

// 8-bit floats from compute capability 8.9 on.
func TestDotFP8(t *testing.T) {
	r := newRand(t)
	for _, f := range []struct {
		name string
		kind ir.FloatKind
	}{{"f8E4M3FN", ir.F8E4M3FN}, {"f8E5M2", ir.F8E5M2}} {
		ty := dotType{f.name, "f32", fp8Operand(f.kind), floatOperand, float32s, 4, 1e-6, 0, ""}
		for range 3 {
			mma := "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
			op := func(i int) string { return fmt.Sprintf("#ttg.dot_op<{opIdx = %d, parent = %s, kWidth = 4}>", i, mma) }
			m, n, k := 16<<r.IntN(3), 16<<r.IntN(3), 32<<r.IntN(2)
			src := dotModule(r, ty, 0, m, n, k, 4, mma, op(0), op(1))
			checkDot(t, r, src, 89, ty, 0, m, n, k)
		}
	}
}

// What no instruction takes is told at the line of the source.
func TestDotRefused(t *testing.T) {
	const mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>"
	for _, c := range []struct {
		a, b, c, want string
		cc            int
	}{
		{"f8E4M3FN", "f8E5M2", "f32", "a dot of f8E4M3FN and f8E5M2 into f32 needs compute capability 8.9, the target has 8.0", 80},
		{"i16", "i16", "i32", "no matrix instruction multiplies i16 by i16 into i32", 90},
	} {
		op := func(i int) string { return fmt.Sprintf("#ttg.dot_op<{opIdx = %d, parent = %s, kWidth = 2}>", i, mma) }
		src := strings.NewReplacer("TA", c.a, "TB", c.b, "TC", c.c, "OA", op(0), "OB", op(1), "MMA", mma).Replace(moduleOf(kernelText + `
  tt.func private @f(%a: tensor<64x64xTA, OA>, %b: tensor<64x64xTB, OB>, %c: tensor<64x64xTC, MMA>) {
    %d = tt.dot %a, %b, %c : tensor<64x64xTA, OA> * tensor<64x64xTB, OB> -> tensor<64x64xTC, MMA> loc("k.py":7:11)
    tt.return
  }
`))
		_, err := lower.Module(parse(t, "dot.ttgir", src), &Target{CC: c.cc}, lower.Options{})
		if err == nil || !strings.Contains(err.Error(), "k.py:7:12: error: tt.dot: "+c.want) {
			t.Errorf("%s × %s: %v, want %s", c.a, c.b, err, c.want)
		}
	}
}
