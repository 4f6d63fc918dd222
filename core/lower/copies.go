package lower

import (
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// CopySource is where the elements of a copy to shared memory come from.
type CopySource struct {
	// Place is where they are. Without a Base the Offsets are pointers.
	Place
	// Contiguity is how many neighbours the user says that there are.
	Contiguity int64
}

// sourceWidth is how many neighbours one access can move, of elements of so many bits.
func (m *module) sourceWidth(from *CopySource, l *tensorLayout, bits int) int {
	if from.Base == nil {
		return m.vectorWidth(from.Offsets, from.Mask, l, bits)
	}
	return m.placeWidth(from.Place)(l, bits)
}

// planCopy divides a copy into accesses, of which each moves neighbours of memory to
// neighbours of the buffer, or of the part of it that begins at offset.
func (m *module) planCopy(from *CopySource, desc *ttg.MemDescType, offset []int64) (*sharedPlan, error) {
	places, ok := from.Offsets.Type().(*ir.TensorType)
	if !ok {
		return nil, fmt.Errorf("needs a tensor of pointers")
	}
	p, err := m.planShared(from.Offsets.Block().Parent().Context().Tensor(places.Shape, desc.Elem, places.Encoding), desc, offset)
	if err != nil {
		return nil, err
	}
	contiguity := int(from.Contiguity)
	if blocked, ok := encoding.Get(places).(*layout.Blocked); ok {
		// It is of the pointers, and a thread's elements may be neighbours in the
		// buffer along another dimension than their pointers'.
		contiguity = min(contiguity, blocked.SizePerThread[blocked.Order[0]])
	}
	p.vec = min(p.vec, max(m.sourceWidth(from, p.tensor, 8*p.size), contiguity), neighbours(p.offs))
	return p, nil
}

// CopyShape is how a copy to shared memory is divided.
type CopyShape struct {
	// Bytes is what an access of a thread moves, Accesses how many of them there are.
	Bytes, Accesses int
	// Consecutive is set where the lanes of every warp write one after the other.
	Consecutive bool
	// Shared is set where several threads hold an element, which one of them copies.
	Shared bool
}

// CopyShapes tells how copies of a module to shared memory are divided where it is lowered
// for the target. It is false of a copy to a buffer that is not known to be whole, and of
// those that the lowering refuses.
func CopyShapes(mod *ir.Operation, t Target) (func(from CopySource, buffer *ir.Value) (CopyShape, bool), error) {
	m, err := analyzed(mod, t)
	if err != nil {
		return nil, err
	}
	return func(from CopySource, buffer *ir.Value) (CopyShape, bool) {
		if !isWhole(buffer) {
			return CopyShape{}, false
		}
		desc := memDesc(buffer)
		p, err := m.planCopy(&from, desc, make([]int64, len(desc.Shape)))
		if err != nil {
			return CopyShape{}, false
		}
		return CopyShape{
			Bytes: p.vec * p.size, Accesses: p.tensor.distinctRegs() / p.vec,
			Consecutive: p.consecutive(), Shared: p.tensor.freeThreads != 0,
		}, true
	}, nil
}

// isWhole reports whether a descriptor surely shows a whole buffer, or one of an array.
func isWhole(v *ir.Value) bool {
	def := v.Def()
	if def != nil && def.Is(ttg.MemDescIndex) {
		v = ttg.AsMemDescIndex(def).Src()
		def = v.Def()
	}
	return def == nil || def.Is(ttg.LocalAlloc)
}

// asyncCopy starts the copies of a thread's elements.
func (e *emitter) asyncCopy(op ttg.AsyncCopyOp) error {
	in := e.value(op.Src())
	err := e.copies(&copying{
		dst: op.Result(), other: op.Other(), cached: Access{Cache: op.Cache(), Evict: op.Evict()},
		from: CopySource{Place: Place{Offsets: op.Src(), Mask: op.Mask()}, Contiguity: op.Contiguity()},
		start: func(c *Copy, r int) error {
			c.From.Ptr, c.From.Offset = llir.SplitPtr(in[r])
			return e.m.caps.Copies.CopyAsync(e.b, c)
		},
	})
	e.set(op.Token(), nil)
	return err
}

// copying is a copy of the elements of a tensor to a buffer; other is as in loading.
type copying struct {
	dst, other *ir.Value
	from       CopySource
	cached     Access // how memory is read
	// start copies the elements of the registers from r on.
	start func(c *Copy, r int) error
}

func (e *emitter) copies(t *copying) error {
	buf := e.buffer(t.dst)
	p, err := e.m.planCopy(&t.from, memDesc(t.dst), buf.offset)
	if err != nil {
		return err
	}
	var masks, others []llir.Value
	if t.from.Mask != nil {
		masks = spread(e.value(t.from.Mask), p.tensor.regs)
	}
	if t.other != nil {
		others = spread(e.value(t.other), p.tensor.regs)
	}
	owner, consecutive := e.firstReplica(p.tensor), p.consecutive()
	e.sharedAccesses(p, buf.ptr, 0, func(a *Access, regs []int) {
		if err != nil {
			return
		}
		c := Copy{From: t.cached, To: a.Ptr, ToOffset: a.Offset, Owner: owner, Consecutive: consecutive, Crowded: e.m.crowded}
		c.From.Elem, c.From.Count = p.elem, p.vec
		c.From.Mask = pickReg(masks, regs[0])
		if c.From.Mask != nil && others != nil {
			for _, r := range regs {
				c.From.Other = append(c.From.Other, others[r])
			}
		}
		err = t.start(&c, regs[0])
	})
	return err
}

// neighbours is how many registers with consecutive indices, in that order, lie
// side by side: what is also side by side in the memory that they point to.
func neighbours(offs layout.Layout) int {
	n := 1
	for _, c := range offs.Columns(layout.Register) {
		if c != uint64(n) {
			break
		}
		n *= 2
	}
	return n
}

func (e *emitter) asyncCommit(op *ir.Operation) error {
	e.m.caps.Copies.CommitCopies(e.b)
	e.set(op.OneResult(), nil)
	return nil
}

func (e *emitter) asyncWait(op ttg.AsyncWaitOp) error {
	n := int(op.Num())
	if n < 0 { // for copies of no group, too
		e.m.caps.Copies.CommitCopies(e.b)
		n = 0
	}
	e.m.caps.Copies.WaitCopies(e.b, n)
	e.set(op.RetToken(), nil)
	return nil
}
