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
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// machine executes functions of scalars: enough to tell whether a loop still
// does the same. Memory is one array of words; an access outside is an error,
// which is how an operation is caught that should have been switched off.
type machine struct {
	memory []int32
	values map[*ir.Value]int64
	err    error
}

const arrayWords = 64 // readable words from address 0; the words after them are for stores

func (m *machine) get(v *ir.Value) int64 {
	if c, ok := arith.ConstantInt(v); ok {
		return c
	}
	x, ok := m.values[v]
	if !ok {
		panic("a value that was not computed")
	}
	return x
}

// block executes the operations of b and returns what its terminator takes.
func (m *machine) block(b *ir.Block) []int64 {
	for op := range b.Ops() {
		if m.err != nil {
			return nil
		}
		if op.IsTerminator() {
			out := make([]int64, op.NumOperands())
			for i, v := range op.Operands() {
				out[i] = m.get(v)
			}
			return out
		}
		m.operation(op)
	}
	return nil
}

func (m *machine) operation(op *ir.Operation) {
	set := func(x int64) { m.values[op.Result(0)] = x }
	word := func(x int64) { set(int64(int32(x))) }
	switch op.Def() {
	case arith.Constant:
	case arith.ExtSI:
		set(m.get(op.Operand(0)))
	case arith.TruncI:
		set(int64(int16(m.get(op.Operand(0)))))
	case arith.AddI:
		word(m.get(op.Operand(0)) + m.get(op.Operand(1)))
	case arith.SubI:
		word(m.get(op.Operand(0)) - m.get(op.Operand(1)))
	case arith.MulI:
		word(m.get(op.Operand(0)) * m.get(op.Operand(1)))
	case arith.DivSI:
		word(m.get(op.Operand(0)) / m.get(op.Operand(1)))
	case arith.MaxSI:
		set(max(m.get(op.Operand(0)), m.get(op.Operand(1))))
	case arith.AndI:
		set(m.get(op.Operand(0)) & m.get(op.Operand(1)))
	case arith.CmpI:
		pred, _ := op.IntAttr("predicate")
		set(0)
		if arith.CompareInts(pred, uint64(uint32(m.get(op.Operand(0)))), uint64(uint32(m.get(op.Operand(1)))), 32) {
			set(1)
		}
	case arith.Select:
		if m.get(op.Operand(0))&1 == 1 {
			set(m.get(op.Operand(1)))
		} else {
			set(m.get(op.Operand(2)))
		}
	case tt.AddPtr:
		set(m.get(op.Operand(0)) + m.get(op.Operand(1)))
	case tt.Load:
		if mask := op.GroupOne(1); mask != nil && m.get(mask)&1 == 0 {
			set(-12345) // of no iteration
			return
		}
		at := m.get(op.Operand(0))
		if at < 0 || at >= arrayWords {
			m.err = fmt.Errorf("load at %d", at)
			return
		}
		set(int64(m.memory[at]))
	case tt.Store:
		if op.NumOperands() == 3 && m.get(op.Operand(2))&1 == 0 {
			return
		}
		at := m.get(op.Operand(0))
		if at < arrayWords || at >= int64(len(m.memory)) {
			m.err = fmt.Errorf("store at %d", at)
			return
		}
		m.memory[at] = int32(m.get(op.Operand(1)))
	case scf.If:
		r := op.Region(0)
		if m.get(op.Operand(0))&1 == 0 {
			r = op.Region(1)
		}
		if r.Empty() {
			return
		}
		for i, x := range m.block(r.First()) {
			m.values[op.Result(i)] = x
		}
	case scf.For:
		carried := make([]int64, 0, op.NumResults())
		for _, v := range scf.Inits(op) {
			carried = append(carried, m.get(v))
		}
		for i := m.get(scf.LowerBound(op)); i < m.get(scf.UpperBound(op)) && m.err == nil; i += m.get(scf.Step(op)) {
			m.values[scf.InductionVar(op)] = i
			for k, a := range scf.IterArgs(op) {
				m.values[a] = carried[k]
			}
			carried = m.block(op.Body())
		}
		for i, x := range carried {
			m.values[op.Result(i)] = x
		}
	default:
		m.err = fmt.Errorf("no meaning of %s", op.Name())
	}
}

// execute runs the module's one function on n iterations and returns its results and
// memory.
func execute(module *ir.Operation, n int) ([]int64, []int32, error) {
	var f *ir.Operation
	for op := range module.Body().Ops() {
		f = op
	}
	m := &machine{memory: make([]int32, arrayWords+32), values: map[*ir.Value]int64{}}
	for i := range m.memory {
		m.memory[i] = int32(i*7919 + 13)
	}
	m.values[f.Body().Arg(0)] = 0
	m.values[f.Body().Arg(1)] = int64(n)
	out := m.block(f.Body())
	return out, m.memory, m.err
}

