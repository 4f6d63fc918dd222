package instrument_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/instrument"
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/passtest"
)

func known() []*ir.Dialect {
	return append(dialect.All(), ttng.Dialect(), tti.Dialect())
}

func TestPasses(t *testing.T) {
	ours := instrument.Passes()
	passtest.RunIn(t, known(), "testdata", ours, ours...)
}

// module is a module with the given attribute and functions.
func module(attr, funcs string) string {
	return fmt.Sprintf(`
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {%s "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
%s
}`, attr, funcs)
}

// kernel is a module with a kernel of that body, in which %m is a buffer and %b a barrier.
func kernel(body string) string {
	return module("", `tt.func public @f(%n: i32, %p: tensor<128x!tt.ptr<i64>, #blocked>) {
		%m = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<128xi64, #shared, #smem, mutable>
		%b = ttg.local_alloc {allocation.offset = 1024 : i32} : () -> !ttg.memdesc<1xi64, #shared, #smem, mutable>
		`+body+`
		tt.return
	}`)
}

// Modules that the pass cannot instrument, by why.
func TestRefused(t *testing.T) {
	partitions := func(n int) string {
		s := "ttg.warp_specialize()\ndefault { ttg.warp_yield }\n"
		for i := range n {
			s += fmt.Sprintf("partition%d() num_warps(4) { ttg.warp_return }\n", i)
		}
		return s + ": () -> ()"
	}
	const called = "tt.func private @g(%a: !ttg.memdesc<128xi64, #shared, #smem, mutable>) { tt.return }\n"
	tests := []struct{ name, src, want string }{
		{"no place", module("", "tt.func public @f() { %m = ttg.local_alloc : () -> !ttg.memdesc<128xi64, #shared, #smem, mutable>\ntt.return }"), "does not say where the buffer is"},
		{"no columns", module("", "tt.func public @f() { %m = ttng.tmem_alloc {tensor_memory_col_offset = 0 : i32} : () -> !ttg.memdesc<128x128xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>, #ttng.tensor_memory, mutable>\ntt.return }"), "ttng.tmem_alloc does not say where"},
		{"no memory", kernel("%x = ttg.local_alloc {allocation.offset = -8 : i32} : () -> !ttg.memdesc<128xi64, #shared, #smem, mutable>"), "in no memory of a GPU"},
		{"no kernel", module("", "tt.func private @f() { tt.return }"), "the module has 0 kernels"},
		{"two kernels", module("", "tt.func public @f() { tt.return }\ntt.func public @g() { tt.return }"), "the module has 2 kernels"},
		{"twice", module("", "tt.func public @f() { tt.return }\ntt.func private @__triton_consan_x() { tt.return }"), "has checks of the sanitizer already"},
		{"clusters", module(`"ttg.num-ctas" = 2 : i32,`, "tt.func public @f() { %m = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<128xi64, #shared, #smem, mutable>\ntt.return }"), "programs of 2 CTAs"},
		{"count", kernel("ttng.init_barrier %b, 32768 : !ttg.memdesc<1xi64, #shared, #smem, mutable>"), "counts 32767 arrivals"},
		{"arrivals", kernel("ttng.arrive_barrier %b, 32768 : !ttg.memdesc<1xi64, #shared, #smem, mutable>"), "counts 32767 arrivals"},
		{"cp.async", kernel("ttng.async_copy_mbarrier_arrive %b : !ttg.memdesc<1xi64, #shared, #smem, mutable>"), "barriers at which cp.async arrives"},
		{"partitions", kernel(partitions(16)), "knows 15 partitions"},
		{"a function's buffer", strings.Replace(kernel("tt.call @g(%m) : (!ttg.memdesc<128xi64, #shared, #smem, mutable>) -> ()"), "tt.func public", called+"tt.func public", 1), "a function gets a buffer"},
		{"a function's wait", strings.Replace(kernel("tt.call @g() : () -> ()"), "tt.func public", "tt.func private @g() { ttng.async_tma_store_wait {pendings = 0 : i32}\ntt.return }\ntt.func public", 1), "in a function that the kernel calls"},
		{"too many", kernel("%x = ttg.local_alloc {allocation.offset = 2048 : i32} : () -> !ttg.memdesc<32768x8xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #smem, mutable>\n%y = ttg.memdesc_index %x[%n] : !ttg.memdesc<32768x8xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #smem, mutable> -> !ttg.memdesc<8xi64, #shared, #smem, mutable>"), "too many to keep track of"},
	}
	for _, tt := range tests {
		file, err := text.ParseFile(ir.NewContext(known()...), "mistake.mlir", []byte(tt.src))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if err := ir.Verify(file.Op); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		r := pass.Runner{VerifyEach: true, Place: file.Pos}
		_, err = r.Run(file.Op, []pass.Row{{Pass: instrument.ConcurrencySanitizer}}, nil)
		var d *diag.Diagnostic
		switch {
		case !errors.As(err, &d) || !strings.Contains(d.Message, tt.want):
			t.Errorf("%s: %v, want a diagnostic with %q", tt.name, err, tt.want)
		case d.Help == "" || !d.Pos.IsValid():
			t.Errorf("%s: %v has no next step or no place", tt.name, err)
		}
	}
}
