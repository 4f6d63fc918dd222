package wgmma

import (
	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Unit is the matrix unit of every NVIDIA GPU: wgmma where the target has it and it
// computes the dot, else mma.sync.
type Unit struct{ mma.Unit }

var _ dots.MatrixUnit = Unit{}

// version is that of nvidia_mma for results of wgmma.
const version = 3

// Sizes that wgmma wants: warps come in groups, which compute groupRows rows of the
// result at once, 16 each; an instruction is kBits of a row of A deep.
const (
	groupWarps = 4
	groupRows  = 64
	warpRows   = 16
	kBits      = 256
	leastN     = 16
)

// leastImprecise is how many terms of fp8 a dot must be allowed to add at the unit's
// own precision for wgmma to be of use: those of one instruction.
const leastImprecise = 32

// has reports whether the target has wgmma, which no other generation does.
func has(target string) bool {
	cc, err := mma.Capability(target)
	return err == nil && cc/10 == 9
}

// Form implements dots.MatrixUnit.
func (u Unit) Form(d dots.Dot) *dots.Form {
	if !u.takes(d) {
		return u.FormBeside(d, u.takes)
	}
	shape := instrShape(d)
	result := &layout.NvidiaMMA{
		VersionMajor: version, WarpsPerCTA: u.warps(d, shape), InstrShape: shape, CGA: d.Cluster(),
	}
	f := &dots.Form{Result: result, A: operandA(d, result), B: inShared(d.B(), 1), Make: makeDot}
	f.Slow = append(Reordered(d.A(), 0, f.A), Reordered(d.B(), 1, f.B)...)
	return f
}

// takes reports whether wgmma computes d.
func (u Unit) takes(d dots.Dot) bool {
	return has(d.Target) && !isMMASync(d) && Computes(d.DotOp, d.Shape(), d.Warps)
}

// Computes reports whether wgmma has instructions for a dot, of whose result so many
// warps of a CTA compute a part of that shape. The dot may have no layouts yet.
func Computes(d tt.DotOp, shape []int64, warps int) bool {
	if len(shape) != 2 || warps%groupWarps != 0 || shape[0]%groupRows != 0 || shape[1]%leastN != 0 {
		return false
	}
	a := tensors.Type(d.A())
	return multiplies(a.Elem, ir.ElemOf(d.B().Type()), ir.ElemOf(d.Result().Type())) &&
		a.Shape[1]*int64(ir.BitWidth(a.Elem)) >= kBits && precise(d)
}

// isMMASync reports whether d has the layouts of mma.sync already.
func isMMASync(d dots.Dot) bool {
	e, ok := encoding.Get(d.Result().Type()).(*layout.NvidiaMMA)
	return ok && e.VersionMajor != version
}

// multiplies reports whether wgmma has instructions for elements of A and B and of
// the result.
func multiplies(a, b, result ir.Type) bool {
	switch {
	case isNativeFP8(a) && isNativeFP8(b):
		return isFloat(result, ir.F32) || isFloat(result, ir.F16)
	case a != b:
		return false
	case isFloat(a, ir.F16):
		return isFloat(result, ir.F32) || isFloat(result, ir.F16)
	case isFloat(a, ir.BF16), isFloat(a, ir.F32):
		return isFloat(result, ir.F32)
	}
	return ir.IsInt(a, 8) && ir.IsInt(result, 32)
}

// precise reports whether wgmma is as precise as d asks for.
func precise(d tt.DotOp) bool {
	a, result := ir.ElemOf(d.A().Type()), ir.ElemOf(d.Result().Type())
	switch {
	case isFloat(a, ir.F32):
		return d.InputPrecision() == tt.PrecisionTF32
	case isNativeFP8(a) && isFloat(result, ir.F32):
		return d.MaxNumImpreciseAcc() >= leastImprecise
	}
	return true
}

func isFloat(t ir.Type, k ir.FloatKind) bool {
	f, ok := t.(*ir.FloatType)
	return ok && f.Kind == k
}

// isNativeFP8 reports whether t is an 8-bit float that tensor cores multiply.
func isNativeFP8(t ir.Type) bool { return isFloat(t, ir.F8E4M3FN) || isFloat(t, ir.F8E5M2) }

// Widen implements dots.MatrixUnit: wgmma takes all of its types as they are.
func (u Unit) Widen(d dots.Dot, elem ir.Type) ir.Type {
	if u.takes(d) {
		return elem
	}
	return u.Unit.Widen(d, elem)
}

// Made implements dots.MatrixUnit. Dots in tensor memory, which modules may have that
// others made, read their operands from shared memory as those of wgmma do.
func (Unit) Made(op *ir.Operation) (dots.Made, bool) {
	if ttng.Is(op, "warp_group_dot") {
		return dots.Made{Acc: ttng.AsWarpGroupDot(op).C(), RunsOn: true}, true
	}
	if m := ttng.AsMMA(op); m != nil {
		return dots.Made{Acc: m.D()}, true
	}
	return dots.Made{}, false
}

// makeDot makes a dot that is waited for at once; what runs on, the pipeliner
// decides.
func makeDot(b *ir.Builder, d dots.Dot, x, y, acc *ir.Value) *ir.Value {
	op := b.Create(ttng.Def("warp_group_dot"), ir.State{Operands: []*ir.Value{x, y, acc}, Types: []ir.Type{acc.Type()}})
	dot := ttng.AsWarpGroupDot(op)
	dot.SetInputPrecision(d.InputPrecision())
	dot.SetMaxNumImpreciseAcc(d.MaxNumImpreciseAcc())
	return dot.D()
}
