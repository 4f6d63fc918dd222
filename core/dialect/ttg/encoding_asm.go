package ttg

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
)

// alias is the name of the line that defines an attribute. Slices and dot
// operands are always in place.
func alias(a ir.Attribute) string {
	switch a := a.(type) {
	case *SharedMemoryAttr:
		return "smem"
	case *encoding.Attr:
		switch a.Layout.(type) {
		case *layout.Blocked:
			return "blocked"
		case *layout.Linear:
			return "linear"
		case *layout.NvidiaMMA, *layout.AMDMFMA, *layout.AMDWMMA:
			return "mma"
		case layout.Shared:
			return "shared"
		}
	}
	return ""
}

// parseAttr reads what follows #ttg.name: fields in braces, in any order.
func parseAttr(p *text.Parser, name string) ir.Attribute {
	if name == "shared_memory" {
		return SharedMemory(p.Context())
	}
	r := fieldReader{p: p, pos: p.Pos()}
	e := r.encoding(name)
	if e == nil {
		return nil
	}
	p.Expect(">")
	if err := check(e); err != "" {
		p.FailAt(r.pos, "encoding '%s': %s", name, err)
	}
	return encoding.Of(p.Context(), e)
}

func (r *fieldReader) encoding(name string) layout.Encoding {
	switch name {
	case "blocked":
		e := &layout.Blocked{}
		r.fields(
			ints("sizePerThread", &e.SizePerThread), ints("threadsPerWarp", &e.ThreadsPerWarp),
			ints("warpsPerCTA", &e.WarpsPerCTA), ints("order", &e.Order), cga(&e.CGA),
		)
		return e
	case "linear":
		e := &layout.Linear{}
		r.fields(bases("register", &e.Register), bases("lane", &e.Lane), bases("warp", &e.Warp), bases("block", &e.Block))
		return e
	case "slice":
		e := &layout.Slice{}
		r.fields(number("dim", &e.Dim), parent(&e.Parent))
		return e
	case "dot_op":
		e := &layout.DotOp{}
		r.fields(number("opIdx", &e.OpIdx), parent(&e.Parent), optNumber("kWidth", &e.KWidth))
		return e
	case "nvidia_mma":
		e := &layout.NvidiaMMA{}
		r.fields(
			optNumber("versionMajor", &e.VersionMajor), optNumber("versionMinor", &e.VersionMinor),
			ints("warpsPerCTA", &e.WarpsPerCTA), cga(&e.CGA), ints("instrShape", &e.InstrShape),
		)
		return e
	case "amd_mfma":
		e := &layout.AMDMFMA{}
		r.fields(
			optNumber("version", &e.Version), ints("warpsPerCTA", &e.WarpsPerCTA), ints("instrShape", &e.InstrShape),
			optBoolean("isTransposed", &e.IsTransposed), optBoolean("isTranspose", &e.IsTransposed), // as it was once
			cga(&e.CGA), optInts("tilesPerWarp", &e.TilesPerWarp), optNumber("elementBitWidth", &e.ElementBitWidth),
		)
		e.TilesPerWarp = unlessOnes(e.TilesPerWarp)
		if e.ElementBitWidth == 32 {
			e.ElementBitWidth = 0 // the default
		}
		return e
	case "amd_wmma":
		e := &layout.AMDWMMA{}
		r.fields(
			optNumber("version", &e.Version), optBoolean("isTranspose", &e.IsTranspose), ints("warpsPerCTA", &e.WarpsPerCTA),
			cga(&e.CGA), optInts("tilesPerWarp", &e.TilesPerWarp), optInts("instrShape", &e.InstrShape),
		)
		e.TilesPerWarp = unlessOnes(e.TilesPerWarp)
		if slices.Equal(e.InstrShape, []int{16, 16, 16}) {
			e.InstrShape = nil // the default
		}
		return e
	case "swizzled_shared":
		e := &layout.SwizzledShared{}
		r.fields(number("vec", &e.Vec), number("perPhase", &e.PerPhase), number("maxPhase", &e.MaxPhase), ints("order", &e.Order), cga(&e.CGA))
		return e
	case "amd_rotating_shared":
		e := &layout.AMDRotatingShared{}
		r.fields(number("vec", &e.Vec), number("perPhase", &e.PerPhase), number("maxPhase", &e.MaxPhase), ints("order", &e.Order), cga(&e.CGA))
		return e
	case "padded_shared":
		return r.padded()
	case "shared_linear":
		e := &layout.SharedLinear{}
		r.fields(bases("offset", &e.Offset), optBases("block", &e.Block), misplaced("alignment", msgAlignment))
		r.p.Expect(",")
		r.p.Expect("alignment")
		r.p.Expect("=")
		e.Alignment = int(r.p.IntBelow(1<<20, "alignment"))
		if len(e.Block) == 0 {
			e.Block = nil // the default
		}
		return e
	case "nvmma_shared":
		e := &layout.NVMMAShared{ElementBitWidth: 16}
		r.fields(
			number("swizzlingByteWidth", &e.SwizzlingByteWidth), optBoolean("transposed", &e.Transposed),
			optNumber("elementBitWidth", &e.ElementBitWidth), optBoolean("fp4Padded", &e.FP4Padded),
			cga(&e.CGA), optNumber("rank", &e.NDims),
		)
		if e.NDims == 2 && len(e.CGA) == 0 {
			e.NDims = 0 // the default
		}
		return e
	}
	return nil
}

