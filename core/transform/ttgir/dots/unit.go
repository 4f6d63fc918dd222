package dots

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// MatrixUnit is a target's unit that multiplies tiles, as passes see it. A unit may
// have several kinds of instructions and choose among them for each dot. Embedding
// MultiplyAdd gives the methods that a unit does not need.
//
// A unit holds no state: the same questions get the same answers, whatever was
// compiled before, and several compiles ask at the same time.
type MatrixUnit interface {
	// Check says why the unit cannot tell what it computes for a target, or returns
	// nil. The target is the module's ttg.target, such as "hip:gfx942"; "" if the
	// module has none. The error is the user's: it names what is wrong with the
	// module. Called by accelerate-matmul before anything else.
	Check(target string) error

	// Form is how the unit computes a dot; nil if it lacks an instruction for the
	// dot's types, precision, or number of warps, or if multiply-adds in each thread
	// are faster. Called by accelerate-matmul once for each dot that has no layout of
	// a matrix unit yet, in the order of the program; dots before it have theirs.
	Form(d Dot) *Form

	// Widen is the type to which elements of a dot's operands are converted
	// before the unit multiplies them: elem itself if it takes them as they are.
	// Every value of elem must be one of the wider type. Operands in registers are
	// converted when they have the unit's layout, others before they go to shared
	// memory. Called by accelerate-matmul for each dot with a layout of the unit.
	Widen(d Dot, elem ir.Type) ir.Type

	// Buffer is the layout of a buffer in shared memory from which threads read an
	// operand to registers without conflicts of banks. Its dimensions are in memory
	// in b.Order. Called wherever a value on its way to that operand gets a buffer.
	// Operand's parent may be any encoding; if the unit did not make it, the answer
	// is Plain(b.Order).
	Buffer(operand *layout.DotOp, b Buffer) layout.Shared

	// Transposes reports whether an operand is as quickly read from a buffer that
	// holds its transpose. If so, optimize-dot-operands replaces a tt.trans before
	// the dot by such a buffer.
	Transposes(operand *layout.DotOp) bool

	// PartK is the number of elements along K of the least part of a dot with such
	// an operand, the K of one instruction; 0 if the dot cannot be cut along K, as
	// where the unit does not read the operand from registers. Called by
	// prefetch, which reads a part ahead.
	PartK(operand *layout.DotOp) int64

	// Made describes an operation that a Form's Make made to multiply; false for
	// all other operations, tt.dot among them.
	Made(op *ir.Operation) (Made, bool)
}

// Form is how a unit computes one dot.
type Form struct {
	// Result is the layout of the result and of the accumulator in registers, a
	// layout.Accumulator. A unit that accumulates elsewhere chooses how the result is
	// read from there, and Make moves both.
	Result layout.Encoding
	// Elem is the type of their elements; nil for that of the dot. Accumulator and
	// result are converted from and to the dot's.
	Elem ir.Type
	// A and B are the layouts of the operands: a *layout.DotOp with the parent Result
	// if the unit reads registers, a layout.Shared if it reads shared memory. CTAs may
	// have other parts of a buffer than of the operand if that is loaded in a blocked
	// layout: it is then loaded in the parts of the buffer.
	A, B layout.Encoding
	// Make makes the dot at the builder's point. x and y are tensors or buffers
	// (!ttg.memdesc) in the layouts A and B, widened as Widen says, acc is the
	// accumulator; it returns a value of acc's type. Nil for a tt.dot with the
	// attributes of d, which core/lower computes by lower.MatrixUnit. tt.dot takes
	// tensors only, so a Form with an operand in shared memory must have it.
	Make func(b *ir.Builder, d Dot, x, y, acc *ir.Value) *ir.Value
	// OneByOne has an operand in registers widened as soon as it has its layout, instead
	// of after both have theirs.
	OneByOne bool
	// Slow says what of the program makes the dot slower than it could be, for a warning
	// each.
	Slow []string
}

// Explainer is a MatrixUnit that says why it lacks an instruction for a dot.
type Explainer interface {
	MatrixUnit

	// Explain returns a remark on each thing that keeps the unit from computing a dot as
	// it is: types that are widened, or that there is no Form. Called by
	// accelerate-matmul before Form.
	Explain(d Dot) []string
}

// Adder is a MatrixUnit of a target whose multiply-adds take operands that are narrower
// than what they are added to.
type Adder interface {
	MatrixUnit

	// AddsNarrow reports whether the operands of a dot without a layout of the unit stay
	// as they are. Called by accelerate-matmul for each such dot.
	AddsNarrow(d Dot) bool
}

// ScaledUnit is a MatrixUnit that multiplies block-scaled operands.
type ScaledUnit interface {
	MatrixUnit

	// FormScaled is how the unit computes a scaled dot; nil if it lacks an instruction
	// for it. The dot then becomes one of wider operands. Called by accelerate-matmul
	// once for each scaled dot, in the order of the program, before dots get their Form.
	FormScaled(d Scaled) *ScaledForm
}

// ScaledForm is how a unit computes one scaled dot. Result, A, B and Slow are as in a
// Form; A and B may be nil, of operands that Make gets as they are.
type ScaledForm struct {
	Result, A, B layout.Encoding
	Slow         []string
	// Make makes the dot at the builder's point, of operands in the layouts A and B and
	// an accumulator, whose type its result has. It brings the scales where the unit
	// reads them.
	Make func(b *ir.Builder, x, y, acc *ir.Value) *ir.Value
}

// Buffer describes the buffer that a MatrixUnit chooses a layout for.
type Buffer struct {
	Shape []int64 // of the buffer
	Order []int   // its dimensions, fastest in memory first
	Bits  int     // of one element
	// Transposed says that the operand is the buffer transposed.
	Transposed bool
}

// Made describes a dot that is not a tt.dot.
type Made struct {
	// Acc is the accumulator, an operand of the operation.
	Acc *ir.Value
	// RunsOn says that the operation may still read its operands in shared memory
	// when the next iteration of its loop begins. The pipeliner then has one buffer
	// more, so that a copy which starts in an iteration overwrites what the iteration
	// before the last has multiplied.
	RunsOn bool
}

// Plain is the layout of a buffer whose elements follow one another in that order of
// dimensions, fastest first.
func Plain(order []int) layout.Shared {
	return &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: order}
}
