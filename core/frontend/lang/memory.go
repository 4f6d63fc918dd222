package lang

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
)

// memory: loads and stores through pointers and block pointers.
var memory = []*Builtin{
	{Name: "load", Params: "pointer mask=None other=None boundary_check=() padding_option='' cache_modifier='' eviction_policy='' volatile=False", Fn: load},
	{Name: "store", Params: "pointer value mask=None boundary_check=() cache_modifier='' eviction_policy=''", Member: true, Fn: store},
	{Name: "make_block_ptr", Params: "base shape strides offsets block_shape order", Fn: makeBlockPtr},
	{Name: "advance", Params: "base offsets", Member: true, MustUse: true, Fn: advance},
}

// choice is one keyword of a parameter and its value in the IR.
type choice struct {
	word  string
	value int64
}

var (
	loadCaches  = []choice{{"", 0}, {".ca", tt.CacheCA}, {".cg", tt.CacheCG}, {".cv", tt.CacheCV}}
	storeCaches = []choice{{"", 0}, {".wb", tt.CacheWB}, {".cg", tt.CacheCG}, {".cs", tt.CacheCS}, {".wt", tt.CacheWT}}
	evictions   = []choice{{"", 0}, {"evict_last", tt.EvictLast}, {"evict_first", tt.EvictFirst}}
	paddings    = []choice{{"", 0}, {"zero", tt.PadZero}, {"nan", tt.PadNaN}}
)

// pick finds the value of a keyword argument.
func (a *Args) pick(i int, list []choice, text string) int64 {
	s := a.str(i)
	var words []string
	for _, c := range list {
		if c.word == s {
			return c.value
		}
		if c.word != "" {
			words = append(words, c.word)
		}
	}
	eval.FailHelp(eval.DidYouMean(s, words, "it is one of "+pyStrings(words)), text, s)
	return 0
}

// isBlockPointer reports whether p points to a block.
func isBlockPointer(p *Tensor) *Block {
	if ptr, ok := p.T.(*Pointer); ok {
		b, _ := ptr.Elem.(*Block)
		return b
	}
	return nil
}

func load(e *Emitter, a *Args) any {
	if d, ok := a.val(0).(*Desc); ok {
		eval.FailHelp("use desc.load([offsets])", errLoadPtr, d.Type())
	}
	ptr := a.tensor(0)
	mask, other := a.optTensor(1), a.optTensor(2)
	check := a.ints(3)
	pad := a.pick(4, paddings, errPadding)
	acc := tt.Access{
		Cache: a.pick(5, loadCaches, errCacheModifier), Evict: a.pick(6, evictions, errEviction),
		Volatile: a.bool(7), Padding: pad,
	}
	if b := isBlockPointer(ptr); b != nil {
		acc.BoundaryCheck = e.boundary(check, b)
		return e.loadBlock(ptr, b, mask, other, acc)
	}
	p := pointerOf(ptr.T)
	switch {
	case p == nil:
		eval.FailHelp("a pointer is an argument of the kernel, plus offsets", errLoadPtr, ptr.T)
	case mask == nil && other != nil:
		eval.Fail(errOtherNoMask)
	case pad != 0 || len(check) > 0:
		eval.Fail(errBoundaryPtr)
	}
	if ptr.IsBlock() {
		if mask != nil {
			ptr, mask = e.Broadcast(ptr, mask)
		}
		if other != nil {
			ptr, other = e.Broadcast(ptr, other)
		}
	} else {
		scalarOnly("Mask", mask)
		scalarOnly("Other", other)
	}
	checkMask(mask)
	elem := p.Elem
	if elem == Int1 {
		elem = Int8
		ptr = e.Cast(ptr, &Pointer{Elem: elem, Space: p.Space})
	}
	x := &Tensor{T: withElem(ptr.T, elem)}
	if other != nil {
		x.V = tt.NewLoad(e.B, ptr.V, mask.V, e.Cast(other, elem).V, acc)
	} else if mask != nil {
		x.V = tt.NewLoad(e.B, ptr.V, mask.V, nil, acc)
	} else {
		x.V = tt.NewLoad(e.B, ptr.V, nil, nil, acc)
	}
	if p.Elem == Int1 {
		return e.Cast(x, Int1)
	}
	return x
}

func scalarOnly(what string, x *Tensor) {
	if x != nil && x.IsBlock() {
		eval.Fail(errBlockArg, what)
	}
}

func checkMask(mask *Tensor) {
	if mask != nil && dtypeOf(mask.T) != Int1 {
		eval.FailHelp("compare first: the mask is of type "+mask.Scalar().String(), errMaskBool)
	}
}

func store(e *Emitter, a *Args) any {
	ptr, val := a.tensor(0), a.tensor(1)
	mask := a.optTensor(2)
	check := a.ints(3)
	acc := tt.Access{Cache: a.pick(4, storeCaches, errCacheModifier), Evict: a.pick(5, evictions, errEviction)}
	p := pointerOf(ptr.T)
	if p == nil {
		eval.FailHelp("a pointer is an argument of the kernel, plus offsets", errStorePtr, ptr.T)
	}
	if p.Const {
		eval.Fail(errConstStore)
	}
	if b := isBlockPointer(ptr); b != nil {
		if mask != nil {
			eval.Fail("`mask` argument cannot be specified for storing block pointers")
		}
		acc.BoundaryCheck = e.boundary(check, b)
		if val.IsBlock() && !sameShape(val.Shape(), b.Shape) && len(val.Shape()) != len(b.Shape) {
			eval.Fail("Block shape(%s) and value shape(%s) mismatch", shapeString(b.Shape), shapeString(val.Shape()))
		}
		val = e.BroadcastShape(val, b.Shape)
		if d := dtypeOf(val.T); d != b.Elem {
			eval.FailHelp("convert it with .to(pointer.dtype.element_ty)", errBlockElem, b.Elem, d)
		}
		tt.NewStore(e.B, ptr.V, val.V, nil, acc)
		return nil
	}
	if len(check) > 0 {
		eval.Fail(errBoundaryStore)
	}
	if ptr.IsBlock() {
		shape := ptr.Shape()
		ptr, val = e.Broadcast(ptr, val)
		if mask != nil {
			ptr, mask = e.Broadcast(ptr, mask)
			ptr, val = e.Broadcast(ptr, val)
		}
		if !sameShape(shape, ptr.Shape()) {
			eval.FailHelp("widen the pointer with tl.broadcast_to, or reduce what is stored", errStoreShape, shapeString(ptr.Shape()), shapeString(shape))
		}
	} else {
		scalarOnly("Value", val)
		scalarOnly("Mask", mask)
	}
	elem := p.Elem
	if elem == Int1 {
		elem = Int8
		ptr = e.Cast(ptr, &Pointer{Elem: elem, Space: p.Space})
	}
	val = e.Cast(val, elem)
	checkMask(mask)
	if mask != nil {
		tt.NewStore(e.B, ptr.V, val.V, mask.V, acc)
	} else {
		tt.NewStore(e.B, ptr.V, val.V, nil, acc)
	}
	return nil
}

// boundary checks and sorts the dimensions of a boundary_check.
func (e *Emitter) boundary(dims []int64, b *Block) []int64 {
	seen := make([]bool, len(b.Shape))
	for _, d := range dims {
		if d < 0 || d >= int64(len(seen)) || seen[d] {
			eval.Fail("boundary_check names dimensions of the block, each once; got %s for a block of rank %d", shapeString(dims), len(seen))
		}
		seen[d] = true
	}
	var out []int64
	for d, s := range seen {
		if s {
			out = append(out, int64(d))
		}
	}
	return out
}
