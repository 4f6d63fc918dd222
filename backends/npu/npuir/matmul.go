package npuir

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// onlyMatmuls reports whether matmuls alone read a tensor, as it is or transposed.
func onlyMatmuls(v *ir.Value) bool {
	for use := range v.Uses() {
		user := use.Owner()
		switch {
		case user.Is(linalg.Matmul) && use.Index() < 2, user.Is(linalg.BatchMatmul) && use.Index() < 2:
		case user.Is(linalg.Transpose) && use.Index() == 0 && onlyMatmuls(user.OneResult()):
		default:
			return false
		}
	}
	return v.HasUses()
}

// cubeElem reports whether the cube unit multiplies elements of a type.
func cubeElem(t ir.Type) bool {
	switch t := t.(type) {
	case *ir.FloatType:
		return t.Kind == ir.F16 || t.Kind == ir.BF16 || t.Kind == ir.F32
	case *ir.IntegerType:
		return t.Width == 8
	}
	return false
}

// cubeBuffers are the memref.alloc of a function that can be in l1: copied from global
// memory, and read by matmuls alone.
func cubeBuffers(f *ir.Operation) map[*ir.Value]bool {
	found := make(map[*ir.Value]bool)
	var toL1 func(v *ir.Value) bool
	toL1 = func(v *ir.Value) bool {
		for use := range v.Uses() {
			user := use.Owner()
			ok := false
			switch user.Def() {
			case linalg.SubView:
				ok = toL1(user.OneResult())
			case linalg.Copy:
				ok = use.Index() == 1
			case linalg.Fill:
				ok = true
			case linalg.ToTensor:
				ok = onlyMatmuls(user.OneResult())
			}
			if !ok {
				return false
			}
		}
		return true
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(linalg.Alloc) {
			v := op.OneResult()
			if cubeElem(linalg.MemRefOf(op.Context(), v.Type()).Elem) && toL1(v) {
				found[v] = true
			}
		}
		return ir.Advance
	})
	return found
}

// in reports whether a view is in a space.
func (l *lowering) in(v *view, s Space) bool {
	if v == nil {
		return false
	}
	is, _ := SpaceOf(l.Context(), v.base.Type())
	return is == s
}

// storedOnly reports whether a tensor is only written to global memory, whole or in part,
// and rounded at most: as transfers from l0c write it.
func storedOnly(v *ir.Value) bool {
	for use := range v.Uses() {
		user := use.Owner()
		switch user.Def() {
		case linalg.Materialize:
		case linalg.ExtractSlice, arith.TruncF:
			if !storedOnly(user.OneResult()) {
				return false
			}
		default:
			return false
		}
	}
	return v.HasUses()
}

// accumulates reports whether value i that a loop carries is a matrix that one matmul of
// its body adds to, from zero on, and that l0c can hold.
func (l *lowering) accumulates(loop *ir.Operation, i int) bool {
	arg, init := scf.IterArg(loop, i), scf.Inits(loop)[i]
	if !isTensor(arg) || !arg.HasOneUse() {
		return false
	}
	user := arg.OnlyUser()
	if !user.Is(linalg.Matmul) || user.Block() != loop.Body() || linalg.AsMatmul(user).OutputsAt(0) != arg {
		return false
	}
	result := user.OneResult()
	end := loop.Body().Terminator()
	o := l.values[init]
	return result.HasOneUse() && result.OnlyUser() == end && end.Operand(i) == result &&
		o.view == nil && o.scalar != nil && arith.IsZero(o.scalar) && l.fitsL0C(loop, arg.Type(), l.others(loop, user)) && ir.ElemOf(arg.Type()) == l.sums(user)
}

// tileL0C is the least part of l0c that is left for the tiles of matmuls beside the matrices
// that stay there: a quarter.
func (l *lowering) tileL0C() int64 { return int64(l.run.Int(string(L0C))) / 4 }

// others is how much of l0c the matmuls of a loop need that are not one of its own.
func (l *lowering) others(loop, own *ir.Operation) int64 {
	n := int64(0)
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op != own && (op.Is(linalg.Matmul) || op.Is(linalg.BatchMatmul)) {
			n = l.tileL0C()
		}
		return ir.Advance
	})
	return n
}

// factors are the matrices that a matmul multiplies, and the one that it adds to.
func factors(op *ir.Operation) (a, b, out *ir.Value) {
	if op.Is(linalg.BatchMatmul) {
		v := linalg.AsBatchMatmul(op)
		return v.InputsAt(0), v.InputsAt(1), v.OutputsAt(0)
	}
	v := linalg.AsMatmul(op)
	return v.InputsAt(0), v.InputsAt(1), v.OutputsAt(0)
}

