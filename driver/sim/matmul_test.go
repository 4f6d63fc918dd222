package sim

import (
	"math"
	"math/rand/v2"
	"testing"
)

// product is C = A×B of float64, A m×k and B k×n.
func product(a, b []float64, m, n, k int) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for l := range k {
			v := a[i*k+l]
			for j := range n {
				c[i*n+j] += v * b[l*n+j]
			}
		}
	}
	return c
}

func widenAll(s []float32) []float64 {
	out := make([]float64, len(s))
	for i, v := range s {
		out[i] = float64(v)
	}
	return out
}

// generations are the folders of kernels that two generations of processors have
// in different forms: mma.sync and wgmma.
var generations = []string{".", "sm90"}

func TestMatmul(t *testing.T) {
	for _, dir := range generations {
		t.Run(dir, func(t *testing.T) { testMatmul(t, load(t, dir+"/matmul_fp16")) })
	}
}

func testMatmul(t *testing.T, m *Module) {
	r := newRand(t)
	for _, c := range []struct{ m, n, k int }{{128, 128, 64}, {144, 272, 208}} {
		a, b := halfs(randn(r, c.m*c.k, 1)), halfs(randn(r, c.k*c.n, 1))
		d := New(Options{Chip: H200})
		out := d.Alloc("c", 2*c.m*c.n)
		grid := cdiv(c.m, 128) * cdiv(c.n, 128)
		launch(t, d, m, "matmul", Dim(grid), Dim(128), 98304, Upload(d, "a", a), Upload(d, "b", b), out,
			int32(c.m), int32(c.n), int32(c.k), int32(c.k), int32(c.n), int32(c.n))
		want := product(widenAll(fromHalfs(a)), widenAll(fromHalfs(b)), c.m, c.n, c.k)
		near(t, "c", fromHalfs(Download[uint16](out)), want, 1e-3, 1e-2)
	}
}

// TestMatmulDescriptors: on the newer generation tensor maps, bulk copies and
// mbarrier objects bring the operands.
func TestMatmulDescriptors(t *testing.T) {
	for _, dir := range generations {
		t.Run(dir, func(t *testing.T) { testMatmulDescriptors(t, load(t, dir+"/matmul_desc")) })
	}
}

// fp8Data makes small e4m3 numbers.
func fp8Data(r *rand.Rand, n int) ([]byte, []float64) {
	b := make([]byte, n)
	w := make([]float64, n)
	for i := range b {
		b[i] = byte(r.UintN(256)) & 0xbf
		w[i] = floatFormats["e4m3"].value(uint64(b[i]))
	}
	return b, w
}

func TestMatmulFP8(t *testing.T) {
	m := load(t, "sm90/matmul_fp8e4nv")
	r := newRand(t)
	const M, N, K = 144, 272, 208
	a, aw := fp8Data(r, M*K)
	b, bw := fp8Data(r, N*K)
	d := New(Options{Chip: H200})
	out := d.Alloc("c", 2*M*N)
	launch(t, d, m, "matmul", Dim(6), Dim(128), 160<<10, Upload(d, "a", a), Upload(d, "b", b), out,
		int32(M), int32(N), int32(K), int32(K), int32(K), int32(N))
	bt := make([]float64, K*N)
	for i, v := range bw {
		bt[i%K*N+i/K] = v
	}
	// The hardware cuts what lies 13 bits below the greatest of a step's 33 terms:
	// of sums of 4 to 8, that is up to 2^-11 of each of 231 terms of either sign,
	// 0.004 in the mean of squares.
	near(t, "c", fromHalfs(Download[uint16](out)), product(aw, bt, M, N, K), 1e-3, 4e-2)
}

func testMatmulDescriptors(t *testing.T, m *Module) {
	r := newRand(t)
	const M, N, K = 144, 272, 80
	a, b := halfs(randn(r, M*K, 1)), halfs(randn(r, N*K, 1))
	d := New(Options{Chip: H200})
	out := d.Alloc("c", 2*M*N)
	launch(t, d, m, "matmul_desc", Dim(132), Dim(128), 160<<10, Upload(d, "a", a), Upload(d, "b", b), out, int32(M), int32(N), int32(K), d.Alloc("scratch", 132*512))
	bt := make([]float64, K*N)
	for i, v := range fromHalfs(b) {
		bt[i%K*N+i/K] = float64(v)
	}
	want := product(widenAll(fromHalfs(a)), bt, M, N, K)
	near(t, "c", fromHalfs(Download[uint16](out)), want, 1e-3, 1e-2)
}

