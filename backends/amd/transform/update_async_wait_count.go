package transform

import (
	"math"
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// UpdateAsyncWaitCount counts in instructions what ttg.async_wait counts in groups of
// copies: AMD's GPUs have one counter of what a wave has not got yet, and it counts down in
// order. A wait gets the fewest instructions that any path to it issues after the copies
// that it is for. With the option lowered, copies have the instructions that the lowering for
// the chip gives them.
var UpdateAsyncWaitCount = &pass.Pass{
	Name: "tritonamdgpu-update-async-wait-count",
	Doc:  "count the instructions that waits for copies to LDS may leave on their way",
	Options: []pass.Option{archOption, {
		Name: "lowered", Doc: "count the instructions of the lowering, and none for copies that go through registers; else as Triton's pass does", Default: false,
	}},
	Example: updateAsyncWaitCountExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		c, err := chipOf(r)
		if err != nil || !c.GFX9 {
			return err
		}
		w := &waits{Run: r, known: map[*ir.Operation]int{}}
		if r.Bool("lowered") {
			t := gpu.Target{Chip: c}
			if w.count, err = t.CopyInstructions(r.Module); err != nil {
				return err
			}
		} else {
			w.info = axisinfo.Analyze(r.Module)
			w.count = w.ofCopies
		}
		b := ir.NewBuilder(r.Module.Context())
		for _, op := range operations(r.Module, ttg.AsyncWait) {
			w.replace(b, ttg.AsAsyncWait(op))
		}
		return nil
	},
}

// waits counts the instructions of copies.
type waits struct {
	*pass.Run
	count func(*ir.Operation) int // of a copy; 0 of other operations
	info  *axisinfo.Result
	known map[*ir.Operation]int
}

// replace makes an amdg.async_wait of a wait for groups.
func (w *waits) replace(b *ir.Builder, wait ttg.AsyncWaitOp) {
	n := math.MaxInt
	tokens := wait.AsyncToken()
	for _, token := range tokens {
		n = min(n, w.sinceToken(token, wait.Op, 0, n))
	}
	if len(tokens) == 0 {
		p := paths{waits: w, best: math.MaxInt, seen: map[step]bool{}}
		p.back(wait.Op, wait.Op, int(wait.Num()), 0)
		n = p.best
	}
	b.At(wait.Op)
	made := b.Create(amdg.Dialect().Op("amdg.async_wait"), ir.State{
		Operands: tokens, Types: []ir.Type{wait.RetToken().Type()},
		Attrs: []ir.NamedAttr{{Name: "num_inst", Attr: b.Context().I32Attr(int64(n))}},
	})
	wait.Op.ReplaceAllUsesWith(made.OneResult())
	wait.Op.Erase()
	w.Count("counted", 1)
}

// instructions is how many instructions a wave has for op, if op copies to LDS.
func (w *waits) instructions(op *ir.Operation) int {
	n, done := w.known[op]
	if !done {
		n = w.count(op)
		w.known[op] = n
	}
	return n
}

// ofCopies is how many instructions Triton's lowering has for op, if op copies to LDS.
func (w *waits) ofCopies(op *ir.Operation) int {
	switch op.Name() {
	case ttg.AsyncCopy.Name:
		v := ttg.AsAsyncCopy(op)
		return w.copies(tensors.Type(v.Src()), v.Result(), v.Mask(), w.info.Vector(v.Src()))
	case "amdg.buffer_load_to_local":
		v := amdg.AsBufferLoadToLocal(op)
		return w.copies(tensors.Type(v.Offsets()), v.Dest(), v.Mask(), w.bufferVector(v))
	}
	return 0
}

// bufferVector is how many neighbours a thread can copy at once from offsets of a pointer.
func (w *waits) bufferVector(v amdg.BufferLoadToLocalOp) int64 {
	align := max(1, w.info.Of(v.Ptr()).Axes[0].Divisibility/axisinfo.ElemBytes(v.Ptr().Type()))
	return min(w.info.Vector(v.Offsets()), align)
}

// widest are the bits that an instruction copies for a thread.
const widest = 128

// copies is how many instructions copy a tensor of that shape and layout to a buffer, where
// so many neighbours may be copied at once as far as memory and mask are concerned.
func (w *waits) copies(src *ir.TensorType, dest, mask *ir.Value, vector int64) int {
	from := tensors.Linear(src)
	buffer := dest.Type().(*ttg.MemDescType)
	if width := ir.BitWidth(buffer.Elem); width > 0 {
		vector = min(vector, widest/int64(width))
	}
	if mask != nil {
		vector = min(vector, w.info.MaskRun(mask))
	}
	if e, ok := buffer.Encoding.(*encoding.Attr); ok {
		if to, err := e.Layout.Linear(buffer.Shape); err == nil {
			if l, ok := to.InvertAndCompose(from); ok {
				vector = min(vector, inARow(l))
			}
		}
	}
	return max(1, from.Registers()/int(max(vector, 1)))
}

