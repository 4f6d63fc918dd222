package frontend

import (
	"testing"
)

// benchmark measures parse and build of one reference kernel; with parsed, the
// build alone. The library is parsed before.
func benchmark(b *testing.B, name string, parsed bool) {
	for _, j := range jobs(b) {
		if j.name != name {
			continue
		}
		src := readFile(b, j.file)
		opts, req := &setup{Facts: facts()}, request(j.kernel, j.sig)
		file := parseFile(b, j.file)
		if _, err := opts.build(file, req); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			f := file
			if !parsed {
				var err error
				if f, err = Parse(j.file, j.file, src); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := opts.build(f, req); err != nil {
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
		p, req := (&setup{Facts: facts()}).in(parseFile(b, j.file)), request(j.kernel, j.sig)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Variants(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	}
}
