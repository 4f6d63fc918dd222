package matrix

import (
	"fmt"
	"iter"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// AccelerateMatmul gives dots the layouts of the target's matrix instructions.
// The result gets the layout of the instruction's accumulator, its tiles spread
// over the warps so that operands are repeated least; the operands get the
// layout that the instruction reads. Conversions lead from and to the layouts
// around. Dots that no instruction takes stay as they are and are computed by
// multiply-adds in each thread.
//
// Which instructions there are is the target's to say: mma-version 2 is the
// family that takes both operands from registers and gives tiles of 16×8.
// Operand types that an instruction lacks are widened to one that it has, and
// dots of block-scaled operands are decomposed first.
var AccelerateMatmul = &pass.Pass{
	Name:    "tritongpu-accelerate-matmul",
	Doc:     "give dots the layouts of matrix instructions",
	Example: accelerateMatmulExample,
	Takes:   machine.Check,
	Options: []pass.Option{
		{Name: "mma-version", Doc: "the family of matrix instructions; 0 for none", Default: 0},
		{Name: "mma-minor", Doc: "the variant of the family, as written in the layout", Default: 0},
		{Name: "mma-f64", Doc: "matrix instructions take f64", Default: false},
		{Name: "mma-f8", Doc: "matrix instructions take 8-bit floats; otherwise they are converted to f16", Default: false},
	},
	Run: func(r *pass.Run) error {
		a := accelerator{
			Machine: machine.Of(r.Module), b: ir.NewBuilder(r.Module.Context()),
			version: r.Int("mma-version"), minor: r.Int("mma-minor"), f64: r.Bool("mma-f64"), f8: r.Bool("mma-f8"),
		}
		if a.version != 0 && a.version != 2 {
			return fmt.Errorf("%s: no matrix instructions of version %d; there are 0 (none) and 2", "tritongpu-accelerate-matmul", a.version)
		}
		list := func(def *ir.OpDef) []*ir.Operation {
			var found []*ir.Operation
			ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
				if op.Is(def) {
					found = append(found, op)
				}
				return ir.Advance
			})
			return found
		}
		for _, op := range list(tt.DotScaled) {
			a.decomposeScaled(op)
			r.Count("decomposed", 1)
		}
		dots := list(tt.Dot)
		a.order = make(map[*ir.Operation]int, len(dots))
		for i, op := range dots {
			a.order[op] = i
		}
		for _, op := range dots {
			if a.version == 2 && a.takes(op) {
				a.accelerate(op)
				r.Count("accelerated", 1)
			}
		}
		for _, op := range list(tt.Dot) {
			a.promote(op)
		}
		return nil
	},
}

type accelerator struct {
	machine.Machine
	b              *ir.Builder
	version, minor int
	f64, f8        bool
	// order numbers the module's dots.
	order map[*ir.Operation]int
}

// mmaTile is the result of one instruction of version 2.
var mmaTile = [2]int{16, 8}

// takes reports whether the instructions take op's operands.
func (a *accelerator) takes(op *ir.Operation) bool {
	if e := encoding.Get(op.Result(0).Type()); e == nil || tensors.IsMatrix(e) {
		return false
	}
	precision, _ := op.IntAttr("inputPrecision")
	x, y := ir.ElemOf(op.Operand(0).Type()), ir.ElemOf(op.Operand(1).Type())
	if c := op.Context(); x == ir.Type(c.F32()) && y == ir.Type(c.F32()) {
		return precision == tt.PrecisionTF32
	}
	return a.takesType(x) && a.takesType(y)
}

func (a *accelerator) takesType(t ir.Type) bool {
	switch t := t.(type) {
	case *ir.IntegerType:
		return t.Width == 8
	case *ir.FloatType:
		switch t.Kind {
		case ir.F16, ir.BF16, ir.F32:
			return true
		case ir.F64:
			return a.f64
		}
		return isFloat8(t)
	}
	return false
}

