package nvws_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/dialects"
	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// kernel has every operation of the dialects in canonical form.
const kernel = `#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%a: !ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<3x8x4xf16, #shared, #smem, mutable>, %i: i32, %c: i1, %lock: !tt.ptr<i32>, %x: tensor<128xi32, #blocked>, %d: !tt.tensordesc<tensor<8x8xf16>>) {
    %0 = nvws.aref.create %a, %b : <[!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<3x8x4xf16, #shared, #smem, mutable>]>
    %buffers:2, %token = nvws.aref.put.enter %0[%i, %i] {tag = 1 : i32} : <[!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<3x8x4xf16, #shared, #smem, mutable>]> -> !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<8x4xf16, #shared, #smem, mutable>, !ttg.async.token
    nvws.descriptor_load %d[%i, %i] 128 %buffers#0 cacheModifier = ca : !tt.tensordesc<tensor<8x8xf16>>, i32, i32, !ttg.memdesc<8x8xf16, #shared, #smem, mutable>
    nvws.descriptor_gather %d[%x, %i] 128 %buffers#0 : !tt.tensordesc<tensor<8x8xf16>>, tensor<128xi32, #blocked>, i32, !ttg.memdesc<8x8xf16, #shared, #smem, mutable>
    nvws.aref.put.exit %0[%i], %token [#nvws.async_op<tma_load>, #nvws.async_op<none>] : <[!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<3x8x4xf16, #shared, #smem, mutable>]>, !ttg.async.token
    %buffers_0:2, %token_1 = nvws.aref.get.enter %0 : <[!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<3x8x4xf16, #shared, #smem, mutable>]> -> !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<8x4xf16, #shared, #smem, mutable>, !ttg.async.token
    %1:2 = nvws.aref.buffer %0, %token_1 : <[!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<3x8x4xf16, #shared, #smem, mutable>]>, !ttg.async.token -> !ttg.memdesc<8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<8x4xf16, #shared, #smem, mutable>
    nvws.aref.get.exit %0, %token_1 [#nvws.async_op<tc5mma>] : <[!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>, !ttg.memdesc<3x8x4xf16, #shared, #smem, mutable>]>, !ttg.async.token
    %2 = nvws.warp_group
    partition0 num_warps(4) {
      nvws.warp_group.yield %i : i32
    }
    partition1 num_warps(1) {
      nvws.warp_group.return
    } : i32
    %3 = nvws.create_token {loadType = 2 : i32, numBuffers = 3 : i32} : tensor<3x!nvws.token>
    nvws.producer_acquire %3, %i, %c : tensor<3x!nvws.token>, i32, i1
    nvws.producer_commit %3, %i : tensor<3x!nvws.token>, i32
    nvws.consumer_wait %3, %i, %c : tensor<3x!nvws.token>, i32, i1
    nvws.consumer_release %3, %i {tag} : tensor<3x!nvws.token>, i32
    %4 = nvg.cluster_id
    %5 = nvg.warp_id
    %6 = nvg.tensor_memory_base
    %7 = nvg.ld_acquire acquire, gpu, %6, %c : (!llvm.ptr<6>, i1) -> i32
    tti.experimental_assert_in_thread %c, "no" {check_any = true} : i1
    %8 = tti.experimental_buffer_pointers [0, 16], shared_mem : tensor<2xi64>
    %9 = tti.experimental_memdesc_to_i64 %a : !ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>
    tti.experimental_lock_acquire %lock, %c : !tt.ptr<i32>
    tti.experimental_lock_release %lock : !tt.ptr<i32>
    tt.return
  }
}
`

