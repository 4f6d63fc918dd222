package nvidia

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/internal/libdevicetest"
)

func TestLibdeviceTable(t *testing.T) {
	symbols := map[string]bool{}
	for _, e := range libdevice().Externs {
		if symbols[e.Symbol] {
			t.Errorf("symbol %s twice", e.Symbol)
		}
		symbols[e.Symbol] = true
	}
	if len(symbols) != 313 { // as many as Triton 3.6's own module has
		t.Errorf("%d symbols, want 313", len(symbols))
	}
	for _, want := range []string{"__nv_tanhf", "__nv_powi", "__nv_fmaf_rn", "__nv_dsqrt_ru", "__nv_double2ull_rz", "__nv_fast_log2f", "__nv_umul64hi"} {
		if !symbols[want] {
			t.Errorf("no %s", want)
		}
	}
}

// Every function is lowered, with the type of its signature, to IR that LLVM
// accepts. What LLVM does not know becomes a call.
func TestLibdeviceLowered(t *testing.T) {
	target := &gpu.Target{CC: 80}
	m := llir.NewModule("libdevice", target.Triple(), target.DataLayout())
	libdevicetest.Lower(t, m, libdevice().Externs, target.Library)
	libdevicetest.Assemble(t, m, ".extern", "-mcpu=sm_80", "-mattr=+ptx84")
}

// Every function of libdevice that public kernels were counted to call has a row, but for
// those that only other vendors' modules have.
func TestLibdeviceCounted(t *testing.T) {
	libdevicetest.Counted(t, "../..", libdevice().Externs, "fast_erf fast_gelu fast_sigmoid fast_tanh fast_tanhf max philox xpu_trunc_div")
}
