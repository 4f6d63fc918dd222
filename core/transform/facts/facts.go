package facts

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
)

const (
	convertHelp    = "convert-triton-to-tritongpu chooses the first layouts; it comes once, before all passes that need them"
	descriptorHelp = "triton-rewrite-tensor-descriptor-to-pointer makes pointers of descriptors"
	scheduleHelp   = "tritongpu-pipeline comes right after tritongpu-schedule-loops"
)

// What the stages of a GPU's backend need.
var (
	// TTIR is what the front end makes.
	TTIR = []*pass.Fact{NoLayouts, NoSchedule, Dimensions, BlockIndices}
	// SimpleTTIR is the input of the passes that choose layouts.
	SimpleTTIR = []*pass.Fact{NoLayouts, NoSchedule, Dimensions, BlockIndices, NoTensorPointers}
	// Lowerable is the ttgir that core/lower takes.
	Lowerable = []*pass.Fact{Machine, Layouts, NoDescriptors, NoScaledDots, NoTensorPointers}
)

// NoLayouts holds of ttir.
var NoLayouts = &pass.Fact{
	Name: "no-layouts", Doc: "a module in which no tensor has a layout", Help: convertHelp,
	Broken: FirstOp(func(op *ir.Operation) string {
		return inTypes(op, func(t ir.Type) bool { return tensor(t) != nil && tensor(t).Encoding != nil }, "has a layout already")
	}),
}

// Dimensions holds of what the front end makes: a single value is a scalar.
var Dimensions = &pass.Fact{
	Name: "dimensions", Doc: "a module in which every tensor has a dimension", Help: "a single value is a scalar, or a tensor<1x…>",
	Broken: FirstOp(func(op *ir.Operation) string {
		return inTypes(op, func(t ir.Type) bool { return tensor(t) != nil && len(tensor(t).Shape) == 0 }, "has no dimension")
	}),
}

// Machine holds once the module says how many threads run it: the number of warps,
// and what it leaves out has the dialect's defaults.
var Machine = &pass.Fact{
	Name: "machine", Doc: "a module that says how many warps, lanes and CTAs run it", Help: convertHelp,
	Broken: func(m *ir.Operation) (*ir.Operation, string) {
		warps, _ := m.IntAttr(ttg.NumWarpsAttr)
		for _, a := range []struct {
			name string
			n    int64
		}{{ttg.NumWarpsAttr, warps}, {ttg.ThreadsPerWarpAttr, ttg.ThreadsPerWarp(m)}, {ttg.NumCTAsAttr, ttg.NumCTAs(m)}} {
			if a.n < 1 || a.n&(a.n-1) != 0 {
				return m, fmt.Sprintf("it has no attribute %s that is a power of two", a.name)
			}
		}
		return nil, ""
	},
}

// Layouts holds of ttgir.
var Layouts = &pass.Fact{
	Name: "layouts", Doc: "a module in which every tensor has a layout", Help: convertHelp,
	Broken: func(m *ir.Operation) (*ir.Operation, string) {
		wrong := make(map[ir.Type]string) // types come often
		return FirstOp(func(op *ir.Operation) (why string) {
			inTypes(op, func(t ir.Type) bool {
				if _, seen := wrong[t]; !seen {
					wrong[t] = wrongLayout(t)
				}
				why = wrong[t]
				return why != ""
			}, "")
			if why != "" {
				why = inTypes(op, func(t ir.Type) bool { return wrong[t] == why }, why)
			}
			return why
		})(m)
	},
}

// wrongLayout says what is wrong with the layout of a tensor, or of a buffer in shared
// memory; "" of all else.
func wrongLayout(t ir.Type) string {
	switch t := t.(type) {
	case *ir.TensorType:
		enc, known := t.Encoding.(*encoding.Attr)
		switch {
		case t.Encoding == nil:
			return "has no layout"
		case !known:
			return "has a layout that no dialect declares"
		}
		if _, err := enc.Linear(t.Shape); err != nil {
			return "has a layout that does not fit it: " + err.Error()
		}
	case *ttg.MemDescType:
		_, shared := t.Space.(*ttg.SharedMemoryAttr)
		if _, known := t.Encoding.(*encoding.Attr); shared && !known {
			return "has a layout that no dialect declares"
		}
	}
	return ""
}

// NoMatrixLayouts holds until dots have been given to the matrix unit.
var NoMatrixLayouts = &pass.Fact{
	Name: "no-matrix-layouts", Doc: "a module in which no dot has the layout of a matrix instruction",
	Help: "it comes before tritongpu-accelerate-matmul",
	Broken: FirstOp(func(op *ir.Operation) string {
		if !tt.IsDot(op) {
			return ""
		}
		return inTypes(op, isAccumulator, "has the layout of a matrix instruction")
	}),
	From: []*pass.Fact{NoLayouts},
}

