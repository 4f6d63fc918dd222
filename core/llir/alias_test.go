package llir

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
)

// A scope is printed once, and accesses keep their locations.
func TestAliasScope(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, PtrIn(3))
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	b.Call(m.Declare("copy", HasEffects, Void, PtrIn(3)), fn.Param(0))
	b.Store(b.Load(I32, fn.Param(0), 4, false), fn.Param(0), 4, false)
	b.Ret(nil)
	s := m.AddAliasScope("copies")
	for _, inst := range fn.IR.Blocks[0].Insts {
		if call, ok := inst.(*ir.InstCall); ok {
			s.Holds(call)
		} else {
			s.IsApartFrom(inst)
		}
	}
	text := string(m.Print())
	for _, want := range []string{
		"call void @copy(ptr addrspace(3) %0), !alias.scope !2",
		"load i32, ptr addrspace(3) %0, align 4, !noalias !2",
		"store i32 %2, ptr addrspace(3) %0, align 4, !noalias !2",
		"!0 = distinct !{!0, !\"tritonc\"}\n!1 = distinct !{!1, !0, !\"copies\"}\n!2 = !{!1}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
