package adapter_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPass(t *testing.T) {
	known := []*pass.Pass{adapter.TritonToLinalg, adapter.ToHIVM}
	passtest.RunIn(t, append(dialect.All(), hivm.Dialect), "testdata", known, known...)
}

// TestRefused: what has no form for NPUs is a diagnostic, and not a panic.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ args, body, want string }{
		{"%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %c: i1", "%r = arith.select %c, %p, %q : !tt.ptr<f32>\n%x = tt.load %r : !tt.ptr<f32>", "not known which argument of the kernel this pointer points into"},
		{"%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %c: i1", "%r = scf.if %c -> (!tt.ptr<f32>) {\nscf.yield %p : !tt.ptr<f32>\n} else {\nscf.yield %q : !tt.ptr<f32>\n}\n%x = tt.load %r : !tt.ptr<f32>", "not known which argument of the kernel a pointer points into that this carries"},
		{"%a: i64", "%p = tt.int_to_ptr %a : i64 -> !tt.ptr<f32>\n%x = tt.load %p : !tt.ptr<f32>", "not known which argument of the kernel this pointer points into"},
		{"%p: !tt.ptr<f32>", "%a = tt.ptr_to_int %p : !tt.ptr<f32> -> i64", "tt.ptr_to_int has no form for NPUs"},
		{"%p: !tt.ptr<!tt.ptr<f32>>", "", "a pointer to pointers has no meaning on an NPU"},
		{"%p: tensor<4x!tt.ptr<f32>>", "%x = tt.load %p : tensor<4x!tt.ptr<f32>>", "an argument that is a tensor of pointers has no form for NPUs yet"},
		{"%x: tensor<4xi32>", "%y = tt.elementwise_inline_asm \"add $0\" {constraints = \"=r,r\", packed_element = 1 : i32, pure = true} %x : tensor<4xi32> -> tensor<4xi32>", "tt.elementwise_inline_asm has no form for NPUs"},
		{"", "cf.br ^bb1\n^bb1:", "a function of several blocks has no form for NPUs yet"},
	} {
		m := passtest.Module(t, "k.ttir", "module {\ntt.func public @k("+tt.args+") {\n"+tt.body+"\ntt.return\n}\n}")
		_, err := new(pass.Runner).Run(m, []pass.Row{{Pass: adapter.TritonToLinalg}}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.body, err, tt.want)
		}
	}
}
