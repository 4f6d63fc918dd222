package ttir

import (
	"fmt"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// A CopyUnit is hardware that copies blocks of tensors through descriptors.
type CopyUnit interface {
	// Name is what remarks call it: "tma".
	Name() string
	// Refuses says why it cannot copy through a descriptor, in all the ways it is used,
	// or "". The descriptor is the result of tt.make_tensor_descriptor or a kernel's
	// argument, whose base and strides the host has checked.
	Refuses(desc *ir.Value, info *axisinfo.Result) string
	// WholeRows is of how many elements the rows of a tensor must be a multiple that is
	// stored to through desc, where that is not known; else 0.
	WholeRows(desc *ir.Value, info *axisinfo.Result) int64
	// SharedMemory estimates the bytes of shared memory that the function f takes if
	// the unit copies through the descriptors kept, loops have numStages stages, and
	// numWarps warps run it.
	SharedMemory(f *ir.Operation, info *axisinfo.Result, kept map[*ir.Value]bool, numStages, numWarps int) int64
}

// A decision says whether a descriptor is kept for the copy unit, and why.
type decision struct {
	desc *ir.Value
	kept bool
	why  string
	// rows is of how many elements rows must be a multiple for stores, 0 for any.
	rows int64
}

// made is the operation that makes the descriptor, nil where the host does.
func (d *decision) made() *ir.Operation { return d.desc.Def() }

// keeping is what is asked for of keptDescriptors.
type keeping struct {
	unit         CopyUnit
	onlyForDots  bool
	numStages    int // of pipelined loops
	numWarps     int
	sharedMemory int64 // bytes that a program may have; 0: any
}

// keptDescriptors decides which descriptors of module's kernels need not become
// pointers:
//
//   - they are arguments of the kernel, or it makes them itself;
//   - they are used for loads, stores and reductions of blocks only, and not handed
//     on by loops, conditions and calls: each use knows its descriptor;
//   - nothing in the kernel writes the memory that they describe while something reads it:
//     copies through descriptors are not ordered with other accesses, not even with
//     those of the same thread;
//   - the unit takes them: the hardware copies such blocks from such memory.
//
// They are none in a kernel whose blocks on the way would take more shared memory than
// there is. With onlyForDots, those that the kernel makes are kept only where one of its
// descriptors serves a dot; arguments, which the kernel need not write, always are.
func keptDescriptors(module *ir.Operation, k keeping) []decision {
	var all []decision
	var info *axisinfo.Result
	for f := range module.Body().Ops() {
		if !f.Is(tt.Func) || f.Body() == nil {
			continue
		}
		var made []decision
		for _, arg := range f.Body().Args() {
			if tt.DescLike.Test(arg.Type()) {
				made = append(made, decision{desc: arg})
			}
		}
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.MakeTensorDesc) {
				made = append(made, decision{desc: op.OneResult()})
			}
			return ir.Advance
		})
		if len(made) == 0 {
			continue
		}
		if info == nil {
			info = axisinfo.Analyze(module)
		}
		used := useOfMemory(f)
		for i := range made {
			made[i].why = unfit(f, &made[i], used)
			if made[i].why == "" {
				made[i].why = k.unit.Refuses(made[i].desc, info)
			}
			made[i].kept = made[i].why == ""
			if made[i].kept {
				made[i].rows = k.unit.WholeRows(made[i].desc, info)
			}
		}
		k.decide(f, info, made)
		all = append(all, made...)
	}
	return all
}

// decide completes the decisions about the descriptors of one function, of which those
// that are kept so far can be.
func (k *keeping) decide(f *ir.Operation, info *axisinfo.Result, made []decision) {
	kept := make(map[*ir.Value]bool)
	forDots := false
	for _, d := range made {
		if d.kept {
			kept[d.desc] = true
			forDots = forDots || servesProducts(d.desc)
		}
	}
	if k.onlyForDots && !forDots {
		for i := range made {
			if d := &made[i]; d.kept && d.made() != nil {
				d.kept, d.why = false, "no loop with a dot copies through a descriptor"
				delete(kept, d.desc)
			}
		}
	}
	why := ""
	if len(kept) > 0 && k.sharedMemory > 0 {
		if n := k.unit.SharedMemory(f, info, kept, k.numStages, k.numWarps); n > k.sharedMemory {
			why = fmt.Sprintf("the blocks on the way would take %s of shared memory, and a program may have %d", diag.Count(n, "byte"), k.sharedMemory)
		}
	}
	for i := range made {
		switch d := &made[i]; {
		case !d.kept:
		case why != "":
			d.kept, d.why = false, why
		case servesProducts(d.desc):
			d.why = "a loop with a dot copies through it"
		case d.made() == nil:
			d.why = "the host makes it"
		case forDots:
			d.why = "the kernel has a loop with a dot that copies through another descriptor"
		default:
			d.why = "the options ask for it"
		}
	}
}

