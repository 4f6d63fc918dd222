package ptx

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// One of three parameters that nothing else takes is loaded from the place that is chosen; of two
// of which one is taken elsewhere the numbers are chosen.
func TestChooseParameters(t *testing.T) {
	m := llir.NewModule("", "nvptx64-nvidia-cuda", layout)
	f := m.NewFunc("k", false, llir.Void, llir.I32, llir.PtrIn(1), llir.PtrIn(1), llir.PtrIn(1), llir.I32, llir.I32)
	f.SetCallingConv(ptxKernel)
	b := llir.NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	x, y := f.Param(4), f.Param(5)
	is := func(n int) llir.Value { return b.ICmp(enum.IPredEQ, f.Param(0), b.M.I32(n)) }
	p := b.Select(is(2), f.Param(3), b.Select(is(1), f.Param(2), f.Param(1)))
	storeAll(b, p, b.Select(is(3), x, y), x)
	m.Sweep()
	m.Number()
	text, err := Translate(m, Options{CC: 80, SM: "sm_80", Version: 84})
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(text),
		"mov.b64 \t%rd1, k_param_2;", "mov.b64 \t%rd2, k_param_1;", "selp.b64 \t%rd3, %rd1, %rd2, %p2;",
		"mov.b64 \t%rd4, k_param_3;", "selp.b64 \t%rd5, %rd4, %rd3, %p1;", "ld.param.b64 \t%rd6, [%rd5];",
		"ld.param.b32 \t%r2, [k_param_4];", "ld.param.b32 \t%r3, [k_param_5];", "selp.b32 \t%r4, %r2, %r3, %p3;")
	if strings.Contains(string(text), "[k_param_1]") {
		t.Errorf("a parameter is loaded that may not be chosen:\n%s", text)
	}
}
