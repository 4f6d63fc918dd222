package ttir

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// wholeRowsAttr marks a store through a descriptor that is only executed where the rows
// of the tensor are as long as the copy unit wants.
const wholeRowsAttr = "tt.whole_rows"

// keepFromPartialRows has each store through desc, which the kernel makes, go through
// pointers where the tensor's rows are not a multiple of so many elements:
//
//	tt.descriptor_store %d[%i, %j], %x
//
// becomes
//
//	scf.if (%length rem %elements) == 0 { tt.descriptor_store %d[%i, %j], %x {tt.whole_rows} }
//	else                                { tt.store %pointers, %x, %mask }
func (d *descriptors) keepFromPartialRows(desc *ir.Value, elements int64) {
	made := tt.AsMakeTensorDesc(desc.Def())
	block := desc.Type().(*tt.TensorDescType).Block
	var stores []*ir.Operation
	for u := range desc.Users() {
		if u.Is(tt.DescriptorStore) && !u.HasAttr(wholeRowsAttr) {
			stores = append(stores, u)
		}
	}
	b, c := d.b, d.b.Context()
	for _, op := range stores {
		b.At(op)
		length := made.Shape()[len(made.Shape())-1]
		rest := arith.Binary(b, arith.RemSI, length, arith.Int(b, length.Type(), elements))
		whole := arith.Compare(b, arith.CmpI, arith.EQ, rest, arith.Int(b, length.Type(), 0))
		cond := scf.AsIf(scf.NewIf(b, whole, true))
		then := cond.ThenRegion().First()
		b.SetToEnd(then)
		yield := b.Op(scf.Yield, nil)
		op.MoveBefore(yield)
		b.SetToEnd(cond.ElseRegion().First())
		store := tt.AsDescriptorStore(op)
		parts := &descriptor{made.Base(), extend(b, made.Shape()), made.Strides(), arith.NewConstant(b, c.BoolAttr(false)), block}
		d.write(op, parts, d.indices(parts, store.Indices()), store.Src())
		b.Op(scf.Yield, nil)
		op.SetAttr(wholeRowsAttr, c.Unit())
	}
}
