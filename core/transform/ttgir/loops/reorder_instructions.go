package loops

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// ReorderInstructions puts operations where values live shorter in registers:
// loads from shared memory and operands of dots go down into the loop that
// alone uses them, buffers are filled as soon as their value is there,
// transpositions come after what they transpose, and the second operand of a
// dot is read after the first.
var ReorderInstructions = &pass.Pass{
	Name: "tritongpu-reorder-instructions",
	Doc:  "move operations to shorten live ranges",
	Options: []pass.Option{
		{Name: "registers", Doc: "the most 32-bit registers per thread for a loop's tensors and its loads for it to keep operands of dots; 0: it never keeps any", Default: 0},
	},
	Example: reorderInstructionsExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		sinkBelowDeallocs(r)
		sinkIntoLoops(r)
		dom := newDominance()
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			switch {
			case op.Is(ttg.LocalAlloc), op.Is(tt.Trans), op.Is(ttg.MemDescTrans):
				if d := definedBy(op); d != nil && d.Next() != op {
					op.MoveAfter(d)
					r.Count("raised", 1)
				}
			case op.Is(ttg.LocalLoad) && dotOperand(op.OneResult().Type()) == 1 && op.OneResult().HasOneUse():
				if a := firstOperandOf(op); a != nil && a.Block() == op.Block() && dom.before(op, a) && dom.beforeUsers(a, op) && readsTheSameAfter(op, a) {
					op.MoveAfter(a)
					r.Count("sunk", 1)
				}
			}
			return ir.Advance
		})
		return nil
	},
}

// sinkBelowDeallocs puts conversions after the buffers that are given back before the
// result is used: what a conversion exchanges may then take their place.
func sinkBelowDeallocs(r *pass.Run) {
	var conversions []*ir.Operation
	ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.ConvertLayout) {
			conversions = append(conversions, op)
		}
		return ir.Advance
	})
	for _, op := range conversions {
		users := make(map[*ir.Operation]bool)
		for u := range op.OneResult().Users() {
			users[forloop.AncestorIn(op.Block(), u)] = true
		}
		var last *ir.Operation
		for o := op.Next(); o != nil && !users[o]; o = o.Next() {
			if o.Is(ttg.LocalDealloc) {
				last = o
			}
		}
		if last != nil {
			op.MoveAfter(last)
			r.Count("sunk", 1)
		}
	}
}

// definedBy is the operation that defines what op fills a buffer with or transposes;
// nil where there is none, or where a buffer is filled with one value, which takes no
// registers until then.
func definedBy(op *ir.Operation) *ir.Operation {
	var src *ir.Value
	if op.Is(ttg.LocalAlloc) {
		src = ttg.AsLocalAlloc(op).Src()
	} else {
		src = tt.AsUnary(op).Src()
	}
	if src == nil || op.Is(ttg.LocalAlloc) && (src.DefIs(tt.Splat) || arith.ConstantValue(src) != nil) {
		return nil
	}
	return src.Def()
}

// sinkIntoLoops moves what fills many registers to its user, when that is in another
// loop; of several users in other loops, each gets its own.
func sinkIntoLoops(r *pass.Run) {
	var sink []*ir.Operation
	ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
		fills := op.Is(ttg.LocalLoad) && (!sharedmem.IsMutable(ttg.AsLocalLoad(op).Src()) || isFilled(op)) || op.Is(ttg.ConvertLayout) && dotOperand(op.OneResult().Type()) >= 0
		if fills {
			sink = append(sink, op)
		}
		return ir.Advance
	})
	b := ir.NewBuilder(r.Module.Context())
	words := make(map[*ir.Operation]int) // of loops
	for _, op := range sink {
		v := op.OneResult()
		users := slices.Collect(v.Users())
		for _, user := range users {
			loop := user.ParentOf(scf.For)
			if loop == op.ParentOf(scf.For) || loop == nil && len(users) > 1 {
				continue
			}
			if _, ok := words[loop]; !ok && loop != nil {
				words[loop] = WordsIn(loop) + loadsIn(loop)
			}
			if loop != nil && keeps(loop, words[loop], r.Int("registers")) {
				r.Count("kept", 1)
				continue
			}
			delete(words, loop)
			r.Count("sunk", 1)
			if v.HasOneUse() {
				op.MoveBefore(user)
				break
			}
			own := op.Clone(ir.NewMapping())
			b.At(user)
			b.Insert(own)
			v.ReplaceUsesIf(own.OneResult(), func(u *ir.Use) bool { return u.Owner() == user })
		}
	}
}

