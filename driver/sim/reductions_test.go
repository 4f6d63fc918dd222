package sim

import (
	"math"
	"slices"
	"sort"
	"testing"
)

func halfs(s []float32) []uint16 {
	out := make([]uint16, len(s))
	for i, v := range s {
		out[i] = toHalf(v)
	}
	return out
}

func fromHalfs(s []uint16) []float32 {
	out := make([]float32, len(s))
	for i, v := range s {
		out[i] = fromHalf(v)
	}
	return out
}

func TestLayerNormForward(t *testing.T) {
	m := load(t, "layer_norm_fwd")
	r := newRand(t)
	for _, n := range []int{16, 1536, 2064, 4096} {
		const rows = 3
		x := halfs(randn(r, rows*n, 2))
		w, b := halfs(randn(r, n, 1)), halfs(randn(r, n, 1))
		d := New(Options{})
		y, mean, rstd := d.Alloc("Y", 2*rows*n), d.Alloc("Mean", 4*rows), d.Alloc("Rstd", 4*rows)
		launch(t, d, m, "layer_norm_fwd", Dim(rows), Dim(256), 64, Upload(d, "X", x), y, Upload(d, "W", w), Upload(d, "B", b),
			mean, rstd, int32(n), int32(n), float32(1e-5))
		var wantY, wantMean, wantRstd []float64
		for row := range rows {
			xs := fromHalfs(x[row*n : (row+1)*n])
			mu, va := 0.0, 0.0
			for _, v := range xs {
				mu += float64(v)
			}
			mu /= float64(n)
			for _, v := range xs {
				va += (float64(v) - mu) * (float64(v) - mu)
			}
			rs := 1 / math.Sqrt(va/float64(n)+1e-5)
			wantMean, wantRstd = append(wantMean, mu), append(wantRstd, rs)
			for i, v := range xs {
				wantY = append(wantY, (float64(v)-mu)*rs*float64(fromHalf(w[i]))+float64(fromHalf(b[i])))
			}
		}
		near(t, "mean", Download[float32](mean), wantMean, 1e-5, 1e-5)
		near(t, "rstd", Download[float32](rstd), wantRstd, 1e-5, 0)
		near(t, "y", fromHalfs(Download[uint16](y)), wantY, 1e-3, 2e-3)
	}
}

func TestLayerNormBackward(t *testing.T) {
	m := load(t, "layer_norm_bwd")
	r := newRand(t)
	for _, c := range []struct{ rows, n, grid int }{{16, 16, 2}, {48, 1040, 4}, {32, 2048, 16}} {
		n, rows := c.n, c.rows
		x, dy, w := halfs(randn(r, rows*n, 1)), halfs(randn(r, rows*n, 1)), halfs(randn(r, n, 1))
		mean, rstd := randn(r, rows, 0.1), randn(r, rows, 0.1)
		for i := range rstd {
			rstd[i] += 1
		}
		d := New(Options{})
		dx := d.Alloc("DX", 2*rows*n)
		dw, db := Upload(d, "DW", make([]float32, n)), Upload(d, "DB", make([]float32, n))
		launch(t, d, m, "layer_norm_bwd", Dim(c.grid), Dim(256), 4096*4, dx, Upload(d, "DY", dy), dw, db, Upload(d, "X", x), Upload(d, "W", w),
			Upload(d, "Mean", mean), Upload(d, "Rstd", rstd), int32(rows), int32(n))
		wantX := make([]float64, rows*n)
		wantW, wantB := make([]float64, n), make([]float64, n)
		for row := range rows {
			mu, rs := float64(mean[row]), float64(rstd[row])
			c1, c2 := 0.0, 0.0
			for i := range n {
				xh := (float64(fromHalf(x[row*n+i])) - mu) * rs
				g := float64(fromHalf(dy[row*n+i]))
				c1 += xh * g * float64(fromHalf(w[i]))
				c2 += g * float64(fromHalf(w[i]))
				wantW[i] += g * xh
				wantB[i] += g
			}
			for i := range n {
				xh := (float64(fromHalf(x[row*n+i])) - mu) * rs
				wdy := float64(fromHalf(dy[row*n+i])) * float64(fromHalf(w[i]))
				wantX[row*n+i] = (wdy - (xh*c1+c2)/float64(n)) * rs
			}
		}
		near(t, "dx", fromHalfs(Download[uint16](dx)), wantX, 1e-3, 1e-3)
		near(t, "dw", Download[float32](dw), wantW, 1e-4, 1e-4)
		near(t, "db", Download[float32](db), wantB, 1e-4, 1e-4)
	}
}

func TestCumsumRows(t *testing.T) {
	m := load(t, "cumsum_rows")
	r := newRand(t)
	for _, n := range []int{16, 1008, 2048} {
		const rows = 3
		x := randn(r, rows*n, 1)
		d := New(Options{})
		y := d.Alloc("y", 4*rows*n)
		launch(t, d, m, "cumsum_rows", Dim(rows), Dim(128), 1024, Upload(d, "x", x), y, int32(n), int32(n))
		want := make([]float64, rows*n)
		for row := range rows {
			sum := 0.0
			for i := range n {
				sum += float64(x[row*n+i])
				want[row*n+i] = sum
			}
		}
		near(t, "cumsum", Download[float32](y), want, 1e-5, 1e-4)
	}
}

