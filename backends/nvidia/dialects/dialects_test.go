package dialects

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

const measured = `#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @scopes() {
    proton.record start "loop"
    proton.record end "loop"
    tt.return
  }
  tt.func @records(%b: !ttg.memdesc<64xi32, #shared, #smem, mutable>, %g: !tt.ptr<i32>) -> !proton_gpu.segment<128, #proton_gpu.global_memory, cta> {
    %0 = proton_gpu.global_scratch_alloc {alignment = 128 : i32, nbytes = 384 : i32} : !tt.ptr<i32>
    proton_gpu.initialize %0 : !tt.ptr<i32>
    %1 = proton_gpu.segment_alloc %b : !ttg.memdesc<64xi32, #shared, #smem, mutable> -> !proton_gpu.segment<256, #smem, warp, [0, 2]>
    proton_gpu.init_ctx %0 : !tt.ptr<i32>
    proton_gpu.restore_ctx %1, %0 : !proton_gpu.segment<256, #smem, warp, [0, 2]>, !tt.ptr<i32>
    %2 = proton_gpu.read_counter : i32
    proton_gpu.circular_store start %1, %2 {scopeId = 0 : i32} : !proton_gpu.segment<256, #smem, warp, [0, 2]>, i32
    %3 = proton_gpu.read_counter : i64
    proton_gpu.circular_store end %1, %3 {scopeId = 1 : i32} : !proton_gpu.segment<256, #smem, warp, [0, 2]>, i64
    proton_gpu.save_ctx %1, %0 : !proton_gpu.segment<256, #smem, warp, [0, 2]>, !tt.ptr<i32>
    proton_gpu.finalize %1, %0 : !proton_gpu.segment<256, #smem, warp, [0, 2]>, !tt.ptr<i32>
    %4 = proton_gpu.segment_alloc %g : !tt.ptr<i32> -> !proton_gpu.segment<128, #proton_gpu.global_memory, cta>
    tt.return %4 : !proton_gpu.segment<128, #proton_gpu.global_memory, cta>
  }
}
`

func TestProton(t *testing.T) {
	f, err := text.ParseFile(dialect.NewContext(Proton(), ProtonGPU()), "t", []byte(measured))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, f.Op, text.Options{})); got != measured {
		t.Errorf("got\n%s\nwant\n%s", got, measured)
	}
	for from, c := range map[string]struct{ to, want string }{
		"    proton_gpu.save_ctx":                                        {"    %x = proton_gpu.read_counter : i16\n    proton_gpu.save_ctx", "result #0"},
		"#smem, warp, [0, 2]>\n    proton_gpu.init_ctx":                  {"#smem, lane>\n    proton_gpu.init_ctx", "granularity must be one of"},
		"proton_gpu.segment_alloc %g : !tt.ptr<i32> ->":                  {"proton_gpu.segment_alloc %3 : i64 ->", "operand #0"},
		"proton.record start":                                            {"proton.record middle", "expected"},
		"proton_gpu.global_scratch_alloc {alignment = 128 : i32, nbytes": {"proton_gpu.global_scratch_alloc {nbytes", "alignment"},
	} {
		f, err := text.ParseFile(dialect.NewContext(Proton(), ProtonGPU()), "t", []byte(strings.Replace(measured, from, c.to, 1)))
		if err == nil {
			err = f.Verify()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s: %v, want %s", c.to, err, c.want)
		}
	}
}