// mostKept is how many instructions a thread may have to do beside what it loads and
// multiplies, for a loop to keep operands of dots in registers: random numbers for 16
// elements take 660, and the registers that another block would have had.
const mostKept = 512

// keeps reports whether loop, which works on so many words of 32 bits with its operands in
// registers, is to keep them there.
func keeps(loop *ir.Operation, words, registers int) bool {
	return words <= registers && meanwhile(loop) < mostKept
}

// WordsIn estimates the words of 32 bits that the numbers which a loop works on take
// of each thread: those that it carries, uses and multiplies. Offsets and pointers
// do not count, of which whole tensors follow from a few values.
func WordsIn(loop *ir.Operation) int {
	n := 0
	seen := make(map[*ir.Value]bool)
	add := func(v *ir.Value) {
		t := tensors.Type(v)
		if t != nil && !seen[v] && (ir.IsFloat(t.Elem) || dotOperand(t) >= 0) && arith.ConstantValue(v) == nil {
			n += (tensors.Registers(t.Shape, encoding.AttrOf(t))*ir.BitWidth(t.Elem) + 31) / 32
		}
		seen[v] = true
	}
	for _, a := range scf.IterArgs(loop) {
		add(a)
	}
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		for _, v := range op.Operands() {
			if !forloop.DefinedInside(v, loop) && op != loop {
				add(v)
			}
		}
		// A sum that is carried from iteration to iteration is counted.
		if tt.IsDot(op) && !slices.Contains(forloop.Yield(loop).OperandValues(), op.OneResult()) {
			add(op.OneResult())
		}
		return ir.Advance
	})
	return n
}

// loadsIn is how many words of 32 bits a loop's loads from global memory take of each
// thread: ptxas issues them together, ahead of what uses them.
func loadsIn(loop *ir.Operation) int {
	n := 0
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.Load) {
			n += tensors.Words(op)
		}
		return ir.Advance
	})
	return n
}

// isFilled reports whether the buffer that load reads was filled before, for good:
// all that uses it after load reads it, too.
func isFilled(load *ir.Operation) bool {
	alloc := ttg.AsLocalLoad(load).Src().Def()
	if alloc == nil || !alloc.Is(ttg.LocalAlloc) {
		return false
	}
	for u := range alloc.OneResult().Users() {
		if !u.Is(ttg.LocalLoad) && (sharedmem.IsView(u) || u.Block() != load.Block() || !u.IsBeforeInBlock(load)) {
			return false
		}
	}
	return true
}

// readsTheSameAfter reports whether the load from shared memory op reads the
// same when it is moved after last.
func readsTheSameAfter(op, last *ir.Operation) bool {
	mutable := sharedmem.IsMutable(ttg.AsLocalLoad(op).Src())
	for o := op; o != last; o = o.Next() {
		if o == nil {
			return !mutable
		}
		if ir.HasEffect(o, ir.Effects.Writes) && (mutable || signals(o)) {
			return false
		}
	}
	return true
}

// signals reports whether op writes a buffer that was there before, and so may tell
// others that reads before it are done.
func signals(op *ir.Operation) bool {
	return op.NumResults() == 0 && slices.ContainsFunc(op.OperandValues(), func(v *ir.Value) bool {
		_, ok := v.Type().(*ttg.MemDescType)
		return ok
	})
}

// dotOperand is the operand number of a tensor type laid out for a dot, or -1.
func dotOperand(t ir.Type) int {
	if d, ok := encoding.Get(t).(*layout.DotOp); ok {
		return d.OpIdx
	}
	return -1
}

// firstOperandOf is the load of the first operand of the dot that uses op, when
// both operands come from shared memory.
func firstOperandOf(op *ir.Operation) *ir.Operation {
	var user *ir.Operation
	for u := range op.OneResult().Users() {
		user = u // the last is the first that was made
	}
	if user == nil || !user.Is(tt.Dot) {
		return nil
	}
	if a := tt.AsDot(user).A().Def(); a != nil && a.Is(ttg.LocalLoad) {
		return a
	}
	return nil
}
