package syntax

import (
	"os"
	"strings"
	"testing"
)

// kernel is a file like those that users compile, of about 8 KB.
func kernel(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile("../testdata/kernels.py")
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func BenchmarkKernel(b *testing.B) {
	src := kernel(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("kernel.py", src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLex(b *testing.B) {
	src := string(kernel(b))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	var l lexer
	for b.Loop() {
		l.init("kernel.py", src, l.toks)
		for len(l.toks) == 0 || l.toks[len(l.toks)-1].kind > tError {
			l.fill()
		}
	}
}

// BenchmarkLibrary parses the files under the folders of TRITONC_AST_ROOTS,
// CPython's library say.
func BenchmarkLibrary(b *testing.B) {
	roots := strings.Fields(os.Getenv("TRITONC_AST_ROOTS"))
	if len(roots) == 0 {
		b.Skip("TRITONC_AST_ROOTS names no folders")
	}
	var sources [][]byte
	size := 0
	for _, name := range pythonFiles(b, roots) {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Parse(name, data); err == nil {
			sources = append(sources, data)
			size += len(data)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, src := range sources {
			if _, err := Parse("t.py", src); err != nil {
				b.Fatal(err)
			}
		}
	}
}
