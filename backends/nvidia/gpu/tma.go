package gpu

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// boxes are the parts of a buffer that one instruction each copies.
type boxes struct {
	first [][]int64 // coordinates in the part of the block that this CTA has
	at    []llir.Value
	begin []llir.Value // of that part in the block; nil is zero
	owner llir.Value   // holds in one of the CTAs that have the part; nil is always
}

// boxesOf cuts a buffer up. Its arrangement must be that in which the hardware
// leaves a box, and rank is the descriptor's: a buffer has no leading dimensions
// of size 1 that the descriptor may have.
func boxesOf(s *lower.Site, v, desc *ir.Value, rank int) (*boxes, error) {
	buf, err := s.Buffer(v)
	if err != nil {
		return nil, err
	}
	if n := len(desc.Type().(*tt.TensorDescType).Block.Shape); n != rank {
		return nil, fmt.Errorf("%s for a descriptor of blocks with %s", diag.Count(rank, "coordinate"), diag.Count(n, "dimension"))
	}
	enc, ok := buf.Layout.(*layout.NVMMAShared)
	switch {
	case !ok:
		return nil, fmt.Errorf("a buffer arranged as %s: copies through descriptors need nvmma_shared", buf.Layout.Mnemonic())
	case enc.Transposed:
		return nil, errors.New("the buffer is transposed: copies through descriptors leave rows side by side")
	case enc.FP4Padded:
		return nil, errors.New("buffers with padded 4-bit floats are not lowered")
	case rank < len(buf.Type.Shape) || rank > maxRank:
		return nil, fmt.Errorf("%s for a buffer of %s; there can be up to %d", diag.Count(rank, "coordinate"), diag.Count(len(buf.Type.Shape), "dimension"), maxRank)
	}
	shape := buf.Part
	box := enc.Box(buf.Type.Shape)
	b := &boxes{begin: make([]llir.Value, rank), owner: s.PartOwner(buf)}
	for d := range shape {
		if shape[d] < buf.Type.Shape[d] {
			b.begin[rank-len(shape)+d] = s.PartBegins(buf, d)
		}
	}
	at := make([]int64, len(shape))
	for {
		off, err := buf.Place(at)
		if err != nil {
			return nil, err
		}
		b.first = append(b.first, append(make([]int64, rank-len(shape)), at...))
		b.at = append(b.at, s.B.PtrAdd(buf.Ptr, off))
		d := len(shape) - 1
		for ; d >= 0; d-- {
			if at[d] += box[d]; at[d] < shape[d] {
				break
			}
			at[d] = 0
		}
		if d < 0 {
			return b, nil
		}
	}
}

// tensor writes "[ desc, { coordinates } ]" of box i, the fastest dimension first.
func (a *assembly) tensor(s *lower.Site, desc *ir.Value, coords []*ir.Value, parts *boxes, box int) {
	n := a.in("l", s.Value(desc)[0])
	a.str("[ ")
	a.ref(n)
	a.str(", { ")
	for i, c := range slices.Backward(coords) {
		at := s.B.Add(s.Value(c)[0], s.B.M.I32(int(parts.first[box][i])))
		if begin := parts.begin[i]; begin != nil {
			at = s.B.Add(at, begin)
		}
		n := a.in("r", at)
		if i < len(coords)-1 {
			a.str(", ")
		}
		a.ref(n)
	}
	a.str(" } ]")
}

// copyIn starts the copies of a block into a buffer; a barrier counts the bytes.
func copyIn(s *lower.Site, op ttng.AsyncTmaCopyGlobalToLocalOp) error {
	desc, coords := op.Desc(), op.Coord()
	if op.Cache() > 1 {
		return errors.New("copies through descriptors take no cache modifier")
	}
	parts, err := boxesOf(s, op.Result(), desc, len(coords))
	if err != nil {
		return err
	}
	bar, err := barrierAt(s, op.Barrier())
	if err != nil {
		return err
	}
	evict, leader := op.Evict(), leaderWhere(s, op.Pred())
	for i, to := range parts.at {
		var a assembly
		a.predicate(leader)
		a.str("cp.async.bulk.tensor." + strconv.Itoa(len(coords)) + "d.shared::cluster.global.mbarrier::complete_tx::bytes")
		if hinted(evict) {
			a.str(".L2::cache_hint")
		}
		a.str(" ")
		a.address("r", to, 0)
		a.str(", ")
		a.tensor(s, desc, coords, parts, i)
		a.str(", ")
		a.address("r", bar, 0)
		if hinted(evict) {
			n := a.in("l", (*Target)(nil).policy(s.B, evict))
			a.str(", ")
			a.ref(n)
		}
		a.str(";")
		a.emit(s.B, nil)
	}
	return nil
}

