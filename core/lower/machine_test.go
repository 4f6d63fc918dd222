package lower

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	coreir "github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// plainTarget is no vendor's: its instructions are calls of functions that the
// machine below knows, and its warps have as many lanes as a test likes.
type plainTarget struct{ Target }

func (plainTarget) Triple() string     { return "" }
func (plainTarget) DataLayout() string { return "p3:32:32" }
func (plainTarget) Banks() layout.Banks {
	return layout.Banks{WordBytes: 4, Words: 32, VecBytes: 16}
}
func (plainTarget) DefineKernel(*llir.Func, Kernel) {}

func call(b *llir.Builder, name string, ret llir.Type, args ...llir.Value) llir.Value {
	params := make([]llir.Type, len(args))
	for i, a := range args {
		params[i] = a.Type()
		name += "." + strings.ReplaceAll(a.Type().String(), " ", "")
	}
	return b.Call(b.M.Declare(name+"."+ret.String(), llir.HasEffects, ret, params...), args...)
}

func (plainTarget) ThreadID(b *llir.Builder, threads int) llir.Value {
	tid := call(b, "tid", llir.I32)
	b.F.AssumeZeroBits(tid, ^uint64(threads-1))
	return tid
}
func (plainTarget) ProgramID(b *llir.Builder, _ int) llir.Value { return b.M.I32(0) }
func (plainTarget) Barrier(b *llir.Builder)                     { call(b, "barrier", llir.Void) }
func (plainTarget) ShuffleXor(b *llir.Builder, v llir.Value, mask int) llir.Value {
	return call(b, "xor", llir.I32, v, b.M.I32(mask))
}

func (plainTarget) ShuffleIndex(b *llir.Builder, v, lane llir.Value) llir.Value {
	return call(b, "index", llir.I32, v, lane)
}

func (p plainTarget) Capabilities() Capabilities {
	return Capabilities{Memory: p, Warp: p, Asm: p}
}

func (plainTarget) ReduceWarp(*llir.Builder, *coreir.OpDef, llir.Value) llir.Value { return nil }
func (plainTarget) AsmConstraint(letter rune) bool                                 { return letter == 'r' }

// element is the address of element i of an access and whether it is done.
func element(b *llir.Builder, a *Access, i int) (ptr, mask llir.Value) {
	size := int64(llir.Width(a.Elem) / 8)
	ptr = b.Cast(llir.PtrToInt, b.PtrAdd(a.Ptr, a.Offset+int64(i)*size), llir.I64, 0)
	if mask = a.Mask; mask == nil {
		mask = b.M.Bool(true)
	}
	return ptr, mask
}

func load(b *llir.Builder, space string, a *Access) []llir.Value {
	out := make([]llir.Value, a.Count)
	for i := range out {
		ptr, mask := element(b, a, i)
		out[i] = call(b, "load."+space, a.Elem, ptr, mask)
		if a.Other != nil {
			out[i] = b.Select(mask, out[i], a.Other[i])
		}
	}
	return out
}

func store(b *llir.Builder, space string, a *Access, vals []llir.Value) {
	for i, v := range vals {
		ptr, mask := element(b, a, i)
		call(b, "store."+space, llir.Void, ptr, mask, v)
	}
}

func (plainTarget) LoadGlobal(b *llir.Builder, a *Access) ([]llir.Value, error) {
	return load(b, "global", a), nil
}

func (plainTarget) StoreGlobal(b *llir.Builder, a *Access, vals []llir.Value) error {
	store(b, "global", a, vals)
	return nil
}

func (plainTarget) LoadShared(b *llir.Builder, a *Access) []llir.Value { return load(b, "shared", a) }

func (plainTarget) StoreShared(b *llir.Builder, a *Access, vals []llir.Value) {
	store(b, "shared", a, vals)
}

// machine runs the LLVM IR of a straight-line kernel, all threads in step. It
// watches shared memory: between two barriers no warp may touch what another
// one writes.
type machine struct {
	t              *testing.T
	lanes, threads int
	global, shared []byte
	vals           map[llir.Value][]uint64
	params         map[llir.Value]uint64
	// readBy and writtenBy are, by byte of shared memory, the warps (1 << warp)
	// that accessed it since the last barrier.
	readBy, writtenBy []uint64
}

