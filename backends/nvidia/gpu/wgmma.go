package gpu

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// A warpgroup is four warps that multiply together: groupRows rows of A, 16 of
// each warp, by up to 256 columns of B. B lies in shared memory, A there or in
// registers, and the sums are in registers. The instructions run while the program
// goes on: between
//
//   - what threads did with the registers and the first instruction there is a fence,
//   - the last instruction and what threads do with the sums there is a wait,
//
// and both take the registers in and give them out again, so that nothing that
// concerns them is moved past the fence or the wait.
const (
	groupWarps = 4
	groupRows  = 64
)

// wgmmaElems are the types of operands.
var wgmmaElems = []elem{elemF16, elemBF16, elemTF32, elemE4M3, elemE5M2, elemS8}

// wgmmaSums are the types of sums.
var wgmmaSums = []elem{elemF32, elemF16, elemS32}

// wgmma is a dot of warpgroups that is being lowered.
type wgmma struct {
	s          *lower.Site
	op         ttng.WarpGroupDotOp
	a, b, c    elem
	m, n, k    int // of the dot
	instrN     int
	instrK     int
	warps      []int
	x, y       *matrixOperand // nil: A is in registers
	xRegs      []llir.Value   // words of A
	transposed [2]bool
}

// warpGroupDot lowers one dot to instructions for 64 rows, instrN columns and instrK
// elements along K each.
func warpGroupDot(s *lower.Site, op ttng.WarpGroupDotOp) error {
	w, err := newWgmma(s, op)
	if err != nil {
		return err
	}
	acc := s.Value(op.C())
	repM, repN, repK := max(w.m/(w.warps[0]*groupRows/groupWarps), 1), max(w.n/(w.warps[1]*w.instrN), 1), w.k/w.instrK
	per := w.instrN / 2 // elements of a thread in the result of an instruction
	if len(acc) != repM*repN*per {
		return fmt.Errorf("a thread holds %s of the result, not %d", diag.Count(len(acc), "element"), repM*repN*per)
	}
	t := tiles{n: repN, count: repM * repN, words: per * w.c.bits / 32, depth: repK}
	var sums []llir.Value // none: zeros
	if !allZero(acc) {
		sums = sumWords(s.B, acc)
	}
	if chunk := w.preciseChunk(); chunk > 0 {
		sums = w.inChunks(t, chunk, sums)
	} else {
		sums, w.xRegs = w.fence(sums, w.xRegs)
		sums = w.multiply(t, 0, repK, sums, op.UseC())
		commitDots(s.B)
		if !op.IsAsync() {
			sums = waitDots(s.B, sums, 0)
		}
	}
	s.Set(op.D(), elements(s.B, sums, acc[0].Type(), len(acc))...)
	return nil
}

// tiles are the parts of a result that an instruction each computes: n side by side,
// count in all, of so many words of a thread. Depth instructions add to each.
type tiles struct{ n, count, words, depth int }

// multiply adds the parts of the dot along K from the first to the last, exclusively, to
// sums, which are none for zeros. Where use, which may be nil, is false it begins with
// zeros, too.
func (w *wgmma) multiply(t tiles, first, last int, sums []llir.Value, use *ir.Value) []llir.Value {
	var out []llir.Value
	for i := range t.count {
		var sum []llir.Value
		if len(sums) > 0 {
			sum = sums[i*t.words:][:t.words]
		}
		adds := use
		for k := first; k < last; k++ {
			sum = w.instr(t, i, k, sum, adds)
			adds = nil
		}
		out = append(out, sum...)
	}
	return out
}

// preciseChunk is how many instructions along K may add up at the unit's precision for
// 8-bit floats before the sum is added in f32; 0 if all of them may.
func (w *wgmma) preciseChunk() int {
	most := int(w.op.MaxNumImpreciseAcc())
	if w.a.float8() && w.c.name == "f32" && most <= w.k {
		return max((most+w.instrK-1)/w.instrK, 1)
	}
	return 0
}

