package npuir

import (
	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// GridAttr is the attribute of the loop over the programs of a grid.
const GridAttr = "npuir.grid"

// MapBlocks makes the program of a core of a program of a grid. Where programs wait for one
// another, a core runs one program, that of its number, and the grid has no more programs
// than the launch has cores; the launch sees to that.
var MapBlocks = &pass.Pass{
	Name:    "npuir-map-blocks",
	Doc:     "have each core loop over programs of the grid",
	Example: mapBlocksExample,
	Run: func(r *pass.Run) error {
		for op := range r.Module.Body().Ops() {
			if op.Is(linalg.Func) && !op.IsPrivate() && op.StringAttr(CoreAttr) == "" {
				if err := mapBlocks(r, op); err != nil {
					return err
				}
			}
		}
		return nil
	},
}

// gridArgs is how many arguments of a program say where in the grid it is, and as many
// before them how large that is.
const gridArgs = 3

func mapBlocks(r *pass.Run, f *ir.Operation) error {
	entry := linalg.AsFunc(f).Body().First()
	n := entry.NumArgs() - 2*gridArgs
	if n < 0 || linalg.AsFunc(f).Body().Last() != entry {
		return diag.Errorf(r.Place(f), "a kernel is one block, and its last arguments are the grid")
	}
	core := VectorCore
	var syncs []*ir.Operation
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(MMAD) {
			core = AICore
		} else if op.Is(SyncBlock) {
			syncs = append(syncs, op)
		}
		return ir.Advance
	})
	for _, op := range syncs {
		if hivm.Mode(AsSyncBlock(op).Mode()) == hivm.AllCube && core == VectorCore {
			op.Erase() // no cube core runs the program
		}
	}
	together := Together(f)

	b := ir.NewBuilder(f.Context())
	index, i32 := f.Context().Index(), f.Context().I32()
	first, end := entry.First(), entry.Terminator()
	b.At(first)
	var sizes [gridArgs]*ir.Value
	for i := range sizes {
		sizes[i] = arith.Cast(b, arith.IndexCast, entry.Arg(n+i), index)
	}
	plane := arith.Binary(b, arith.MulI, sizes[0], sizes[1])
	all := arith.Binary(b, arith.MulI, plane, sizes[2])
	number := b.Op(CoreID, nil, index).OneResult()
	if !together {
		cores := b.Op(NumCores, nil, index).OneResult()
		loop := scf.NewFor(b, number, all, cores)
		loop.SetAttr(GridAttr, f.Context().Unit())
		loop.Body().TakeOps(first)
		b.SetToEnd(loop.Body())
		b.Loc = end.Loc()
		end.Remove()
		scf.NewYield(b)
		entry.Append(end)
		b.SetToStart(loop.Body())
		number = scf.InductionVar(loop)
	}
	b.Loc = f.Loc()
	line := arith.Binary(b, arith.DivSI, number, sizes[0])
	at := [gridArgs]*ir.Value{
		arith.Binary(b, arith.RemSI, number, sizes[0]),
		arith.Binary(b, arith.RemSI, line, sizes[1]),
		arith.Binary(b, arith.DivSI, number, plane),
	}
	for i, v := range at {
		entry.Arg(n + gridArgs + i).ReplaceAllUsesWith(arith.Cast(b, arith.IndexCast, v, i32))
	}
	return withoutPlace(f, entry, n+gridArgs, core)
}

// Together reports whether the programs of a module or function wait for one another, after
// npuir-map-blocks.
func Together(in *ir.Operation) bool {
	found := false
	ir.Walk(in, func(op *ir.Operation) ir.WalkResult {
		found = found || op.Is(SyncBlock) && hivm.Mode(AsSyncBlock(op).Mode()) != hivm.AllSubVector
		return ir.Advance
	})
	return found
}

// withoutPlace drops the arguments from number n on, and says which core runs the function.
func withoutPlace(f *ir.Operation, entry *ir.Block, n int, core string) error {
	for i := entry.NumArgs() - 1; i >= n; i-- {
		entry.EraseArg(i)
	}
	v := linalg.AsFunc(f)
	t := linalg.Signature(f)
	v.SetFunctionType(f.Context().Func(t.In[:n], t.Out))
	if a, ok := v.ArgAttrs().(*ir.ArrayAttr); ok {
		v.SetArgAttrs(f.Context().ArrayAttr(a.Elems[:n]...))
	}
	f.SetAttr(CoreAttr, f.Context().StringAttr(core))
	return nil
}