func TestFlashForwardCausal(t *testing.T) {
	m := load(t, "flash_fwd_causal")
	r := newRand(t)
	const Z, H, N, D = 1, 2, 256, 64
	const scale = float32(0.125)
	q, k, v := halfs(randn(r, Z*H*N*D, 1)), halfs(randn(r, Z*H*N*D, 1)), halfs(randn(r, Z*H*N*D, 1))
	d := New(Options{})
	o, l := d.Alloc("O", 2*Z*H*N*D), d.Alloc("L", 4*Z*H*N)
	launch(t, d, m, "flash_fwd", Dim(N/128, Z*H), Dim(128), 65536, Upload(d, "Q", q), Upload(d, "K", k), Upload(d, "V", v), o, l,
		scale, int32(H*N*D), int32(N*D), int32(D), int32(H), int32(N))
	wantO := make([]float64, Z*H*N*D)
	wantL := make([]float64, Z*H*N)
	for h := range Z * H {
		at := func(s []uint16, i, j int) float64 { return float64(fromHalf(s[h*N*D+i*D+j])) }
		for i := range N {
			p := make([]float64, i+1)
			top := math.Inf(-1)
			for j := range p {
				for e := range D {
					p[j] += at(q, i, e) * at(k, j, e)
				}
				p[j] *= float64(scale)
				top = max(top, p[j])
			}
			sum := 0.0
			for j := range p {
				p[j] = math.Exp(p[j] - top)
				sum += p[j]
			}
			wantL[h*N+i] = (top + math.Log(sum)) / math.Ln2
			for j := range p {
				for e := range D {
					wantO[h*N*D+i*D+e] += p[j] / sum * at(v, j, e)
				}
			}
		}
	}
	near(t, "L", Download[float32](l), wantL, 1e-4, 1e-4)
	near(t, "O", fromHalfs(Download[uint16](o)), wantO, 2e-3, 2e-3)
}

// TestDots runs one 64×64×64 dot for every pair of types.
func TestDots(t *testing.T) {
	const n = 64
	r := newRand(t)
	floats := func() []float32 { return randn(r, n*n, 1) }
	halfData := func() ([]byte, []float64) {
		h := halfs(floats())
		return Bytes(h), widenAll(fromHalfs(h))
	}
	bfData := func() ([]byte, []float64) {
		h := make([]uint16, n*n)
		w := make([]float64, n*n)
		for i, v := range floats() {
			h[i] = toBF16(v)
			w[i] = float64(fromBF16(h[i]))
		}
		return Bytes(h), w
	}
	tests := []struct {
		file       string
		data       func() ([]byte, []float64)
		out        func([]byte) []float64
		size       int
		rtol, atol float64
	}{
		{"dot_fp16_float32_None", halfData, floatsOf, 4, 1e-5, 1e-4},
		{"dot_fp16_float16_None", halfData, halfsOf, 2, 1e-2, 2e-1},
		{"dot_bf16_float32_None", bfData, floatsOf, 4, 1e-5, 1e-4},
		{"dot_fp32_float32_tf32", func() ([]byte, []float64) {
			f := floats()
			w := make([]float64, len(f))
			for i, v := range f {
				w[i] = float64(math.Float32frombits(math.Float32bits(v) &^ 0x1fff)) // the hardware cuts
			}
			return Bytes(f), w
		}, floatsOf, 4, 1e-5, 1e-4},
		{"dot_fp64_float64_None", func() ([]byte, []float64) {
			f := make([]float64, n*n)
			for i := range f {
				f[i] = r.NormFloat64()
			}
			return Bytes(f), f
		}, Slice[float64], 8, 1e-13, 1e-13},
		{"dot_i8_int32_None", func() ([]byte, []float64) { return int8Data(r, n*n) }, func(b []byte) []float64 {
			var out []float64
			for _, v := range Slice[int32](b) {
				out = append(out, float64(v))
			}
			return out
		}, 4, 0, 0},
		{"dot_fp8e5_float32_None", func() ([]byte, []float64) {
			b := make([]byte, n*n)
			w := make([]float64, n*n)
			for i := range b {
				b[i] = byte(r.UintN(256)) &^ 0x40 // small numbers, no infinities
				w[i] = float64(fromHalf(uint16(b[i]) << 8))
			}
			return b, w
		}, floatsOf, 4, 1e-5, 1e-5},
	}
	for i := range 2 * len(tests) {
		c := tests[i/2]
		file := generations[i%2] + "/" + c.file
		if c.file == "dot_fp64_float64_None" && i%2 == 1 {
			continue // the same form in both
		}
		if c.file == "dot_fp8e5_float32_None" && i%2 == 1 {
			c.rtol, c.atol = 0, 0x1p-7 // dots of warpgroups keep fewer bits of fp8
		}
		if c.file == "dot_fp32_float32_tf32" && machine != nil {
			c.rtol, c.atol = 0, 0x1p-4 // AMD's xf32 rounds operands that tf32 cuts
		}
		t.Run(file, func(t *testing.T) {
			m := load(t, file)
			d := New(Options{})
			ab, a := c.data()
			bb, b := c.data()
			ba, bbuf := d.Alloc("a", len(ab)), d.Alloc("b", len(bb))
			ba.Write(0, ab)
			bbuf.Write(0, bb)
			o := d.Alloc("o", c.size*n*n)
			launch(t, d, m, "dots", Dim(1), Dim(128), 65536, ba, bbuf, o)
			want := product(a, b, n, n, n)
			bad := 0
			for i, g := range c.out(o.Read()) {
				if math.Abs(g-want[i]) > c.atol+c.rtol*math.Abs(want[i]) {
					if bad++; bad < 5 {
						t.Errorf("o[%d] = %v, want %v", i, g, want[i])
					}
				}
			}
		})
	}
}