// unfit says why a descriptor that the function f makes or takes becomes pointers on
// any hardware, or "". used is what f does with memory.
func unfit(f *ir.Operation, d *decision, used map[*ir.Value]memoryUse) string {
	switch u := used[root(d.desc)]; {
	case !isPublic(f) && d.made() == nil:
		return "a function that is called takes it"
	case !isPublic(f):
		return "a function that is called makes it"
	case !onlyCopies(d.desc):
		return "a loop, a condition, a call, a gather or a scatter takes it"
	case u.read && u.written:
		return "the kernel both reads and writes the memory that it describes"
	}
	return ""
}

// servesProducts reports whether a loop with a dot, at any depth, copies through a
// descriptor that the kernel makes or takes. In a kernel without such, writing descriptors, by each
// program, and waiting for copies takes longer than loads and stores of registers.
func servesProducts(desc *ir.Value) bool {
	for u := range desc.Users() {
		for p := u.Parent(); p != nil; p = p.Parent() {
			if (p.Is(scf.For) || p.Is(scf.While)) && hasDot(p) {
				return true
			}
		}
	}
	return false
}

func hasDot(op *ir.Operation) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if o.Is(tt.Dot) || o.Is(tt.DotScaled) {
			return ir.Stop
		}
		return ir.Advance
	})
}

func isPublic(f *ir.Operation) bool {
	v := tt.AsFunc(f).SymVisibility()
	return v == "" || v == "public"
}

func onlyCopies(desc *ir.Value) bool {
	for u := range desc.Uses() {
		switch u.Owner().Def() {
		case tt.DescriptorLoad, tt.DescriptorStore, tt.DescriptorReduce:
		default:
			return false
		}
	}
	return true
}

// memoryUse is what a function does with the memory that one pointer points to.
type memoryUse struct{ read, written bool }

// useOfMemory says it for the roots of all pointers that f uses.
func useOfMemory(f *ir.Operation) map[*ir.Value]memoryUse {
	uses := make(map[*ir.Value]memoryUse)
	add := func(v *ir.Value, read, written bool) {
		r := root(v)
		u := uses[r]
		uses[r] = memoryUse{u.read || read, u.written || written}
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		switch op.Def() {
		case tt.Load, tt.DescriptorLoad, tt.DescriptorGather:
			add(tt.Address(op), true, false)
		case tt.Store, tt.DescriptorStore, tt.DescriptorReduce, tt.DescriptorScatter:
			add(tt.Address(op), false, true)
		default:
			if tt.PointsInto(op) != nil || op.Is(scf.For) {
				break
			}
			for i, v := range op.Operands() {
				if tt.PtrLike.Test(v.Type()) && !carriedAlong(op, i) {
					add(v, true, true) // a call, an atomic operation, a choice among pointers
				}
			}
		}
		return ir.Advance
	})
	return uses
}

// carriedAlong reports whether operand i of op hands a loop's pointer to its next
// iteration, still in the same memory.
func carriedAlong(op *ir.Operation, i int) bool {
	if !op.Is(scf.Yield) {
		return false
	}
	loop := op.Parent()
	return loop.Is(scf.For) && root(op.Operand(i)) == root(scf.Inits(loop)[i])
}

// root is the pointer that v was computed from. Different ones are taken to point
// to different memory.
func root(v *ir.Value) *ir.Value {
	for {
		op := v.Def()
		switch {
		case op == nil:
			loop, i := v.Block().Parent(), scf.CarriedIndex(v)
			if loop == nil || !loop.Is(scf.For) || i < 0 {
				return v
			}
			v = scf.AsFor(loop).InitArgsAt(i)
		case op.Is(scf.For):
			v = scf.AsFor(op).InitArgsAt(v.Index())
		case tt.PointsInto(op) != nil:
			v = tt.PointsInto(op)
		default:
			return v
		}
	}
}
