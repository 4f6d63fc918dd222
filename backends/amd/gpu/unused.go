package gpu

import (
	"slices"

	llvm "github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/llir"
)

// inputs are what the hardware and the loader can give a kernel beside its arguments, by
// the end of LLVM's attribute amdgpu-no-…, with the intrinsics that read them.
var inputs = []struct {
	name    string
	readers []string
}{
	{"implicitarg-ptr", []string{"llvm.amdgcn.implicitarg.ptr"}},
	{"dispatch-ptr", nil},
	{"dispatch-id", nil},
	{"queue-ptr", []string{"llvm.trap"}},
	{"hostcall-ptr", []string{"llvm.amdgcn.implicitarg.ptr"}},
	{"heap-ptr", []string{"llvm.amdgcn.implicitarg.ptr"}},
	{"multigrid-sync-arg", []string{"llvm.amdgcn.implicitarg.ptr"}},
	{"default-queue", []string{"llvm.amdgcn.implicitarg.ptr"}},
	{"completion-action", []string{"llvm.amdgcn.implicitarg.ptr"}},
	{"lds-kernel-id", nil},
	{"cluster-id-x", nil}, // without these LLVM takes a work-group's numbers for used
	{"cluster-id-y", nil},
	{"cluster-id-z", nil},
	{"workitem-id-x", []string{"llvm.amdgcn.workitem.id.x"}},
	{"workitem-id-y", nil},
	{"workitem-id-z", nil},
}

// workgroupIDs are those of inputs that a chip with architected SGPRs has anyway, in
// registers that it shares between them, so that it needs to know of none.
var workgroupIDs = []string{"workgroup-id-x", "workgroup-id-y", "workgroup-id-z"}

// noAccumulation says that no instruction must have accumulation registers: inline
// assembly, of which there is none, could. Otherwise LLVM leaves half of the registers to
// accumulators alone, and copies these in each iteration of a loop.
var noAccumulation = llir.StringAttr("amdgpu-agpr-alloc", "0")

// MarkUnused says of the functions of a module, which must be all that are called, which
// inputs of a kernel neither they nor what they call read: they then take no registers, and
// the hidden arguments are not part of the kernel's. LLVM's optimizer infers it, as it does
// noAccumulation, and llc does not. Nothing may be built afterwards.
func (t *Target) MarkUnused(m *llir.Module) {
	m.Sweep()
	calls := calledBy(m.IR)
	for _, f := range m.IR.Funcs {
		if len(f.Blocks) == 0 {
			continue
		}
		mark := func(name string, readers ...string) {
			if !slices.ContainsFunc(readers, func(r string) bool { return calls[f][r] }) {
				f.FuncAttrs = append(f.FuncAttrs, llir.QuotedAttr("amdgpu-no-"+name))
			}
		}
		for _, in := range inputs {
			mark(in.name, in.readers...)
		}
		if !t.GFX12 {
			for i, name := range workgroupIDs {
				mark(name, "llvm.amdgcn.workgroup.id."+axes[i])
			}
		}
		if t.MFMA != 0 {
			f.FuncAttrs = append(f.FuncAttrs, noAccumulation)
		}
	}
}

// calledBy are the names of the functions that each function calls, directly or not.
func calledBy(m *llvm.Module) map[*llvm.Func]map[string]bool {
	direct := map[*llvm.Func][]*llvm.Func{}
	for _, f := range m.Funcs {
		for _, block := range f.Blocks {
			for _, inst := range block.Insts {
				if call, ok := inst.(*llvm.InstCall); ok {
					if callee, ok := call.Callee.(*llvm.Func); ok {
						direct[f] = append(direct[f], callee)
					}
				}
			}
		}
	}
	out := map[*llvm.Func]map[string]bool{}
	for _, f := range m.Funcs {
		names, seen := map[string]bool{}, map[*llvm.Func]bool{f: true}
		for list := []*llvm.Func{f}; len(list) > 0; {
			from := list[len(list)-1]
			list = list[:len(list)-1]
			for _, callee := range direct[from] {
				names[callee.Name()] = true
				if !seen[callee] {
					seen[callee] = true
					list = append(list, callee)
				}
			}
		}
		out[f] = names
	}
	return out
}