func parse(t *testing.T, src string) *text.File {
	t.Helper()
	f, err := text.ParseFile(dialect.NewContext(ttng.Dialect(), nvws.Dialect(), dialects.NVG(), tti.Dialect()), "k", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// canonical is what a module is printed as.
func canonical(m *ir.Operation) string { return string(text.Append(nil, m, text.Options{})) }

func TestReadsAndPrints(t *testing.T) {
	src := strings.Replace(strings.Replace(kernel, "nvg.ld_acquire acquire, gpu, %6, %c : (!llvm.ptr<6>, i1)", "nvg.ld_acquire acquire, gpu, %6, %c : (!llvm.ptr<6>)", 1),
		"nvws.aref.create %a, %b : <[", "nvws.aref.create %a, %b : !nvws.aref<[", 1)
	f := parse(t, src)
	// The buffers have more users than a reference allows.
	want := "k:6:10: error: 'nvws.aref.create' op Aref buffer is used elsewhere"
	if err := f.Verify(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	expected := strings.Replace(kernel, "(!llvm.ptr<6>, i1)", "(!llvm.ptr<6>)", 1)
	if got := canonical(f.Op); got != expected {
		t.Errorf("got\n%swant\n%s", got, expected)
	}
	generic := parse(t, string(text.Append(nil, f.Op, text.Options{Generic: true})))
	if got := canonical(generic.Op); got != expected {
		t.Errorf("by way of the generic form: got\n%swant\n%s", got, expected)
	}
}

// TestVerify: mistakes in the body of a function of some buffers.
func TestVerify(t *testing.T) {
	const (
		three = "!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>"
		two   = "!ttg.memdesc<2x8x8xf16, #shared, #smem, mutable>"
		one   = "!ttg.memdesc<8x8xf16, #shared, #smem, mutable>"
		aref  = "%0 = nvws.aref.create %a : <[" + three + "]>\n"
		mma   = "!ttg.memdesc<8x8xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>, #smem"
		half  = "!ttg.memdesc<8x4xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>, #smem"
		load  = "!tt.tensordesc<tensor<8x8xf16>>, i32, i32, "
	)
	for body, want := range map[string]string{
		aref:                                     "",
		aref + "ttg.local_dealloc %a : " + three: "",
		aref + "%1 = nvws.aref.create %a : <[" + three + "]>":                                                                            "",
		"%0 = nvws.aref.create %a, %b : <[" + three + ", " + two + "]>":                                                                  "Leading dims of sliced aref inputs don't match",
		aref + "%1, %t = nvws.aref.get.enter %0 : <[" + three + "]> -> " + one + ", !ttg.async.token":                                    "",
		aref + "%t = nvws.aref.get.enter %0 : <[" + three + "]> -> !ttg.async.token":                                                     "Aref has different number of arguments than enter",
		aref + "%1, %t = nvws.aref.put.enter %0 : <[" + three + "]> -> " + three + ", !ttg.async.token":                                  "Ranks don't match",
		aref + "%1, %t = nvws.aref.put.enter %0 : <[" + three + "]> -> !ttg.memdesc<8x4xf16, #shared, #smem, mutable>, !ttg.async.token": "Dimensions don't match",
		aref + "%1, %t = nvws.aref.put.enter %0 : <[" + three + "]> -> " + mma + ", mutable>, !ttg.async.token":                          "arranged otherwise than the reference's",
		`%0 = "nvws.aref.create"(%a) : (` + three + ") -> !nvws.aref<[" + two + "]>":                                                     "another type than in the reference's type",
		`%0 = "nvws.aref.create"(%a) : (` + three + ") -> !nvws.aref<[" + three + ", " + two + "]>":                                      "another number of buffers than its type",
		"nvws.descriptor_load %d[%i, %i] 128 %m : " + load + mma + ", mutable>":                                                          "",
		"nvws.descriptor_load %d[%i, %i] -128 %m : " + load + mma + ", mutable>":                                                         "the count of bytes is negative",
		"nvws.descriptor_load %d[%i, %i] 128 %c : " + load + one:                                                                         "TMA result must have NVMMA shared layout",
		"nvws.descriptor_load %d[%i, %i] 64 %h : " + load + half + ", mutable>":                                                          "the same number of elements",
		`"nvws.warp_group"() <{numWarps = array<i32: 4, 2>}> ({
nvws.warp_group.return
}) : () -> ()`: "Must supply numWarps for each Warp Group.",
		`%0 = "nvws.warp_group"() <{numWarps = array<i32: 4>}> ({
nvws.warp_group.return
}) : () -> i32`: "the first region should be terminated by nvws.warp_group.yield op",
		`%0 = "nvws.warp_group"() <{numWarps = array<i32: 4>}> ({
nvws.warp_group.yield
}) : () -> i32`: "Mismatch in the number of results",
		`%0 = "nvws.warp_group"() <{numWarps = array<i32>}> : () -> i32`: "Must have at least one region when there are results.",
	} {
		err := parse(t, "#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>\n#smem = #ttg.shared_memory\n"+
			"tt.func @f(%a: "+three+", %b: "+two+", %c: "+one+", %m: "+mma+", mutable>, %h: "+half+", mutable>, %d: !tt.tensordesc<tensor<8x8xf16>>, %i: i32) {\n"+body+"\ntt.return\n}\n").Verify()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", body, err, want)
		}
	}
}
