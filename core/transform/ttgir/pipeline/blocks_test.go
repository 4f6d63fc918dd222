package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/internal/passtest"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// toyDialect has the operations of a target with barriers that count bytes.
const toyDialect = `{"name": "toy", "ops": [
  {"name": "toy.expect", "operands": [{"name": "barrier", "type": "ttg.memdesc"}, {"name": "pred", "type": "i1"}],
   "attrs": [{"name": "bytes", "kind": "i32"}], "effects": ["write"]},
  {"name": "toy.start", "operands": [{"name": "desc", "type": "tt.tensordesc"}, {"name": "at", "type": "i32"},
    {"name": "barrier", "type": "ttg.memdesc"}, {"name": "buffer", "type": "ttg.memdesc"}, {"name": "pred", "type": "i1"}], "effects": ["read", "write"]},
  {"name": "toy.wait", "operands": [{"name": "barrier", "type": "ttg.memdesc"}, {"name": "phase", "type": "i32"}, {"name": "pred", "type": "i1"}],
   "effects": ["read", "write"]},
  {"name": "toy.end", "operands": [{"name": "barriers", "type": "ttg.memdesc"}], "effects": ["write"]}
]}`

// toy makes copies with them. The last operand of what is switched off is its
// predicate.
type toy struct{ expect, start, wait, end *ir.OpDef }

func newToy(t *testing.T) (*toy, *ir.Dialect) {
	d, err := decl.Load([]byte(toyDialect), dialect.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return &toy{d.Ops[0], d.Ops[1], d.Ops[2], d.Ops[3]}, d
}

func (*toy) Buffer(load *ir.Operation) *encoding.Attr {
	return encoding.Of(load.Context(), &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{0}})
}

func (y *toy) barrier(c *ir.Context, shape ...int64) ir.Type {
	return ttg.MemDesc(c, ttg.MemDescType{Shape: shape, Elem: c.Int(64), Encoding: y.bufferEncoding(c), Space: ttg.SharedMemory(c), Mutable: true})
}

func (*toy) bufferEncoding(c *ir.Context) *encoding.Attr {
	return encoding.Of(c, &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{0}})
}

func (y *toy) NewBarriers(b *ir.Builder, n int) *ir.Value {
	return b.Op(ttg.LocalAlloc, nil, y.barrier(b.Context(), int64(n), 1)).Result(0)
}

func (y *toy) EndBarriers(b *ir.Builder, barriers *ir.Value, _ int) {
	b.Op(y.end, []*ir.Value{barriers})
}

func (y *toy) at(b *ir.Builder, barriers, index *ir.Value) *ir.Value {
	return b.Op(ttg.MemDescIndex, []*ir.Value{barriers, index}, y.barrier(b.Context(), 1)).Result(0)
}

func (*toy) always(b *ir.Builder) *ir.Value { return arith.NewConstant(b, b.Context().BoolAttr(true)) }

func (y *toy) Expect(b *ir.Builder, barriers, index *ir.Value, bytes int64) *ir.Value {
	barrier := y.at(b, barriers, index)
	b.Create(y.expect, ir.State{
		Operands: []*ir.Value{barrier, y.always(b)}, Attrs: []ir.NamedAttr{{Name: "bytes", Attr: b.Context().I32Attr(bytes)}},
	})
	return barrier
}

func (y *toy) Start(b *ir.Builder, load *ir.Operation, buffer, barrier *ir.Value) {
	b.Op(y.start, append(load.OperandValues(), barrier, buffer, y.always(b)))
}

func (y *toy) Wait(b *ir.Builder, barriers, index, phase *ir.Value) {
	b.Op(y.wait, []*ir.Value{y.at(b, barriers, index), phase, y.always(b)})
}

func (*toy) NewDescriptors(b *ir.Builder, n int) *ir.Value {
	c := b.Context()
	return b.Create(ttg.GlobalScratchAlloc, ir.State{
		Types: []ir.Type{tt.Ptr(c, c.Int(8))},
		Attrs: []ir.NamedAttr{{Name: "alignment", Attr: c.I32Attr(1)}, {Name: "nbytes", Attr: c.I32Attr(int64(n))}},
	}).OneResult()
}

// Describe makes a descriptor whose base is its place in memory.
func (*toy) Describe(b *ir.Builder, made *ir.Operation, memory, index *ir.Value) *ir.Value {
	op := tt.AsMakeTensorDesc(made)
	n := b.Create(tt.MakeTensorDesc, ir.State{
		Operands: made.OperandValues(), Segments: []int32{1, int32(len(op.Shape())), int32(len(op.Strides()))},
		Types: []ir.Type{op.Result().Type()}, Attrs: made.Attrs(),
	})
	tt.AsMakeTensorDesc(n).SetBase(tt.NewAddPtr(b, memory, index))
	return n.OneResult()
}

func (y *toy) Predicate(op *ir.Operation, pred *ir.Value) bool {
	if !op.Is(y.expect) && !op.Is(y.start) && !op.Is(y.wait) {
		return false
	}
	op.SetOperand(op.NumOperands()-1, pred)
	return true
}

// blockCopier executes them: a phase of a barrier ends when as many bytes have come
// as it expects, at once or, as late as can be, when somebody waits for it.
type blockCopier struct {
	*copier
	*toy
	barriers map[*[]int64]*barrierState // by the barrier's slot
}

