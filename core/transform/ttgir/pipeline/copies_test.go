package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/passtest"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// copier executes functions of tensors of laneCount elements with asynchronous
// copies as late or as early as the hardware allows: what a copy moves appears in
// its buffer only when a wait demands it, and until then the buffer holds
// garbage; or it is there at once. A wait for too few groups shows in the one
// case, a buffer that is used again too early in the other.
type copier struct {
	early   bool
	memory  []int64
	words   map[*ir.Value][]int64
	buffers map[*ir.Value]*ringView
	open    []func()   // copies since the last commit
	groups  [][]func() // committed, oldest first
	err     error
	// foreign executes operations that the copier does not know, where it can.
	foreign func(op *ir.Operation) bool
}

// ringView is an array of buffers, or one of them.
type ringView struct {
	slots [][]int64
	index int // -1: all
}

const (
	laneCount = 128
	garbage   = -999_999_937
)

func (m *copier) get(v *ir.Value) []int64 {
	if c, ok := arith.ConstantInt(v); ok {
		if _, tensor := v.Type().(*ir.TensorType); !tensor {
			return []int64{c}
		}
		return slices.Repeat([]int64{c}, laneCount)
	}
	x, ok := m.words[v]
	if !ok {
		panic("a value that was not computed")
	}
	return x
}

func (m *copier) block(b *ir.Block) [][]int64 {
	for op := range b.Ops() {
		if m.err != nil {
			return nil
		}
		if op.IsTerminator() {
			out := make([][]int64, op.NumOperands())
			for i, v := range op.Operands() {
				if _, token := v.Type().(*ttg.AsyncTokenType); !token {
					out[i] = m.get(v)
				}
			}
			return out
		}
		m.operation(op)
	}
	return nil
}

func (m *copier) bind(vs []*ir.Value, to [][]int64) {
	for i, v := range vs {
		m.words[v] = to[i]
	}
}

func (m *copier) read(at int64) int64 {
	if at < 0 || at >= 2*copyArea {
		m.err = fmt.Errorf("load at %d", at)
		return 0
	}
	return m.memory[at]
}

// gather loads what ptr points to where mask is true, and other elsewhere.
func (m *copier) gather(ptr, mask, other []int64) []int64 {
	out := make([]int64, len(ptr))
	for i, at := range ptr {
		switch {
		case mask == nil || mask[i] != 0:
			out[i] = m.read(at)
		case other != nil:
			out[i] = other[i]
		default:
			out[i] = garbage
		}
	}
	return out
}

func (m *copier) operation(op *ir.Operation) {
	group := func(i int) []int64 {
		if v := op.GroupOne(i); v != nil {
			return m.get(v)
		}
		return nil
	}
	each := func(f func(i int) int64) {
		n := 1
		if _, tensor := op.Result(0).Type().(*ir.TensorType); tensor {
			n = laneCount
		}
		out := make([]int64, n)
		for i := range out {
			out[i] = f(i)
		}
		m.words[op.Result(0)] = out
	}
	arg := func(k int) []int64 { return m.get(op.Operand(k)) }
	switch op.Def() {
	case arith.Constant, ttg.LocalDealloc:
	case tt.Splat:
		each(func(int) int64 { return arg(0)[0] })
	case tt.MakeRange:
		each(func(i int) int64 { return int64(i) })
	case arith.AddI:
		each(func(i int) int64 { return int64(int32(arg(0)[i] + arg(1)[i])) })
	case tt.AddPtr:
		each(func(i int) int64 { return arg(0)[i] + arg(1)[i] })
	case arith.SubI:
		each(func(i int) int64 { return int64(int32(arg(0)[i] - arg(1)[i])) })
	case arith.MulI:
		each(func(i int) int64 { return int64(int32(arg(0)[i] * arg(1)[i])) })
	case arith.AndI:
		each(func(i int) int64 { return arg(0)[i] & arg(1)[i] })
	case arith.CmpI:
		pred, _ := op.IntAttr("predicate")
		each(func(i int) int64 {
			if arith.CompareInts(pred, uint64(uint32(arg(0)[i])), uint64(uint32(arg(1)[i])), 32) {
				return 1
			}
			return 0
		})
	case arith.Select:
		each(func(i int) int64 {
			if c := arg(0); c[i%len(c)] != 0 {
				return arg(1)[i]
			}
			return arg(2)[i]
		})
	case tt.Load:
		m.words[op.Result(0)] = m.gather(arg(0), group(1), group(2))
	case tt.Store:
		for i, at := range arg(0) {
			if op.NumOperands() == 2 || arg(2)[i] != 0 {
				if at < 2*copyArea || at >= int64(len(m.memory)) {
					m.err = fmt.Errorf("store at %d", at)
					return
				}
				m.memory[at] = arg(1)[i]
			}
		}
	case scf.If:
		r := op.Region(0)
		if arg(0)[0] == 0 {
			r = op.Region(1)
		}
		if !r.Empty() {
			m.bind(op.Results(), m.block(r.First()))
		}
	case scf.For:
		var carried [][]int64
		for _, v := range scf.Inits(op) {
			if _, token := v.Type().(*ttg.AsyncTokenType); token {
				carried = append(carried, nil)
			} else {
				carried = append(carried, m.get(v))
			}
		}
		for i := arg(0)[0]; i < arg(1)[0] && m.err == nil; i += arg(2)[0] {
			m.words[scf.InductionVar(op)] = []int64{i}
			m.bind(scf.IterArgs(op), carried)
			carried = m.block(op.Body())
		}
		m.bind(op.Results(), carried)
	case ttg.LocalAlloc:
		view := &ringView{index: -1}
		for range op.Result(0).Type().(*ttg.MemDescType).Shape[0] {
			view.slots = append(view.slots, slices.Repeat([]int64{garbage}, laneCount))
		}
		m.buffers[op.Result(0)] = view
	case ttg.MemDescIndex:
		all, i := m.buffers[op.Operand(0)], int(arg(1)[0])
		if i < 0 || i >= len(all.slots) {
			m.err = fmt.Errorf("buffer %d of %d", i, len(all.slots))
			return
		}
		m.buffers[op.Result(0)] = &ringView{all.slots, i}
	case ttg.AsyncCopy:
		mask, other := group(2), []int64(nil)
		if mask != nil {
			other = make([]int64, laneCount) // zeros, whatever the operation says
		}
		data, to := m.gather(arg(0), mask, other), m.buffers[op.Operand(1)]
		to.slots[to.index] = slices.Repeat([]int64{garbage}, laneCount)
		land := func() { to.slots[to.index] = data }
		if m.early {
			land()
		} else {
			m.open = append(m.open, land)
		}
	case ttg.AsyncCommitGroup:
		m.groups = append(m.groups, m.open)
		m.open = nil
	case ttg.AsyncWait:
		left, _ := op.IntAttr("num")
		for len(m.groups) > int(left) {
			for _, land := range m.groups[0] {
				land()
			}
			m.groups = m.groups[1:]
		}
	case ttg.LocalLoad:
		from := m.buffers[op.Operand(0)]
		m.words[op.Result(0)] = slices.Clone(from.slots[from.index])
	default:
		if m.foreign != nil && m.foreign(op) {
			return
		}
		m.err = fmt.Errorf("no meaning of %s", op.Name())
	}
}

