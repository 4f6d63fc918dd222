package tma

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// Limits of the copy unit: of a tensor's dimensions, of the alignment in bytes of
// its base, its strides and the rows of a block.
const (
	maxRank   = 5
	alignment = 16
)

// Unit is TMA as a ttir.CopyUnit.
type Unit struct {
	// WGMMA says that wgmma computes the dots that it can. It reads its operands from
	// shared memory.
	WGMMA bool
}

// Name implements ttir.CopyUnit.
func (Unit) Name() string { return "tma" }

// Refuses implements ttir.CopyUnit. Triton takes alignment on trust, and the hardware
// calls a copy that lacks it an illegal instruction. Here a descriptor whose base,
// strides and places in its rows are not known to be aligned goes by pointers, which
// need none.
//
// Bases and strides that the kernel reads from memory are taken on trust here, too: no
// signature can tell their alignment, and make_tensor_descriptor asks for it. For lengths
// that it reads see WholeRows.
//
// Of a kernel's argument the host checks base and strides (driver.TensorMap), and that the
// elements of NaN padding are floats.
func (Unit) Refuses(desc *ir.Value, info *axisinfo.Result) string {
	block := desc.Type().(*tt.TensorDescType).Block
	rank := len(block.Shape)
	size, ok := elemBytes(block.Elem)
	switch {
	case !ok:
		return "TMA has no elements of that type"
	case rank < 1 || rank > maxRank:
		return fmt.Sprintf("its blocks have %s, and TMA takes up to %d", diag.Count(rank, "dimension"), maxRank)
	case block.Shape[rank-1]*size < alignment:
		return fmt.Sprintf("rows of its blocks have %s, and TMA wants at least %d", diag.Count(block.Shape[rank-1]*size, "byte"), alignment)
	}
	known := multiples{info}
	if made := desc.Def(); made != nil {
		if why := refusesMade(tt.AsMakeTensorDesc(made), size, known); why != "" {
			return why
		}
	}
	for u := range desc.Users() {
		if u.Is(tt.DescriptorReduce) && !reduces(u, block.Elem) {
			return "TMA has no such reduction"
		}
		place := indices(u)
		if !known.aligned(place[rank-1], size) {
			return fmt.Sprintf("a block's place in its row is not known to be a multiple of %d bytes", alignment)
		}
		if !u.Is(tt.DescriptorLoad) && slices.ContainsFunc(place, mayBeginBefore) {
			return "a store may begin before its tensor"
		}
	}
	return ""
}

// refusesMade says why TMA cannot copy through a descriptor that the kernel makes, for
// what it makes it of, or "".
func refusesMade(made tt.MakeTensorDescOp, size int64, known multiples) string {
	rank := len(made.Strides())
	if made.Padding() == tt.PadNaN && !ir.IsFloat(made.Result().Type().(*tt.TensorDescType).Block.Elem) {
		return "TMA pads integers with zeros only"
	}
	strides := made.Strides()
	if n, ok := arith.ConstantInt(strides[rank-1]); !ok || n != 1 {
		return "the stride of its last dimension is not the constant 1"
	}
	if !known.promised(made.Base(), 1) {
		return fmt.Sprintf("its base is not known to be a multiple of %d bytes", alignment)
	}
	for i, s := range strides[:rank-1] {
		if !known.promised(s, size) {
			return fmt.Sprintf("the stride of its dimension %d is not known to be a multiple of %d bytes", i, alignment)
		}
	}
	for u := range made.Result().Users() {
		if !u.Is(tt.DescriptorLoad) && !endsWithPiece(made, size, known) && (u.Is(tt.DescriptorReduce) || !isRead(lengthOf(made))) {
			return fmt.Sprintf("it is stored through, and its rows are not known to be a multiple of %d bytes", alignment)
		}
	}
	return ""
}

// WholeRows implements ttir.CopyUnit. A store writes whole pieces of 16 bytes, also past the
// end of a row that ends within one. Where the kernel reads the length of the rows from
// memory, it finds out when it stores.
func (Unit) WholeRows(desc *ir.Value, info *axisinfo.Result) int64 {
	if desc.Def() == nil {
		return 0
	}
	made := tt.AsMakeTensorDesc(desc.Def())
	size, _ := elemBytes(desc.Type().(*tt.TensorDescType).Block.Elem)
	for u := range desc.Users() {
		if u.Is(tt.DescriptorStore) && !endsWithPiece(made, size, multiples{info}) {
			return alignment / size
		}
	}
	return 0
}