// unlessOnes is vs, or nil, the default, if all of it is 1.
func unlessOnes(vs []int) []int {
	if slices.ContainsFunc(vs, func(v int) bool { return v != 1 }) {
		return vs
	}
	return nil
}

// padded reads [interval:+padding, …] {…}, the braces holding either order and
// shape or offset and block.
func (r *fieldReader) padded() layout.Encoding {
	e := &layout.PaddedShared{}
	p := r.p
	p.Expect("<")
	p.List('[', ']', func() {
		e.Intervals = append(e.Intervals, r.int())
		p.Expect(":")
		p.Expect("+")
		e.Paddings = append(e.Paddings, r.int())
	})
	var shape []int
	r.braces(
		optInts("order", &e.Order), optInts("shape", &shape), cga(&e.CGA),
		optBases("offset", &e.Offset), optBases("block", &e.Block),
	)
	for _, s := range shape {
		e.Shape = append(e.Shape, int64(s))
	}
	switch {
	case len(e.Order) == 0 && e.Offset == nil:
		p.Fail(msgBasisMissing, "offset")
	case len(e.Order) > 0 && e.Offset != nil:
		p.Fail(msgUnexpected, "order")
	case e.Offset != nil && e.Block == nil:
		p.Fail(msgBasisMissing, "block")
	}
	return e
}

// field is one "name = value" of an encoding.
type field struct {
	name     string
	optional bool
	read     func(r *fieldReader)
}

func number(name string, v *int) field {
	return field{name: name, read: func(r *fieldReader) { *v = r.int() }}
}

func boolean(name string, v *bool) field {
	return field{name: name, read: func(r *fieldReader) { *v = r.p.Bool() }}
}

func ints(name string, v *[]int) field {
	return field{name: name, read: func(r *fieldReader) { *v = r.ints() }}
}

func bases(name string, v *layout.Bases) field {
	return field{name: name, read: func(r *fieldReader) { *v = r.bases() }}
}

func parent(v *layout.Encoding) field {
	return field{name: "parent", read: func(r *fieldReader) {
		pos := r.p.Pos()
		a, ok := r.p.Attr().(*encoding.Attr)
		if !ok {
			r.p.FailAt(pos, "the parent must be an encoding")
		}
		if _, shared := a.Layout.(layout.Shared); shared {
			r.p.FailAt(pos, "the parent must be a distributed encoding")
		}
		*v = a.Layout
	}}
}

func optional(f field) field {
	f.optional = true
	return f
}

func optNumber(name string, v *int) field         { return optional(number(name, v)) }
func optBoolean(name string, v *bool) field       { return optional(boolean(name, v)) }
func optInts(name string, v *[]int) field         { return optional(ints(name, v)) }
func optBases(name string, v *layout.Bases) field { return optional(bases(name, v)) }
func cga(v *layout.Bases) field                   { return optBases("CGALayout", v) }

