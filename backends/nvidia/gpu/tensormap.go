package gpu

import (
	"fmt"
	"strconv"

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

// createMap has the first warp clear the map, its leader fill it in, and the
// warp copy it to global memory, where the engine will see it behind
// acquireMap.
func createMap(s *lower.Site, op *ir.Operation) error {
	box, size, stride, step := op.Group(2), op.Group(3), op.Group(4), op.Group(5)
	rank := len(box)
	if rank < 1 || rank > maxRank {
		return fmt.Errorf("a descriptor of %d dimensions; there can be up to %d", rank, maxRank)
	}
	if len(size) != rank || len(step) != rank || len(stride) != rank-1 {
		return fmt.Errorf("%d dimensions with %d sizes, %d strides and %d steps", rank, len(size), len(stride), len(step))
	}
	b := s.B
	warp := isFirstWarp(s)
	at := s.Scratch()
	meet := b.M.Declare("llvm.nvvm.bar.warp.sync", llir.HasEffects, llir.Void, llir.I32)
	b.Call(meet, b.M.I32(allLanes)) // an earlier map may still be on its way out
	var clear assembly
	clear.predicate(warp)
	clear.str("st.shared.b32 ")
	clear.address("r", b.GEP(llir.I8, at, b.Shl(s.Thread, 2)), 0)
	clear.str(", ")
	clear.ref(clear.in("r", b.M.I32(0)))
	clear.str(";")
	clear.emit(b, nil)
	b.Call(meet, b.M.I32(allLanes))

	leader := isLeader(s)
	wide := b.ZExt(b.Cast(llir.PtrToInt, at, llir.I32, 0), llir.I64)
	field := func(name string, bits int, which int, value func(a *assembly)) {
		var a assembly
		a.predicate(leader)
		a.str("tensormap.replace.tile." + name + ".shared::cta.b1024.b" + strconv.Itoa(bits) + " ")
		a.address("l", wide, 0)
		if which >= 0 {
			a.str(", " + strconv.Itoa(which))
		}
		a.str(", ")
		value(&a)
		a.str(";")
		a.emit(b, nil)
	}
	reg := func(class string, v *ir.Value) func(*assembly) {
		return func(a *assembly) { a.ref(a.in(class, s.Value(v)[0])) }
	}
	number := func(n int64) func(*assembly) {
		return func(a *assembly) { a.str(strconv.FormatInt(n, 10)) }
	}
	attr := func(name string) func(*assembly) {
		n, _ := op.IntAttr(name)
		return number(n)
	}
	field("global_address", 64, -1, reg("l", op.Group(1)[0]))
	field("rank", 32, -1, number(int64(rank-1)))
	for i := range rank {
		field("box_dim", 32, i, reg("r", box[i]))
	}
	for i := range rank {
		field("global_dim", 32, i, reg("r", size[i]))
	}
	for i := range rank - 1 {
		field("global_stride", 64, i, reg("l", stride[i]))
	}
	for i := range rank {
		field("element_stride", 32, i, reg("r", step[i]))
	}
	field("elemtype", 32, -1, attr("elem_type"))
	field("interleave_layout", 32, -1, attr("interleave_layout"))
	field("swizzle_mode", 32, -1, attr("swizzle_mode"))
	field("fill_mode", 32, -1, attr("fill_mode"))

	var out assembly
	out.predicate(warp)
	out.str("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned ")
	out.address("l", s.Value(op.Group(0)[0])[0], 0)
	out.str(", ")
	out.address("l", wide, 0)
	out.str(", " + strconv.Itoa(mapBytes) + ";")
	out.emit(b, nil)
	return nil
}

// acquireMap has the first warp, whose leader starts all copies, see a map that
// was written to global memory. The empty group of copies behind it keeps ptxas
// from losing the fence.
func acquireMap(s *lower.Site, op *ir.Operation) error {
	var a assembly
	warp := a.in("b", isFirstWarp(s))
	on := func(text string) {
		a.str("@")
		a.ref(warp)
		a.str(" " + text)
	}
	on("fence.proxy.tensormap::generic.acquire.gpu ")
	a.address("l", s.Value(op.Operand(0))[0], 0)
	a.str(", " + strconv.Itoa(mapBytes) + ";\n\t")
	on("cp.async.bulk.commit_group;\n\t")
	on("cp.async.bulk.wait_group.read 0;")
	a.emit(s.B, nil)
	return nil
}

// mapOfPointer takes a pointer to a map for the descriptor, whose address is a
// generic one.
func mapOfPointer(s *lower.Site, op *ir.Operation) error {
	s.Set(op.Result(0), s.B.Cast(llir.AddrSpaceCast, s.Value(op.Operand(0))[0], llir.PtrIn(0), 0))
	return nil
}