func copyInEffects(op *ir.Operation) membar.Effects {
	in := ttng.AsAsyncTmaCopyGlobalToLocal(op)
	return fillEffects(op, in.BarrierUse(), in.ResultUse())
}

// fillEffects is what a copy to shared memory does.
func fillEffects(op *ir.Operation, barrier, buffer *ir.Use) membar.Effects {
	e := make([]membar.Effect, op.NumOperands())
	e[barrier.Index()] = toldByEngine
	e[buffer.Index()] = membar.Writes | membar.Leader | membar.Async
	return membar.Effects{Operands: e}
}

// copyOut starts the copies of a buffer to a block.
func copyOut(s *lower.Site, op ttng.AsyncTmaCopyLocalToGlobalOp) error {
	return sendOut(s, op.Desc(), op.Coord(), op.Src(), "cp.async.bulk.tensor", "")
}

// reductions are the names of the kinds of ttng's enumeration reduceKind.
var reductions = map[int64]string{1: "add", 2: "min", 3: "max", 4: "inc", 5: "dec", 6: "and", 7: "or", 8: "xor"}

// reduceOut starts to combine a buffer with a block, atomically for each element.
func reduceOut(s *lower.Site, op ttng.AsyncTmaReduceOp) error {
	return sendOut(s, op.Desc(), op.Coord(), op.Src(), "cp.reduce.async.bulk.tensor", "."+reductions[op.Kind()])
}

// sendOut starts the copies of a buffer to global memory and closes a group of
// them, for which async_tma_store_wait waits.
func sendOut(s *lower.Site, desc *ir.Value, coords []*ir.Value, src *ir.Value, name, kind string) error {
	parts, err := boxesOf(s, src, desc, len(coords))
	if err != nil {
		return err
	}
	leader := isLeader(s)
	if parts.owner != nil {
		leader = s.B.And(leader, parts.owner)
	}
	for i, from := range parts.at {
		var a assembly
		a.predicate(leader)
		a.str(name + "." + strconv.Itoa(len(coords)) + "d.global.shared::cta" + kind)
		a.str(".bulk_group ")
		a.tensor(s, desc, coords, parts, i)
		a.str(", ")
		a.address("r", from, 0)
		a.str(";")
		a.emit(s.B, nil)
	}
	s.B.Call(s.B.M.Declare("llvm.nvvm.cp.async.bulk.commit.group", llir.HasEffects, llir.Void))
	return nil
}

func copyOutEffects(op *ir.Operation) membar.Effects {
	return readByEngine(ttng.AsAsyncTmaCopyLocalToGlobal(op).SrcUse())
}

func reduceOutEffects(op *ir.Operation) membar.Effects {
	return readByEngine(ttng.AsAsyncTmaReduce(op).SrcUse())
}

func readByEngine(buffer *ir.Use) membar.Effects {
	e := make([]membar.Effect, buffer.Owner().NumOperands())
	e[buffer.Index()] = membar.Reads | membar.Leader | membar.Async
	return membar.Effects{Operands: e}
}

// waitStores waits until the engine has read all but some groups. Threads that
// began none go on.
func waitStores(s *lower.Site, op ttng.AsyncTmaStoreWaitOp) error {
	f := s.B.M.Declare("llvm.nvvm.cp.async.bulk.wait.group.read", llir.HasEffects, llir.Void, llir.I32)
	s.B.Call(f, s.B.M.I32(int(op.Pendings())))
	return nil
}

func fenceAsync(s *lower.Site, op ttng.FenceAsyncSharedOp) error {
	if op.BCluster() {
		return errors.New("fences of a whole cluster are not lowered")
	}
	(*Target)(nil).FenceAsync(s.B)
	return nil
}
