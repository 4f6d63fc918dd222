package adapter

import (
	gomath "math"
	"slices"

	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// TritonToLinalg makes functions of linalg of the kernels of a module.
var TritonToLinalg = &pass.Pass{
	Name:    "triton-to-linalg",
	Doc:     "copy memory in blocks and compute with linalg, in place of tensors of pointers",
	Example: toLinalgExample,
	Before:  facts.SimpleTTIR,
	Breaks:  []*pass.Fact{facts.Dimensions},
	Run: func(r *pass.Run) error {
		for op := range r.Module.Body().Ops() {
			if !op.Is(tt.Func) {
				continue
			}
			if err := convertFunction(r, op); err != nil {
				return err
			}
			op.Erase()
		}
		return nil
	},
}

// converter makes a function of another.
type converter struct {
	*ir.Builder
	run *pass.Run
	a   *analysis
	// values are the new ones of the old. That of a pointer without a form is its
	// offset from the root: a tensor of i64.
	values map[*ir.Value]*ir.Value
	// bases are the bases of carried values with a form, of type index.
	bases map[*ir.Value]*ir.Value
	// pairs are the atomic maxima and minima of floats.
	pairs map[*ir.Operation]*extreme
	// sizes of the grid, and where in it the program is.
	sizes, ids []*ir.Value
}

// refusal is what a converter stops with where an operation has no meaning on an NPU.
type refusal struct{ d *diag.Diagnostic }

func (c *converter) refuse(op *ir.Operation, help, format string, args ...any) {
	d := c.run.Errorf(op, format, args...)
	if help != "" {
		d.WithHelp("%s", help)
	}
	panic(refusal{d})
}

// gridArguments are those that follow the kernel's own: three sizes, three ids.
const gridArguments = 6

func convertFunction(r *pass.Run, old *ir.Operation) (err error) {
	b := ir.NewBuilder(r.Module.Context())
	c := &converter{Builder: b, run: r, values: make(map[*ir.Value]*ir.Value), bases: make(map[*ir.Value]*ir.Value)}
	defer func() {
		if p := recover(); p != nil {
			refused, ok := p.(refusal)
			if !ok {
				panic(p)
			}
			err = refused.d
		}
	}()
	body := tt.AsFunc(old).Body()
	if body.First() == nil || body.First() != body.Last() {
		c.refuse(old, "a return in a condition makes such", "a function of several blocks has no form for NPUs yet")
	}
	c.a = analyze(old)
	c.pairs = extremes(old)
	c.function(old)
	return nil
}

func (c *converter) function(old *ir.Operation) {
	ctx := c.Context()
	entry := old.Body()
	var in []ir.Type
	for _, v := range entry.Args() {
		t := v.Type()
		if _, tensor := t.(*ir.TensorType); tensor && tt.PtrLike.Test(t) {
			c.refuse(old, "a kernel takes scalars and pointers", "an argument that is a tensor of pointers has no form for NPUs yet")
		}
		if p, ok := t.(*tt.PtrType); ok {
			if _, scalar := p.Pointee.(*tt.PtrType); scalar {
				c.refuse(old, "", "a pointer to pointers has no meaning on an NPU")
			}
			t = (&linalg.MemRef{Shape: []int64{linalg.Dynamic}, Elem: c.elementType(old, v, p.Pointee)}).Type(ctx)
		}
		in = append(in, t)
	}
	for range gridArguments {
		in = append(in, ctx.I32())
	}
	c.At(old)
	f := tt.AsFunc(old)
	attrs := []ir.NamedAttr{
		{Name: "sym_name", Attr: ctx.StringAttr(f.SymName())},
		{Name: "function_type", Attr: ctx.TypeAttr(ctx.Func(in, nil))},
	}
	if args, ok := f.ArgAttrs().(*ir.ArrayAttr); ok {
		all := slices.Clone(args.Elems)
		for range gridArguments {
			all = append(all, ctx.DictAttr())
		}
		attrs = append(attrs, ir.NamedAttr{Name: "arg_attrs", Attr: ctx.ArrayAttr(all...)})
	}
	made := c.Create(linalg.Func, ir.State{Attrs: attrs, Regions: 1})
	block := linalg.AsFunc(made).Body().AddBlock()
	for i, t := range in {
		loc := old.Loc()
		if i < entry.NumArgs() {
			loc = entry.Arg(i).Loc()
		}
		v := block.AddArg(t, loc)
		if i < entry.NumArgs() {
			c.values[entry.Arg(i)] = v
		}
	}
	grid := block.Args()[entry.NumArgs():]
	c.sizes, c.ids = grid[:gridArguments/2], grid[gridArguments/2:]
	c.SetToEnd(block)
	c.block(entry)
	clean(made)
}

// elementType is the type that the elements of a root have in memory: that of the kernel's
// pointer, but an integer where it is accessed by what only integers have. A bool takes a
// byte, and kernels access it as one.
func (c *converter) elementType(f *ir.Operation, root *ir.Value, pointee ir.Type) ir.Type {
	if ir.IsInt(pointee, 1) {
		return c.Context().I8()
	}
	if !ir.IsFloat(pointee) {
		return pointee
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if (op.Is(tt.AtomicCAS) || op.Is(tt.AtomicRMW) && c.pairs[op] == nil && !ir.IsFloat(ir.ElemOf(op.OneResult().Type()))) && c.a.rootOf(accessed(op)) == root {
			pointee = c.Context().Int(ir.BitWidth(pointee))
			return ir.Stop
		}
		return ir.Advance
	})
	return pointee
}