// executeCopies runs the module's one function, on n iterations, and returns its
// result and memory.
func executeCopies(module *ir.Operation, n int, early bool) ([][]int64, []int64, error) {
	return newCopier(early).execute(module, n)
}

func newCopier(early bool) *copier {
	return &copier{early: early, memory: make([]int64, 3*copyArea), words: map[*ir.Value][]int64{}, buffers: map[*ir.Value]*ringView{}}
}

func (m *copier) execute(module *ir.Operation, n int) ([][]int64, []int64, error) {
	f := module.Body().First()
	for i := range m.memory {
		m.memory[i] = int64(int32(i*7919 + 13))
	}
	for i, at := range []int64{0, copyArea, int64(n), 2 * copyArea} {
		m.words[f.Body().Arg(i)] = []int64{at}
	}
	out := m.block(f.Body())
	return out, m.memory, m.err
}

// copyArea is the room of each of the three arrays, for 16 iterations and no more.
const copyArea = 16 * laneCount

// randomCopies is a module with one loop that loads from two arrays, at
// addresses from the iteration or from what was loaded, and stores to a third. With
// blocks half of the loads go through descriptors of the arrays.
func randomCopies(r *rand.Rand, blocks bool) string {
	var b strings.Builder
	descriptors := ""
	if blocks {
		descriptors = ", %d0: !tt.tensordesc<tensor<128xi32>>, %d1: !tt.tensordesc<tensor<128xi32>>"
	}
	fmt.Fprintf(&b, `#l = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%%p0: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %%p1: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %%n: i32, %%q: !tt.ptr<i32>%s) -> tensor<128xi32, #l> {
    %%c0 = arith.constant 0 : i32
    %%c1 = arith.constant 1 : i32
    %%c128 = arith.constant 128 : i32
    %%bound = arith.constant dense<100> : tensor<128xi32, #l>
    %%low = arith.constant dense<1023> : tensor<128xi32, #l>
    %%seven = arith.constant dense<7> : tensor<128xi32, #l>
    %%zero = arith.constant dense<0> : tensor<128xi32, #l>
    %%range = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
    %%s0 = tt.splat %%p0 : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #l>
    %%s1 = tt.splat %%p1 : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #l>
    %%sq = tt.splat %%q : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #l>
    %%some = arith.cmpi slt, %%range, %%bound : tensor<128xi32, #l>
    %%r = scf.for %%i = %%c0 to %%n step %%c1 iter_args(%%acc = %%zero) -> (tensor<128xi32, #l>) : i32 {
      %%o = arith.muli %%i, %%c128 : i32
      %%os = tt.splat %%o : i32 -> tensor<128xi32, #l>
      %%at = arith.addi %%os, %%range : tensor<128xi32, #l>
`, descriptors)
	live := []string{"%acc", "%at"}
	loads := 0
	for k := range 2 + r.IntN(6) {
		v, any := fmt.Sprintf("%%v%d", k), func() string { return live[r.IntN(len(live))] }
		switch kind := r.IntN(7); {
		case kind < 3 && blocks && r.IntN(2) == 0:
			fmt.Fprintf(&b, "      %s = tt.descriptor_load %%d%d[%%o] : !tt.tensordesc<tensor<128xi32>> -> tensor<128xi32, #l>\n", v, r.IntN(2))
			loads++
		case kind < 3 || loads == 0:
			at := "%at"
			if loads > 0 && r.IntN(2) == 0 {
				fmt.Fprintf(&b, "      %s_i = arith.andi %s, %%low : tensor<128xi32, #l>\n", v, live[len(live)-1])
				at = v + "_i"
			}
			mask := []string{"", ", %some, %zero", ", %some, %seven"}[r.IntN(3)]
			fmt.Fprintf(&b, "      %s_p = tt.addptr %%s%d, %s : tensor<128x!tt.ptr<i32>, #l>, tensor<128xi32, #l>\n      %s = tt.load %s_p%s : tensor<128x!tt.ptr<i32>, #l>\n", v, r.IntN(2), at, v, v, mask)
			loads++
		case kind == 3:
			fmt.Fprintf(&b, "      %s_c = arith.andi %%i, %%c1 : i32\n      %s_d = arith.cmpi eq, %s_c, %%c0 : i32\n      %s = scf.if %s_d -> (tensor<128xi32, #l>) {\n        %s_x = arith.addi %s, %s : tensor<128xi32, #l>\n        scf.yield %s_x : tensor<128xi32, #l>\n      } else {\n        scf.yield %s : tensor<128xi32, #l>\n      }\n",
				v, v, v, v, v, v, any(), any(), v, any())
		case kind == 4:
			fmt.Fprintf(&b, "      %s_q = tt.addptr %%sq, %%at : tensor<128x!tt.ptr<i32>, #l>, tensor<128xi32, #l>\n      tt.store %s_q, %s : tensor<128x!tt.ptr<i32>, #l>\n", v, v, any())
			continue
		case kind == 5: // which the schedule puts at the end of the iteration
			fmt.Fprintf(&b, "      %s_c = arith.andi %%i, %%c1 : i32\n      %s_d = arith.cmpi eq, %s_c, %%c0 : i32\n      scf.if %s_d {\n        %s_q = tt.addptr %%sq, %%at : tensor<128x!tt.ptr<i32>, #l>, tensor<128xi32, #l>\n        tt.store %s_q, %s : tensor<128x!tt.ptr<i32>, #l>\n      }\n",
				v, v, v, v, v, v, live[len(live)-1])
			if len(live) > 2 && r.IntN(2) == 0 {
				live = live[:len(live)-1] // nothing else reads it
			}
			continue
		default:
			fmt.Fprintf(&b, "      %s = arith.%s %s, %s : tensor<128xi32, #l>\n", v, []string{"addi", "subi", "muli"}[r.IntN(3)], any(), any())
		}
		live = append(live, v)
	}
	fmt.Fprintf(&b, "      %%next = arith.addi %%acc, %s : tensor<128xi32, #l>\n      scf.yield %%next : tensor<128xi32, #l>\n    } {tt.num_stages = %d : i32}\n    tt.return %%r : tensor<128xi32, #l>\n  }\n}\n", live[len(live)-1], 2+r.IntN(4))
	return b.String()
}

