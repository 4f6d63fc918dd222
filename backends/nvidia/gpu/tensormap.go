package gpu

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
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

// mapsTogether are the creations that op, a creation or an acquiring of a map, is made
// with: creations in a row, and after them the acquirings of the same maps. It is nil
// where op is made alone.
func mapsTogether(op *ir.Operation) []ttng.TensormapCreateOp {
	const create, acquire = "tensormap_create", "tensormap_fenceproxy_acquire"
	first := op
	for p := first.Prev(); ttng.Is(p, create) || ttng.Is(p, acquire) && ttng.Is(first, acquire); p = p.Prev() {
		first = p
	}
	var made []ttng.TensormapCreateOp
	for ; ttng.Is(first, create); first = first.Next() {
		made = append(made, ttng.AsTensormapCreate(first))
	}
	if len(made) < 2 {
		return nil
	}
	for _, m := range made {
		if !ttng.Is(first, acquire) || ttng.AsTensormapFenceproxyAcquire(first).DescPtr() != m.DescPtr() {
			return nil
		}
		first = first.Next()
	}
	return made
}

// mapScratch is the shared memory for the maps that op makes: the first of several makes
// all.
func mapScratch(op *ir.Operation) (bytes, align int) {
	switch made := mapsTogether(op); {
	case made == nil:
		return mapBytes, mapBytes
	case op == made[0].Op:
		return len(made) * mapBytes, mapBytes
	}
	return 0, 0
}

func mapEffects(op *ir.Operation) membar.Effects {
	if mapsTogether(op) == nil {
		return membar.Effects{Scratch: membar.Leader}
	}
	return membar.Effects{} // several warps write the maps
}

// createMap has the first warp clear the map, its leader fill it in, and the
// warp copy it to global memory, where the engine will see it after
// acquireMap. Of several maps in a row each warp makes one, all at the same time, and
// acquires it; then all meet, and the leader of the first warp may copy through any.
func createMap(s *lower.Site, op ttng.TensormapCreateOp) error {
	made := mapsTogether(op.Op)
	switch {
	case made == nil:
		return writeMaps(s, []ttng.TensormapCreateOp{op}, 0)
	case made[0] != op:
		return nil
	}
	if mayRepeat(op.Op) {
		s.Barrier() // the first warp waited for copies through the maps that were there
	}
	for at := 0; at < len(made); at += s.Warps() {
		if err := writeMaps(s, made[at:min(at+s.Warps(), len(made))], at*mapBytes); err != nil {
			return err
		}
	}
	for at := 0; at < len(made); at += s.Warps() {
		acquireMaps(s, made[at:min(at+s.Warps(), len(made))])
	}
	s.Barrier()
	return nil
}

// mayRepeat reports whether op is anywhere but in the only block of a function.
func mayRepeat(op *ir.Operation) bool {
	r := op.Block().Region()
	return !op.Parent().Is(tt.Func) || r.First() != r.Last()
}

// writeMaps has the first warps write a map each, in the scratch memory from off on.
func writeMaps(s *lower.Site, maps []ttng.TensormapCreateOp, off int) error {
	most := 0
	for _, op := range maps {
		rank := len(op.BoxDim())
		if rank < 1 || rank > maxRank {
			return fmt.Errorf("a descriptor of %s; there can be up to %d", diag.Count(rank, "dimension"), maxRank)
		}
		size, stride, step := len(op.GlobalDim()), len(op.GlobalStride()), len(op.ElementStride())
		if size != rank || step != rank || stride != rank-1 {
			return fmt.Errorf("%s with %s, %s and %s", diag.Count(rank, "dimension"), diag.Count(size, "size"), diag.Count(stride, "stride"), diag.Count(step, "step"))
		}
		most = max(most, rank)
	}
	w := newMapWriter(s, maps, off)
	w.clear()
	var unit llir.Value
	if most > 1 {
		unit = w.strideUnit()
	}
	strides := make([]func(), most-1)
	for i := range strides {
		at, stride := w.pick(item(ttng.TensormapCreateOp.GlobalStride, i))
		stride = s.B.Binary(llir.LShr, stride, unit, 0)
		strides[i] = func() { w.set("global_stride", 64, i, at, stride) }
	}
	w.replace("global_address", 64, -1, ttng.TensormapCreateOp.GlobalAddress)
	w.constant("rank", func(op ttng.TensormapCreateOp) int64 { return int64(len(op.BoxDim()) - 1) })
	for i := range most {
		w.replace("box_dim", 32, i, item(ttng.TensormapCreateOp.BoxDim, i))
		w.replace("global_dim", 32, i, item(ttng.TensormapCreateOp.GlobalDim, i))
		w.replace("element_stride", 32, i, item(ttng.TensormapCreateOp.ElementStride, i))
	}
	for _, set := range strides {
		set()
	}
	w.constant("elemtype", ttng.TensormapCreateOp.ElemType)
	w.constant("interleave_layout", ttng.TensormapCreateOp.InterleaveLayout)
	w.constant("swizzle_mode", ttng.TensormapCreateOp.SwizzleMode)
	w.constant("fill_mode", ttng.TensormapCreateOp.FillMode)
	w.copyOut()
	return nil
}