// misplaced is a field that belongs elsewhere, as the message says.
func misplaced(name, message string) field {
	return optional(field{name: name, read: func(r *fieldReader) { r.p.FailAt(r.pos, "%s", message) }})
}

// fieldReader reads the fields of an encoding.
type fieldReader struct {
	p   *text.Parser
	pos text.Pos
}

// fields reads <{…}; the caller reads the >.
func (r *fieldReader) fields(fs ...field) {
	r.p.Expect("<")
	r.braces(fs...)
}

func (r *fieldReader) braces(fs ...field) {
	var seen uint
	r.p.Fields('{', '}', func(name string) bool {
		for i := range fs {
			if fs[i].name == name {
				seen |= 1 << i
				fs[i].read(r)
				return true
			}
		}
		return false
	})
	for i := range fs {
		if !fs[i].optional && seen&(1<<i) == 0 {
			r.p.FailAt(r.pos, "field '%s' is missing", fs[i].name)
		}
	}
}

func (r *fieldReader) int() int { return int(r.p.IntBelow(math.MaxInt32, "a field of an encoding")) }

func (r *fieldReader) ints() []int {
	vs := []int{}
	r.p.List('[', ']', func() { vs = append(vs, r.int()) })
	if len(vs) > text.MaxRank {
		r.p.Fail("more than %d dimensions", text.MaxRank)
	}
	return vs
}

func (r *fieldReader) bases() layout.Bases {
	vs := layout.Bases{}
	r.p.List('[', ']', func() {
		v := []int32{}
		for _, x := range r.ints() {
			v = append(v, int32(x))
		}
		vs = append(vs, v)
	})
	if len(vs) > 31 {
		r.p.Fail("more than 31 bases")
	}
	return vs
}

// check says why the fields of e do not fit together, or "". What depends on the
// shape is the layout's own to say.
func check(e layout.Encoding) string {
	rank := e.Rank()
	switch e := e.(type) {
	case *layout.Blocked:
		return firstOf(lengths(rank, e.SizePerThread, e.ThreadsPerWarp, e.WarpsPerCTA), permutation(e.Order),
			powers(e.SizePerThread, e.ThreadsPerWarp, e.WarpsPerCTA), vectors(rank, e.CGA), onto(rank, e.CGA))
	case *layout.Linear:
		return firstOf(vectors(rank, e.Register, e.Lane, e.Warp, e.Block), onto(rank, e.Register, e.Lane, e.Warp, e.Block))
	case *layout.Slice:
		switch parent := e.Parent.Rank(); {
		case parent < 2:
			return msgSliceRank
		case e.Dim >= parent:
			return fmt.Sprintf(msgSliceDim, e.Dim, parent)
		}
	case *layout.DotOp:
		return checkDotOp(e)
	case *layout.NvidiaMMA:
		return firstOf(powers(e.WarpsPerCTA), vectors(rank, e.CGA), onto(rank, e.CGA))
	case *layout.AMDMFMA:
		switch {
		case e.Version > 4:
			return msgMFMAVersion
		case len(e.InstrShape) < 2 || !slices.Contains([][2]int{{32, 32}, {16, 16}, {64, 4}, {4, 64}}, [2]int(e.InstrShape)):
			return fmt.Sprintf(msgMFMAShape, first(e.InstrShape, 0), first(e.InstrShape, 1))
		case e.ElementBitWidth != 0 && e.ElementBitWidth != 64:
			return msgMFMABits
		}
		return firstOf(powers(e.WarpsPerCTA, e.TilesPerWarp), vectors(rank, e.CGA), onto(rank, e.CGA))
	case *layout.AMDWMMA:
		if e.Version < 1 || e.Version > 3 {
			return msgWMMAVersion
		}
		if !slices.ContainsFunc(wmmaShapes[e.Version], func(s []int) bool { return slices.Equal(s, wmmaShape(e)) }) {
			return fmt.Sprintf(msgWMMAShape, e.Version)
		}
		return firstOf(powers(e.WarpsPerCTA, e.TilesPerWarp), vectors(rank, e.CGA), onto(rank, e.CGA))
	case *layout.SwizzledShared:
		return firstOf(powers([]int{e.Vec, e.PerPhase, e.MaxPhase}), permutation(e.Order), vectors(rank, e.CGA), onto(rank, e.CGA))
	case *layout.AMDRotatingShared:
		return firstOf(powers([]int{e.Vec, e.PerPhase, e.MaxPhase}), permutation(e.Order), vectors(rank, e.CGA), onto(rank, e.CGA))
	case *layout.PaddedShared:
		if len(e.Shape) != len(e.Order) {
			return msgPaddedRanks
		}
		return firstOf(paddings(e), permutation(e.Order), vectors(rank, e.Offset, e.Block, e.CGA), onto(rank, e.CGA))
	case *layout.SharedLinear:
		if e.Alignment < 1 || e.Alignment&(e.Alignment-1) != 0 {
			return "alignment must be a positive power of two"
		}
		return vectors(rank, e.Offset, e.Block)
	case *layout.NVMMAShared:
		switch e.SwizzlingByteWidth {
		case 0, 32, 64, 128:
		default:
			return "swizzlingByteWidth must be 0, 32, 64 or 128"
		}
		if e.NDims > text.MaxRank {
			return "rank is too large"
		}
		if e.ElementBitWidth == 0 {
			// Triton takes it and what does not ask where elements are; Linear refuses it.
			return firstOf(vectors(rank, e.CGA), onto(rank, e.CGA))
		}
		return firstOf(powers([]int{e.ElementBitWidth}), vectors(rank, e.CGA), onto(rank, e.CGA))
	}
	return ""
}

