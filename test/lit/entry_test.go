package lit

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// param says what a kernel takes in the place of a parameter: a scalar or memory.
type param struct {
	elem ir.Type // of the scalar, or of the elements in memory
	// shape of the memory; nil for a scalar.
	shape []int64
	// block of a tensor descriptor, else nil.
	block []int64
	// aligned says that a scalar has to be a multiple of 16.
	aligned bool
	// copied says that the kernel fills the memory with that of the parameter of, unchanged.
	copied bool
	of     int
}

// bufferSize is the number of elements of memory that a pointer of the function's own
// points to: nothing says how many it needs.
const bufferSize = 1 << 16

// arrivals is how many a phase of an mbarrier takes that a function does not make itself:
// more than it has.
const arrivals = 1 << 10

// notKernel is why a function cannot be a kernel.
type notKernel struct{ why string }

func (e notKernel) Error() string { return e.why }

// entry makes a kernel of one function of a module, and erases those that it does not
// call.
type entry struct {
	ctx    *ir.Context
	b      *ir.Builder
	warps  int
	ctas   int
	fn     *ir.Operation
	types  []ir.Type // of the kernel's parameters
	params []param
	loaded map[*ir.Value]int // tensors that are the memory of a parameter
}

func makeKernel(m, fn *ir.Operation) ([]param, error) {
	e := &entry{ctx: m.Context(), b: ir.NewBuilder(m.Context()), warps: 4, ctas: 1, fn: fn, loaded: map[*ir.Value]int{}}
	if n, ok := m.IntAttr("ttg.num-warps"); ok {
		e.warps = int(n)
	} else {
		m.SetAttr("ttg.num-warps", e.ctx.I32Attr(int64(e.warps)))
	}
	if n, ok := m.IntAttr("ttg.num-ctas"); ok {
		e.ctas = int(n)
	}
	body := tt.AsFunc(fn).Body()
	if body == nil || body.Empty() {
		return nil, notKernel{"it is a declaration"}
	}
	eraseOthers(m, fn)
	fn.SetAttr("sym_visibility", e.ctx.StringAttr("public"))
	fn.SetAttr("noinline", nil)
	unused := e.unused()
	if err := e.takeArguments(body.First()); err != nil {
		return nil, err
	}
	if err := e.storeReturned(); err != nil {
		return nil, err
	}
	for _, v := range unused {
		e.b.SetAfterValue(v)
		e.store(v)
	}
	fn.SetAttr("function_type", e.ctx.TypeAttr(e.ctx.Func(e.types, nil)))
	fn.SetAttr("res_attrs", nil)
	return e.params, nil
}

// eraseOthers erases the functions that fn does not reach by calls.
func eraseOthers(m, fn *ir.Operation) {
	kept := map[*ir.Operation]bool{}
	var keep func(f *ir.Operation)
	keep = func(f *ir.Operation) {
		if f == nil || kept[f] {
			return
		}
		kept[f] = true
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.Call) {
				keep(ir.LookUp(m, tt.AsCall(op).Callee()))
			}
			return ir.Advance
		})
	}
	keep(fn)
	var gone []*ir.Operation
	for op := range m.Body().Ops() {
		switch {
		case !op.Is(tt.Func):
		case !kept[op]:
			gone = append(gone, op)
		case op != fn:
			op.SetAttr("sym_visibility", m.Context().StringAttr("private"))
		}
	}
	for _, op := range gone {
		op.Erase()
	}
}

// takeArguments gives the values of the function's parameters, from the kernel's.
func (e *entry) takeArguments(block *ir.Block) error {
	olds := block.Args()
	n := len(olds)
	attrs, _ := e.fn.Attr("arg_attrs").(*ir.ArrayAttr)
	e.b.SetToStart(block)
	var newAttrs []ir.Attribute
	for i := range n {
		old := block.Arg(i)
		var given *ir.DictAttr
		if attrs != nil {
			given, _ = attrs.Elems[i].(*ir.DictAttr)
		}
		if !old.HasUses() {
			continue
		}
		v, err := e.argument(block, old, given)
		if err != nil {
			return err
		}
		old.ReplaceAllUsesWith(v)
		for len(newAttrs) < len(e.types) {
			newAttrs = append(newAttrs, e.ctx.DictAttr())
		}
		if v.Type() == old.Type() && given != nil && block.Arg(block.NumArgs()-1) == v {
			newAttrs[len(newAttrs)-1] = given
		}
	}
	for range n {
		block.EraseArg(0)
	}
	e.fn.SetAttr("arg_attrs", nil)
	if len(newAttrs) > 0 {
		e.fn.SetAttr("arg_attrs", e.ctx.ArrayAttr(newAttrs...))
	}
	return nil
}