func TestRowMinSplit(t *testing.T) {
	m := load(t, "row_min_split")
	r := newRand(t)
	for _, c := range []struct{ m, n int }{{16, 2048}, {48, 3088}, {32, 4608}} {
		x := randn(r, c.m*c.n, 5)
		out := make([]float32, c.m)
		want := make([]float64, c.m)
		for i := range out {
			out[i] = float32(math.Inf(1))
			want[i] = float64(slices.Min(x[i*c.n : (i+1)*c.n]))
		}
		d := New(Options{})
		o := Upload(d, "out", out)
		launch(t, d, m, "row_min_split", Dim(cdiv(c.n, 2048)), Dim(256), 8192, Upload(d, "in", x), o, int32(c.m), int32(c.n), int32(c.n))
		near(t, "min", Download[float32](o), want, 0, 0)
	}
}

func TestProdMid(t *testing.T) {
	m := load(t, "prod_mid")
	r := newRand(t)
	for _, n := range []int{16, 5008, 20480} {
		const grid = 3
		x := randn(r, n, 0.01)
		want := make([]float64, grid)
		for i := range want {
			want[i] = 1
		}
		for i := range x {
			x[i] += 1
			want[i/2048%grid] *= float64(x[i])
		}
		d := New(Options{})
		mid := d.Alloc("mid", 4*grid)
		launch(t, d, m, "prod_mid", Dim(grid), Dim(256), 64, Upload(d, "inp", x), mid, int32(n))
		near(t, "prod", Download[float32](mid), want, 1e-4, 0)
	}
}

// column returns column c of an M×N matrix.
func column(x []float32, n, c int) []float32 {
	var out []float32
	for i := c; i < len(x); i += n {
		out = append(out, x[i])
	}
	return out
}

func sum64(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v)
	}
	return s
}

func argBest(x []float32, better func(a, b float32) bool) int {
	k := 0
	for i := range x {
		if better(x[i], x[k]) {
			k = i
		}
	}
	return k
}

func TestReductions(t *testing.T) {
	m := load(t, "reductions")
	r := newRand(t)
	const M, N = 32, 64
	x := randn(r, M*N, 10)
	d := New(Options{})
	o := d.Alloc("o", 4*(M+N+1))
	idx := d.Alloc("i", 4*(M+N+M))
	launch(t, d, m, "reductions", Dim(1), Dim(128), 8192, Upload(d, "x", x), o, idx)
	var wantO []float64
	var wantI []int32
	for i := range M {
		row := x[i*N : (i+1)*N]
		wantO = append(wantO, sum64(row)+float64(slices.Max(row))-float64(slices.Min(row)))
		wantI = append(wantI, int32(argBest(row, func(a, b float32) bool { return a > b })))
	}
	for c := range N {
		col := column(x, N, c)
		wantI = append(wantI, int32(argBest(col, func(a, b float32) bool { return a < b })))
		k := argBest(col, func(a, b float32) bool { return a > b })
		wantO = append(wantO, float64(col[k])+float64(k))
	}
	wantO = append(wantO, sum64(x)+float64(slices.Max(x)))
	for i := range M {
		v := int32(0)
		for _, e := range x[i*N : (i+1)*N] {
			v ^= int32(e)
		}
		wantI = append(wantI, v)
	}
	near(t, "o", Download[float32](o), wantO, 1e-4, 1e-3)
	if got := Download[int32](idx); !slices.Equal(got, wantI) {
		t.Errorf("indices are\n%v, want\n%v", got, wantI)
	}
}

func TestReduceTuple(t *testing.T) {
	m := load(t, "reduce_tuple")
	r := newRand(t)
	x := randn(r, 1024, 4)
	d := New(Options{})
	o := d.Alloc("o", 4)
	launch(t, d, m, "reduce_tuple", Dim(1), Dim(128), 128, Upload(d, "x", x), o)
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v))
	}
	near(t, "logsumexp", Download[float32](o), []float64{math.Log(sum)}, 1e-5, 0)
}

func TestScans(t *testing.T) {
	m := load(t, "scans")
	r := newRand(t)
	const M, N = 32, 64
	x := randn(r, M*N, 1)
	d := New(Options{})
	o := d.Alloc("o", 4*M*N)
	launch(t, d, m, "scans", Dim(1), Dim(128), 16384, Upload(d, "x", x), o)
	want := make([]float64, M*N)
	for i := range M {
		s := 0.0
		for j := range N {
			s += float64(x[i*N+j])
			want[i*N+j] += s
		}
	}
	for j := range N {
		p, s := 1.0, 0.0
		for i := range M {
			p *= float64(x[i*N+j])
			want[i*N+j] += p
			s += float64(x[(M-1-i)*N+j])
			want[(M-1-i)*N+j] += s
		}
	}
	near(t, "scans", Download[float32](o), want, 1e-4, 1e-4)
}

func TestSorts(t *testing.T) {
	m := load(t, "sorts")
	r := newRand(t)
	const B = 256
	x := randn(r, B, 1)
	for i := range x {
		x[i] = min(float32(math.Abs(float64(x[i])))*15, 63) // tl.histogram counts others where it likes
	}
	d := New(Options{})
	o, h := d.Alloc("o", 4*(2*B+8)), d.Alloc("h", 4*64)
	launch(t, d, m, "sorts", Dim(1), Dim(128), 4096, Upload(d, "x", x), o, h)
	want := slices.Clone(x)
	sort.Slice(want, func(i, k int) bool { return want[i] > want[k] })
	top := slices.Clone(want[:8])
	flip := slices.Clone(x)
	slices.Reverse(flip)
	want = append(append(want, flip...), top...)
	if got := Download[float32](o); !slices.Equal(got, want) {
		t.Errorf("sorted values are\n%v, want\n%v", got, want)
	}
	hist := make([]int32, 64)
	for _, v := range x {
		hist[int(v)]++
	}
	if got := Download[int32](h); !slices.Equal(got, hist) {
		t.Errorf("histogram is\n%v, want\n%v", got, hist)
	}
}