// clean takes away what has no use.
func clean(f *ir.Operation) {
	var ops []*ir.Operation
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		ops = append(ops, op)
		return ir.Advance
	})
	for _, op := range slices.Backward(ops) {
		if op != f && op.NumRegions() == 0 && ir.IsPure(op) && !op.HasUses() {
			op.Erase()
		} else if op.Is(linalg.Generic) && !op.HasUses() && op.NumResults() > 0 && ir.IsPure(op) {
			op.Erase()
		}
	}
}

// block converts the operations of a block where the builder is.
func (c *converter) block(old *ir.Block) {
	for op := range old.Ops() {
		c.Loc = op.Loc()
		c.operation(op)
	}
}

// value is the new value of an old one.
func (c *converter) value(v *ir.Value) *ir.Value {
	n, ok := c.values[v]
	if !ok {
		panic("BUG: npu/adapter: a value was not converted")
	}
	return n
}

// set gives the one result of an operation its new value.
func (c *converter) set(op *ir.Operation, v *ir.Value) { c.values[op.OneResult()] = v }

func (c *converter) operation(op *ir.Operation) {
	if op.NumResults() == 1 && tt.PtrLike.Test(op.OneResult().Type()) && c.pointer(op) {
		return
	}
	switch op.Def() {
	case tt.Return:
		if op.NumOperands() > 0 {
			c.refuse(op, "", "a function with results has no form for NPUs yet")
		}
		c.Op(linalg.Return, nil)
	case tt.GetProgramID:
		c.set(op, c.ids[tt.AsGetProgramID(op).Axis()])
	case tt.GetNumPrograms:
		c.set(op, c.sizes[tt.AsGetNumPrograms(op).Axis()])
	case tt.Load:
		c.load(op)
	case tt.Store:
		c.store(op)
	case tt.AtomicRMW:
		c.atomicRMW(op)
	case tt.AtomicCAS:
		c.atomicCAS(op)
	case tt.Dot:
		c.dot(op)
	case tt.DotScaled:
		c.dotScaled(op)
	case tt.ExternElementwise:
		c.libraryCall(op)
	case tt.Reduce:
		c.reduce(op)
	case tt.Scan:
		c.scan(op)
	case tt.MapElementwise:
		c.mapElementwise(op)
	case tt.Splat, tt.Unsplat, tt.MakeRange, tt.ExpandDims, tt.Broadcast, tt.Trans, tt.Reshape, tt.Cat, tt.Join, tt.Split, tt.Gather, tt.Histogram:
		c.shape(op)
	case tt.FpToFp, tt.Bitcast, tt.PreciseSqrt, tt.PreciseDivf, tt.Clampf, tt.Mulhiui:
		c.elementwise(op)
	case tt.Assert:
		c.assert(op)
	case gpu.Barrier, llvm.Assume: // a program has one thread, and nothing uses what is assumed
	case linalg.ExtractSlice, linalg.InsertSlice:
		c.slice(op)
	case hivm.SyncBlock:
		c.sync(op)
	case scf.For:
		c.loop(op)
	case scf.If:
		c.conditional(op)
	case scf.While:
		c.while(op)
	default:
		c.same(op)
	}
}