// parameter adds a parameter to the kernel.
func (e *entry) parameter(block *ir.Block, t ir.Type, p param) *ir.Value {
	e.types, e.params = append(e.types, t), append(e.params, p)
	return block.AddArg(t, e.fn.Loc())
}

// argument is what stands for a parameter of the function.
func (e *entry) argument(block *ir.Block, old *ir.Value, attrs *ir.DictAttr) (*ir.Value, error) {
	switch t := old.Type().(type) {
	case *ir.IntegerType, *ir.FloatType, *ir.IndexType:
		aligned := false
		if attrs != nil {
			d, ok := attrs.Get("tt.divisibility").(*ir.IntegerAttr)
			aligned = ok && d.Value > 1
		}
		return e.parameter(block, t, param{elem: t, aligned: aligned}), nil
	case *tt.PtrType:
		if _, ok := t.Pointee.(*ir.TensorType); ok {
			return nil, notKernel{"it takes a block pointer"}
		}
		return e.parameter(block, t, param{elem: t.Pointee, shape: []int64{bufferSize}}), nil
	case *tt.TensorDescType:
		shape := t.Block.Shape
		v := e.parameter(block, t, param{elem: t.Block.Elem, shape: shape, block: shape})
		for _, extra := range []ir.Type{e.ctx.I32(), e.ctx.I64()} { // sizes and strides follow the map
			for range shape {
				e.types = append(e.types, extra)
				block.AddArg(extra, e.fn.Loc())
			}
		}
		return v, nil
	case *ir.TensorType:
		return e.load(block, t)
	case *ttg.MemDescType:
		return e.buffer(block, t)
	case *ttg.AsyncTokenType:
		return e.b.Op(ttg.AsyncCommitGroup, nil).OneResult(), nil
	}
	return nil, notKernel{fmt.Sprintf("it takes a value of %s", kindOf(old.Type()))}
}

// load is a tensor with values from memory of the kernel's. One of pointers points to
// the memory.
func (e *entry) load(block *ir.Block, t *ir.TensorType) (*ir.Value, error) {
	if t.Encoding == nil {
		return nil, notKernel{"it takes a tensor without a layout"}
	}
	elem, pointers := t.Elem, false
	if p, ok := elem.(*tt.PtrType); ok {
		elem, pointers = p.Pointee, true
	}
	stored := inMemory(e.ctx, elem)
	if pointers && stored != elem || stored == nil {
		return nil, notKernel{fmt.Sprintf("it takes a tensor of %s", kindOf(t.Elem))}
	}
	base := e.parameter(block, tt.Ptr(e.ctx, stored), param{elem: stored, shape: t.Shape})
	v := e.address(base, t)
	if pointers {
		return v, nil
	}
	v = tt.NewLoad(e.b, v, nil, nil, tt.Access{})
	e.loaded[v] = len(e.params) - 1
	if stored != elem { // booleans
		v = arith.Compare(e.b, arith.CmpI, arith.NE, v, arith.Int(e.b, v.Type(), 0))
	}
	return v, nil
}

// inMemory is the type of an element in memory, nil for one that memory does not have.
func inMemory(c *ir.Context, t ir.Type) ir.Type {
	switch t := t.(type) {
	case *ir.IntegerType:
		if t.Width == 1 {
			return c.I8()
		}
		return t
	case *ir.FloatType:
		return t
	}
	return nil
}