// Loops whose loads became asynchronous copies compute and store what they did
// before, read nothing that was not copied yet, and nothing outside the arrays.
func TestCopiesAreThereWhenNeeded(t *testing.T) {
	copies := 0
	for seed := range uint64(90) {
		src := randomCopies(rand.New(rand.NewPCG(seed, 2)), false)
		before, after := passtest.Module(t, "before", src), passtest.Module(t, "after", src)
		passtest.Apply(t, after, pass.Row{Pass: pipeline.AssignLatencies}, pass.Row{Pass: pipeline.ScheduleLoops}, pass.Row{Pass: pipeline.Pipeline})
		ir.Walk(after, func(op *ir.Operation) ir.WalkResult {
			if op.Is(ttg.AsyncCopy) {
				copies++
			}
			return ir.Advance
		})
		for _, n := range []int{0, 1, 2, 3, 6, 16} {
			x, mx, err := executeCopies(before, n, false)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, src)
			}
			for _, early := range []bool{false, true} {
				y, my, err := executeCopies(after, n, early)
				if err != nil || !slices.EqualFunc(x, y, slices.Equal) || !slices.Equal(mx, my) {
					t.Fatalf("seed %d, %d iterations, early=%v: %v\n%s\n%s", seed, n, early, err, src, text.String(after))
				}
			}
		}
	}
	if copies < 150 {
		t.Errorf("only %d copies", copies)
	}
}