// checkDotOp checks the operand of a dot by what its parent's instruction takes.
func checkDotOp(e *layout.DotOp) string {
	if e.OpIdx > 1 {
		return fmt.Sprintf(msgOpIdx, e.OpIdx)
	}
	switch p := e.Parent.(type) {
	case *layout.Blocked:
		if e.KWidth != 0 {
			return msgNoKWidth
		}
	case *layout.NvidiaMMA:
		modern := p.VersionMajor == 2 || p.VersionMajor == 3
		switch {
		case e.KWidth != 0 && !modern:
			return msgKWidthOld
		case e.KWidth == 0 && modern:
			return msgKWidth
		case p.VersionMajor == 3 && e.OpIdx == 1:
			return msgInRegisters
		}
	case *layout.AMDMFMA:
		if e.KWidth == 0 {
			return msgKWidthMFMA
		}
	case *layout.AMDWMMA:
		widths, packed := map[int][]int{1: {8, 16}, 2: {4, 8, 16}, 3: {2, 8, 16}}[p.Version], msgPacked
		if p.Version == 3 {
			packed = ""
		}
		if !slices.Contains(widths, e.KWidth) {
			return fmt.Sprintf(msgKWidthWMMA, strings.Trim(strings.ReplaceAll(fmt.Sprint(widths), " ", "/"), "[]"), p.Version, packed)
		}
	}
	return ""
}

// wmmaShapes are the shapes of instructions of each version of WMMA.
var wmmaShapes = map[int][][]int{
	1: {{16, 16, 16}},
	2: {{16, 16, 16}, {16, 16, 32}},
	3: {{16, 16, 4}, {16, 16, 32}, {16, 16, 64}, {16, 16, 128}},
}

func wmmaShape(e *layout.AMDWMMA) []int {
	if e.InstrShape == nil {
		return []int{16, 16, 16}
	}
	return e.InstrShape
}

// first is list[i], or 0 where the list is shorter.
func first(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return 0
}

func firstOf(errs ...string) string {
	for _, e := range errs {
		if e != "" {
			return e
		}
	}
	return ""
}

func lengths(rank int, lists ...[]int) string {
	for _, l := range lists {
		if len(l) != rank || rank == 0 {
			return "lists must be of one length"
		}
	}
	return ""
}

func permutation(order []int) string {
	seen := make([]bool, len(order))
	for _, d := range order {
		if d >= len(order) || seen[d] {
			return "order must be a permutation of 0..n-1"
		}
		seen[d] = true
	}
	return ""
}

