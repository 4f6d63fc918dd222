package frontend

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend/signature"
)

// benchmark measures parse and build of one reference kernel; with parsed, the
// build alone. The library is parsed before.
func benchmark(b *testing.B, name string, parsed bool) {
	for _, j := range jobs(b) {
		if j.name != name {
			continue
		}
		src := readFile(b, j.file)
		spec, err := signature.Parse("-s", j.sig)
		if err != nil {
			b.Fatal(err)
		}
		spec.Kernel = j.kernel
		opts := &Options{Facts: facts()}
		file := parseFile(b, j.file)
		if _, err := Build(dialect.NewContext(), file, spec, opts); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			f := file
			if !parsed {
				if f, err = Parse(j.file, j.file, src); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := Build(dialect.NewContext(), f, spec, opts); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.Fatal("no such kernel")
}

func BenchmarkVectorAdd(b *testing.B)      { benchmark(b, "vector_add", false) }
func BenchmarkVectorAddBuild(b *testing.B) { benchmark(b, "vector_add", true) }
func BenchmarkSoftmaxBuild(b *testing.B)   { benchmark(b, "row_softmax", true) }
func BenchmarkFlash(b *testing.B)          { benchmark(b, "flash_fwd_causal", false) }
func BenchmarkFlashBuild(b *testing.B)     { benchmark(b, "flash_fwd_causal", true) }
func BenchmarkSortsBuild(b *testing.B)     { benchmark(b, "sorts", true) }

// BenchmarkFlashAgain is what another signature of a parsed file costs before
// its code is generated: the module's own code, the decorators, the arguments.
func BenchmarkFlashAgain(b *testing.B) {
	for _, j := range jobs(b) {
		if j.name != "flash_fwd_causal" {
			continue
		}
		spec, err := signature.Parse("-s", j.sig)
		if err != nil {
			b.Fatal(err)
		}
		spec.Kernel = j.kernel
		f := parseFile(b, j.file)
		b.ReportAllocs()
		for b.Loop() {
			s, _, _, _ := f.session(&Options{Facts: facts()})
			m := s.Module(f.file)
			fn, err := f.find(m, spec)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.bind(m, fn, spec); err != nil {
				b.Fatal(err)
			}
		}
	}
}