type barrierState struct {
	phases          int // that have ended
	expected, begun int64
	land            []func()
}

func (m *blockCopier) state(v *ir.Value) *barrierState {
	view := m.buffers[v]
	slot := &view.slots[view.index]
	if m.barriers[slot] == nil {
		m.barriers[slot] = &barrierState{}
	}
	return m.barriers[slot]
}

// settle ends the barrier's phase if all of its bytes are under way.
func (b *barrierState) settle() {
	if b.expected == 0 || b.begun != b.expected {
		return
	}
	for _, land := range b.land {
		land()
	}
	*b = barrierState{phases: b.phases + 1}
}

const blockBytes = laneCount * 4

func (m *blockCopier) operate(op *ir.Operation) bool {
	isOn := func() bool { return m.get(op.Operand(op.NumOperands() - 1))[0] != 0 }
	switch op.Def() {
	case tt.DescriptorLoad:
		m.words[op.Result(0)] = m.loaded(op)
	case arith.XorI:
		m.words[op.Result(0)] = []int64{m.get(op.Operand(0))[0] ^ m.get(op.Operand(1))[0]}
	case m.expect:
		if !isOn() {
			break
		}
		b := m.state(op.Operand(0))
		if b.expected != 0 {
			m.err = fmt.Errorf("a barrier's phase begins before the last one has ended")
		}
		b.expected, _ = op.IntAttr("bytes")
	case m.start:
		if !isOn() {
			break
		}
		b, to, data := m.state(op.Operand(2)), m.buffers[op.Operand(3)], m.loaded(op)
		to.slots[to.index] = slices.Repeat([]int64{garbage}, laneCount)
		b.land = append(b.land, func() { to.slots[to.index] = data })
		b.begun += blockBytes
		if m.early {
			b.settle()
		}
	case m.wait:
		if !isOn() {
			break
		}
		b, parity := m.state(op.Operand(0)), int(m.get(op.Operand(1))[0])
		if b.phases&1 == parity { // the phase of that parity has not ended
			if b.settle(); b.phases&1 == parity {
				m.err = fmt.Errorf("a wait for a phase that does not end")
			}
		}
	case m.end:
		for i, b := range m.barriers {
			if b.expected != 0 || b.begun != 0 {
				m.err = fmt.Errorf("copies are under way at the end of barrier %p", i)
			}
		}
	default:
		return false
	}
	return true
}

// loaded is what op loads through one of the descriptors, zeros outside of it.
func (m *blockCopier) loaded(op *ir.Operation) []int64 {
	which, at := op.Operand(0).Index()-4, m.get(op.Operand(1))[0]
	out := make([]int64, laneCount)
	for i := range out {
		if k := at + int64(i); k >= 0 && k < copyArea {
			out[i] = m.memory[which*copyArea+int(k)]
		}
	}
	return out
}

// Loops whose loads through descriptors became copies that barriers count, next to
// others, compute and store what they did before, read nothing that was not copied
// yet, and wait for nothing that does not come.
func TestBlockCopiesAreThereWhenNeeded(t *testing.T) {
	y, d := newToy(t)
	grouped := blockCopiesAreThere(t, y, d, pipeline.New(dots.MultiplyAdd{}, y))
	apart := blockCopiesAreThere(t, y, d, pipeline.NewLiteral(dots.MultiplyAdd{}, y))
	if grouped < 10 || apart == 0 || apart >= grouped {
		t.Errorf("%d barriers for several copies, %d where loads after a use have their own", grouped, apart)
	}
}

// blockCopiesAreThere tests loops that p pipelines, and returns how many barriers count
// several copies.
func blockCopiesAreThere(t *testing.T, y *toy, d *ir.Dialect, p *pass.Pass) int {
	t.Helper()
	starts, grouped := 0, 0
	for seed := range uint64(80) {
		src := randomCopies(rand.New(rand.NewPCG(seed, 7)), true)
		before, after := passtest.Module(t, "before", src), passtest.Module(t, "after", src)
		after.Context().Load(d)
		passtest.Apply(t, after, pass.Row{Pass: pipeline.AssignLatencies}, pass.Row{Pass: pipeline.ScheduleLoops}, pass.Row{Pass: p})
		ir.Walk(after, func(op *ir.Operation) ir.WalkResult {
			switch op.Def() {
			case y.start:
				starts++
			case y.expect:
				if n, _ := op.IntAttr("bytes"); n > blockBytes {
					grouped++
				}
			}
			return ir.Advance
		})
		for _, n := range []int{0, 1, 2, 3, 6, 16} {
			execute := func(module *ir.Operation, early bool) ([][]int64, []int64, error) {
				m := &blockCopier{newCopier(early), y, map[*[]int64]*barrierState{}}
				m.foreign = m.operate
				return m.execute(module, n)
			}
			x, mx, err := execute(before, false)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, src)
			}
			for _, early := range []bool{false, true} {
				y, my, err := execute(after, early)
				if err != nil || !slices.EqualFunc(x, y, slices.Equal) || !slices.Equal(mx, my) {
					t.Fatalf("seed %d, %d iterations, early=%v: %v\n%s\n%s", seed, n, early, err, src, text.String(after))
				}
			}
		}
	}
	if starts < 120 {
		t.Errorf("only %d copies", starts)
	}
	return grouped
}