// NoScaledDots holds once scaled dots have become dots of wider operands, but for those
// that a matrix instruction computes.
var NoScaledDots = &pass.Fact{
	Name: "no-scaled-dots", Doc: "a module without tt.dot_scaled", Help: "tritongpu-accelerate-matmul makes dots of them",
	Broken: FirstOp(func(op *ir.Operation) string {
		if op.Is(tt.DotScaled) && !isAccumulator(op.OneResult().Type()) {
			return "here is one"
		}
		return ""
	}),
}

// NoTensorPointers holds once block pointers have become tensors of pointers.
var NoTensorPointers = &pass.Fact{
	Name: "no-tensor-pointers", Doc: "a module without block pointers", Help: "triton-rewrite-tensor-pointer makes tensors of pointers of them",
	Broken: FirstOp(func(op *ir.Operation) string {
		return inTypes(op, func(t ir.Type) bool {
			p, ok := t.(*tt.PtrType)
			return ok && tensor(p.Pointee) != nil
		}, "is a block pointer")
	}),
}

// KnownDescriptors holds where each use of a descriptor sees how it was made.
var KnownDescriptors = &pass.Fact{
	Name: "known-descriptors", Doc: "a module whose descriptors are arguments of kernels or made in them, and copied through where they are made",
	Help: descriptorHelp, From: []*pass.Fact{NoDescriptors},
	Broken: FirstOp(func(op *ir.Operation) string {
		var desc *ir.Value
		switch op.Def() {
		case tt.DescriptorLoad:
			desc = tt.AsDescriptorLoad(op).Desc()
		case tt.DescriptorStore:
			desc = tt.AsDescriptorStore(op).Desc()
		case tt.DescriptorReduce:
			desc = tt.AsDescriptorReduce(op).Desc()
		case tt.DescriptorGather:
			desc = tt.AsDescriptorGather(op).Desc()
		case tt.DescriptorScatter:
			desc = tt.AsDescriptorScatter(op).Desc()
		default:
			return ""
		}
		made := desc.Def()
		if made == nil && ofKernel(desc) {
			return ""
		}
		if made == nil || !makesDescriptor(made) {
			return op.Name() + " does not see how its descriptor was made"
		}
		return ""
	}),
}

// BlockIndices holds of what the front end makes: what copies a block through a descriptor
// says where it begins in each of its dimensions.
var BlockIndices = &pass.Fact{
	Name: "block-indices", Doc: "a module whose copies through descriptors have one index per dimension of the block",
	Help: "add the missing indices, or take those that are too many away", From: []*pass.Fact{NoDescriptors},
	Broken: FirstOp(func(op *ir.Operation) string {
		var desc *ir.Value
		var indices int
		switch op.Def() {
		case tt.DescriptorLoad:
			desc, indices = tt.AsDescriptorLoad(op).Desc(), len(tt.AsDescriptorLoad(op).Indices())
		case tt.DescriptorStore:
			desc, indices = tt.AsDescriptorStore(op).Desc(), len(tt.AsDescriptorStore(op).Indices())
		case tt.DescriptorReduce:
			desc, indices = tt.AsDescriptorReduce(op).Desc(), len(tt.AsDescriptorReduce(op).Indices())
		default:
			return ""
		}
		if n := len(desc.Type().(*tt.TensorDescType).Block.Shape); n != indices {
			return fmt.Sprintf("%s has %d, and its block %s", op.Name(), indices, diag.Count(n, "dimension"))
		}
		return ""
	}),
}

// makesDescriptor reports whether op makes a descriptor, itself or as a vendor's operation
// that the pipeliner had make it, and does not hand another on.
func makesDescriptor(op *ir.Operation) bool {
	return op.NumRegions() == 0 && !op.Is(tt.Call) && !slices.ContainsFunc(op.OperandValues(), func(v *ir.Value) bool { return tt.DescLike.Test(v.Type()) })
}

// ofKernel reports whether v is an argument of a kernel.
func ofKernel(v *ir.Value) bool {
	f := v.Block().Parent()
	if f != nil && f.Is(ttg.WarpSpecializePartitions) { // what a partition takes from outside
		outside := ttg.AsWarpSpecialize(f.Parent()).ExplicitCapturesAt(v.Index())
		return outside.Def() == nil && ofKernel(outside)
	}
	return f != nil && f.Is(tt.Func) && isKernel(f)
}

// isKernel reports whether a function is launched, and not called.
func isKernel(f *ir.Operation) bool {
	v := tt.AsFunc(f).SymVisibility()
	return v == "" || v == "public"
}

// NoDescriptors holds once pointers, or a vendor's operations, copy what descriptors
// describe. A kernel may have arguments that are descriptors for these operations: such
// have a layout.
var NoDescriptors = &pass.Fact{
	Name: "no-descriptors", Doc: "a module in which no operation of tt makes or uses a descriptor", Help: descriptorHelp,
	Broken: FirstOp(func(op *ir.Operation) string {
		switch op.Def() {
		case tt.MakeTensorDesc, tt.DescriptorLoad, tt.DescriptorStore, tt.DescriptorReduce, tt.DescriptorGather, tt.DescriptorScatter:
			return "here is " + op.Name()
		case tt.Func:
			if isKernel(op) {
				return inTypes(op, func(t ir.Type) bool {
					desc, ok := t.(*tt.TensorDescType)
					return ok && desc.Block.Encoding == nil
				}, "is a descriptor without a layout")
			}
			return inTypes(op, tt.DescLike.Test, "is a descriptor")
		case tt.Call, tt.Return:
			return inTypes(op, tt.DescLike.Test, "is a descriptor")
		}
		return ""
	}),
}