// sums is the type of the elements of l0c in a matmul.
func (l *lowering) sums(op *ir.Operation) ir.Type {
	if a, _, _ := factors(op); ir.IsFloat(ir.ElemOf(a.Type())) {
		return l.Context().F32()
	}
	return l.Context().I32()
}

// resident is a matrix that stays in l0c from an operation on until the last of the users
// of its result.
type resident struct {
	by   *ir.Operation
	v    *ir.Value
	size int64
}

// sizeL0C is how many bytes a matrix takes there.
func sizeL0C(t ir.Type) int64 {
	n := int64(4)
	for _, d := range ir.ShapeOf(t) {
		n *= d
	}
	return n
}

// leftL0C is how much of l0c is not taken, at an operation, by matrices that stay there.
func (l *lowering) leftL0C(at *ir.Operation) int64 {
	left := int64(l.run.Int(string(L0C)))
	for _, r := range l.residents {
		if r.by.IsAncestorOf(at) || usedAfter(r.v, at) {
			left -= r.size
		}
	}
	return left
}

// usedAfter reports whether a tensor, or a part of it, may have users at an operation or
// after it.
func usedAfter(v *ir.Value, at *ir.Operation) bool {
	for user := range v.Users() {
		if user.Is(linalg.ExtractSlice) || user.Is(arith.TruncF) {
			if usedAfter(user.OneResult(), at) {
				return true
			}
			continue
		}
		outer := at
		for outer != nil && outer.Block() != user.Block() {
			outer = outer.Parent()
		}
		if outer == nil || !user.IsBeforeInBlock(outer) {
			return true
		}
	}
	return false
}

// fitsL0C reports whether l0c can hold a matrix from an operation on, and so many bytes more.
func (l *lowering) fitsL0C(at *ir.Operation, t ir.Type, more int64) bool {
	return sizeL0C(t)+more <= l.leftL0C(at)
}

// workspace makes memory of the core's own in global memory.
func (l *lowering) workspace(shape []int64, elem ir.Type) *view {
	m := &linalg.MemRef{Shape: shape, Elem: elem}
	return l.whole(l.Op(Workspace, nil, m.Type(l.Context())).OneResult())
}

func (l *lowering) copy(from, to *view) { l.Op(DMA, []*ir.Value{l.memref(from), l.memref(to)}) }

// toL1 is an operand of a matmul in l1.
func (l *lowering) toL1(op *ir.Operation, v *ir.Value) *view {
	if v.DefIs(linalg.Transpose) {
		t := linalg.AsTranspose(v.Def())
		if from := l.values[t.InputsAt(0)].view; l.in(from, L1) {
			made := &view{base: from.base, offset: from.offset}
			for _, i := range t.Permutation() {
				made.shape, made.strides = append(made.shape, from.shape[i]), append(made.strides, from.strides[i])
			}
			return made
		}
	}
	o := l.of(op, v)
	if l.in(o.view, L1) {
		return o.view
	}
	shape, elem := ir.ShapeOf(v.Type()), ir.ElemOf(v.Type())
	if t, ok := elem.(*ir.FloatType); ok && t.Width() == 8 {
		elem = l.Context().F16()
		o = l.apply(arith.ExtF, []operand{o}, shape, elem)
	}
	if !cubeElem(elem) {
		d := l.run.Errorf(op, "the cube unit of an NPU does not multiply matrices of %s", text.TypeString(l.Context(), elem))
		panic(refusal{d.WithHelp("convert both to a type that it does, with .to(…): float32, float16, bfloat16 or int8")})
	}
	to := l.alloc(L1, shape, elem)
	if o.view == nil {
		l.fill(o.scalar, to)
		return to
	}
	w := l.workspace(shape, elem)
	l.copy(o.view, w)
	l.copy(w, to)
	return to
}