// isFloat8 reports whether t is a format of 8 bits that values are stored in.
func isFloat8(t ir.Type) bool {
	f, ok := t.(*ir.FloatType)
	if !ok {
		return false
	}
	switch f.Kind {
	case ir.F8E4M3FN, ir.F8E5M2, ir.F8E4M3FNUZ, ir.F8E5M2FNUZ:
		return true
	}
	return false
}

// accelerate rewrites one dot to the instructions of version 2.
func (a *accelerator) accelerate(op *ir.Operation) {
	c := op.Context()
	t := tensors.Type(op.Result(0))
	mma := &layout.NvidiaMMA{
		VersionMajor: a.version, VersionMinor: a.minor,
		WarpsPerCTA: a.warpTiles(op), InstrShape: append(onesBut2(len(t.Shape)), mmaTile[0], mmaTile[1]),
		CGA: cgaOf(encoding.Get(t)),
	}
	enc := encoding.Of(c, mma)
	a.b.At(op)
	acc := ttg.NewConvertLayout(a.b, op.Operand(2), enc)
	// The operand that comes from the narrowest elements decides how many lie
	// side by side along K, so that what is loaded at once stays together.
	bits := min(originalWidth(op.Operand(0)), originalWidth(op.Operand(1)))
	operands := []*ir.Value{nil, nil, acc}
	for i := range 2 {
		e := &layout.DotOp{OpIdx: i, Parent: mma, KWidth: max(32/bits, 1)}
		operands[i] = ttg.NewConvertLayout(a.b, op.Operand(i), encoding.Of(c, e))
	}
	n := a.b.Create(tt.Dot, ir.State{Operands: operands, Types: []ir.Type{acc.Type()}, Attrs: op.Attrs()})
	op.ReplaceAllUsesWith(ttg.NewConvertLayout(a.b, n.Result(0), t.Encoding))
	op.Erase()
}

// onesBut2 is the extent 1 for each batch dimension of a tensor of that rank.
func onesBut2(rank int) []int {
	s := make([]int, rank-2, rank)
	for i := range s {
		s[i] = 1
	}
	return s
}

// cgaOf is how an encoding spreads a tensor over the CTAs of a cluster.
func cgaOf(e layout.Encoding) layout.Bases {
	switch e := e.(type) {
	case *layout.Blocked:
		return e.CGA
	case *layout.NvidiaMMA:
		return e.CGA
	}
	return nil
}

// warpTiles is how many warps stand side by side along each dimension of op's
// result. Dots that feed one another keep rows within a warp, so that the result
// of one is the operand of the next without crossing warps, unless results are
// wider than tall: those of the first dot, or, as in Triton, of the last where
// there are too few rows for all warps to have some of their own. Batches have a
// warp each; else the tile of a warp is made as square as it can be, in units of
// the instruction's tile.
func (a *accelerator) warpTiles(op *ir.Operation) []int {
	warps := a.At(op).Warps
	shape := tensors.PerCTA(tensors.Type(op.Result(0)))
	if len(shape) == 3 {
		return []int{warps, 1, 1}
	}
	chained, last := false, op
	short := int(shape[0]) < warps*mmaTile[0]
	for other := range dotsAround(op) {
		t := tensors.Type(other.Result(0))
		if len(t.Shape) != len(shape) {
			continue
		}
		if e, ok := encoding.Get(t).(*layout.NvidiaMMA); ok {
			return e.WarpsPerCTA
		}
		chained = true
		short = short || int(tensors.PerCTA(t)[0]) < warps*mmaTile[0]
		if a.order[other] > a.order[last] {
			last = other
		}
	}
	if chained {
		if short {
			shape = tensors.PerCTA(tensors.Type(last.Result(0)))
		}
		if shape[0] >= shape[1] {
			return []int{warps, 1}
		}
		return []int{1, warps}
	}
	tiles := []int{1, 1}
	left := [2]int{(int(shape[0]) + mmaTile[0] - 1) / mmaTile[0], (int(shape[1]) + mmaTile[1] - 1) / mmaTile[1]}
	for tiles[0]*tiles[1] < warps {
		d := 0
		if left[0] < left[1] {
			d = 1
		}
		tiles[d] *= 2
		left[d] = max(left[d]/2, 1)
	}
	return tiles
}