// nextStep is what a user can do in place of an operation that has no meaning on an NPU.
var nextStep = map[string]string{
	"tt.elementwise_inline_asm": "inline assembly is that of a GPU; functions of tl, or of triton.language.extra.cann.libdevice, may do",
	"tt.print":                  "store what is to be seen, or print what is known at compile time with tl.static_print",
	"tt.map_elementwise":        "write the function on whole tensors",
	"tt.extern_elementwise":     "an NPU has the functions of triton.language.extra.cann.libdevice",
}

// same repeats an operation of arith, math, tensor or ub.
func (c *converter) same(op *ir.Operation) {
	switch op.Def().Dialect() {
	case "arith", "math", "tensor", "ub":
	default:
		c.refuse(op, nextStep[op.Name()], "%s has no form for NPUs", op.Name())
	}
	operands := make([]*ir.Value, op.NumOperands())
	types := make([]ir.Type, op.NumResults())
	for i, v := range op.Operands() {
		operands[i] = c.value(v)
	}
	for i, v := range op.Results() {
		types[i] = v.Type()
	}
	n := c.Create(op.Def(), ir.State{Operands: operands, Types: types, Attrs: op.Attrs(), Segments: slices.Clone(op.Segments())})
	for i, v := range op.Results() {
		c.values[v] = n.Result(i)
	}
}

// elementwise converts operations that arith and math have under other names.
func (c *converter) elementwise(op *ir.Operation) {
	t := op.OneResult().Type()
	var in []*ir.Value
	for _, v := range op.Operands() {
		in = append(in, c.value(v))
	}
	switch op.Def() {
	case tt.Bitcast:
		c.set(op, arith.Cast(c.Builder, arith.Bitcast, in[0], t))
	case tt.PreciseSqrt:
		c.set(op, c.Op(math.Sqrt, in).OneResult())
	case tt.PreciseDivf:
		c.set(op, arith.Binary(c.Builder, arith.DivF, in[0], in[1]))
	case tt.Mulhiui:
		c.set(op, arith.AsMulUIExtended(c.Op(arith.MulUIExtended, in)).High())
	case tt.Clampf:
		above, below := arith.MaxNumF, arith.MinNumF
		if tt.AsClampf(op).PropagateNan() == tt.PropagateAll {
			above, below = arith.MaximumF, arith.MinimumF
		}
		c.set(op, arith.Binary(c.Builder, below, arith.Binary(c.Builder, above, in[0], in[1]), in[2]))
	case tt.FpToFp:
		made := c.convertFloat(in[0], t)
		if rounding, ok := tt.AsFpToFp(op).Rounding(); ok && rounding == tt.RoundTowardZero {
			made = c.towardZero(in[0], made)
		}
		c.set(op, made)
	}
}