// inARow is how many registers of a thread go to neighbours in a buffer, in every thread:
// lanes of a swizzled one change bits of the offset, too.
func inARow(l layout.Layout) int64 {
	run := l.ConsecutiveRegisters(layout.Offset)
	registers := l.Columns(layout.Register)
	others := slices.Clone(registers[bits.Len(uint(run))-1:])
	for _, d := range []layout.Dim{layout.Lane, layout.Warp, layout.Block} {
		others = append(others, l.Columns(d)...)
	}
	for _, c := range others { // the offset is in the lowest bits
		for run > 1 && c&uint64(run-1) != 0 {
			run /= 2
		}
	}
	return int64(run)
}

// between is the fewest instructions from first up to end, in the same block.
func (w *waits) between(first, end *ir.Operation) int {
	n := 0
	for op := first; op != nil && op != end; op = op.Next() {
		switch {
		case op.Is(scf.If):
			v := scf.AsIf(op)
			branch := w.inRegion(v.ThenRegion())
			n += min(branch, w.inRegion(v.ElseRegion()))
		case op.Is(scf.For):
			n += tripsOf(op) * w.inRegion(scf.AsFor(op).Region())
		default:
			n += w.instructions(op)
		}
	}
	return n
}

func (w *waits) inRegion(r *ir.Region) int {
	if r == nil || r.First() == nil {
		return 0
	}
	return w.between(r.First().First(), nil)
}

// sinceToken is the fewest instructions, on all paths to consumer, after the operation that
// gave a token; what is no less than best is not looked for.
func (w *waits) sinceToken(token *ir.Value, consumer *ir.Operation, sum, best int) int {
	for consumer.Block().Region() != token.Block().Region() {
		sum += w.between(consumer.Block().First(), consumer)
		consumer = consumer.Parent()
	}
	if def := token.Def(); def != nil {
		return min(best, sum+w.between(def.Next(), consumer))
	}
	loop := token.Block().Parent()
	if !loop.Is(scf.For) || token.Index() == 0 {
		return 0
	}
	sum += w.between(token.Block().First(), consumer)
	if sum >= best {
		return best
	}
	i := token.Index() - 1
	best = min(best, w.sinceToken(scf.Inits(loop)[i], loop, sum, best))
	yield := token.Block().Terminator()
	return min(best, w.sinceToken(yield.Operand(i), yield, sum, best))
}

// step is a place of a path: an operation with regions, the groups still to come and the
// instructions so far.
type step struct {
	at          *ir.Operation
	groups, sum int
}

// paths looks for the path back from a wait, to so many groups of copies before it, that has
// the fewest instructions.
type paths struct {
	*waits
	best int
	seen map[step]bool // loop bodies that were entered from their own start
}

// back goes back from at, to which a path came from the operation from.
func (p *paths) back(at, from *ir.Operation, groups, sum int) {
	for at != nil {
		if groups < 0 || sum >= p.best {
			p.best = min(p.best, sum)
			return
		}
		again := func(next *ir.Operation) { p.back(next, at, groups, sum) }
		first := func() bool {
			s := step{at, groups, sum}
			was := p.seen[s]
			p.seen[s] = true
			return !was
		}
		switch {
		case at.Is(scf.If):
			v := scf.AsIf(at)
			if from.Parent() == at {
				again(before(at))
				return
			}
			again(v.ThenRegion().First().Terminator())
			if v.ElseRegion().First() != nil {
				again(v.ElseRegion().First().Terminator())
			} else {
				again(before(at))
			}
			return
		case at.Is(scf.For):
			again(before(at))
			if from.Block() != at.Body() || first() {
				again(at.Body().Terminator())
			}
			return
		case at.Is(scf.While):
			test, body := scf.AsWhile(at).Before().First(), scf.AsWhile(at).After().First()
			if from.Block() != test {
				again(test.Terminator())
				return
			}
			again(before(at))
			if first() {
				again(body.Terminator())
			}
			return
		case at.Is(tt.Func):
			p.best = min(p.best, sum)
			return
		case at.NumRegions() > 0 && !at.Is(tt.Reduce) && !at.Is(tt.Scan):
			p.Say(at, "copies to LDS are not counted through this operation: the wait is for all of them")
			p.best = 0
			return
		}
		sum += p.instructions(at)
		if at.Is(ttg.AsyncCommitGroup) {
			groups--
		}
		at, from = before(at), at
	}
	p.best = min(p.best, sum)
}

// before is the operation before op in its block, or the one that has the block.
func before(op *ir.Operation) *ir.Operation {
	if prev := op.Prev(); prev != nil {
		return prev
	}
	return op.Parent()
}

// tripsOf is how often a loop with constant bounds runs; 0 of others.
func tripsOf(loop *ir.Operation) int {
	from, ok1 := arith.ConstantInt(scf.LowerBound(loop))
	to, ok2 := arith.ConstantInt(scf.UpperBound(loop))
	by, ok3 := arith.ConstantInt(scf.Step(loop))
	if !ok1 || !ok2 || !ok3 || by <= 0 || to <= from || scf.AsFor(loop).UnsignedCmp() {
		return 0
	}
	return int((to - from + by - 1) / by)
}
