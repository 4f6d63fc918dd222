package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizePartitionWarps gives the partitions of a ttg.warp_specialize no more warps than
// their largest tensor needs registers of, and asks for registers for each: 88 where
// there are tensors, else 24.
//
//	partition0() num_warps(8) { "no tensors"() … }
//
// becomes
//
//	partition0() num_warps(1) { "no tensors"() … }
//
// A partition that loads from tensor memory has at least four warps, and one that copies
// by TMA two. The tensors of a partition with fewer warps than before get new layouts,
// as convert-triton-to-tritongpu and the passes after it choose them. Dots of
// warpgroups and other operations that tie layouts to their warps keep theirs.
var OptimizePartitionWarps = &pass.Pass{
	Name:    "tritongpu-optimize-partition-warps",
	Doc:     "give partitions no more warps than they need",
	Example: optimizePartitionWarpsExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		var ops []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(ttg.WarpSpecialize) {
				ops = append(ops, op)
			}
			return ir.Advance
		})
		for _, op := range ops {
			n, err := fewerWarps(r.Module, op)
			if err != nil {
				return err
			}
			r.Count("partitions", n)
		}
		return nil
	},
}

// What a multiprocessor has, and what partitions ask for of it, in registers of 32 bits.
const (
	allRegisters    = 64 << 10
	tensorRegisters = 88
	scalarRegisters = 24
)

// largest is how many registers the largest tensor in r takes in all threads.
func largest(r *ir.Region) (most int64) {
	look := func(v *ir.Value) {
		t := tensors.Type(v)
		if t == nil {
			return
		}
		width := int64(ir.BitWidth(t.Elem))
		if width == 0 {
			width = 64 // an address
		}
		n := t.NumElements()
		if e := encoding.Get(t); e != nil {
			if l, err := e.Linear(t.Shape); err == nil {
				n = int64(l.Registers()) * int64(l.InSize(layout.Lane)) * int64(l.InSize(layout.Warp))
			}
		}
		most = max(most, n*width/32, 1)
	}
	walk(r, func(op *ir.Operation) {
		for _, v := range op.Operands() {
			look(v)
		}
		for _, v := range op.Results() {
			look(v)
		}
	})
	return most
}

func walk(r *ir.Region, f func(*ir.Operation)) {
	for b := range r.Blocks() {
		for op := range b.Ops() {
			ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
				f(o)
				return ir.Advance
			})
		}
	}
}

// leastWarps is how few warps r can have, of n.
func leastWarps(r *ir.Region, n int64) int64 {
	least := int64(1)
	walk(r, func(op *ir.Operation) {
		switch {
		case ttng.IsTmemLoad(op), ttng.IsTmemStore(op), ttng.IsTmemAlloc(op):
			least = max(least, 4) // each sees the rows of its own
		case ttng.Is(op, "async_tma_gather"), ttng.Is(op, "async_tma_scatter"), ttng.Is(op, "async_tma_copy_global_to_local"):
			least = max(least, 2) // one alone issues them slowly
		case tied(op):
			least = n
		}
	})
	return min(least, n)
}

// tied reports whether op has tensors whose layouts nothing chooses anew, or runs a
// function, which is for a number of warps.
func tied(op *ir.Operation) bool {
	switch {
	case op.Is(tt.Call):
		return true
	case op.Def().Unregistered, op.Is(ttg.ConvertLayout), op.Is(ttg.LocalLoad), op.Is(ttg.LocalStore), op.Is(ttg.LocalAlloc):
		return false
	}
	switch op.Def().Dialect() {
	case "ttg", "ttng", "nvws", "nvg":
		return slices.ContainsFunc(slices.Concat(op.OperandValues(), op.Results()), func(v *ir.Value) bool { return tensors.Type(v) != nil })
	}
	return false
}

func fewerWarps(module, op *ir.Operation) (changed int, err error) {
	split := ttg.AsWarpSpecialize(op)
	regions := ttg.Partitions(op)
	warps := slices.Clone(split.PartitionNumWarps())
	if len(warps) != len(regions) {
		return 0, nil // the verifier tells
	}
	lanes := ttg.ThreadsPerWarp(module)
	total := warpsAround(op)
	needs, least := make([]int64, len(regions)), make([]int64, len(regions))
	registers := make([]int64, len(regions))
	for i, r := range regions {
		// The largest tensor is taken for half of the registers.
		needs[i], least[i] = 2*largest(r), leastWarps(r, warps[i])
		total += warps[i]
		if registers[i] = scalarRegisters; needs[i] > 0 {
			registers[i] = tensorRegisters
		}
	}
	// Halve one after the other, while the tensors fit in what all warps have then.
	for i := 0; i < len(regions); {
		half := warps[i] / 2
		if warps[i] <= least[i] || needs[i]/lanes/half > allRegisters/lanes/(total-half) {
			i++
			continue
		}
		warps[i], total = half, total-half
		i = 0
	}
	for i, r := range regions {
		if warps[i] == split.PartitionNumWarps()[i] {
			continue
		}
		changed++
		if needs[i] == 0 {
			continue
		}
		if err := relayout(module, r, int(warps[i])); err != nil {
			return 0, err
		}
	}
	split.SetPartitionNumWarps(warps)
	split.SetRequestedRegisters(registers)
	return changed, nil
}

