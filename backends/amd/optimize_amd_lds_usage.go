package amd

import (
	_ "embed" // the example is an archive of the tests, too
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

//go:embed testdata/optimize-amd-lds-usage/example.txtar
var optimizeLDSExample string

// optimizeLDS makes two conversions of one where a function needs more LDS than there is:
//
//	%b = ttg.convert_layout %a : #a -> #b
//
// becomes
//
//	%t = ttg.convert_layout %a : #a -> #t
//	%b = ttg.convert_layout %t : #t -> #b
//
// Scratch memory of a conversion holds what differs between its sides. #t is a layout like
// one of theirs, or with a plain tile for each warp, whose warps are arranged so that it has
// more in common with each than they have with one another. Of all arrangements that leave
// enough LDS to the buffers alive at the conversion, it is the one that takes the least. By
// Triton's count rows may also be padded where nothing else fits.
var optimizeLDS = &pass.Pass{
	Name: "optimize-amd-lds-usage",
	Doc:  "split layout conversions whose scratch memory LDS has no room for",
	Options: []pass.Option{
		{Name: "target-arch", Doc: "the chip, such as gfx942; empty: that of the module's ttg.target", Default: ""},
		{Name: "lds-limit", Doc: "bytes of LDS that a function may take; 0: those of the chip", Default: 0},
		lowered,
	},
	Example: optimizeLDSExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		a, err := ldsArch(r)
		if err != nil {
			return err
		}
		for _, m := range builtin.Modules(r.Module) {
			f := ldsFit{Run: r, limit: int(a.sharedMemory), lanes: int(ttg.ThreadsPerWarp(m))}
			if n := r.Int("lds-limit"); n != 0 {
				f.limit = n
			}
			if f.scratch, err = scratchOf(r, m, a.chip); err != nil {
				return err
			}
			if err := f.module(m); err != nil {
				return err
			}
		}
		return nil
	},
}

// ldsArch is the chip that the pass is run for. One that is known only by an LDS limit needs
// no name.
func ldsArch(r *pass.Run) (arch, error) {
	target := r.Module.StringAttr(ttg.TargetAttr)
	if name := r.Text("target-arch"); name != "" {
		target = chip.Backend + ":" + name
	}
	for _, a := range archs {
		if a.chip.Target() == target {
			return a, nil
		}
	}
	if r.Int("lds-limit") != 0 && !r.Bool(lowered.Name) {
		return arch{}, nil
	}
	return arch{}, fmt.Errorf("the module is for the target %q, of which it is not known how much LDS it has; the option target-arch names another", target)
}

// ldsFit has the functions of a module fit into LDS.
type ldsFit struct {
	*pass.Run
	limit, lanes int
	scratch      allocation.Scratch
}

func (f *ldsFit) module(m *ir.Operation) error {
	room := 0
	if !f.Bool(lowered.Name) {
		room = allocation.Tight
	}
	placed, err := allocation.Analyze(m, f.scratch, room)
	if err != nil {
		return err
	}
	if placed.Size() <= f.limit {
		return nil
	}
	for fn := range m.Body().Ops() {
		if !fn.Is(tt.Func) || tt.AsFunc(fn).SymVisibility() == "private" {
			continue
		}
		for _, c := range f.tooLarge(fn, placed) {
			if err := f.fit(c.op, c.room); err != nil {
				return err
			}
		}
	}
	return nil
}

// crowdedConversion is a conversion with the scratch memory that it may have.
type crowdedConversion struct {
	op   *ir.Operation
	room int
}

// tooLarge are the conversions of a function that must do with less for what is alive with
// them to end below the limit. What lies above the scratch memory is taken to move down.
func (f *ldsFit) tooLarge(fn *ir.Operation, placed *allocation.Result) []crowdedConversion {
	var areas []allocation.Area
	var conversions []*ir.Operation
	ir.Walk(fn, func(op *ir.Operation) ir.WalkResult {
		if a, ok := placed.Area(op); ok {
			areas = append(areas, a)
			if op.Is(ttg.ConvertLayout) {
				conversions = append(conversions, op)
			}
		}
		return ir.Advance
	})
	var out []crowdedConversion
	for _, op := range conversions {
		own, _ := placed.Area(op)
		end := 0
		for _, a := range areas {
			if a.First <= own.First && own.First <= a.Last {
				end = max(end, a.Offset+a.Size)
			}
		}
		if over := end - f.limit; over > 0 && over < own.Size {
			out = append(out, crowdedConversion{op, own.Size - over})
		}
	}
	return out
}