// dotsAround ranges over the other dots of op's region that are connected with op by
// uses, nearest first, not looking through transpositions.
func dotsAround(op *ir.Operation) iter.Seq[*ir.Operation] {
	return func(yield func(*ir.Operation) bool) {
		region := op.Block().Region()
		found := []*ir.Operation{op}
		seen := map[*ir.Operation]bool{op: true}
		add := func(o *ir.Operation) {
			if o != nil && !seen[o] && o.Block().Region() == region && !o.Is(tt.Trans) {
				seen[o] = true
				found = append(found, o)
			}
		}
		for i := 0; i < len(found); i++ {
			if i > 0 && found[i].Is(tt.Dot) && !yield(found[i]) {
				return
			}
			for _, v := range found[i].Operands() {
				add(v.Def())
			}
			for _, r := range found[i].Results() {
				for u := range r.Users() {
					add(u)
				}
			}
		}
	}
}

// originalWidth is the width in bits of the narrowest elements from which v
// comes: of v itself, of the loads that feed element-wise operations and views, or
// of packed pairs.
func originalWidth(v *ir.Value) int {
	bits := ir.BitWidth(ir.ElemOf(v.Type()))
	joined := false
	queue := []*ir.Value{v}
	seen := map[*ir.Operation]bool{}
	for len(queue) > 0 {
		op := queue[len(queue)-1].Def()
		queue = queue[:len(queue)-1]
		if op == nil || seen[op] {
			continue
		}
		seen[op] = true
		switch {
		case op.Is(ttg.Fp4ToFp):
			return 4
		case op.Is(tt.Load), op.Is(tt.DescriptorLoad), op.Is(tt.DescriptorGather):
			if t := tensors.Type(op.Result(0)); t != nil {
				bits = min(bits, ir.BitWidth(t.Elem))
			}
		case op.Is(tt.Join):
			joined = true
		case op.Def().Has(ir.Elementwise) && ir.IsPure(op), isView(op), op.Is(tt.Broadcast), op.Is(ttg.ConvertLayout):
		default:
			continue
		}
		queue = append(queue, op.OperandValues()...)
	}
	if joined {
		// On its way back through the join the width along K is halved.
		bits /= 2
	}
	return bits
}

// isView reports whether op only sees its operand differently.
func isView(op *ir.Operation) bool {
	switch op.Def() {
	case tt.ExpandDims, tt.Reshape, tt.Trans, tt.Join, tt.Split:
		return true
	}
	return false
}

// promote widens operands that the way in which op is computed does not take:
// 8-bit floats for instructions without them, and for multiply-adds everything
// narrower than the result.
func (a *accelerator) promote(op *ir.Operation) {
	c := op.Context()
	elem := ir.ElemOf(op.Operand(0).Type())
	to := ir.ElemOf(op.Result(0).Type())
	if _, ok := encoding.Get(op.Result(0).Type()).(*layout.NvidiaMMA); ok {
		if a.f8 || !isFloat8(elem) {
			return
		}
		to = c.F16()
	}
	a.b.At(op)
	for i := range 2 {
		op.SetOperand(i, widened(a.b, op.Operand(i), to))
	}
}

// widened is v with elements of type to, which holds all of their values.
func widened(b *ir.Builder, v *ir.Value, to ir.Type) *ir.Value {
	from := ir.ElemOf(v.Type())
	if from == to {
		return v
	}
	t := b.Context().WithElem(v.Type(), to)
	switch {
	case ir.IsInt(from, 0):
		return arith.Cast(b, arith.ExtSI, v, t)
	case isFloat8(from):
		return b.Op(tt.FpToFp, []*ir.Value{v}, t).Result(0)
	}
	return arith.Cast(b, arith.ExtF, v, t)
}