func powers(lists ...[]int) string {
	for _, l := range lists {
		for _, v := range l {
			if v < 1 || v&(v-1) != 0 {
				return "sizes must be powers of two"
			}
		}
	}
	return ""
}

func vectors(rank int, lists ...layout.Bases) string {
	for _, l := range lists {
		for _, v := range l {
			if len(v) != rank {
				return "basis vectors must have one coordinate per dimension"
			}
		}
	}
	return ""
}

// paddings checks the pairs of a padded encoding.
func paddings(e *layout.PaddedShared) string {
	if len(e.Intervals) == 0 {
		return "there must be an interval and its padding"
	}
	for i, v := range e.Intervals {
		if slices.Contains(e.Intervals[:i], v) {
			return msgDuplicates
		}
	}
	switch {
	case powers(e.Intervals) != "":
		return msgIntervals
	case powers(e.Paddings) != "":
		return msgPaddings
	}
	for _, basis := range slices.Concat(e.Offset, e.Block) {
		for _, x := range basis {
			if x&(x-1) != 0 {
				return msgOffsetBasis
			}
		}
	}
	return ""
}

// onto checks that the vectors reach every element of the box that they span.
func onto(rank int, lists ...layout.Bases) string {
	vs := slices.Concat(lists...)
	size := make([]int, rank) // bits of a coordinate
	for _, v := range vs {
		if len(v) != rank {
			return "" // which vectors says
		}
		for d, x := range v {
			size[d] = max(size[d], bits.Len32(uint32(x)))
		}
	}
	need := 0
	for _, n := range size {
		need += n
	}
	if need > 64 {
		return "basis vectors span too many elements"
	}
	var reduced [64]uint64 // by highest bit
	for _, v := range vs {
		packed := uint64(0)
		for d, x := range v {
			packed = packed<<size[d] | uint64(x)
		}
		for packed != 0 {
			top := bits.Len64(packed) - 1
			if reduced[top] == 0 {
				reduced[top] = packed
				need--
				break
			}
			packed ^= reduced[top]
		}
	}
	if need > 0 {
		return "basis vectors must reach every element between them"
	}
	return ""
}

// fieldWriter writes <{name = value, …}.
type fieldWriter struct {
	w    *text.Printer
	open bool
}

func (f *fieldWriter) name(s string) {
	if f.open {
		f.w.Str(", ")
	}
	f.open = true
	f.w.Str(s)
	f.w.Str(" = ")
}

func (f *fieldWriter) int(name string, v int) {
	f.name(name)
	f.w.Int(int64(v))
}

func (f *fieldWriter) bool(name string, v bool) {
	f.name(name)
	f.w.Bool(v)
}

func (f *fieldWriter) ints(name string, vs []int) {
	f.name(name)
	f.w.Str("[")
	for i, v := range vs {
		if i > 0 {
			f.w.Str(", ")
		}
		f.w.Int(int64(v))
	}
	f.w.Str("]")
}

func (f *fieldWriter) bases(name string, vs layout.Bases) {
	f.name(name)
	f.w.Str("[")
	for i, v := range vs {
		if i > 0 {
			f.w.Str(", ")
		}
		f.w.Str("[")
		for k, x := range v {
			if k > 0 {
				f.w.Str(", ")
			}
			f.w.Int(int64(x))
		}
		f.w.Str("]")
	}
	f.w.Str("]")
}

func (f *fieldWriter) cga(vs layout.Bases) {
	if len(vs) > 0 {
		f.bases("CGALayout", vs)
	}
}

func (f *fieldWriter) parent(a *encoding.Attr) {
	f.name("parent")
	f.w.Attr(a)
}

