package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// streamLowering has the operands of the dots of a scheduled loop pass through LDS:
//
//	%v = tt.load %p                  {an early stage}
//	%a = ttg.convert_layout %v       {the last stage}
//
// becomes
//
//	%v = tt.load %p                  {an early stage}
//	%w = ttg.memdesc_index %lds[%i]  {the stage of stores}
//	ttg.local_store %v, %w           {the stage of stores}
//	%a = ttg.local_load %w           {the last stage}
//
// or, with a copy,
//
//	%w = ttg.memdesc_index %lds[%i]
//	%t = ttg.async_copy_global_to_local %p, %w  {an early stage}
//	%g = ttg.async_commit_group tokens %t       {an early stage}
//	%d = ttg.async_wait %g                      {the last stage}
//	%a = ttg.local_load %w token %d             {the last stage}
type streamLowering struct {
	b     *ir.Builder
	info  *axisinfo.Result
	chip  *chip.Chip // nil: unknown
	async bool
	atEnd bool // copies are waited for at the end of the iteration before

	padded  bool // the buffer that is looked for may be padded
	streams []stream
}

// stream is a load that passes through LDS.
type stream struct {
	write *ir.Operation // to LDS: the store, or the copy
	ready *ir.Operation // from where on it may be read
	view  *ir.Value     // of the buffer
	ahead int           // iterations until the buffer is written again
}

// lower lowers the loads of the loop, and gives each operation of it a place. It returns how
// many loads pass through LDS.
func (l *streamLowering) lower(s pipeline.Staging) int {
	l.streams = nil
	stages := s.Stages()
	loads := neededLoads(l.info, l.chip, s.Loop(), stages)
	var ones []*ir.Operation // those with a place
	for _, n := range loads {
		if _, _, ok := s.At(n.Load); ok {
			ones = append(ones, n.Load)
		}
	}
	buffers, rest := stages-1-deepestLevel(loads), clusterCompute
	first, _ := chainedDots(s.Loop(), stages, loads)
	if first != nil {
		buffers, rest = 1, chainedClusters-1
	}
	if l.async {
		buffers++ // a copy begins while the buffer before is read
	}
	var index *ir.Value
	for _, load := range ones {
		enc := l.bufferFor(load)
		if enc == nil {
			continue
		}
		if index == nil {
			index = l.count(s, buffers)
		}
		whole := l.allocate(s.Loop(), load, enc, buffers)
		var st stream
		if l.async && l.copies(load, enc) {
			st = l.copyThrough(s, load, whole, index, first != nil)
		} else {
			st = l.storeThrough(s, load, whole, index, deepestLevel(loads), first != nil)
		}
		st.ahead = buffers
		l.streams = append(l.streams, st)
	}
	s.Complete(rest)
	return len(l.streams)
}

// count lets the loop carry the number of the buffer that an iteration writes.
func (l *streamLowering) count(s pipeline.Staging, buffers int) *ir.Value {
	b, i32 := l.b, l.b.Context().I32()
	b.At(s.Loop())
	number := func(n int) *ir.Value { return arith.Int(b, i32, int64(n)) }
	before, zero, one, size := number(-1), number(0), number(1), number(buffers)
	arg := s.Carry(b, before)
	b.SetToStart(s.Loop().Body())
	next := arith.Binary(b, arith.AddI, arg, one)
	next = arith.NewSelect(b, arith.Compare(b, arith.CmpI, arith.SLT, next, size), next, zero)
	forloop.Yield(s.Loop()).AppendOperand(next)
	return next
}

// allocate makes the buffers of a load around the loop.
func (l *streamLowering) allocate(loop, load *ir.Operation, enc *encoding.Attr, buffers int) *ir.Value {
	t := tensors.Type(load.OneResult())
	shape := slices.Concat([]int64{int64(buffers)}, t.Shape)
	b, c := l.b, l.b.Context()
	b.Loc = load.Loc()
	b.SetBefore(loop)
	whole := b.Op(ttg.LocalAlloc, nil, ttg.MemDesc(c, ttg.MemDescType{
		Shape: shape, Elem: t.Elem, Encoding: enc, Space: ttg.SharedMemory(c), Mutable: true,
	})).OneResult()
	b.SetAfter(loop)
	b.Op(ttg.LocalDealloc, []*ir.Value{whole})
	return whole
}

