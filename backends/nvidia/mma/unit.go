package mma

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// Unit is mma.sync, which takes both operands from registers and gives tiles of
// 16×8: version 2 in the layout nvidia_mma.
type Unit struct{ dots.MultiplyAdd }

var _ dots.MatrixUnit = Unit{}

const version = 2

// leastCapability is the first compute capability with the instructions that we use.
const leastCapability = 80

// tile is the rows and columns of the result of one instruction.
var tile = [2]int{16, 8}

// targetPrefix is what the ttg.target of our GPUs begins with; the compute
// capability follows, as in cuda:90.
const targetPrefix = "cuda:"

// Capability is the compute capability of a target, such as 90.
func Capability(target string) (int, error) {
	if target == "" {
		return 0, errors.New("the module has no attribute ttg.target, which says for which GPU it is; convert-triton-to-tritongpu gives it one")
	}
	digits, ok := strings.CutPrefix(target, targetPrefix)
	cc, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return 0, fmt.Errorf("the module is for the target %q; NVIDIA's matrix instructions need %sNN, as %s90", target, targetPrefix, targetPrefix)
	}
	return cc, nil
}

// Check implements dots.MatrixUnit.
func (Unit) Check(target string) error {
	_, err := Capability(target)
	return err
}

// has is the compute capability of d's target, which Check took.
func has(d dots.Dot) int {
	cc, err := Capability(d.Target)
	if err != nil {
		panic("BUG: mma: " + err.Error())
	}
	return cc
}

// Form implements dots.MatrixUnit.
func (u Unit) Form(d dots.Dot) *dots.Form { return u.FormBeside(d, nil) }

// FormBeside is Form where another unit multiplies the dots of which apart holds.
func (Unit) FormBeside(d dots.Dot, apart func(dots.Dot) bool) *dots.Form {
	if !takes(d) {
		return nil
	}
	shape := make([]int, 0, 3)
	for range len(d.Shape()) - len(tile) {
		shape = append(shape, 1)
	}
	result := &layout.NvidiaMMA{
		VersionMajor: version, WarpsPerCTA: dots.SpreadWarps(d, tile, takes, apart),
		InstrShape: append(shape, tile[0], tile[1]), CGA: d.Cluster(),
	}
	// The operand that comes from the narrowest elements decides how many lie
	// side by side along K, so that what is loaded at once stays together.
	kWidth := max(32/min(dots.SourceBits(d.A()), dots.SourceBits(d.B())), 1)
	return &dots.Form{
		Result: result,
		A:      &layout.DotOp{OpIdx: 0, Parent: result, KWidth: kWidth},
		B:      &layout.DotOp{OpIdx: 1, Parent: result, KWidth: kWidth},
	}
}

// takes reports whether mma.sync multiplies d's operands, and is worth it.
func takes(d dots.Dot) bool {
	x, y, _ := d.Elems()
	cc := has(d)
	if cc < leastCapability {
		return false
	}
	if f32 := ir.Type(d.Op.Context().F32()); x == f32 && y == f32 {
		return d.InputPrecision() == tt.PrecisionTF32
	}
	return takesType(cc, x) && takesType(cc, y)
}

func takesType(cc int, t ir.Type) bool {
	switch t := t.(type) {
	case *ir.IntegerType:
		return t.Width == 8
	case *ir.FloatType:
		switch t.Kind {
		case ir.F16, ir.BF16, ir.F32:
			return true
		case ir.F64:
			// Elsewhere f64 is slower there than by multiply-adds.
			return cc == 80 || cc == 90
		}
		return dots.IsFloat8(t)
	}
	return false
}

// Widen makes 8-bit floats f16 where mma.sync lacks them. On compute capabilities 9.0 and
// 10.0 the form exists and runs at the rate of f16.
func (Unit) Widen(d dots.Dot, elem ir.Type) ir.Type {
	if cc := has(d); dots.IsFloat8(elem) && cc != 89 && cc != 120 {
		return d.Op.Context().F16()
	}
	return elem
}

// isOurs reports whether mma.sync reads the operand.
func isOurs(operand *layout.DotOp) bool {
	e, ok := operand.Parent.(*layout.NvidiaMMA)
	return ok && e.VersionMajor == version
}

// Transposes is true: ldmatrix does it.
func (Unit) Transposes(operand *layout.DotOp) bool { return isOurs(operand) }

// PartK is eight rows of lanes' registers, also where the operand is another unit's;
// that of a dot by multiply-adds has none.
func (Unit) PartK(operand *layout.DotOp) int64 { return 8 * int64(operand.KWidth) }