// item is the value at place i of a list that a map has, nil where the list is shorter.
func item(of func(ttng.TensormapCreateOp) []*ir.Value, i int) func(ttng.TensormapCreateOp) *ir.Value {
	return func(op ttng.TensormapCreateOp) *ir.Value {
		if list := of(op); i < len(list) {
			return list[i]
		}
		return nil
	}
}

// mapWriter writes maps into the scratch memory of an operation, a warp each.
type mapWriter struct {
	s    *lower.Site
	maps []ttng.TensormapCreateOp
	// isWarp has, for each map but the first, an i1 that holds in its warp; warp holds in
	// those of all maps, leader in the one thread of each that fills in the fields.
	isWarp       []llir.Value
	warp, leader llir.Value
	word         llir.Value // address of the lane's four bytes
	wide         llir.Value // address of the warp's map, as 64 bits
}

func newMapWriter(s *lower.Site, maps []ttng.TensormapCreateOp, off int) *mapWriter {
	b, at := s.B, s.Scratch()
	if off > 0 {
		at = b.PtrAdd(at, int64(off))
	}
	w := &mapWriter{s: s, maps: maps, word: b.GEP(llir.I8, at, b.Shl(s.Thread, 2))}
	if len(maps) > 1 {
		w.findWarps()
		at = b.GEP(llir.I8, at, b.And(b.Shl(s.Thread, 2), b.M.I32(-mapBytes)))
	} else {
		w.warp = isFirstWarp(s)
	}
	w.wide = b.ZExt(b.Cast(llir.PtrToInt, at, llir.I32, 0), llir.I64)
	return w
}

// findWarps tells the warps of several maps.
func (w *mapWriter) findWarps() {
	b := w.s.B
	at := b.Binary(llir.LShr, w.s.Thread, b.M.I32(laneBits), 0)
	for i := range w.maps {
		w.isWarp = append(w.isWarp, b.ICmp(enum.IPredEQ, at, b.M.I32(i)))
	}
	w.warp = b.ICmp(enum.IPredULT, at, b.M.I32(len(w.maps)))
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
	w.leader = w.s.B.And(w.warp, isElected(w.s))
}

// strideUnit is by how many bits strides in bytes are shifted to the right for
// tensormap.replace, an i64: 0, or 4. A map has strides without their four lowest
// bits. Assemblers from CUDA 12.5 on take bytes and drop these; those before take
// what the map has, and nothing in the text says which will be. So the code finds
// out: of a stride of 1 only the latter leave something in a map of zeros.
func (w *mapWriter) strideUnit() llir.Value {
	b := w.s.B
	w.set("global_stride", 64, 0, w.leader, b.M.I64(1))
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
	unit := b.Select(b.Call(vote, b.M.I32(allLanes), left), b.M.I64(4), b.M.I64(0))
	line := func(op ttng.TensormapCreateOp) bool { return len(op.BoxDim()) == 1 }
	if at := w.where(line); at != nil { // a map of one dimension has no stride
		w.set("global_stride", 64, 0, at, b.M.I64(0))
	}
	return unit
}