// runKernel lowers a module and runs its kernel; params are the addresses of its
// arguments in global memory, which is changed.
func runKernel(t *testing.T, mod *coreir.Operation, lanes int, global []byte, params ...uint64) {
	t.Helper()
	r, err := Module(mod, plainTarget{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var f *ir.Func
	for _, g := range r.LLVM.IR.Funcs {
		if g.GlobalName == r.Kernel {
			f = g
		}
	}
	m := &machine{
		t: t, lanes: lanes, threads: r.Threads, global: global, shared: make([]byte, r.Shared),
		vals: make(map[llir.Value][]uint64), params: make(map[llir.Value]uint64),
		readBy: make([]uint64, r.Shared), writtenBy: make([]uint64, r.Shared),
	}
	for i, p := range params {
		m.params[f.Params[i]] = p
	}
	for _, inst := range f.Blocks[0].Insts {
		m.step(inst)
	}
}

// get is a value in one thread.
func (m *machine) get(v llir.Value, thread int) uint64 {
	switch c := v.(type) {
	case *llir.Int:
		return c.Bits
	case *llir.Float:
		return c.Bits
	case *llir.Address:
		return 0
	case *llir.Literal:
		return 0
	}
	if p, ok := m.params[v]; ok {
		return p
	}
	x, ok := m.vals[v]
	if !ok {
		m.t.Fatalf("no value for %v", v)
	}
	return x[thread]
}

func (m *machine) step(inst ir.Instruction) {
	if c, ok := inst.(*ir.InstCall); ok {
		m.call(c)
		return
	}
	v := inst.(llir.Value)
	out := make([]uint64, m.threads)
	for t := range out {
		out[t] = m.compute(inst, t) & (^uint64(0) >> (64 - max(llir.Width(v.Type()), 1)))
		if llir.IsPtr(v.Type()) {
			out[t] = m.compute(inst, t)
		}
	}
	m.vals[v] = out
}

func signed(x uint64, v llir.Value) int64 {
	s := 64 - llir.Width(v.Type())
	return int64(x<<s) >> s
}

func f32(x uint64) float32 { return math.Float32frombits(uint32(x)) }

func (m *machine) compute(inst ir.Instruction, t int) uint64 {
	g := func(v llir.Value) uint64 { return m.get(v, t) }
	flag := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	switch i := inst.(type) {
	case *ir.InstAdd:
		return g(i.X) + g(i.Y)
	case *ir.InstSub:
		return g(i.X) - g(i.Y)
	case *ir.InstMul:
		return g(i.X) * g(i.Y)
	case *ir.InstAnd:
		return g(i.X) & g(i.Y)
	case *llir.Or:
		return g(i.X) | g(i.Y)
	case *ir.InstXor:
		return g(i.X) ^ g(i.Y)
	case *ir.InstShl:
		return g(i.X) << g(i.Y)
	case *ir.InstLShr:
		return g(i.X) >> g(i.Y)
	case *ir.InstFAdd:
		return uint64(math.Float32bits(f32(g(i.X)) + f32(g(i.Y))))
	case *ir.InstSelect:
		if g(i.Cond) != 0 {
			return g(i.ValueTrue)
		}
		return g(i.ValueFalse)
	case *ir.InstICmp:
		x, y := signed(g(i.X), i.X), signed(g(i.Y), i.Y)
		switch i.Pred {
		case enum.IPredEQ:
			return flag(x == y)
		case enum.IPredNE:
			return flag(x != y)
		case enum.IPredSLT:
			return flag(x < y)
		case enum.IPredSGT:
			return flag(x > y)
		}
	case *llir.ZExt:
		return g(i.From)
	case *llir.Trunc:
		return g(i.From)
	case *ir.InstSExt:
		return uint64(signed(g(i.From), i.From))
	case *ir.InstBitCast:
		return g(i.From)
	case *ir.InstPtrToInt:
		return g(i.From)
	case *ir.InstGetElementPtr:
		return g(i.Src) + uint64(signed(g(i.Indices[0]), i.Indices[0]))*uint64(llir.Width(i.ElemType)/8)
	}
	panic(fmt.Sprintf("the machine does not know %T", inst))
}

func (m *machine) call(c *ir.InstCall) {
	name, _, _ := strings.Cut(c.Callee.(*ir.Func).GlobalName, ".i")
	if name == "barrier.void" {
		clear(m.readBy)
		clear(m.writtenBy)
		return
	}
	out := make([]uint64, m.threads)
	for t := range out {
		arg := func(i int) uint64 { return m.get(c.Args[i], t) }
		warp := uint64(1) << (t / m.lanes)
		switch name {
		case "tid":
			out[t] = uint64(t)
		case "xor":
			out[t] = m.get(c.Args[0], t^int(arg(1)))
		case "index":
			if lane := arg(1); lane < uint64(m.lanes) {
				out[t] = m.get(c.Args[0], t&^(m.lanes-1)|int(lane))
			} else {
				m.t.Fatalf("shuffle from lane %d", lane)
			}
		case "load.global":
			if arg(1) != 0 {
				out[t] = read(m.global[arg(0):], size(c.Typ))
			}
		case "store.global":
			if arg(1) != 0 {
				write(m.global[arg(0):], arg(2), size(c.Args[2].Type()))
			}
		case "load.shared":
			if arg(1) == 0 {
				continue
			}
			for b := range size(c.Typ) {
				at := arg(0) + uint64(b)
				m.readBy[at] |= warp
				m.watch(at, m.writtenBy[at]|warp, m.writtenBy[at] != 0)
			}
			out[t] = read(m.shared[arg(0):], size(c.Typ))
		case "store.shared":
			if arg(1) == 0 {
				continue
			}
			for b := range size(c.Args[2].Type()) {
				at := arg(0) + uint64(b)
				m.writtenBy[at] |= warp
				m.watch(at, m.readBy[at]|m.writtenBy[at], true)
			}
			write(m.shared[arg(0):], arg(2), size(c.Args[2].Type()))
		default:
			m.t.Fatalf("the machine does not know %s", name)
		}
	}
	if c.Typ != types.Void {
		m.vals[c] = out
	}
}

// watch complains about more than one warp at a byte, if any of them writes.
func (m *machine) watch(at, warps uint64, writes bool) {
	if writes && bits.OnesCount64(warps) > 1 {
		m.t.Fatalf("warps %b meet at byte %d of shared memory without a barrier between", warps, at)
	}
}

func size(t llir.Type) int { return llir.Width(t) / 8 }

func read(b []byte, n int) (x uint64) {
	for i := range n {
		x |= uint64(b[i]) << (8 * i)
	}
	return x
}

func write(b []byte, x uint64, n int) {
	for i := range n {
		b[i] = byte(x >> (8 * i))
	}
}
