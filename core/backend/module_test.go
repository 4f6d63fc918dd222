package backend

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

// TestKernelOf: the kernel is a module's first function that is not private, in Triton's
// dialect and in MLIR's.
func TestKernelOf(t *testing.T) {
	for src, want := range map[string]string{
		"module {\n}": "",
		"module {\n  tt.func private @f() {\n    tt.return\n  }\n  tt.func public @k() {\n    tt.return\n  }\n}":  "k",
		"module {\n  func.func private @f() {\n    func.return\n  }\n  func.func @k() {\n    func.return\n  }\n}": "k",
		"module {\n  func.func private @f() {\n    func.return\n  }\n}":                                           "",
		"module {\n  llvm.mlir.global external @g() : i32\n  tt.func public @k() {\n    tt.return\n  }\n}":        "k",
		"module {\n  func.func @a() {\n    func.return\n  }\n  func.func @b() {\n    func.return\n  }\n}":         "a",
	} {
		m, err := text.Parse(dialect.NewContext(), "k.mlir", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if kernel := kernelOf(m); kernel != nil {
			got = kernel.SymbolName()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