// matmul lowers a dot, which is added to the output: by tiles that the buffers of the
// cube unit hold, and from there through the workspace to ub.
func (l *lowering) matmul(op *ir.Operation) {
	left, right, out := factors(op)
	a, b := l.toL1(op, left), l.toL1(op, right)
	shape, elem := ir.ShapeOf(out.Type()), ir.ElemOf(out.Type())
	sums := l.sums(op)
	init := l.of(op, out)
	if l.in(init.view, L0C) {
		l.tiles(a, b, init.view, false)
		l.values[op.OneResult()] = init
		return
	}
	zero := init.scalar != nil && arith.IsZero(init.scalar)
	if len(shape) == 2 && zero && storedOnly(op.OneResult()) && l.fitsL0C(op, out.Type(), 0) {
		l.residents = append(l.residents, resident{op, op.OneResult(), sizeL0C(out.Type())})
		c := l.alloc(L0C, shape, sums)
		l.tiles(a, b, c, true)
		l.values[op.OneResult()] = operand{view: c}
		return
	}
	w := l.workspace(shape, elem)
	l.products(a, b, w, sums, max(l.leftL0C(op), l.tileL0C()))
	made := l.alloc(UB, shape, elem)
	l.copy(w, made)
	result := operand{view: made}
	if !zero {
		g := &region{lowering: l, shape: shape}
		add := arith.AddF
		if !ir.IsFloat(elem) {
			add = arith.AddI
		}
		result = g.binary(add, result, init)
	}
	l.values[op.OneResult()] = result
}

// fromL0C is a tensor of l0c in ub.
func (l *lowering) fromL0C(v *view) *view {
	w, made := l.workspace(v.shape, l.elem(v)), l.alloc(UB, v.shape, l.elem(v))
	l.copy(v, w)
	l.copy(w, made)
	return made
}

// products writes the dot of matrices, or of lists of them, to global memory, by
// tiles of so many bytes of l0c.
func (l *lowering) products(a, b, to *view, sums ir.Type, limit int64) {
	if len(to.shape) == 3 {
		for i := range to.shape[0] {
			matrix := func(v *view) *view {
				return l.reshaped(l.part(v, linalg.Nums(i, 0, 0), []int64{1, v.shape[1], v.shape[2]}), v.shape[1:])
			}
			l.products(matrix(a), matrix(b), matrix(to), sums, limit)
		}
		return
	}
	m, n, k := to.shape[0], to.shape[1], a.shape[1]
	tm, tn := m, n
	for tm*tn*4 > limit {
		if tm >= tn {
			tm = (tm + 1) / 2
		} else {
			tn = (tn + 1) / 2
		}
	}
	for i := int64(0); i < m; i += tm {
		for j := int64(0); j < n; j += tn {
			h, w := min(tm, m-i), min(tn, n-j)
			c := l.alloc(L0C, []int64{h, w}, sums)
			l.tiles(l.part(a, linalg.Nums(i, 0), []int64{h, k}), l.part(b, linalg.Nums(0, j), []int64{k, w}), c, true)
			l.copy(c, l.part(to, linalg.Nums(i, j), []int64{h, w}))
		}
	}
}

// tiles multiplies matrices of l1 by the parts that l0a and l0b hold twice, so that one is
// copied while the other is multiplied. The sum begins from zero, or with what c is.
func (l *lowering) tiles(a, b, c *view, init bool) {
	elem := l.elem(a)
	size := int64(ir.BitWidth(elem) / 8)
	m, n, k := c.shape[0], c.shape[1], a.shape[1]
	tm, tn, tk := m, n, k
	la, lb := int64(l.run.Int(string(L0A))), int64(l.run.Int(string(L0B)))
	for 2*tm*tk*size > la || 2*tk*tn*size > lb {
		switch {
		case tk > 32:
			tk = (tk + 1) / 2
		case 2*tm*tk*size > la:
			tm = (tm + 1) / 2
		default:
			tn = (tn + 1) / 2
		}
	}
	halves := int64(2)
	if tm == m && tn == n && tk == k {
		halves = 1 // of one tile npuir-multibuffer makes the halves
	}
	as, bs := l.alloc(L0A, []int64{halves, tm, tk}, elem), l.alloc(L0B, []int64{halves, tk, tn}, elem)
	half := int64(0)
	tile := func(from, buffer *view, i, j, h, w int64) *view {
		to := &view{base: buffer.base, offset: linalg.Num(half * buffer.strides[0]), shape: []int64{h, w}, strides: []int64{w, 1}}
		l.copy(l.part(from, linalg.Nums(i, j), []int64{h, w}), to)
		return to
	}
	for i := int64(0); i < m; i += tm {
		for j := int64(0); j < n; j += tn {
			for x := int64(0); x < k; x += tk {
				h, w, d := min(tm, m-i), min(tn, n-j), min(tk, k-x)
				left, right := tile(a, as, i, x, h, d), tile(b, bs, x, j, d, w)
				made := l.Op(MMAD, []*ir.Value{l.memref(left), l.memref(right), l.memref(l.part(c, linalg.Nums(i, j), []int64{h, w}))})
				AsMMAD(made).SetInit(init && x == 0)
				half = (half + 1) % halves
			}
		}
	}
}
