package lower

import (
	"bytes"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/internal/llirsim"
)

// bareTarget is not a vendor's: its instructions are calls of functions that the
// simulator is told of, and its warps have as many lanes as a test likes. It has
// what a target must have, so that the defaults are tested.
type bareTarget struct{}

func (bareTarget) Triple() string     { return "" }
func (bareTarget) DataLayout() string { return "p3:32:32" }
func (bareTarget) Banks() layout.Banks {
	return layout.Banks{WordBytes: 4, Words: 32, VecBytes: 16}
}
func (bareTarget) DefineKernel(*llir.Func, Kernel) {}

func (bareTarget) ThreadID(b *llir.Builder, threads int) llir.Value {
	tid := b.Call(b.M.Declare("tid", llir.Pure, llir.I32))
	b.F.AssumeZeroBits(tid, ^uint64(threads-1))
	return tid
}
func (bareTarget) ProgramID(b *llir.Builder, _ int) llir.Value   { return b.M.I32(0) }
func (bareTarget) NumPrograms(b *llir.Builder, _ int) llir.Value { return b.M.I32(1) }
func (bareTarget) Barrier(b *llir.Builder) {
	b.Call(b.M.Declare("barrier", llir.HasEffects, llir.Void))
}

func (bareTarget) ShuffleIndex(b *llir.Builder, v, lane llir.Value) llir.Value {
	return b.Call(b.M.Declare("index", llir.HasEffects, llir.I32, llir.I32, llir.I32), v, lane)
}

func (bareTarget) Capabilities() Capabilities { return Capabilities{} }

// plainTarget exchanges values of lanes itself, and takes assembly.
type plainTarget struct{ bareTarget }

func (p plainTarget) Capabilities() Capabilities { return Capabilities{Warp: p, Asm: p} }

func (plainTarget) ShuffleXor(b *llir.Builder, v llir.Value, mask int) llir.Value {
	return b.Call(b.M.Declare("xor", llir.HasEffects, llir.I32, llir.I32, llir.I32), v, b.M.I32(mask))
}
func (plainTarget) ReduceWarp(*llir.Builder, *ir.OpDef, llir.Value) llir.Value { return nil }
func (plainTarget) AsmConstraint(letter rune) bool                             { return letter == 'r' }

// simulated says what the functions do.
func simulated(t *testing.T, lanes int) *llirsim.Target {
	return &llirsim.Target{
		Lanes:  lanes,
		Thread: map[string]func(*llirsim.Thread, []uint64) uint64{"tid": func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Index) }},
		Warp: map[string]func([][]uint64) []uint64{
			"xor": func(args [][]uint64) []uint64 {
				out := make([]uint64, len(args))
				for i, a := range args {
					out[i] = args[i^int(a[1])][0]
				}
				return out
			},
			"index": func(args [][]uint64) []uint64 {
				out := make([]uint64, len(args))
				for i, a := range args {
					if a[1] >= uint64(lanes) {
						t.Fatalf("shuffle from lane %d", a[1])
					}
					out[i] = args[a[1]][0]
				}
				return out
			},
		},
		Barrier: "barrier",
	}
}

// runKernel lowers a module for both targets, whose results must be the same, and
// runs its kernel; params are the places of its arguments in global memory, which
// is changed. It returns what was lowered.
func runKernel(t *testing.T, mod *ir.Operation, lanes int, global []byte, params ...uint64) *Result {
	t.Helper()
	before := bytes.Clone(global)
	var last *Result
	var first []byte
	for _, target := range []Target{bareTarget{}, plainTarget{}} {
		copy(global, before)
		r, err := Module(mod.Clone(ir.NewMapping()), target, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mem := new(llirsim.Memory)
		base := mem.Alloc(global).Address
		args := make([]uint64, len(params))
		for i, p := range params {
			args[i] = base + p
		}
		k := &llirsim.Kernel{Target: simulated(t, lanes), Module: r.LLVM, Name: r.Kernel, Threads: r.Threads, Shared: r.Shared}
		if err := k.Launch(t.Context(), mem, [3]int{1, 1, 1}, args...); err != nil {
			t.Fatal(err)
		}
		if last != nil && !bytes.Equal(first, global) {
			t.Fatal("with shuffles by index the results are others")
		}
		last, first = r, bytes.Clone(global)
	}
	return last
}