// convertFloat converts between floating point formats. What is too large for one of 8 bits
// becomes its greatest number, as it does on GPUs; arith.truncf makes it infinite or NaN.
func (c *converter) convertFloat(x *ir.Value, t ir.Type) *ir.Value {
	from, to := ir.BitWidth(ir.ElemOf(x.Type())), ir.BitWidth(ir.ElemOf(t))
	if from == to {
		x = arith.Cast(c.Builder, arith.ExtF, x, c.Context().WithElem(t, c.Context().F32()))
		from = ir.BitWidth(c.Context().F32())
	}
	if to == 8 && from > to {
		x = c.saturated(x, ir.ElemOf(t).(*ir.FloatType))
	}
	if from < to {
		return arith.Cast(c.Builder, arith.ExtF, x, t)
	}
	return arith.Cast(c.Builder, arith.TruncF, x, t)
}

// saturated is x within the finite numbers of a type; a NaN stays one.
func (c *converter) saturated(x *ir.Value, t *ir.FloatType) *ir.Value {
	most := 0.0
	for bits := range uint64(1 << 7) {
		if v := ir.BitsToFloat(t.Kind, bits); !gomath.IsInf(v, 0) && !gomath.IsNaN(v) {
			most = max(most, v)
		}
	}
	x = arith.Binary(c.Builder, arith.MinimumF, x, arith.Float(c.Builder, x.Type(), most))
	return arith.Binary(c.Builder, arith.MaximumF, x, arith.Float(c.Builder, x.Type(), -most))
}

// towardZero is what x converted to near, the nearest, is rounded toward zero: where that is
// farther from zero, the float before it, whose bits are one less.
func (c *converter) towardZero(x, near *ir.Value) *ir.Value {
	ctx := c.Context()
	bits := ctx.WithElem(near.Type(), ctx.Int(ir.BitWidth(ir.ElemOf(near.Type()))))
	size := func(v *ir.Value) *ir.Value { return math.Unary(c.Builder, math.AbsF, v) }
	farther := arith.Compare(c.Builder, arith.CmpF, arith.OGT, size(c.convertFloat(near, x.Type())), size(x))
	same := arith.Cast(c.Builder, arith.Bitcast, near, bits)
	before := arith.Binary(c.Builder, arith.SubI, same, arith.Int(c.Builder, bits, 1))
	return arith.Cast(c.Builder, arith.Bitcast, arith.NewSelect(c.Builder, farther, before, same), near.Type())
}

// assert holds of a tensor if it holds of all elements.
func (c *converter) assert(op *ir.Operation) {
	v := tt.AsAssert(op)
	holds := c.value(v.Condition())
	if _, tensor := holds.Type().(*ir.TensorType); tensor {
		holds = linalg.NewReshape(c.Builder, holds, []int64{holds.Type().(*ir.TensorType).NumElements()})
		all := linalg.NewSplat(c.Builder, arith.Int(c.Builder, c.Context().I1(), -1), nil)
		reduced, body := linalg.NewReduce(c.Builder, []*ir.Value{holds}, []*ir.Value{all}, 0)
		p := c.Save()
		c.SetToEnd(body)
		c.Op(linalg.Yield, []*ir.Value{arith.Binary(c.Builder, arith.AndI, body.Arg(0), body.Arg(1))})
		c.Restore(p)
		holds = c.extract(reduced.OneResult(), nil)
	}
	c.Create(cf.Assert, ir.State{Operands: []*ir.Value{holds}, Attrs: []ir.NamedAttr{{Name: "msg", Attr: c.Context().StringAttr(v.Message())}}})
}

// dot is a matmul, or one for each matrix of a list. It is that of its operands' type for
// each input_precision: no f32 is rounded before.
func (c *converter) dot(op *ir.Operation) {
	v := tt.AsDot(op)
	c.set(op, c.matmul(c.value(v.A()), c.value(v.B()), c.value(v.C())).OneResult())
}

func (c *converter) matmul(a, b, sum *ir.Value) *ir.Operation {
	d := linalg.Matmul
	if len(ir.ShapeOf(sum.Type())) == 3 {
		d = linalg.BatchMatmul
	}
	return linalg.NewStructured(c.Builder, d, []*ir.Value{a, b}, []*ir.Value{sum})
}
