package text_test

import (
	"os"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// benchFiles are the golden files, or those below TRITONC_LAW_DIR.
func benchFiles(b *testing.B) (srcs [][]byte, total int64) {
	dir := os.Getenv("TRITONC_LAW_DIR")
	if dir == "" {
		dir = "testdata/law"
	}
	for _, path := range irFiles(b, dir) {
		src, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range sections(path, src) {
			srcs = append(srcs, p.src)
			total += int64(len(p.src))
		}
	}
	return srcs, total
}

// benchmark runs f over all files. With parsed, f gets their operations; without,
// none are kept, so that the garbage collector has as little to do as in use.
func benchmark(b *testing.B, parsed bool, f func(src []byte, op *ir.Operation)) {
	srcs, total := benchFiles(b)
	ops := make([]*ir.Operation, len(srcs))
	for i, s := range srcs {
		if !parsed {
			break
		}
		op, err := text.Parse(newContext(), "bench", s)
		if err != nil {
			b.Fatal(err)
		}
		ops[i] = op
	}
	b.SetBytes(total)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for i, s := range srcs {
			f(s, ops[i])
		}
	}
}

func BenchmarkParse(b *testing.B) {
	benchmark(b, false, func(src []byte, _ *ir.Operation) {
		if _, err := text.Parse(newContext(), "bench", src); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	benchmark(b, true, func(_ []byte, op *ir.Operation) {
		if err := ir.Verify(op); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkPrint(b *testing.B) {
	var buf []byte
	benchmark(b, true, func(_ []byte, op *ir.Operation) {
		buf = text.Append(buf[:0], op, text.Options{Locations: true})
	})
}

func BenchmarkParsePrint(b *testing.B) {
	var buf []byte
	benchmark(b, false, func(src []byte, _ *ir.Operation) {
		op, err := text.Parse(newContext(), "bench", src)
		if err != nil {
			b.Fatal(err)
		}
		buf = text.Append(buf[:0], op, text.Options{Locations: true})
	})
}
