package amd

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/llir"
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

// llirTypes are the types of the library's signatures.
var llirTypes = map[string]llir.Type{"i1": llir.I32, "i32": llir.I32, "i64": llir.I64, "fp32": llir.F32, "fp64": llir.F64}

// TestLibdeviceLowered lowers every function, with the type of its signature, to IR of
// which llc makes code for every chip, without calls.
func TestLibdeviceLowered(t *testing.T) {
	llc, err := exec.LookPath("llc-22")
	if err != nil {
		t.Skip("llc-22 is not installed: nothing to check the LLVM IR with")
	}
	for _, a := range archs {
		target := &gpu.Target{Chip: a.chip}
		m := llir.NewModule("libdevice", target.Triple(), target.DataLayout())
		for i, e := range libdevice().Externs {
			params := make([]llir.Type, len(e.Args))
			for i, a := range e.Args {
				params[i] = llirTypes[a]
			}
			result := llirTypes[e.Result]
			fn := m.NewFunc("f"+strconv.Itoa(i), false, result, params...)
			b := llir.NewBuilder(fn)
			b.SetBlock(fn.NewBlock(nil))
			x := make([]llir.Value, len(params))
			for i := range x {
				x[i] = fn.Param(i)
			}
			v := gpu.Library(b, e.Symbol, x)
			switch {
			case v == nil:
				t.Errorf("%s has no lowering", e.Symbol)
				v = m.Zero(result)
			case v.Type() != result:
				t.Errorf("%s gives %s, want %s", e.Symbol, v.Type(), result)
				v = m.Zero(result)
			}
			b.Ret(v)
		}
		if a.chip != &chip.GFX942 && a.chip != &chip.GFX1200 && os.Getenv("TRITONC_ALL") == "" {
			continue
		}
		cmd := exec.Command(llc, "-mcpu="+a.chip.Name, "-O0", "-o", "-", "-")
		cmd.Stdin = bytes.NewReader(m.Print())
		cmd.Stderr = os.Stderr
		code, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(code) {
			if bytes.Contains(line, []byte("s_swappc_b64")) {
				t.Errorf("%s: %s", a.chip.Name, line)
			}
		}
	}
}

// TestLibdeviceCounted finds a row for each function of libdevice that public kernels were
// counted to call, but for those of CUDA and of other vendors alone.
func TestLibdeviceCounted(t *testing.T) {
	list, err := os.ReadFile("../../test/math/census/testdata/functions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, e := range libdevice().Externs {
		ours[e.Name] = true
	}
	others := strings.Fields("ffs div_rz fast_erf fast_gelu fast_sigmoid fast_tanh max philox xpu_trunc_div")
	found := 0
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != "libdevice" {
			continue
		}
		found++
		if name := f[1]; ours[name] == slices.Contains(others, name) {
			t.Errorf("%s, which %s kernels call: there is %v", name, f[2], ours[name])
		}
	}
	if found < 20 {
		t.Errorf("%d functions of libdevice in the list", found)
	}
}