// where is an i1 that holds in the leaders of the maps for which is holds, nil if there is
// none.
func (w *mapWriter) where(is func(ttng.TensormapCreateOp) bool) llir.Value {
	var at llir.Value
	all := true
	for i, op := range w.maps {
		switch {
		case !is(op):
			all = false
		case len(w.maps) == 1:
		case at == nil:
			at = w.isWarp[i]
		default:
			at = w.s.B.Or(at, w.isWarp[i])
		}
	}
	switch {
	case all:
		return w.leader
	case at == nil:
		return nil
	}
	return w.s.B.And(w.leader, at)
}

// pick is what of gives for the warp's map, and where it gives anything: it is nil for
// maps that have no such value.
func (w *mapWriter) pick(of func(ttng.TensormapCreateOp) *ir.Value) (at, value llir.Value) {
	var last *ir.Value
	for i, op := range w.maps {
		switch v := of(op); {
		case v == nil || v == last:
		case value == nil:
			value, last = w.s.Value(v)[0], v
		default:
			value, last = w.s.B.Select(w.isWarp[i], w.s.Value(v)[0], value), nil
		}
	}
	return w.where(func(op ttng.TensormapCreateOp) bool { return of(op) != nil }), value
}

// replace fills in a field of so many bits, or with which >= 0 one of several.
func (w *mapWriter) replace(name string, bits, which int, of func(ttng.TensormapCreateOp) *ir.Value) {
	at, value := w.pick(of)
	w.set(name, bits, which, at, value)
}

// constant fills in a field that takes no register.
func (w *mapWriter) constant(name string, of func(ttng.TensormapCreateOp) int64) {
	var set []int64
	for _, op := range w.maps {
		n := of(op)
		if slices.Contains(set, n) {
			continue
		}
		set = append(set, n)
		at := w.where(func(op ttng.TensormapCreateOp) bool { return of(op) == n })
		w.field(name, 32, -1, at, func(a *assembly) { a.str(strconv.FormatInt(n, 10)) })
	}
}

// set fills in a field where at holds.
func (w *mapWriter) set(name string, bits, which int, at, value llir.Value) {
	class := map[int]string{32: "r", 64: "l"}[bits]
	w.field(name, bits, which, at, func(a *assembly) { a.ref(a.in(class, value)) })
}

func (w *mapWriter) field(name string, bits, which int, at llir.Value, value func(a *assembly)) {
	var a assembly
	a.predicate(at)
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

// copyOut copies the maps to global memory.
func (w *mapWriter) copyOut() {
	_, to := w.pick(ttng.TensormapCreateOp.DescPtr)
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
// was written to global memory.
func acquireMap(s *lower.Site, op ttng.TensormapFenceproxyAcquireOp) error {
	if mapsTogether(op.Op) == nil {
		acquire(s, isFirstWarp(s), s.Value(op.DescPtr())[0])
	}
	return nil
}

// acquireMaps has each warp that wrote one of the maps acquire it.
func acquireMaps(s *lower.Site, maps []ttng.TensormapCreateOp) {
	w := &mapWriter{s: s, maps: maps}
	w.findWarps()
	w.leader = w.warp
	acquire(s, w.warp, second(w.pick(ttng.TensormapCreateOp.DescPtr)))
}

func second(_, v llir.Value) llir.Value { return v }

// acquire has the warps in which warp holds see the map at an address. The empty group of
// copies after the fence keeps ptxas from losing it.
func acquire(s *lower.Site, warp, at llir.Value) {
	var a assembly
	held := a.in("b", warp)
	on := func(text string) {
		a.str("@")
		a.ref(held)
		a.str(" " + text)
	}
	on("fence.proxy.tensormap::generic.acquire.gpu ")
	a.address("l", at, 0)
	a.str(", " + strconv.Itoa(mapBytes) + ";\n\t")
	on("cp.async.bulk.commit_group;\n\t")
	on("cp.async.bulk.wait_group.read 0;")
	a.emit(s.B, nil)
}

// mapOfPointer takes a pointer to a map for the descriptor, whose address is a
// generic one.
func mapOfPointer(s *lower.Site, op ttng.ReinterpretTensorDescriptorOp) error {
	s.Set(op.Result(), s.B.Cast(llir.AddrSpaceCast, s.Value(op.RawDesc())[0], llir.PtrIn(0), 0))
	return nil
}