// inChunks adds chunks of so many instructions along K to sums, each of which is waited
// for.
func (w *wgmma) inChunks(t tiles, chunk int, sums []llir.Value) []llir.Value {
	b := w.s.B
	if use := w.op.UseC(); use != nil && len(sums) > 0 {
		for i, v := range sums {
			sums[i] = b.Select(w.s.Value(use)[0], v, b.M.Zero(v.Type()))
		}
	}
	for k := 0; k < t.depth; k += chunk {
		_, w.xRegs = w.fence(nil, w.xRegs)
		part := w.multiply(t, k, min(k+chunk, t.depth), nil, nil)
		commitDots(b)
		part = waitDots(b, part, 0)
		for i, v := range part {
			if len(sums) > 0 {
				part[i] = b.Binary(llir.FAdd, sums[i], v, 0)
			}
		}
		sums = part
	}
	return sums
}

func commitDots(b *llir.Builder) {
	b.Call(b.M.Declare("llvm.nvvm.wgmma.commit_group.sync.aligned", llir.HasEffects, llir.Void))
}

// newWgmma reads what the dot is.
func newWgmma(s *lower.Site, op ttng.WarpGroupDotOp) (*wgmma, error) {
	t := op.D().Type().(*ir.TensorType)
	e, ok := encoding.Get(t).(*layout.NvidiaMMA)
	if !ok || e.VersionMajor != 3 || len(t.Shape) != 2 {
		return nil, errors.New("the result's layout is not that of a dot of warpgroups")
	}
	part, err := layout.PartOf(e, t.Shape) // of one CTA
	if err != nil {
		return nil, err
	}
	w := &wgmma{s: s, op: op, m: int(part[0]), n: int(part[1]), warps: e.WarpsPerCTA, instrN: e.InstrShape[1], instrK: e.InstrShape[2]}
	if err := w.elems(); err != nil {
		return nil, err
	}
	if w.warps[0]%groupWarps != 0 {
		return nil, fmt.Errorf("the result is divided among %s along M, not a multiple of %d", diag.Count(w.warps[0], "warp"), groupWarps)
	}
	if w.m%groupRows != 0 || w.n%w.instrN != 0 {
		return nil, fmt.Errorf("a result of %d by %d is not made of the %d by %d of an instruction", w.m, w.n, groupRows, w.instrN)
	}
	if err := w.note(op.A()); err != nil {
		return nil, fmt.Errorf("operand A: %w", err)
	}
	if w.y, err = w.operand(op.B(), 1, w.instrN); err != nil {
		return nil, fmt.Errorf("operand B: %w", err)
	}
	if err := w.note(op.B()); err != nil {
		return nil, fmt.Errorf("operand B: %w", err)
	}
	w.transposed[1] = w.y.linesContiguous
	bt := op.B().Type().(*ttg.MemDescType)
	w.k = int(bt.Shape[0])
	if w.k%w.instrK != 0 {
		return nil, fmt.Errorf("the depth K is %d, not a multiple of the instruction's %d", w.k, w.instrK)
	}
	if _, inRegs := op.A().Type().(*ir.TensorType); inRegs {
		w.xRegs = packed(s.B, nil, s.Value(op.A()))
		return w, nil
	}
	if w.x, err = w.operand(op.A(), 0, groupRows); err != nil {
		return nil, fmt.Errorf("operand A: %w", err)
	}
	w.transposed[0] = w.x.linesContiguous
	return w, nil
}

