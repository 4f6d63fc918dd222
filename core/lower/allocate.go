package lower

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Allocate places the shared memory of a module as its lowering for the target
// would, without lowering it, and tells what operations of the target's dialect do
// to it.
func Allocate(mod *ir.Operation, t Target) (*allocation.Result, membar.Foreign, error) {
	m, err := analyzed(mod, t)
	if err != nil {
		return nil, nil, err
	}
	alloc, err := allocation.Analyze(mod, m.scratch, m.sharedRoom(mod))
	return alloc, m.effects(), err
}

// Scratch tells how much scratch memory operations of a module need where it is lowered for
// the target. It may be asked about operations that were added since.
func Scratch(mod *ir.Operation, t Target) (allocation.Scratch, error) {
	m, err := analyzed(mod, t)
	if err != nil {
		return nil, err
	}
	return m.scratch, nil
}

// analyzed is a module of which scratch memory can be asked.
func analyzed(mod *ir.Operation, t Target) (*module, error) {
	m := &module{target: t, caps: capabilities(t), layouts: make(map[*encoding.Attr][]*tensorLayout)}
	m.own = m.ownOps()
	if err := m.readAttrs(mod); err != nil {
		return nil, err
	}
	m.axis = axisinfo.Analyze(mod)
	return m, nil
}

// sharedRoom is how much shared memory the kernel may take although it could do with
// less.
func (m *module) sharedRoom(mod *ir.Operation) int {
	dots := ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
		if tt.IsDot(op) {
			return ir.Stop
		}
		return ir.Advance
	})
	return m.caps.Residents.SharedRoom(m.threads(), dots)
}

// SharedUse is an area of shared memory of the kernel.
type SharedUse struct {
	// Pos is the place in the kernel of what needs it.
	Pos diag.Pos
	// What it is, for a message: "a buffer of 3 x 64 x 32 elements of 16 bits".
	What string
	// Bytes is its size, Stages into how many equal parts a pipelined loop
	// divides it, or 1.
	Bytes, Stages int
}

// SharedUses are the areas that are alive where the kernel needs the most
// shared memory, greatest first.
func (r *Result) SharedUses() []SharedUse {
	type area struct {
		op *ir.Operation
		allocation.Area
	}
	var all []area
	ir.WalkPost(r.kernel, func(op *ir.Operation) {
		if a, ok := r.alloc.Area(op); ok {
			all = append(all, area{op, a})
		}
	})
	var most []area
	peak := 0
	for _, at := range all {
		var alive []area
		bytes := 0
		for _, a := range all {
			if a.First <= at.First && at.First <= a.Last {
				alive = append(alive, a)
				bytes += a.Size
			}
		}
		if bytes > peak {
			most, peak = alive, bytes
		}
	}
	slices.SortStableFunc(most, func(a, b area) int { return b.Size - a.Size })
	uses := make([]SharedUse, len(most))
	for i, a := range most {
		uses[i] = sharedUse(a.op, a.Size)
	}
	return uses
}

func sharedUse(op *ir.Operation, bytes int) SharedUse {
	u := SharedUse{Pos: kernelPos(op.Loc()), Bytes: bytes, Stages: 1}
	switch {
	case op.Is(ttg.LocalAlloc):
		t := memDesc(op.OneResult())
		var dims []string
		for _, d := range t.Shape {
			dims = append(dims, strconv.FormatInt(d, 10))
		}
		_, bits, _ := memoryType(t.Elem) // a lowered module has no other elements
		u.What = fmt.Sprintf("a buffer of %s elements of %s", strings.Join(dims, " x "), diag.Count(bits, "bit"))
		for user := range op.OneResult().Users() {
			if !user.Is(ttg.MemDescIndex) {
				continue
			}
			u.Stages = int(t.Shape[0])
			for w := range user.OneResult().Users() {
				if !w.Is(ttg.LocalLoad) && !alias.IsView(w) { // the load that was staged
					u.Pos = kernelPos(w.Loc())
				}
			}
		}
	case op.Is(ttg.ConvertLayout):
		u.What = "a change of layout"
	case op.Is(tt.Call):
		u.What = "what the function called needs"
	default:
		u.What = "memory that " + op.Name() + " works in"
	}
	return u
}

// kernelPos is the place in the kernel itself of an operation, which may have
// come from functions that it calls.
func kernelPos(l ir.Location) diag.Pos {
	for {
		switch x := l.(type) {
		case *ir.NameLoc:
			l = x.Child
		case *ir.CallSiteLoc:
			l = x.Caller
		default:
			return position(l)
		}
	}
}

// registerLimit is how many registers a thread may have, or, without all, has where a
// quarter of the threads of a multiprocessor are there; 0: no limit is known.
func (m *module) registerLimit(all bool) int {
	limit := m.caps.Residents.ThreadRegisters(m.threads(), all)
	if m.maxRegs > 0 && limit > 0 {
		limit = min(limit, m.maxRegs)
	}
	return limit
}
