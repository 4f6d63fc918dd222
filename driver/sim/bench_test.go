package sim

import (
	"testing"
)

// The benchmarks report lane instructions a second on one core, with and without
// checks.

func benchmark(b *testing.B, run func(b *testing.B, d *Device) *Report) {
	for _, c := range []struct {
		name string
		opt  Options
	}{{"checks", Options{Workers: 1}}, {"nochecks", Options{Workers: 1, NoChecks: true}}, {"nochecks-2cores", Options{Workers: 2, NoChecks: true}}} {
		b.Run(c.name, func(b *testing.B) {
			d := New(c.opt)
			n := uint64(0)
			for b.Loop() {
				n += run(b, d).Counters.LaneInstructions
			}
			b.ReportMetric(float64(n)/1e6/b.Elapsed().Seconds(), "Mlanes/s")
		})
	}
}

func BenchmarkSoftmax(b *testing.B) {
	m := load(b, "row_softmax")
	const rows, n = 256, 1024
	benchmark(b, func(b *testing.B, d *Device) *Report {
		in := Upload(d, "in", make([]float32, rows*n))
		out := d.Alloc("out", 4*rows*n)
		defer in.Free()
		defer out.Free()
		return launch(b, d, m, "row_softmax", Dim(rows), Dim(256), 64, out, in, int32(n), int32(n), int32(n))
	})
}

func BenchmarkMatmul(b *testing.B) {
	m := load(b, "matmul_fp16")
	const n = 512
	r := newRand(b)
	data := halfs(randn(r, n*n, 1))
	benchmark(b, func(b *testing.B, d *Device) *Report {
		x, y, z := Upload(d, "a", data), Upload(d, "b", data), d.Alloc("c", 2*n*n)
		defer x.Free()
		defer y.Free()
		defer z.Free()
		return launch(b, d, m, "matmul", Dim(16), Dim(128), 98304, x, y, z, int32(n), int32(n), int32(n), int32(n), int32(n), int32(n))
	})
}

// BenchmarkLoad parses, decodes and binds a kernel.
func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"vector_add", "matmul_fp16"} {
		b.Run(name, func(b *testing.B) {
			text := load(b, name).src
			for b.Loop() {
				m, err := Load(name, []byte(text))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := New(Options{}).load(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
