package amd

import (
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/internal/libdevicetest"
)

// tritonsNames are the functions of Triton 3.6's own module for HIP.
const tritonsNames = "abs floor rsqrt ceil trunc exp2 exp fast_expf fast_tanhf fast_dividef sqrt llrint nearbyint isnan signbit " +
	"copysign isinf nextafter sin cos tan log2 cosh sinh tanh atan2 atan asin acos log log10 log1p acosh asinh atanh expm1 hypot " +
	"j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1 erf erfinv erfc erfcx lgamma ldexp fmod fma pow ilogb round"

func TestLibdeviceTable(t *testing.T) {
	names := map[string]bool{}
	overloads := map[string]bool{}
	for _, e := range libdevice().Externs {
		names[e.Name] = true
		overload := e.Name + "(" + strings.Join(e.Args, ",") + ")"
		if overloads[overload] {
			t.Errorf("%s is there twice", overload)
		}
		overloads[overload] = true
	}
	for name := range strings.FieldsSeq(tritonsNames) {
		if !names[name] {
			t.Errorf("no %s", name)
		}
	}
}

// TestLibdeviceLowered lowers every function, with the type of its signature, to IR of
// which llc makes code for every chip, without calls.
func TestLibdeviceLowered(t *testing.T) {
	for _, a := range archs {
		target := &gpu.Target{Chip: a.chip}
		m := llir.NewModule("libdevice", target.Triple(), target.DataLayout())
		libdevicetest.Lower(t, m, libdevice().Externs, func(b *llir.Builder, symbol string, _ llir.Type, x []llir.Value) llir.Value {
			return gpu.Library(b, symbol, x)
		})
		if a.chip == &chip.GFX942 || a.chip == &chip.GFX1200 || os.Getenv("TRITONC_ALL") != "" {
			libdevicetest.Assemble(t, m, "s_swappc_b64", "-mcpu="+a.chip.Name)
		}
	}
}

// TestLibdeviceCounted finds a row for each function of libdevice that public kernels were
// counted to call, but for those of CUDA and of other vendors alone.
func TestLibdeviceCounted(t *testing.T) {
	libdevicetest.Counted(t, "../..", libdevice().Externs, "ffs div_rz fast_erf fast_gelu fast_sigmoid fast_tanh max philox xpu_trunc_div")
}