// elems finds the types of the instruction.
func (w *wgmma) elems() error {
	find := func(in []elem, v *ir.Value) (elem, error) {
		t := v.Type()
		var of ir.Type
		if m, ok := t.(*ttg.MemDescType); ok {
			of = m.Elem
		} else {
			of = ir.ElemOf(t)
		}
		for _, e := range in {
			if e.is(of) {
				return e, nil
			}
		}
		return elem{}, fmt.Errorf("a dot of warpgroups has no elements of %s", elemName(of))
	}
	var err error
	for _, x := range []struct {
		to *elem
		in []elem
		v  *ir.Value
	}{{&w.a, wgmmaElems, w.op.A()}, {&w.b, wgmmaElems, w.op.B()}, {&w.c, wgmmaSums, w.op.D()}} {
		if *x.to, err = find(x.in, x.v); err != nil {
			return err
		}
	}
	switch {
	case w.a.name == "tf32" && w.op.InputPrecision() != tt.PrecisionTF32:
		return errors.New("a dot of warpgroups multiplies f32 as tf32 only, but asks for another input precision")
	case w.instrK != 256/w.a.bits:
		return fmt.Errorf("instructions of depth %d do not exist for %s", w.instrK, w.a.name)
	}
	return nil
}

// operand is an operand in shared memory, lines of which an instruction takes.
func (w *wgmma) operand(v *ir.Value, lineDim, lines int) (*matrixOperand, error) {
	buf, err := w.s.Buffer(v)
	if err != nil {
		return nil, err
	}
	o, err := newMatrixOperand(buf, lineDim, lines, w.instrK)
	if err != nil {
		return nil, err
	}
	if lineDim == 1 {
		o.words = !w.s.B.InLoop() && w.s.Notes()[buf.Ptr] != nil
		if _, inRegs := w.op.A().Type().(*ir.TensorType); inRegs || o.words {
			o.markUnusedLeading()
		}
	}
	return o, o.locate(w)
}

// note notes where an operand in shared memory begins. ptxas 12.8 forgets to compute what
// the B of a dot shares with the A of it, or with an operand of a dot before: the address,
// extended to 64 bits. So the descriptor of a B that begins there is joined of two words, of
// which the low one has the leading stride, which no such B leaves at 0. In loops, where it
// was never seen to forget, the words cost registers.
func (w *wgmma) note(v *ir.Value) error {
	if _, inRegs := v.Type().(*ir.TensorType); inRegs {
		return nil
	}
	buf, err := w.s.Buffer(v)
	if err != nil {
		return err
	}
	w.s.Notes()[buf.Ptr] = true
	return nil
}

// sumWords are sums as the instructions have them: f32 as they are, others packed.
func sumWords(b *llir.Builder, vals []llir.Value) []llir.Value {
	if vals[0].Type() == llir.F32 {
		return vals
	}
	return packed(b, nil, vals)
}

// fence orders what threads did with the words before what the instructions do with
// them, and returns the words after it.
func (w *wgmma) fence(sums, x []llir.Value) (sumsAfter, xAfter []llir.Value) {
	out := through(w.s.B, "wgmma.fence.sync.aligned;", append(append([]llir.Value(nil), sums...), x...))
	return out[:len(sums)], out[len(sums):]
}

// mostPending is the greatest number of groups that wgmma.wait_group can leave in flight.
const mostPending = 7

// waitDots waits until at most pending groups of dots run, and returns the words
// after that.
func waitDots(b *llir.Builder, words []llir.Value, pending int) []llir.Value {
	return through(b, "wgmma.wait_group.sync.aligned "+strconv.Itoa(pending)+";", words)
}

// through appends an instruction without operands that words of 32 bits go through.
func through(b *llir.Builder, text string, words []llir.Value) []llir.Value {
	var s assembly
	s.str(text)
	fields := make([]llir.Type, len(words))
	for i, v := range words {
		fields[i] = v.Type()
		s.constrain("=" + letterOf(v))
	}
	for i, v := range words {
		s.in(strconv.Itoa(i), v)
	}
	return s.emitWords(b, fields)
}

// letterOf is the class of the register of a word.
func letterOf(v llir.Value) string {
	if llir.IsFloat(v.Type()) {
		return "f"
	}
	return "r"
}