// address gives each element of a tensor of this type the address of its own in memory.
func (e *entry) address(base *ir.Value, t *ir.TensorType) *ir.Value {
	i32 := func(shape []int64, enc ir.Attribute) *ir.TensorType { return e.ctx.Tensor(shape, e.ctx.I32(), enc) }
	offsets := i32(t.Shape, t.Encoding)
	sum := arith.Int(e.b, offsets, 0)
	stride := int64(1)
	for d := len(t.Shape) - 1; d >= 0; d-- {
		enc := t.Encoding
		for k := len(t.Shape) - 1; k >= 0; k-- {
			if k != d {
				enc = encoding.Slice(e.ctx, enc, k)
			}
		}
		line := i32(t.Shape[d:d+1], enc)
		v := tt.NewMakeRange(e.b, line, 0, t.Shape[d])
		v = arith.Binary(e.b, arith.MulI, v, arith.Int(e.b, line, stride))
		for k := range t.Shape {
			if k != d {
				v = tt.NewExpandDims(e.b, v, k)
			}
		}
		if v.Type() != ir.Type(offsets) {
			v = tt.Unary(e.b, tt.Broadcast, v, offsets)
		}
		sum = arith.Binary(e.b, arith.AddI, sum, v)
		stride *= t.Shape[d]
	}
	ptrs := tt.Unary(e.b, tt.Splat, base, e.ctx.Tensor(t.Shape, base.Type(), t.Encoding))
	return tt.NewAddPtr(e.b, ptrs, sum)
}

// buffer is a buffer in shared memory, with values from memory of the kernel's; one that
// is a single integer of 64 bits is an mbarrier.
func (e *entry) buffer(block *ir.Block, t *ttg.MemDescType) (*ir.Value, error) {
	if _, ok := t.Space.(*ttg.SharedMemoryAttr); !ok {
		return nil, notKernel{"it takes a buffer in tensor memory"}
	}
	if e.ctas > 1 {
		return nil, notKernel{"it takes a buffer of a cluster"}
	}
	if len(t.Shape) == 1 && t.Shape[0] == 1 && t.Elem == ir.Type(e.ctx.I64()) {
		mutable := *t
		mutable.Mutable = true
		v := e.b.Op(ttg.LocalAlloc, nil, ttg.MemDesc(e.ctx, mutable)).OneResult()
		e.b.Create(e.ctx.OpDef("ttng.init_barrier"), ir.State{
			Operands: []*ir.Value{v}, Attrs: []ir.NamedAttr{{Name: "count", Attr: e.ctx.I32Attr(arrivals)}},
		})
		return v, nil
	}
	array, whole := *t, *t
	array.Shape, array.AllocShape = t.AllocShape, nil
	whole.Shape, whole.AllocShape = t.AllocShape[len(t.AllocShape)-len(t.Shape):], nil
	if slices.ContainsFunc(whole.Shape, func(n int64) bool { return n&(n-1) != 0 }) {
		return nil, notKernel{"it takes an array of buffers"}
	}
	src, err := e.load(block, e.ctx.Tensor(whole.Shape, t.Elem, encoding.Of(e.ctx, spread(whole.Shape, e.warps))))
	if err != nil {
		return nil, err
	}
	var v *ir.Value
	if len(array.Shape) == len(whole.Shape) {
		v = e.b.Op(ttg.LocalAlloc, []*ir.Value{src}, ttg.MemDesc(e.ctx, whole)).OneResult()
	} else { // a buffer of an array
		array.Mutable, whole.Mutable = true, true
		v = e.b.Op(ttg.LocalAlloc, nil, ttg.MemDesc(e.ctx, array)).OneResult()
		v = e.b.Op(ttg.MemDescIndex, []*ir.Value{v, arith.Int(e.b, e.ctx.I32(), 0)}, ttg.MemDesc(e.ctx, whole)).OneResult()
		e.b.Op(ttg.LocalStore, []*ir.Value{src, v})
	}
	if !slices.Equal(whole.Shape, t.Shape) {
		part := whole
		part.Shape, part.AllocShape = t.Shape, whole.Shape
		v = e.b.Create(ttg.MemDescSubslice, ir.State{
			Operands: []*ir.Value{v}, Types: []ir.Type{ttg.MemDesc(e.ctx, part)},
			Attrs: []ir.NamedAttr{{Name: "offsets", Attr: e.ctx.I32Array(make([]int64, len(t.Shape))...)}},
		}).OneResult()
	}
	return v, nil
}

// spread is a layout that any shape can have.
func spread(shape []int64, warps int) layout.Encoding {
	rank := len(shape)
	b := &layout.Blocked{}
	lanes := int64(32)
	for d := rank - 1; d >= 0; d-- {
		b.Order = append(b.Order, d)
	}
	for range rank {
		b.SizePerThread, b.WarpsPerCTA, b.ThreadsPerWarp = append(b.SizePerThread, 1), append(b.WarpsPerCTA, 1), append(b.ThreadsPerWarp, 1)
	}
	for d := rank - 1; d >= 0; d-- {
		n := min(lanes, shape[d])
		if d == 0 {
			n = lanes
		}
		b.ThreadsPerWarp[d] = int(n)
		lanes /= n
	}
	b.WarpsPerCTA[0] = warps
	return b
}