// viewOf is one of the buffers.
func (l *streamLowering) viewOf(whole, index *ir.Value) *ir.Value {
	t := *whole.Type().(*ttg.MemDescType)
	t.Shape, t.AllocShape = t.Shape[1:], nil
	return l.b.Op(ttg.MemDescIndex, []*ir.Value{whole, index}, ttg.MemDesc(l.b.Context(), t)).OneResult()
}

// storeThrough stores what load loads to LDS.
func (l *streamLowering) storeThrough(s pipeline.Staging, load *ir.Operation, whole, index *ir.Value, stage int, chained bool) stream {
	b := l.b
	b.At(load)
	b.SetAfter(load)
	view := l.viewOf(whole, index)
	store := b.Op(ttg.LocalStore, []*ir.Value{load.OneResult(), view})
	read := l.readFrom(load, view, store)
	cluster, readStage, readCluster := clusterStore, 0, 0
	if chained {
		stage, cluster, readStage, readCluster = stageStore2, chainedStore2, stageRead2, chainedRead2
		if isFirst(s, load) {
			stage, cluster, readStage, readCluster = stageStore1, chainedStore1, stageRead1, chainedRead1
		}
		placeRead(s, read, readStage, readCluster)
	}
	s.Place(view.Def(), stage, cluster)
	s.Place(store, stage, cluster)
	return stream{write: store, ready: store, view: view}
}

// copyThrough copies what load loads to LDS.
func (l *streamLowering) copyThrough(s pipeline.Staging, load *ir.Operation, whole, index *ir.Value, chained bool) stream {
	b, c := l.b, l.b.Context()
	stage, cluster, _ := s.At(load)
	first := isFirst(s, load)
	b.At(load)
	view := l.viewOf(whole, index)
	v := tt.AsLoad(load)
	operands, segments := []*ir.Value{v.Ptr(), view}, []int32{1, 1, 0, 0}
	elems := l.info.Vector(v.Ptr())
	if v.Mask() != nil {
		operands, segments[2] = append(operands, v.Mask()), 1
		elems = min(elems, l.info.MaskRun(v.Mask()))
	}
	if v.Other() != nil {
		operands, segments[3] = append(operands, v.Other()), 1
	}
	attrs := []ir.NamedAttr{{Name: "contiguity", Attr: c.I32Attr(elems)}}
	for _, name := range []string{"cache", "evict", "isVolatile"} {
		if load.HasAttr(name) {
			attrs = append(attrs, ir.NamedAttr{Name: name, Attr: load.Attr(name)})
		}
	}
	write := b.Create(ttg.AsyncCopy, ir.State{Operands: operands, Segments: segments, Attrs: attrs})
	commit := b.Op(ttg.AsyncCommitGroup, []*ir.Value{write.OneResult()}, ttg.AsyncToken(c))
	wait := b.Create(ttg.AsyncWait, ir.State{
		Operands: []*ir.Value{commit.OneResult()}, Attrs: []ir.NamedAttr{{Name: "num", Attr: c.I32Attr(0)}},
	})
	read := l.readFrom(load, view, wait)
	load.Erase()
	s.Place(write, stage, cluster)
	s.Place(commit, stage, cluster)
	last := s.Stages() - 1
	switch {
	case chained && first:
		s.Place(wait, stageRead1, chainedWait1)
		placeRead(s, read, stageRead1, chainedRead1)
	case chained:
		s.Place(wait, stageRead2, chainedWait2)
		placeRead(s, read, stageRead2, chainedRead2)
	case l.atEnd:
		s.Place(wait, last-1, clusterWaitAtEnd)
	case stage != last:
		s.Place(wait, last, clusterWait)
	}
	return stream{write: write, ready: wait, view: view}
}

