package instrument

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// space is a memory that has buffers; the values are those of the dialect tti.
type space int

const (
	sharedMemory space = iota
	tensorMemory
	numSpaces
)

func spaceOf(buffer *ir.Value) space {
	if ttng.InTensorMemory(buffer) {
		return tensorMemory
	}
	return sharedMemory
}

// The attributes of a buffer in tensor memory that say where it is.
const (
	columnAttr = "tensor_memory_col_offset"
	rowAttr    = "tensor_memory_row_offset"
	rowShift   = 16 // of the row in an address
)

// places are the addresses of buffers and mbarriers, each list without repetitions and
// filled up with zeros to a power of two.
type places struct {
	buffers  [numSpaces][]int64
	barriers []int64
}

// findPlaces looks for allocations. A buffer that operations take by parts, with
// ttg.memdesc_index, is as many as it has parts.
func (in *instrumenter) findPlaces() (*places, error) {
	var allocs [numSpaces][]*ir.Operation
	ir.Walk(in.kernel, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(ttg.LocalAlloc):
			allocs[sharedMemory] = append(allocs[sharedMemory], op)
		case ttng.IsTmemAlloc(op):
			allocs[tensorMemory] = append(allocs[tensorMemory], op)
		}
		return ir.Advance
	})
	p := new(places)
	for s, list := range allocs {
		for _, op := range list {
			to := &p.buffers[s]
			u := usesOf(allocated(op))
			switch {
			case u.called != nil:
				return nil, diag.Errorf(in.run.Place(u.called), "a function gets a buffer, whose accesses are not followed there").
					WithHelp("inline it first: the pass inline")
			case u.parts && u.whole:
				in.unchecked(op, "the buffer is accessed both whole and by parts: accesses to it are not checked")
				continue
			case u.barrier:
				to = &p.barriers
			}
			list, err := in.addresses(op, space(s), u.parts)
			if err != nil {
				return nil, err
			}
			for _, a := range list {
				if !slices.Contains(*to, a) {
					*to = append(*to, a)
				}
			}
		}
	}
	p.barriers = padded(p.barriers)
	for s := range p.buffers {
		p.buffers[s] = padded(p.buffers[s])
		if n := len(p.buffers[s]); n*max(maskBits, len(p.barriers)) > ir.MaxTensorElements {
			return nil, diag.Errorf(in.run.Place(in.kernel), "%s and %s are too many to keep track of", diag.Count(n, "buffer"), diag.Count(len(p.barriers), "barrier")).
				WithHelp("use fewer: a table of them is one tensor, of at most %d elements", ir.MaxTensorElements)
		}
	}
	return p, nil
}

// allocated is the buffer that op, an allocation, makes.
func allocated(op *ir.Operation) *ir.Value {
	if op.Is(ttg.LocalAlloc) {
		return ttg.AsLocalAlloc(op).Result()
	}
	return ttng.AsTmemAlloc(op).Result()
}

// padded fills a list up with zeros to a power of two.
func padded(list []int64) []int64 {
	for len(list)&(len(list)-1) != 0 {
		list = append(list, 0)
	}
	return list
}

// addresses are those of an allocation, or of each part of it.
func (in *instrumenter) addresses(op *ir.Operation, s space, parts bool) ([]int64, error) {
	m := allocated(op).Type().(*ttg.MemDescType)
	base, ok := op.IntAttr(ttg.OffsetAttr)
	help := "run the pass allocate-shared-memory-nv first"
	if s == tensorMemory {
		var row int64
		base, ok = op.IntAttr(columnAttr)
		if ok {
			row, ok = op.IntAttr(rowAttr)
		}
		base |= row << rowShift
		help = "run the pass triton-tensor-memory-allocation first"
	}
	if !ok {
		return nil, diag.Errorf(in.run.Place(op), "%s does not say where the buffer is", op.Name()).WithHelp("%s", help)
	}
	count, size := int64(1), int64(0)
	if parts && len(m.Shape) > 0 {
		count = m.Shape[0]
		if s == tensorMemory {
			size = tmem.Columns(m) / count
		} else {
			size = elements(m.Shape[1:]) * int64(ir.BitWidth(m.Elem)) / 8
		}
	}
	if base < 0 || count > ir.MaxTensorElements || base+(count-1)*size > math.MaxInt32 {
		return nil, diag.Errorf(in.run.Place(op), "the buffer is in no memory of a GPU").
			WithHelp("offsets are from 0 to %d; %s", math.MaxInt32, help)
	}
	list := make([]int64, count)
	for i := range list {
		list[i] = base + int64(i)*size
	}
	return list, nil
}