// storeReturned stores what the function returns.
func (e *entry) storeReturned() error {
	var returns []*ir.Operation
	ir.Walk(e.fn, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.Return) {
			returns = append(returns, op)
		}
		return ir.Advance
	})
	if len(returns) > 1 && returns[0].NumOperands() > 0 {
		return notKernel{"it returns values in several places"}
	}
	for _, r := range returns {
		e.b.SetBefore(r)
		for _, v := range r.OperandValues() {
			e.store(v)
		}
		r.SetOperands(nil)
	}
	return nil
}

// unused are values that nothing uses, where the kernel's parameters can be named.
func (e *entry) unused() []*ir.Value {
	var list []*ir.Value
	ir.Walk(e.fn, func(op *ir.Operation) ir.WalkResult {
		if op != e.fn && op.NumRegions() > 0 && op.Def().Dialect() != scf.Dialect.Name {
			return ir.Skip
		}
		for _, v := range op.Results() {
			if !v.HasUses() {
				list = append(list, v)
			}
		}
		return ir.Advance
	})
	return list
}

// store stores a value to memory of the kernel's, if memory can hold it.
func (e *entry) store(v *ir.Value) {
	if v.Def() != nil && v.Def().Name() == "ttng.warp_group_dot" { // it may still be computed
		v = e.b.Create(e.ctx.OpDef("ttng.warp_group_dot_wait"), ir.State{
			Operands: []*ir.Value{v}, Types: []ir.Type{v.Type()}, Attrs: []ir.NamedAttr{{Name: "pendings", Attr: e.ctx.I32Attr(0)}},
		}).OneResult()
	}
	block := tt.AsFunc(e.fn).Body().First()
	elem, pointers := ir.ElemOf(v.Type()), false
	if p, ok := elem.(*tt.PtrType); ok && !tt.IsBlockPtr(v.Type()) {
		_, pointers = p, true
		elem = e.ctx.I64()
	}
	of, copied := e.loaded[origin(v)]
	stored := inMemory(e.ctx, elem)
	t, tensor := v.Type().(*ir.TensorType)
	if stored == nil || tensor && t.Encoding == nil {
		return
	}
	like := func(elem ir.Type) ir.Type {
		if tensor {
			return e.ctx.Tensor(t.Shape, elem, t.Encoding)
		}
		return elem
	}
	if pointers {
		v = tt.Unary(e.b, tt.PtrToInt, v, like(elem))
	} else if stored != elem {
		v = arith.Cast(e.b, arith.ExtUI, v, like(stored))
	}
	p := param{elem: stored, shape: []int64{1}, copied: copied, of: of}
	if tensor {
		p.shape = t.Shape
	}
	to := e.parameter(block, tt.Ptr(e.ctx, stored), p)
	if tensor {
		to = e.address(to, t)
	}
	tt.NewStore(e.b, to, v, nil, tt.Access{})
}

// origin is the tensor that v is in another layout, as conversions and buffers that are
// filled once leave it.
func origin(v *ir.Value) *ir.Value {
	for def := v.Def(); def != nil; def = v.Def() {
		switch {
		case def.Is(ttg.ConvertLayout):
			v = ttg.AsConvertLayout(def).Src()
			continue
		case def.Is(ttg.LocalLoad):
			alloc := ttg.AsLocalLoad(def).Src().Def()
			if alloc == nil || !alloc.Is(ttg.LocalAlloc) || ttg.AsLocalAlloc(alloc).Src() == nil {
				return v
			}
			for u := range alloc.OneResult().Users() {
				if !u.Is(ttg.LocalLoad) && !u.Is(ttg.LocalDealloc) {
					return v
				}
			}
			v = ttg.AsLocalAlloc(alloc).Src()
			continue
		}
		return v
	}
	return v
}

// kindOf names a type without its details.
func kindOf(t ir.Type) string {
	switch t := t.(type) {
	case *tt.PtrType:
		return "pointers"
	case *ir.OpaqueType:
		return "a type of " + t.Dialect
	}
	return fmt.Sprintf("%s's %T", t.TypeDialect(), t)
}