// isFirst reports whether a load of a loop around two dots is for the first.
func isFirst(s pipeline.Staging, load *ir.Operation) bool {
	stage, _, _ := s.At(load)
	return stage == stageLoad1
}

// placeRead places a read of LDS, and the conversion of what it reads, if that is all that
// uses it.
func placeRead(s pipeline.Staging, read *ir.Operation, stage, cluster int) {
	if read == nil {
		return
	}
	s.Place(read, stage, cluster)
	if v := read.OneResult(); v.HasOneUse() && v.OnlyUser().Is(ttg.ConvertLayout) {
		s.Place(v.OnlyUser(), stage, cluster)
	}
}

// readFrom lets the users of what load loads read the view, once ready, the store to it or
// the wait for the copy, has come: buffers of its layout become it, others use what is read
// from it. It returns the read, or nil.
func (l *streamLowering) readFrom(load *ir.Operation, view *ir.Value, ready *ir.Operation) *ir.Operation {
	loaded, enc := load.OneResult(), view.Type().(*ttg.MemDescType).Encoding
	for u := range loaded.Users() {
		if u.Is(ttg.LocalAlloc) && u.OneResult().Type().(*ttg.MemDescType).Encoding == enc {
			u.OneResult().ReplaceAllUsesWith(view)
			makeMutable(view)
			u.Erase()
		}
	}
	used := false
	for u := range loaded.Users() {
		used = used || u != ready
	}
	if !used {
		return nil
	}
	operands := append([]*ir.Value{view}, ready.Results()...) // with a token, if it is a wait
	l.b.SetAfter(ready)
	read := l.b.Op(ttg.LocalLoad, operands, loaded.Type())
	loaded.ReplaceUsesIf(read.OneResult(), func(u *ir.Use) bool { return u.Owner() != ready })
	return read
}

// makeMutable gives the views of a mutable buffer types that say so.
func makeMutable(buffer *ir.Value) {
	for u := range buffer.Users() {
		if !sharedmem.IsView(u) {
			continue
		}
		t := *u.OneResult().Type().(*ttg.MemDescType)
		t.Mutable = true
		u.OneResult().SetType(ttg.MemDesc(u.Context(), t))
		makeMutable(u.OneResult())
	}
}

// copies reports whether the chip has an instruction that copies what load loads to a buffer
// of that layout: it takes one address of LDS for a wave, so that what a lane copies lies
// side by side there. Lanes without an element get zero.
func (l *streamLowering) copies(load *ir.Operation, enc *encoding.Attr) bool {
	v := tt.AsLoad(load)
	if v.Mask() != nil && v.Other() != nil && !arith.IsZero(v.Other()) {
		return false
	}
	t := tensors.Type(load.OneResult())
	bytes := axisinfo.ElemBytes(t)
	elems := pipeline.CopyBytes(t, enc) / bytes
	return fitting(elems, 8*bytes, copyWidths[l.chip]) > 0 && pipeline.AccessBytes(l.info, load) >= narrowestCopy
}

// keepsBuffers reports whether every buffer is read after it is written, and before it is
// written for a later iteration.
func (l *streamLowering) keepsBuffers(s pipeline.Staging) bool {
	for _, st := range l.streams {
		for _, r := range readers(s.Loop(), st.view) {
			if r == st.write {
				continue
			}
			if r != st.ready && !s.Precedes(st.ready, r, 0) || !s.Precedes(r, st.write, st.ahead) {
				return false
			}
		}
	}
	return true
}

// readers are the operations of loop's body that access a buffer, through views, too.
func readers(loop *ir.Operation, buffer *ir.Value) []*ir.Operation {
	var list []*ir.Operation
	for u := range buffer.Users() {
		if sharedmem.IsView(u) {
			list = append(list, readers(loop, u.OneResult())...)
		} else {
			list = append(list, forloop.AncestorIn(loop.Body(), u))
		}
	}
	return list
}