// NoSchedule holds where no loop waits to be pipelined.
var NoSchedule = &pass.Fact{
	Name: "no-schedule", Doc: "a module in which no loop has a schedule",
	Help: "tritongpu-pipeline carries schedules out and takes their attributes",
	Broken: FirstOp(func(op *ir.Operation) string {
		if op.Is(scf.For) && op.HasAttr(tt.MaxStageAttr) {
			return "scf.for has the attribute " + tt.MaxStageAttr
		}
		return ""
	}),
}

// BoundedSchedules holds where schedules that were written by hand, or by another
// compiler, can be read.
var BoundedSchedules = &pass.Fact{
	Name: "bounded-schedules", Doc: "a module in which the stages and clusters of loops with a schedule are in bounds",
	Help: "tritongpu-schedule-loops writes schedules by latencies", From: []*pass.Fact{NoSchedule},
	Broken: FirstOp(func(op *ir.Operation) string {
		if loop := op.Parent(); loop == nil || !loop.Is(scf.For) || !loop.HasAttr(tt.MaxStageAttr) {
			return ""
		}
		stage, hasStage := op.IntAttr(tt.StageAttr)
		cluster, hasCluster := op.IntAttr(tt.ClusterAttr)
		if hasStage && (stage < 0 || stage > mostStages) || hasCluster && (cluster < 0 || cluster > mostClusters) {
			return outOfBounds(op, stage, cluster)
		}
		return ""
	}),
}

func outOfBounds(op *ir.Operation, stage, cluster int64) string {
	return fmt.Sprintf("%s has stage %d and cluster %d, which are from 0 to %d and to %d", op.Name(), stage, cluster, mostStages, mostClusters)
}

// Scheduled holds as long as nothing came into loops that have a schedule.
var Scheduled = &pass.Fact{
	Name: "scheduled", Doc: "a module in which each operation of a loop with a schedule has its stage in it",
	Help: scheduleHelp, From: []*pass.Fact{NoSchedule}, Fragile: true,
	Broken: FirstOp(func(op *ir.Operation) string {
		loop := op.Parent()
		if loop == nil || !loop.Is(scf.For) || !loop.HasAttr(tt.MaxStageAttr) || op.IsTerminator() || op.Def().Has(ir.ConstantLike) {
			return ""
		}
		stage, hasStage := op.IntAttr(tt.StageAttr)
		cluster, hasCluster := op.IntAttr(tt.ClusterAttr)
		switch {
		case !hasStage || !hasCluster:
			return op.Name() + " has none"
		case stage < 0 || stage > mostStages || cluster < 0 || cluster > mostClusters:
			return outOfBounds(op, stage, cluster)
		}
		for _, v := range op.OperandValues() {
			if d := v.Def(); d != nil && d.Block() == op.Block() {
				if at, ok := d.IntAttr(tt.StageAttr); ok && at > stage {
					return fmt.Sprintf("%s in stage %d has an operand of stage %d", op.Name(), stage, at)
				}
			}
		}
		return ""
	}),
}

// Bounds of the numbers of a schedule, which nothing comes near to.
const (
	mostStages   = 1 << 6
	mostClusters = 1 << 12
)

// FirstOp makes a Fact's Broken that looks for the first operation of which wrong says
// why.
func FirstOp(wrong func(op *ir.Operation) string) func(*ir.Operation) (*ir.Operation, string) {
	return func(m *ir.Operation) (at *ir.Operation, why string) {
		ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
			if why = wrong(op); why != "" {
				at = op
				return ir.Stop
			}
			return ir.Advance
		})
		return at, why
	}
}

// inTypes says "the result of OP IS" of the first result, argument of a region, or, of
// functions, type of the signature that is one; "" if none is.
func inTypes(op *ir.Operation, is func(ir.Type) bool, what string) string {
	for _, v := range op.Results() {
		if is(v.Type()) {
			return fmt.Sprintf("the result of %s %s", op.Name(), what)
		}
	}
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			for i, v := range b.Args() {
				if is(v.Type()) {
					return fmt.Sprintf("argument %d of a block of %s %s", i, op.Name(), what)
				}
			}
		}
	}
	if op.Is(tt.Func) {
		sig := tt.Signature(op)
		for i, t := range sig.In {
			if is(t) {
				return fmt.Sprintf("argument %d of a function %s", i, what)
			}
		}
		for i, t := range sig.Out {
			if is(t) {
				return fmt.Sprintf("result %d of a function %s", i, what)
			}
		}
	}
	return ""
}

func isAccumulator(t ir.Type) bool {
	_, ok := encoding.Get(t).(layout.Accumulator)
	return ok
}

func tensor(t ir.Type) *ir.TensorType {
	r, _ := t.(*ir.TensorType)
	return r
}