// lengthOf is how many elements a row of the tensor has.
func lengthOf(made tt.MakeTensorDescOp) *ir.Value { return made.Shape()[len(made.Shape())-1] }

// endsWithPiece reports whether rows of the tensor are known to be whole pieces of 16
// bytes. They are where a row follows the other.
func endsWithPiece(made tt.MakeTensorDescOp, size int64, known multiples) bool {
	row, strides := lengthOf(made), made.Strides()
	dense := len(strides) > 1 && unextended(row) == unextended(strides[len(strides)-2])
	return dense || known.aligned(row, size)
}

// isRead reports whether v is what the kernel reads from memory.
func isRead(v *ir.Value) bool { return unextended(v).DefIs(tt.Load) }

// multiples tells which numbers of bytes are multiples of 16.
type multiples struct{ info *axisinfo.Result }

// aligned reports whether v times unit bytes is known to be one.
func (m multiples) aligned(v *ir.Value, unit int64) bool {
	return m.info.Of(v).Axes[0].Divisibility*unit%alignment == 0
}

// promised reports whether v times unit bytes is known to be one, or is computed from
// what the kernel reads from memory so that it is one if that is.
func (m multiples) promised(v *ir.Value, unit int64) bool {
	if m.aligned(v, unit) {
		return true
	}
	op := v.Def()
	if op == nil {
		return false
	}
	switch op.Def() {
	case tt.Load:
		return true
	case tt.IntToPtr, tt.Bitcast:
		return m.promised(tt.AsUnary(op).Src(), unit)
	case arith.ExtSI, arith.ExtUI, arith.TruncI:
		return m.promised(arith.AsCast(op).In(), unit)
	case tt.AddPtr:
		add := tt.AsAddPtr(op)
		size, ok := elemBytes(tt.PointeeOf(add.Ptr().Type()))
		return ok && m.promised(add.Ptr(), unit) && m.promised(add.Offset(), size)
	case arith.AddI, arith.SubI:
		sum := arith.AsBinary(op)
		return m.promised(sum.Lhs(), unit) && m.promised(sum.Rhs(), unit)
	case arith.MulI:
		product := arith.AsBinary(op)
		return m.promised(product.Lhs(), unit) || m.promised(product.Rhs(), unit)
	}
	return false
}

// unextended is what v was before it was made wider.
func unextended(v *ir.Value) *ir.Value {
	for v.DefIs(arith.ExtSI) {
		v = arith.AsExtSI(v.Def()).In()
	}
	return v
}

// indices are where the block begins that op copies, a dimension each.
func indices(op *ir.Operation) []*ir.Value {
	switch {
	case op.Is(tt.DescriptorLoad):
		return tt.AsDescriptorLoad(op).Indices()
	case op.Is(tt.DescriptorStore):
		return tt.AsDescriptorStore(op).Indices()
	}
	return tt.AsDescriptorReduce(op).Indices()
}

// elemBytes is the size of an element that TMA knows.
func elemBytes(t ir.Type) (int64, bool) {
	switch ir.BitWidth(t) {
	case 8, 16, 32, 64:
		return int64(ir.BitWidth(t)) / 8, true
	}
	return 0, false
}

// Reductions that TMA does, by the kind's keyword.
var (
	bitReductions   = []string{"and", "or", "xor"}
	orderReductions = []string{"min", "max"}
)

// reduces reports whether TMA does a reduction of such elements in memory.
func reduces(op *ir.Operation, elem ir.Type) bool {
	name := tt.DescriptorReduceKeyword(op)
	switch e := elem.(type) {
	case *ir.IntegerType:
		signed := e.Sign != ir.Unsigned
		switch {
		case e.Width < 32:
			return false
		case name == "add":
			return e.Width == 32 || !signed
		case slices.Contains(bitReductions, name):
			return e.Width == 32 // of 64 bits they are an illegal instruction
		default:
			return slices.Contains(orderReductions, name)
		}
	case *ir.FloatType:
		switch ir.BitWidth(e) {
		case 16:
			return name == "add" || slices.Contains(orderReductions, name)
		case 32:
			return name == "add"
		}
	}
	return false
}
