package gpu

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// TestDefineKernel: a kernel whose shared memory keeps threads out of a
// multiprocessor may spend registers, unless it said how many.
func TestDefineKernel(t *testing.T) {
	hopper := &Target{CC: 90, Shared: 228 << 10, Threads: 2048}
	for _, c := range []struct {
		name   string
		target *Target
		kernel lower.Kernel
		want   string
	}{
		{"no shared memory", hopper, lower.Kernel{Threads: 128}, `"nvvm.reqntid"="128"`},
		// 13 blocks of 128 threads are 1664 of 2048.
		{"a little", hopper, lower.Kernel{Threads: 128, Shared: 16 << 10}, `"nvvm.reqntid"="128"`},
		// 6 blocks are 768 threads.
		{"a pipeline", hopper, lower.Kernel{Threads: 128, Shared: 36 << 10}, `"nvvm.reqntid"="128" "nvvm.minctasm"="1"`},
		// 8 blocks are half of the threads, to the thread.
		{"half", &Target{CC: 90, Shared: 8 << 15, Threads: 2048}, lower.Kernel{Threads: 128, Shared: 31 << 10}, `"nvvm.reqntid"="128" "nvvm.minctasm"="1"`},
		{"more than half", &Target{CC: 90, Shared: 8 << 15, Threads: 2047}, lower.Kernel{Threads: 128, Shared: 31 << 10}, `"nvvm.reqntid"="128"`},
		{"a limit of registers", hopper, lower.Kernel{Threads: 128, Shared: 36 << 10, MaxRegs: 64}, `"nvvm.reqntid"="128" "nvvm.maxnreg"="64"`},
		{"an unknown multiprocessor", &Target{CC: 90}, lower.Kernel{Threads: 128, Shared: 36 << 10}, `"nvvm.reqntid"="128"`},
	} {
		m := llir.NewModule("test", "", "")
		f := m.NewFunc("k", false, llir.Void)
		c.target.DefineKernel(f, c.kernel)
		b := llir.NewBuilder(f)
		b.SetBlock(f.NewBlock(nil))
		b.Ret(nil)
		if text := string(m.Print()); !strings.Contains(text, c.want+" {") && !strings.Contains(text, "{ "+c.want+" }") {
			t.Errorf("%s: no %s in\n%s", c.name, c.want, text)
		}
	}
}

// TestCapabilities finds a part of the lowering that would be left to package
// lower because nobody has named it.
func TestCapabilities(t *testing.T) {
	c := reflect.ValueOf((&Target{CC: 90}).Capabilities())
	for i := range c.NumField() {
		if c.Field(i).IsNil() {
			t.Errorf("%s is left to package lower", c.Type().Field(i).Name)
		}
	}
}

// TestOperations: the tables of operations name those that there are.
func TestOperations(t *testing.T) {
	for _, cc := range []int{80, 90} {
		for name := range (&Target{CC: cc}).Operations() {
			if ttng.Dialect().Op(name) == nil && tti.Dialect().Op(name) == nil {
				t.Errorf("CC %d: there is no operation %s", cc, name)
			}
		}
	}
	for name := range laterEffects {
		if ttng.Dialect().Op(name) == nil {
			t.Errorf("effects: there is no operation %s", name)
		}
	}
}