func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		if n *= d; n > math.MaxInt32 {
			return math.MaxInt32
		}
	}
	return n
}

// uses is what a module does with a buffer.
type uses struct {
	parts   bool          // takes parts of it with ttg.memdesc_index
	whole   bool          // accesses it whole, or another view of it
	barrier bool          // makes mbarriers in it
	called  *ir.Operation // passes it to a function here
}

// usesOf follows the whole buffer v through regions, loops and branches.
func usesOf(v *ir.Value) *uses {
	u := new(uses)
	type step struct {
		v    *ir.Value
		view bool
	}
	todo, seen := []step{{v, false}}, make(map[step]bool)
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		for use := range s.v.Uses() {
			op := use.Owner()
			next, same := flowsTo(use)
			for _, w := range next {
				todo = append(todo, step{w, s.view || !same})
			}
			switch {
			case op.Is(tt.Call):
				u.called = op
			case ttng.Is(op, "init_barrier"):
				u.barrier = true
				u.whole = u.whole || !s.view
			case s.view || same && len(next) > 0 || op.Is(ttg.LocalDealloc):
			case op.Is(ttg.MemDescIndex):
				u.parts = true
			default:
				u.whole = true
			}
		}
	}
	return u
}

// flowsTo lists the values that the owner of a use makes of a buffer, and whether they are
// the buffer itself, under another name, or views of it.
func flowsTo(use *ir.Use) (values []*ir.Value, same bool) {
	op, i := use.Owner(), use.Index()
	switch {
	case op.Is(ttg.WarpSpecialize):
		for _, r := range ttg.Partitions(op) {
			values = append(values, r.First().Arg(i))
		}
		return values, true
	case op.Is(scf.For) && i >= op.NumOperands()-op.NumResults():
		k := i - (op.NumOperands() - op.NumResults())
		return []*ir.Value{scf.IterArg(op, k), op.Result(k)}, true
	case op.Is(scf.Yield), op.Is(ttg.WarpYield):
		parent := op.Parent()
		values = append(values, parent.Result(i))
		if parent.Is(scf.For) {
			values = append(values, scf.IterArg(parent, i))
		}
		return values, true
	case op.NumSuccessors() > 0:
		for k, b := range op.Successors() {
			for j, v := range cf.SuccessorArgs(op, k) {
				if v == use.Value() {
					values = append(values, b.Arg(j))
				}
			}
		}
		return values, true
	}
	for _, r := range op.Results() {
		if _, ok := r.Type().(*ttg.MemDescType); ok {
			values = append(values, r)
		}
	}
	return values, op.Is(arith.Select)
}

// tracked is the buffer of the tables that v is a view of: an allocation, or a part that
// ttg.memdesc_index takes of it. An access to a smaller part counts as one to all of it.
func tracked(v *ir.Value) *ir.Value {
	part := v
	for {
		whole := viewed(v)
		if whole == nil {
			return part
		}
		if v.DefIs(ttg.MemDescIndex) && viewed(whole) == nil {
			return v
		}
		part, v = whole, whole
	}
}

// viewed is the buffer that v is a view of, or nil.
func viewed(v *ir.Value) *ir.Value {
	switch op := v.Def(); {
	case op == nil:
		return nil
	case ttng.Is(op, "tmem_subslice"):
		return ttng.AsTmemSubslice(op).Src()
	default:
		return ttg.Viewed(op)
	}
}
