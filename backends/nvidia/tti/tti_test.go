package tti_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// What a declaration cannot say is verified.
func TestVerify(t *testing.T) {
	for _, tt := range []struct{ op, want string }{
		{"%x = tti.experimental_buffer_pointers [0, 16], shared_mem : tensor<2xi64>", ""},
		{"%x = tti.experimental_buffer_pointers [0, 16, 32], shared_mem : tensor<4xi64>", "3 offsets do not fill the result"},
		{"%x = tti.experimental_buffer_pointers [0, 16], tensor_mem : tensor<2x1xi64>", "2 offsets do not fill the result"},
		{"%x = tti.experimental_buffer_pointers [0, 16], shared_mem : tensor<2xi32>", "elements of type i64"},
		{"tti.experimental_lock_acquire %lock, %c : !tt.ptr<i32>", ""},
		{"tti.experimental_lock_acquire %wide : !tt.ptr<i64>", "the lock needs type !tt.ptr<i32>"},
		{"tti.experimental_lock_release %wide, %c : !tt.ptr<i64>", "the lock needs type !tt.ptr<i32>"},
	} {
		src := "module {\ntt.func @f(%lock: !tt.ptr<i32>, %wide: !tt.ptr<i64>, %c: i1) {\n" + tt.op + "\ntt.return\n}\n}"
		f, err := text.ParseFile(dialect.NewContext(tti.Dialect()), "f.mlir", []byte(src))
		if err == nil {
			err = f.Verify()
		}
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.op, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.op, err, tt.want)
		}
	}
}

func TestDefPanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.HasPrefix(r.(string), "BUG: tti: no operation") {
			t.Errorf("recovered %v", r)
		}
	}()
	var _ *ir.OpDef = tti.Def("nothing")
}
