package nvidia

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/llir"
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

// llirTypes are the types of the library's signatures.
var llirTypes = map[string]llir.Type{
	"i1": llir.I32, "i32": llir.I32, "u32": llir.I32, "i64": llir.I64, "u64": llir.I64, "fp32": llir.F32, "fp64": llir.F64,
}

// Every function is lowered, with the type of its signature, to IR that LLVM
// accepts.
func TestLibdeviceLowered(t *testing.T) {
	llc, err := exec.LookPath("llc-22")
	if err != nil {
		t.Skip("llc-22 is not installed: nothing to check the LLVM IR with")
	}
	target := &gpu.Target{CC: 80}
	m := llir.NewModule("libdevice", target.Triple(), target.DataLayout())
	for _, e := range libdevice().Externs {
		params := make([]llir.Type, len(e.Args))
		for i, a := range e.Args {
			params[i] = llirTypes[a]
		}
		result := llirTypes[e.Result]
		fn := m.NewFunc("test_"+e.Symbol, false, result, params...)
		b := llir.NewBuilder(fn)
		b.SetBlock(fn.NewBlock(nil))
		x := make([]llir.Value, len(params))
		for i := range x {
			x[i] = fn.Param(i)
		}
		v := target.Library(b, e.Symbol, result, x)
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
	cmd := exec.Command(llc, "-mcpu=sm_80", "-mattr=+ptx84", "-O0", "-o", "-", "-")
	cmd.Stdin = bytes.NewReader(m.Print())
	cmd.Stderr = os.Stderr
	ptx, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	// What LLVM does not know becomes a call.
	for line := range bytes.Lines(ptx) {
		if bytes.Contains(line, []byte(".extern")) {
			t.Errorf("%s", line)
		}
	}
}

// otherVendors are functions of the same modules on other vendors' hardware, which
// kernels written for that hardware call. CUDA's libdevice has none of them.
const otherVendors = "fast_erf fast_gelu fast_sigmoid fast_tanh fast_tanhf max philox xpu_trunc_div"

// Every function of libdevice that public kernels were counted to call has a row.
// TestLibdeviceLowered says that rows have code.
func TestLibdeviceCounted(t *testing.T) {
	list, err := os.ReadFile("../../test/math/census/testdata/functions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, e := range libdevice().Externs {
		ours[e.Name] = true
	}
	found := 0
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != "libdevice" {
			continue
		}
		name := f[1]
		found++
		if !ours[name] && !slices.Contains(strings.Fields(otherVendors), name) {
			t.Errorf("libdevice has no %s, which %s kernels call", name, f[2])
		}
	}
	if found < 20 {
		t.Errorf("%d functions of libdevice in the list", found)
	}
}