// fit has a conversion take no more than room bytes, if there is a way.
func (f *ldsFit) fit(op *ir.Operation, room int) error {
	if f.Bool(lowered.Name) {
		_, err := f.split(op, room)
		return err
	}
	// Triton has conversions that go through a layout leave some of the room.
	done, err := f.split(op, room-1)
	if done || err != nil {
		return err
	}
	padding := f.Module.Context().Unit()
	op.SetAttr(paddedScratch, padding)
	n, _, err := f.scratch(op)
	if err != nil || n <= room {
		return err
	}
	done, err = f.split(op, room-1)
	if !done {
		op.SetAttr(paddedScratch, nil)
	}
	return err
}

// split has a conversion go through the layout that takes the least scratch memory, if that
// is no more than room, and reports whether it is. The parts have its attributes.
func (f *ldsFit) split(op *ir.Operation, room int) (bool, error) {
	v := ttg.AsConvertLayout(op)
	from := tensors.Type(v.Src())
	b := ir.NewBuilder(f.Module.Context())
	b.At(op)
	least := room + 1
	var through *ir.TensorType
	for _, e := range f.between(from, tensors.Type(v.Result())) {
		if _, err := e.Linear(from.Shape); err != nil {
			continue // not for this shape
		}
		t := tensors.WithEncoding(b.Context(), from, encoding.Of(b.Context(), e))
		first, second := throughType(b, v, t)
		n, _, err := f.scratch(first)
		if err != nil {
			return false, err
		}
		m, _, err := f.scratch(second)
		if err != nil {
			return false, err
		}
		second.Erase()
		first.Erase()
		if n = max(n, m); n < least {
			least, through = n, t
		}
	}
	if through == nil {
		return false, nil
	}
	_, second := throughType(b, v, through)
	op.ReplaceAllUsesWith(second.OneResult())
	op.Erase()
	f.Count("split", 1)
	return true, nil
}

// throughType converts what v converts to t, and that to v's type.
func throughType(b *ir.Builder, v ttg.ConvertLayoutOp, t *ir.TensorType) (first, second *ir.Operation) {
	attrs := v.Op.Attrs()
	first = b.Create(ttg.ConvertLayout, ir.State{Operands: []*ir.Value{v.Src()}, Types: []ir.Type{t}, Attrs: slices.Clone(attrs)})
	second = b.Create(ttg.ConvertLayout, ir.State{Operands: []*ir.Value{first.OneResult()}, Types: []ir.Type{v.Result().Type()}, Attrs: slices.Clone(attrs)})
	return first, second
}

// between are the layouts to go through from one type to another: for each arrangement of
// the warps that of either side with it, and tiles of eight rows for each warp.
func (f *ldsFit) between(from, to *ir.TensorType) []layout.Encoding {
	rank := len(from.Shape)
	warps := tensors.Linear(from).InSize(layout.Warp)
	ones := slices.Repeat([]int{1}, rank)
	tile := slices.Clone(ones)
	if tile[rank-1] = f.lanes; rank > 1 {
		tile[rank-2], tile[rank-1] = tileRows, f.lanes/tileRows
	}
	plain := &layout.Blocked{SizePerThread: ones, ThreadsPerWarp: tile, Order: tensors.Linear(from).Order()}
	var out []layout.Encoding
	for _, w := range arrangements(warps, rank) {
		for _, e := range []layout.Encoding{encoding.Get(from), encoding.Get(to), plain} {
			if e = withWarps(e, w); e != nil {
				out = append(out, e)
			}
		}
	}
	return out
}

// tileRows is how many rows of a tile the lanes of a warp have.
const tileRows = 8

// arrangements are the ways to arrange n warps, a power of two, along so many dimensions.
func arrangements(n, rank int) [][]int {
	if rank == 1 {
		return [][]int{{n}}
	}
	var out [][]int
	for i := 1; i <= n; i *= 2 {
		for _, rest := range arrangements(n/i, rank-1) {
			out = append(out, append([]int{i}, rest...))
		}
	}
	return out
}

// withWarps is e with its warps arranged as given; nil of layouts that do not say it.
func withWarps(e layout.Encoding, warps []int) layout.Encoding {
	switch e := e.(type) {
	case *layout.Blocked:
		c := *e
		c.WarpsPerCTA = warps
		return &c
	case *layout.AMDMFMA:
		c := *e
		c.WarpsPerCTA = warps
		return &c
	case *layout.AMDWMMA:
		c := *e
		c.WarpsPerCTA = warps
		return &c
	case *layout.DotOp:
		c := *e
		if c.Parent = withWarps(e.Parent, warps); c.Parent == nil {
			return nil
		}
		return &c
	case *layout.Slice:
		c := *e
		if c.Parent = withWarps(e.Parent, slices.Insert(slices.Clone(warps), e.Dim, 1)); c.Parent == nil {
			return nil
		}
		return &c
	}
	return nil
}