// relayout chooses the layouts of r's tensors anew, for that many warps: r is a function
// of a module of its own meanwhile.
func relayout(module *ir.Operation, r *ir.Region, warps int) error {
	c := module.Context()
	alone := builtin.NewModule(c, module.Loc())
	for _, a := range module.Attrs() {
		if a.Name != ttg.NumWarpsAttr {
			alone.SetAttr(a.Name, a.Attr)
		}
	}
	b := ir.NewBuilder(c)
	b.SetToEnd(alone.Body())
	var in []ir.Type
	for _, arg := range r.First().Args() {
		in = append(in, arg.Type())
	}
	f := tt.NewFunc(b, "partition", "public", c.Func(in, nil), make([]*ir.DictAttr, len(in)), make([]ir.Location, len(in)))
	body := tt.AsFunc(f).Body()
	for old := range body.Blocks() {
		old.Erase()
	}
	body.TakeBody(r)
	exchange(b, body, ttg.WarpReturn, tt.Return)
	unlay(f)
	rows := []pass.Row{
		{Pass: layouts.Convert, With: []pass.Setting{
			{Name: "target", Value: module.StringAttr(ttg.TargetAttr)},
			{Name: "num-warps", Value: warps},
			{Name: "threads-per-warp", Value: int(ttg.ThreadsPerWarp(module))},
			{Name: "num-ctas", Value: int(ttg.NumCTAs(module))},
		}},
		{Pass: tmem.Relayout},
		{Pass: layouts.Coalesce},
		{Pass: layouts.RemoveConversions},
		{Pass: layouts.OptimizeThreadLocality},
	}
	if ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.Dot) {
			return ir.Stop
		}
		return ir.Advance
	}) {
		rows = append(rows, pass.Row{Pass: accelerate})
	}
	rows = append(rows, pass.Row{Pass: layouts.RemoveConversions})
	_, err := (&pass.Runner{}).Run(alone, rows, nil)
	exchange(b, body, tt.Return, ttg.WarpReturn)
	r.TakeBody(body)
	return err
}

var accelerate = matrix.NewAccelerateMatmul(wgmma.Unit{})

// exchange puts one kind of terminator in the place of another.
func exchange(b *ir.Builder, r *ir.Region, from, to *ir.OpDef) {
	var ends []*ir.Operation
	walk(r, func(op *ir.Operation) {
		if op.Is(from) {
			ends = append(ends, op)
		}
	})
	for _, op := range ends {
		b.At(op)
		b.Op(to, nil)
		op.Erase()
	}
}

// unlay takes the layouts of all tensors in f away.
func unlay(f *ir.Operation) {
	c := f.Context()
	plain := func(v *ir.Value) {
		if t := tensors.Type(v); t != nil {
			v.SetType(tensors.WithEncoding(c, t, nil))
		}
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		for _, v := range op.Results() {
			plain(v)
			if !op.Is(arith.Constant) {
				continue
			}
			switch a := op.ConstantValue().(type) {
			case *ir.DenseElementsAttr:
				arith.AsConstant(op).SetValue(c.DenseElements(v.Type(), spread(a)))
			case *ir.DenseResourceAttr:
				arith.AsConstant(op).SetValue(c.DenseResource(a.Name, v.Type()))
			}
		}
		for _, r := range op.Regions() {
			for blk := range r.Blocks() {
				for _, v := range blk.Args() {
					plain(v)
				}
			}
		}
		return ir.Advance
	})
}

// spread are the bits of each element of a.
func spread(a *ir.DenseElementsAttr) []uint64 {
	if !a.IsSplat() {
		return a.Values
	}
	n := int64(1)
	if t, ok := a.Type.(*ir.TensorType); ok {
		n = t.NumElements()
	}
	return slices.Repeat(a.Values[:1], int(n))
}