// emitWords builds the call and returns an output of each type.
func (s *assembly) emitWords(b *llir.Builder, types []llir.Type) []llir.Value {
	if len(types) <= 1 {
		ret := llir.Void
		if len(types) == 1 {
			ret = types[0]
		}
		return []llir.Value{b.Asm(string(s.text), string(s.constraints), true, ret, s.args...)}[:len(types)]
	}
	v := b.Asm(string(s.text), string(s.constraints), true, b.M.Struct(types...), s.args...)
	out := make([]llir.Value, len(types))
	for i := range out {
		out[i] = b.ExtractValue(v, i)
	}
	return out
}

// instr appends the instruction that adds the k-th part of the dot for a tile to sum. It
// adds nothing to it where it is nil, and where use, which may be nil, is false.
func (w *wgmma) instr(t tiles, tile, k int, sum []llir.Value, use *ir.Value) []llir.Value {
	b := w.s.B
	var a assembly
	a.str(fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s ", w.instrN, w.instrK, w.c.name, w.a.name, w.b.name))
	word := llir.Type(llir.I32)
	if w.c.name == "f32" {
		word = llir.F32
	}
	types := make([]llir.Type, t.words)
	for r := range types {
		types[r] = word
		a.constrain("=" + w.c.letter())
	}
	a.list(0, t.words, true)
	a.str(", ")
	if w.x != nil {
		a.ref(a.in("l", w.x.descriptor(b, tile/t.n*w.warps[0]*groupRows/groupWarps, k*w.instrK)))
	} else {
		per := 4
		first := a.next
		for _, v := range w.xRegs[(tile/t.n*t.depth+k)*per:][:per] {
			a.in(letterOf(v), v)
		}
		a.list(first, per, true)
	}
	a.str(", ")
	a.ref(a.in("l", w.y.descriptor(b, tile%t.n*w.warps[1]*w.instrN, k*w.instrK)))
	a.str(", ")
	switch {
	case sum == nil:
		a.str("0")
	case use != nil:
		a.ref(a.in("b", w.s.Value(use)[0]))
	default:
		a.str("1")
	}
	for r, v := range sum {
		a.in(strconv.Itoa(r), v)
	}
	if w.c.name != "s32" {
		a.str(", 1, 1") // neither operand is negated
	}
	if w.a.bits == 16 {
		if w.x != nil {
			a.str(", " + bit(w.transposed[0]))
		}
		a.str(", " + bit(w.transposed[1]))
	}
	a.str(";")
	return a.emitWords(b, types)
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// warpGroupWait waits for dots; what it takes are the registers that they write and
// the buffers that they read.
func warpGroupWait(s *lower.Site, op ttng.WarpGroupDotWaitOp) error {
	var words []llir.Value
	counts := make([]int, len(op.Inputs()))
	for i, v := range op.Inputs() {
		if _, ok := v.Type().(*ir.TensorType); ok {
			of := sumWords(s.B, s.Value(v))
			counts[i] = len(of)
			words = append(words, of...)
		}
	}
	words = waitDots(s.B, words, min(int(op.Pendings()), mostPending))
	for i, v := range op.Inputs() {
		to := op.Outputs()[i]
		if counts[i] == 0 {
			if err := s.Pass(to, v); err != nil {
				return err
			}
			continue
		}
		in := s.Value(v)
		s.Set(to, elements(s.B, words[:counts[i]], in[0].Type(), len(in))...)
		words = words[counts[i]:]
	}
	return nil
}

// dotEffects: units of the warpgroup read the operands.
func dotEffects(op *ir.Operation) membar.Effects {
	e := make([]membar.Effect, op.NumOperands())
	dot := ttng.AsWarpGroupDot(op)
	reads := membar.Reads | membar.Async
	e[dot.BUse().Index()] = reads
	if _, ok := dot.A().Type().(*ttg.MemDescType); ok {
		e[dot.AUse().Index()] = reads
	}
	return membar.Effects{Operands: e, Joins: !dot.IsAsync()}
}

func dotWaitEffects(op *ir.Operation) membar.Effects {
	return membar.Effects{Joins: true, Pending: int(ttng.AsWarpGroupDotWait(op).Pendings())}
}