// printAttr writes what parseAttr reads, the fields in Triton's order.
func printAttr(w *text.Printer, a ir.Attribute) {
	ea, ok := a.(*encoding.Attr)
	if !ok {
		w.Str("shared_memory")
		return
	}
	w.Str(ea.Layout.Mnemonic())
	w.Str("<")
	f := &fieldWriter{w: w}
	if e, ok := ea.Layout.(*layout.PaddedShared); ok {
		f.padded(e)
		w.Str(">")
		return
	}
	w.Str("{")
	switch e := ea.Layout.(type) {
	case *layout.Blocked:
		f.ints("sizePerThread", e.SizePerThread)
		f.ints("threadsPerWarp", e.ThreadsPerWarp)
		f.ints("warpsPerCTA", e.WarpsPerCTA)
		f.ints("order", e.Order)
		f.cga(e.CGA)
	case *layout.Linear:
		f.bases("register", e.Register)
		f.bases("lane", e.Lane)
		f.bases("warp", e.Warp)
		f.bases("block", e.Block)
	case *layout.Slice:
		f.int("dim", e.Dim)
		f.parent(ea.Parent)
	case *layout.DotOp:
		f.int("opIdx", e.OpIdx)
		f.parent(ea.Parent)
		if e.KWidth != 0 {
			f.int("kWidth", e.KWidth)
		}
	case *layout.NvidiaMMA:
		f.int("versionMajor", e.VersionMajor)
		f.int("versionMinor", e.VersionMinor)
		f.ints("warpsPerCTA", e.WarpsPerCTA)
		f.cga(e.CGA)
		f.ints("instrShape", e.InstrShape)
	case *layout.AMDMFMA:
		f.int("version", e.Version)
		f.ints("warpsPerCTA", e.WarpsPerCTA)
		f.ints("instrShape", e.InstrShape)
		f.bool("isTransposed", e.IsTransposed)
		f.cga(e.CGA)
		if e.TilesPerWarp != nil {
			f.ints("tilesPerWarp", e.TilesPerWarp)
		}
		if e.ElementBitWidth != 0 {
			f.int("elementBitWidth", e.ElementBitWidth)
		}
	case *layout.AMDWMMA:
		f.int("version", e.Version)
		f.bool("isTranspose", e.IsTranspose)
		f.ints("warpsPerCTA", e.WarpsPerCTA)
		f.cga(e.CGA)
		if e.TilesPerWarp != nil {
			f.ints("tilesPerWarp", e.TilesPerWarp)
		}
		if e.InstrShape != nil {
			f.ints("instrShape", e.InstrShape)
		}
	case *layout.SwizzledShared:
		f.swizzle(e.Vec, e.PerPhase, e.MaxPhase, e.Order, e.CGA)
	case *layout.AMDRotatingShared:
		f.swizzle(e.Vec, e.PerPhase, e.MaxPhase, e.Order, e.CGA)
	case *layout.SharedLinear:
		f.bases("offset", e.Offset)
		if e.Block != nil {
			f.bases("block", e.Block)
		}
		w.Str("}, alignment = ")
		w.Int(int64(e.Alignment))
		w.Str(">")
		return
	case *layout.NVMMAShared:
		f.int("swizzlingByteWidth", e.SwizzlingByteWidth)
		f.bool("transposed", e.Transposed)
		f.int("elementBitWidth", e.ElementBitWidth)
		if e.FP4Padded {
			f.bool("fp4Padded", true)
		}
		f.cga(e.CGA)
		if e.NDims != 0 {
			f.int("rank", e.NDims)
		}
	default:
		panic("BUG: ttg: no text form for " + ea.Layout.Mnemonic())
	}
	w.Str("}>")
}

func (f *fieldWriter) swizzle(vec, perPhase, maxPhase int, order []int, cga layout.Bases) {
	f.int("vec", vec)
	f.int("perPhase", perPhase)
	f.int("maxPhase", maxPhase)
	f.ints("order", order)
	f.cga(cga)
}

func (f *fieldWriter) padded(e *layout.PaddedShared) {
	f.w.Str("[")
	for i, v := range e.Intervals {
		if i > 0 {
			f.w.Str(", ")
		}
		f.w.Int(int64(v))
		f.w.Str(":+")
		f.w.Int(int64(e.Paddings[i]))
	}
	f.w.Str("] {")
	if len(e.Order) > 0 {
		f.ints("order", e.Order)
		shape := make([]int, len(e.Shape))
		for i, s := range e.Shape {
			shape[i] = int(s)
		}
		f.ints("shape", shape)
		f.cga(e.CGA)
	} else {
		f.bases("offset", e.Offset)
		f.bases("block", e.Block)
	}
	f.w.Str("}")
}
