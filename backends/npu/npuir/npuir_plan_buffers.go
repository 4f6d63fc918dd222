package npuir

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// PlanBuffers gives each buffer its address. The sizes of the memories are options, and
// those of an Ascend 910B3 unless given.
var PlanBuffers = &pass.Pass{
	Name:    "npuir-plan-buffers",
	Doc:     "give buffers their addresses; those that are not alive together may share bytes",
	Example: planBuffersExample,
	Options: capacities,
	Run: func(r *pass.Run) error {
		for op := range r.Module.Body().Ops() {
			if !op.Is(linalg.Func) {
				continue
			}
			buffers, err := lives(r, op)
			if err != nil {
				return err
			}
			for _, space := range []Space{UB, L1, L0A, L0B, L0C, Global} {
				if err := place(r, space, buffers); err != nil {
					return err
				}
			}
			end := 0
			for _, b := range buffers {
				b.op.SetAttr(OffsetAttr, op.Context().I64Attr(int64(b.offset)))
				if b.space == Global {
					end = max(end, b.end())
				}
			}
			if end > 0 {
				op.SetAttr(WorkspaceAttr, op.Context().I64Attr(int64(end)))
			}
		}
		return nil
	},
}

// buffer is a memref.alloc or a npuir.workspace.
type buffer struct {
	op    *ir.Operation
	space Space
	size  int
	width int // bits of an element
	// first and last are when it is accessed first and last, in the order of the text;
	// inclusive.
	first, last int
	offset      int
	// inputs are the buffers whose place it may take, though they are alive when it begins:
	// those that the vector instruction reads that writes it first, and nothing after it.
	inputs []*buffer
}

func (b *buffer) end() int { return b.offset + b.size }

// lives returns the buffers of a function, in the order of their first accesses. A buffer
// that loops carry is an error: what becomes of it there is not known.
func lives(r *pass.Run, f *ir.Operation) (list []*buffer, err error) {
	begin, end := make(map[*ir.Operation]int), make(map[*ir.Operation]int)
	var number func(op *ir.Operation)
	n := 0
	number = func(op *ir.Operation) {
		begin[op] = n
		n++
		for _, r := range op.Regions() {
			for b := range r.Blocks() {
				for o := range b.Ops() {
					number(o)
				}
			}
		}
		end[op] = n - 1
	}
	number(f)

	byValue := make(map[*ir.Value]*buffer)
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if !op.Is(linalg.Alloc) && !op.Is(Workspace) {
			return ir.Advance
		}
		v := op.OneResult()
		m := linalg.MemRefOf(op.Context(), v.Type())
		b := &buffer{op: op, first: n, width: widthOf(m.Elem)}
		b.space, _ = SpaceOf(op.Context(), v.Type())
		b.size = (b.width + 7) / 8
		for _, d := range m.Shape {
			b.size *= int(d)
		}
		users := accesses(v)
		if len(users) == 0 {
			b.first, b.last = begin[op], begin[op]
		}
		for _, user := range users {
			if user.Def().Dialect() != Name && !user.Is(linalg.Load) && !user.Is(linalg.Store) {
				err = diag.Errorf(r.Place(user), "%s does not access buffers", user.Name())
				return ir.Stop
			}
			for user.Block() != op.Block() { // the loop, as a whole
				user = user.Parent()
			}
			b.first, b.last = min(b.first, begin[user]), max(b.last, end[user])
		}
		byValue[v] = b
		list = append(list, b)
		return ir.Advance
	})
	if err != nil {
		return nil, err
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(Vector) {
			v := AsVector(op)
			to := byValue[v.Target()]
			for _, in := range v.Inputs() {
				from := byValue[in]
				if to != nil && from != nil && to.first == begin[op] && from.last == begin[op] && from.width == to.width && from.size == to.size {
					to.inputs = append(to.inputs, from)
				}
			}
		}
		return ir.Advance
	})
	slices.SortStableFunc(list, func(a, b *buffer) int { return a.first - b.first })
	return list, nil
}

// accesses are the operations that read or write a buffer, by itself or a view of it.
func accesses(v *ir.Value) []*ir.Operation {
	var out []*ir.Operation
	for user := range v.Users() {
		if user.Is(linalg.SubView) || user.Is(linalg.ReinterpretCast) {
			out = append(out, accesses(user.OneResult())...)
		} else {
			out = append(out, user)
		}
	}
	return out
}

// alignWorkspace is what addresses in the workspace are multiples of: transfers are fastest
// from and to such.
const alignWorkspace = 512

// align is what addresses in a space are multiples of.
func (s Space) align() int {
	switch s {
	case UB:
		return chip.AlignUB
	case L1:
		return chip.AlignL1
	case Global:
		return alignWorkspace
	}
	return chip.AlignL0C
}

// place gives the buffers of a space their offsets: each the lowest at which nothing lies
// that is alive with it, but where it can that of an input.
func place(r *pass.Run, space Space, all []*buffer) error {
	size, align := math.MaxInt, space.align()
	if space != Global {
		size = r.Int(string(space))
	}
	var placed []*buffer // those that are alive with b or with later ones
	var most *buffer     // the one that ends last
	var beside []*buffer // what was placed before it
	for _, b := range all {
		if b.space != space {
			continue
		}
		placed = slices.DeleteFunc(placed, func(other *buffer) bool { return other.last < b.first })
		var candidates []int
		for _, in := range b.inputs {
			candidates = append(candidates, in.offset)
		}
		above := []int{0}
		for _, other := range placed {
			above = append(above, (other.end()+align-1)/align*align)
		}
		slices.Sort(above)
		for _, b.offset = range append(candidates, above...) {
			if !slices.ContainsFunc(placed, b.conflicts) {
				break
			}
		}
		if most == nil || b.end() > most.end() {
			most, beside = b, slices.Clone(placed)
		}
		placed = append(placed, b)
	}
	if most != nil && most.end() > size {
		return overflow(r, most, beside, size)
	}
	return nil
}

// conflicts reports whether a buffer that was placed does not let b lie where it is.
func (b *buffer) conflicts(other *buffer) bool {
	together := b.first <= other.last && other.first <= b.last
	apart := b.offset >= other.end() || other.offset >= b.end()
	inPlace := b.offset == other.offset && slices.Contains(b.inputs, other)
	return together && !apart && !inPlace
}

// overflow is the error of a buffer that does not fit, with a table of those that are alive
// with it.
func overflow(r *pass.Run, b *buffer, placed []*buffer, size int) *diag.Diagnostic {
	d := r.Errorf(b.op, "%s overflow: the kernel needs %s of it, and there are %d", b.space, diag.Count(b.end(), "byte"), size)
	d.WithHelp("choose smaller blocks")
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "at\tbytes\t  elements\n")
	for _, other := range append(slices.Clone(placed), b) {
		if other.first <= b.last && b.first <= other.last {
			elements := text.TypeString(b.op.Context(), other.op.OneResult().Type())
			elements, _, _ = strings.Cut(strings.TrimPrefix(elements, "memref<"), ",")
			at := ""
			if pos := r.CallPlace(other.op); pos.Line > 0 {
				at = ", of line " + strconv.Itoa(pos.Line)
			}
			fmt.Fprintf(t, "%d\t%d\t  %s%s\n", other.offset, other.size, elements, at)
		}
	}
	if err := t.Flush(); err != nil {
		panic("BUG: " + err.Error()) // memory takes everything
	}
	return d.WithNote(diag.Pos{}, "the buffers that are alive then:\n%s", strings.TrimSuffix(table.String(), "\n"))
}