func floatsOf(b []byte) []float64 { return widenAll(Slice[float32](b)) }
func halfsOf(b []byte) []float64  { return widenAll(fromHalfs(Slice[uint16](b))) }

func int8Data(r *rand.Rand, n int) ([]byte, []float64) {
	b := make([]byte, n)
	w := make([]float64, n)
	for i := range b {
		b[i] = byte(r.UintN(256))
		w[i] = float64(int8(b[i]))
	}
	return b, w
}

func TestDotChain(t *testing.T) {
	for _, dir := range generations {
		t.Run(dir, func(t *testing.T) { testDotChain(t, load(t, dir+"/dot_chain")) })
	}
}

func testDotChain(t *testing.T, m *Module) {
	r := newRand(t)
	const n = 64
	q, k, v := halfs(randn(r, n*n, 0.3)), halfs(randn(r, n*n, 0.3)), halfs(randn(r, n*n, 1))
	d := New(Options{})
	o := d.Alloc("o", 4*n*n)
	launch(t, d, m, "dot_chain", Dim(1), Dim(128), 65536, Upload(d, "q", q), Upload(d, "k", k), Upload(d, "v", v), o)
	kt := make([]float64, n*n)
	for i, x := range fromHalfs(k) {
		kt[i%n*n+i/n] = float64(x)
	}
	s := product(widenAll(fromHalfs(q)), kt, n, n, n)
	want := make([]float64, n*n)
	for i := range n {
		row := s[i*n : (i+1)*n]
		top, sum := math.Inf(-1), 0.0
		for _, x := range row {
			top = max(top, x)
		}
		for j, x := range row {
			row[j] = math.Exp(x - top)
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
	copy(want, product(s, widenAll(fromHalfs(v)), n, n, n))
	near(t, "o", Download[float32](o), want, 1e-3, 1e-3)
}

func TestDotScaled(t *testing.T) {
	for _, dir := range generations {
		t.Run(dir, func(t *testing.T) { testDotScaled(t, load(t, dir+"/dot_scaled")) })
	}
}

func testDotScaled(t *testing.T, m *Module) {
	r := newRand(t)
	const n = 64
	a, as := make([]uint8, n*n/2), make([]uint8, n*n/32)
	for i := range a {
		a[i] = uint8(r.UintN(256))
	}
	for i := range as {
		as[i] = uint8(120 + r.UintN(14))
	}
	b := make([]uint16, n*n)
	bw := make([]float64, n*n)
	for i, v := range randn(r, n*n, 1) {
		b[i] = toBF16(v)
		bw[i] = float64(fromBF16(b[i]))
	}
	d := New(Options{})
	o := d.Alloc("o", 4*n*n)
	launch(t, d, m, "dot_scaled", Dim(1), Dim(128), 65536, Upload(d, "a", a), Upload(d, "as", as), Upload(d, "b", b), o)
	e2m1 := []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
	aw := make([]float64, n*n)
	for i := range aw {
		nibble := a[i/2] >> (i % 2 * 4) & 15
		aw[i] = e2m1[nibble] * math.Ldexp(1, int(as[i/32])-127)
	}
	near(t, "o", Download[float32](o), product(aw, bw, n, n, n), 1e-4, 1e-3)
}

// TestSgemm checks the kernel of the comparison with other simulators.
func TestSgemm(t *testing.T) {
	const n = 48
	r := newRand(t)
	a, b := randn(r, n*n, 1), randn(r, n*n, 1)
	wide := func(v []float32) []float64 {
		out := make([]float64, len(v))
		for i := range v {
			out[i] = float64(v[i])
		}
		return out
	}
	d := New(Options{})
	x, y, z := Upload(d, "a", a), Upload(d, "b", b), d.Alloc("c", 4*n*n)
	launch(t, d, load(t, "sgemm"), "sgemm", Dim(n/16, n/16), Dim(16, 16), 0, x, y, z, int32(n))
	near(t, "c", Download[float32](z), product(wide(a), wide(b), n, n, n), 1e-5, 1e-5)
}