// randomLoop is a module with one loop over i of 0 … n-1 with random operations,
// of which some have latencies. They load numbers of two bytes, which are too short to be
// copied ahead and remain loads. Loads are in bounds in the iterations that there are and
// not in all others.
func randomLoop(r *rand.Rand) string {
	var b strings.Builder
	carried := 1 + r.IntN(3)
	fmt.Fprintf(&b, `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%%p: !tt.ptr<i16>, %%n: i32) -> (%s) {
    %%c0 = arith.constant 0 : i32
    %%step = arith.constant %d : i32
    %%c64 = arith.constant 64 : i32
    %%c3 = arith.constant 3 : i32
    %%r:%d = scf.for %%i = %%c0 to %%n step %%step iter_args(`, list(carried, "i32"), 1+r.IntN(3), carried)
	live := []string{"%i", "%c3"}
	for k := range carried {
		fmt.Fprintf(&b, "%s%%a%d = %%c3", []string{"", ", "}[min(k, 1)], k)
		live = append(live, fmt.Sprintf("%%a%d", k))
	}
	fmt.Fprintf(&b, ") -> (%s) : i32 {\n", list(carried, "i32"))
	latency := func() string {
		if r.IntN(3) > 0 {
			return ""
		}
		return fmt.Sprintf(" {tt.latency = %d : i32}", 1+r.IntN(2))
	}
	any := func() string { return live[r.IntN(len(live))] }
	var made []string
	for k := range 4 + r.IntN(8) {
		v := fmt.Sprintf("%%v%d", k)
		switch r.IntN(6) {
		case 0, 1, 2:
			fmt.Fprintf(&b, "      %s = arith.%s %s, %s%s : i32\n", v, []string{"addi", "subi", "muli"}[r.IntN(3)], any(), any(), latency())
		case 3, 4:
			fmt.Fprintf(&b, "      %s_p = tt.addptr %%p, %%i : !tt.ptr<i16>, i32\n      %s_n = tt.load %s_p%s : !tt.ptr<i16>\n      %s = arith.extsi %s_n : i16 to i32\n", v, v, v, latency(), v, v)
		case 5:
			fmt.Fprintf(&b, "      %s_c = arith.cmpi slt, %s, %s : i32\n      %s = scf.if %s_c -> (i32) {\n        %s_x = arith.addi %s, %s : i32\n        scf.yield %s_x : i32\n      } else {\n        scf.yield %s : i32\n      }\n",
				v, any(), any(), v, v, v, any(), any(), v, any())
		}
		live, made = append(live, v), append(made, v)
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "      %%s_i = arith.addi %%i, %%c64 : i32\n      %%s_p = tt.addptr %%p, %%s_i : !tt.ptr<i16>, i32\n      %%s_n = arith.trunci %s : i32 to i16\n      tt.store %%s_p, %%s_n : !tt.ptr<i16>\n", any())
	}
	yields := make([]string, carried)
	for k := range yields {
		yields[k] = made[r.IntN(len(made))]
	}
	fmt.Fprintf(&b, "      scf.yield %s : %s\n    }\n    tt.return %s : %s\n  }\n}\n", strings.Join(yields, ", "), list(carried, "i32"), results(carried), list(carried, "i32"))
	return b.String()
}

func list(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+", ", n), ", ") }

func results(n int) string {
	if n == 1 {
		return "%r"
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%%r#%d", i)
	}
	return strings.Join(names, ", ")
}

// A pipelined loop computes and stores what the loop did, for any number of
// iterations, fewer than its stages included.
func TestPipelinedLoopsDoTheSame(t *testing.T) {
	doTheSame(t, pipeline.Pipeline)
}

// So does one whose last iterations end after it, under a condition or not.
func TestDrainedLoopsDoTheSame(t *testing.T) {
	doTheSame(t, drain(false))
	doTheSame(t, drain(true))
}

func drain(guarded bool) *pass.Pass {
	return &pass.Pass{Name: "drain", Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, loop := range forloop.All(r.Module) {
			s, ok, err := pipeline.StagingOf(loop, 0)
			if err != nil {
				return err
			}
			switchable := ok
			for op := range loop.Body().Ops() {
				switchable = switchable && (op.IsTerminator() || pipeline.CanSwitchOff(op))
			}
			if switchable {
				s.Expand(b, nil, guarded)
			}
		}
		return nil
	}}
}

// doTheSame runs loops that last has pipelined.
func doTheSame(t *testing.T, last *pass.Pass) {
	t.Helper()
	pipelined := 0
	for seed := range uint64(500) {
		src := randomLoop(rand.New(rand.NewPCG(seed, 1)))
		before, after := passtest.Module(t, "before", src), passtest.Module(t, "after", src)
		passtest.Apply(t, after, pass.Row{Pass: pipeline.ScheduleLoops}, pass.Row{Pass: last})
		if text.String(before) != text.String(after) {
			pipelined++
		}
		for _, n := range []int{0, 1, 2, 3, 5, 8, 17} {
			x, mx, err := execute(before, n)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, src)
			}
			y, my, err := execute(after, n)
			if err != nil || !slices.Equal(x, y) || !slices.Equal(mx, my) {
				t.Fatalf("seed %d, %d iterations: %v and then %v, %v\n%s\n%s", seed, n, x, y, err, src, text.String(after))
			}
		}
	}
	if pipelined < 200 {
		t.Errorf("only %d loops were pipelined", pipelined)
	}
}
