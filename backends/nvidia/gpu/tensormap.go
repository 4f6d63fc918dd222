package gpu

import (
	"fmt"
	"strconv"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// A tensor map is 128 bytes in global memory that tell the copying engine where
// a tensor is, and of which box instructions copy. Its form is the hardware's
// secret: it is filled in field by field, in shared memory.

const (
	mapBytes = 128
	maxRank  = 5
)

// mapAlign is what the address of a map that the host passes is a multiple of.
const mapAlign = 64

// DescriptorParam has the host pass the map itself, which the engine reads where the
// parameter is.
func (*Target) DescriptorParam(f *llir.Func, i int) {
	f.AddParamAttr(i, llir.Attr(fmt.Sprintf("byval([%d x i8])", mapBytes)), llir.Attr(fmt.Sprintf("align %d", mapAlign)),
		llir.Attr(`"nvvm.grid_constant"`))
}

// createMap has the first warp clear the map, its leader fill it in, and the
// warp copy it to global memory, where the engine will see it after
// acquireMap.
func createMap(s *lower.Site, op ttng.TensormapCreateOp) error {
	box, size, stride, step := op.BoxDim(), op.GlobalDim(), op.GlobalStride(), op.ElementStride()
	rank := len(box)
	if rank < 1 || rank > maxRank {
		return fmt.Errorf("a descriptor of %s; there can be up to %d", diag.Count(rank, "dimension"), maxRank)
	}
	if len(size) != rank || len(step) != rank || len(stride) != rank-1 {
		return fmt.Errorf("%s with %s, %s and %s", diag.Count(rank, "dimension"), diag.Count(len(size), "size"), diag.Count(len(stride), "stride"), diag.Count(len(step), "step"))
	}
	w := newMapWriter(s)
	w.clear()
	value := func(v *ir.Value) llir.Value { return s.Value(v)[0] }
	strides := make([]llir.Value, rank-1)
	if rank > 1 {
		unit := w.strideUnit()
		for i := range strides {
			strides[i] = s.B.Binary(llir.LShr, value(stride[i]), unit, 0)
		}
	}
	w.replace("global_address", 64, -1, value(op.GlobalAddress()))
	w.constant("rank", int64(rank-1))
	for i := range rank {
		w.replace("box_dim", 32, i, value(box[i]))
		w.replace("global_dim", 32, i, value(size[i]))
		w.replace("element_stride", 32, i, value(step[i]))
	}
	for i, v := range strides {
		w.replace("global_stride", 64, i, v)
	}
	w.constant("elemtype", op.ElemType())
	w.constant("interleave_layout", op.InterleaveLayout())
	w.constant("swizzle_mode", op.SwizzleMode())
	w.constant("fill_mode", op.FillMode())
	w.copyTo(value(op.DescPtr()))
	return nil
}

// mapWriter writes a map into the scratch memory of an operation.
type mapWriter struct {
	s *lower.Site
	// warp holds in the first warp, leader in the one thread of it that fills in
	// the fields.
	warp, leader llir.Value
	word         llir.Value // address of the lane's four bytes
	wide         llir.Value // address of the map, as 64 bits
}

func newMapWriter(s *lower.Site) *mapWriter {
	b, at := s.B, s.Scratch()
	return &mapWriter{
		s: s, warp: isFirstWarp(s), word: b.GEP(llir.I8, at, b.Shl(s.Thread, 2)),
		wide: b.ZExt(b.Cast(llir.PtrToInt, at, llir.I32, 0), llir.I64),
	}
}

// meet waits for all lanes; what they wrote before is seen after.
func (w *mapWriter) meet() {
	b := w.s.B
	b.Call(b.M.Declare("llvm.nvvm.bar.warp.sync", llir.HasEffects, llir.Void, llir.I32), b.M.I32(allLanes))
}

// clear makes all bytes zero.
func (w *mapWriter) clear() {
	w.meet() // an earlier map may still be on its way out
	var a assembly
	a.predicate(w.warp)
	a.str("st.shared.b32 ")
	a.address("r", w.word, 0)
	a.str(", ")
	a.ref(a.in("r", w.s.B.M.I32(0)))
	a.str(";")
	a.emit(w.s.B, nil)
	w.meet()
	w.leader = isLeader(w.s)
}

// strideUnit is by how many bits strides in bytes are shifted to the right for
// tensormap.replace, an i64: 0, or 4. A map has strides without their four lowest
// bits. Assemblers from CUDA 12.5 on take bytes and drop these; those before take
// what the map has, and nothing in the text says which will be. So the code finds
// out: of a stride of 1 only the latter leave something in a map of zeros.
func (w *mapWriter) strideUnit() llir.Value {
	b := w.s.B
	w.replace("global_stride", 64, 0, b.M.I64(1))
	w.meet()
	var a assembly
	word := a.out("r")
	a.str("mov.b32 ")
	a.ref(word)
	a.str(", 0;\n\t")
	a.predicate(w.warp)
	a.str("ld.shared.b32 ")
	a.ref(word)
	a.str(", ")
	a.address("r", w.word, 0)
	a.str(";")
	left := b.ICmp(enum.IPredNE, a.emit(b, llir.I32)[0], b.M.I32(0))
	vote := b.M.Declare("llvm.nvvm.vote.any.sync", llir.HasEffects, llir.I1, llir.I32, llir.I1)
	return b.Select(b.Call(vote, b.M.I32(allLanes), left), b.M.I64(4), b.M.I64(0))
}

// replace fills in a field of so many bits, or with which >= 0 one of several.
func (w *mapWriter) replace(name string, bits, which int, value llir.Value) {
	class := map[int]string{32: "r", 64: "l"}[bits]
	w.field(name, bits, which, func(a *assembly) { a.ref(a.in(class, value)) })
}

// constant fills in a field that takes no register.
func (w *mapWriter) constant(name string, value int64) {
	w.field(name, 32, -1, func(a *assembly) { a.str(strconv.FormatInt(value, 10)) })
}

func (w *mapWriter) field(name string, bits, which int, value func(a *assembly)) {
	var a assembly
	a.predicate(w.leader)
	a.str("tensormap.replace.tile." + name + ".shared::cta.b1024.b" + strconv.Itoa(bits) + " ")
	a.address("l", w.wide, 0)
	if which >= 0 {
		a.str(", " + strconv.Itoa(which))
	}
	a.str(", ")
	value(&a)
	a.str(";")
	a.emit(w.s.B, nil)
}

// copyTo copies the map to global memory.
func (w *mapWriter) copyTo(to llir.Value) {
	var a assembly
	a.predicate(w.warp)
	a.str("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned ")
	a.address("l", to, 0)
	a.str(", ")
	a.address("l", w.wide, 0)
	a.str(", " + strconv.Itoa(mapBytes) + ";")
	a.emit(w.s.B, nil)
}

// acquireMap has the first warp, whose leader starts all copies, see a map that
// was written to global memory. The empty group of copies after it keeps ptxas
// from losing the fence.
func acquireMap(s *lower.Site, op ttng.TensormapFenceproxyAcquireOp) error {
	var a assembly
	warp := a.in("b", isFirstWarp(s))
	on := func(text string) {
		a.str("@")
		a.ref(warp)
		a.str(" " + text)
	}
	on("fence.proxy.tensormap::generic.acquire.gpu ")
	a.address("l", s.Value(op.DescPtr())[0], 0)
	a.str(", " + strconv.Itoa(mapBytes) + ";\n\t")
	on("cp.async.bulk.commit_group;\n\t")
	on("cp.async.bulk.wait_group.read 0;")
	a.emit(s.B, nil)
	return nil
}

// mapOfPointer takes a pointer to a map for the descriptor, whose address is a
// generic one.
func mapOfPointer(s *lower.Site, op ttng.ReinterpretTensorDescriptorOp) error {
	s.Set(op.Result(), s.B.Cast(llir.AddrSpaceCast, s.Value(op.RawDesc())[0], llir.PtrIn(0), 0))
	return nil
}
