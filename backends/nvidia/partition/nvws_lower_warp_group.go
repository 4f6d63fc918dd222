package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// LowerWarpGroup makes a ttg.warp_specialize of each nvws.warp_group. Its first region is
// the default one where it has the warps of the program:
//
//	nvws.warp_group
//	partition0 num_warps(4) { "a"() nvws.warp_group.return }
//	partition1 num_warps(4) { "b"(%x) nvws.warp_group.return }
//
// becomes, on 4 warps,
//
//	ttg.warp_specialize(%x)
//	default { "a"() ttg.warp_yield }
//	partition0(%arg0) num_warps(4) { "b"(%arg0) ttg.warp_return }
//
// Partitions compute constants and pure tensors of their own; other tensors come to
// them through shared memory.
var LowerWarpGroup = &pass.Pass{
	Name:    "nvws-lower-warp-group",
	Doc:     "make operations of partitions of warp groups",
	Example: lowerWarpGroupExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		var groups []*ir.Operation
		ir.WalkPost(r.Module, func(op *ir.Operation) {
			if op.Is(nvws.Def("warp_group")) {
				groups = append(groups, op)
			}
		})
		for _, g := range groups {
			if err := lowerWarpGroup(b, g); err != nil {
				return err
			}
			r.Count("groups", 1)
		}
		return nil
	},
}

func lowerWarpGroup(b *ir.Builder, op *ir.Operation) error {
	g := nvws.AsWarpGroup(op)
	regions, warps := g.PartitionRegions(), g.NumWarps()
	for p := op.Parent(); p != nil; p = p.Parent() {
		if p.Is(ttg.WarpSpecialize) || p.Is(op.Def()) {
			return mistake(op, "nvws.warp_group is inside %s, whose warps are divided already", p.Name()).
				WithHelp("have one of them divide the warps")
		}
	}
	var first *ir.Region
	if len(regions) > 0 && warps[0] == warpsAround(op) {
		first, regions, warps = regions[0], regions[1:], warps[1:]
	} else if len(g.Results()) > 0 {
		return mistake(op, "the results of nvws.warp_group are of its first region, which does not have the number of warps of the program").
			WithHelp("give it %d", warpsAround(op))
	}
	for i, n := range warps {
		if n < 1 || n&(n-1) != 0 {
			return mistake(op, "a group of warps has %d of them", n).WithHelp("give it a power of two")
		}
		if err := fitting(regions[i], n); err != nil {
			return err
		}
	}
	s := &specializer{b: b, op: op, regions: regions}
	inputs := s.captures()
	var types []ir.Type
	for _, v := range g.Results() {
		types = append(types, v.Type())
	}
	b.At(op)
	c := b.Context()
	split := b.Create(ttg.WarpSpecialize, ir.State{
		Operands: inputs, Types: append([]ir.Type{}, types...), Regions: 2,
		Attrs: []ir.NamedAttr{{Name: "partitionNumWarps", Attr: c.I32Array(warps...)}},
	})
	v := ttg.AsWarpSpecialize(split)
	body := v.DefaultRegion().AddBlock()
	b.SetToEnd(body)
	if first != nil {
		end := first.First().Terminator()
		values := end.OperandValues()
		end.Erase()
		if from := first.First().First(); from != nil {
			body.TakeOps(from)
		}
		b.Op(ttg.WarpYield, values)
	} else {
		b.Op(ttg.WarpYield, nil)
	}
	holder := ir.NewOperation(ttg.WarpSpecializePartitions, &ir.State{Ctx: c, Loc: b.Loc, Types: []ir.Type{}})
	v.PartitionOpHolder().AddBlock().Append(holder)
	for _, r := range regions {
		out := holder.AddRegion().AddBlock()
		for _, x := range inputs {
			arg := out.AddArg(x.Type(), x.Loc())
			replaceIn(r, x, arg)
		}
		r.First().Terminator().Erase()
		if from := r.First().First(); from != nil {
			out.TakeOps(from)
		}
		b.SetToEnd(out)
		b.Op(ttg.WarpReturn, nil)
	}
	op.ReplaceAllUsesWith(split.Results()...)
	op.Erase()
	return nil
}

// fitting checks that tensors in r are in layouts for its warps: what is in a warp group
// is verified with the warps around it.
func fitting(r *ir.Region, warps int64) (err error) {
	for op := range r.First().Ops() {
		ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
			for _, v := range slices.Concat(o.OperandValues(), o.Results()) {
				if n, ok := ttg.WarpsOf(v.Type()); ok && n != warps {
					err = mistake(o, "%s has a tensor in a layout of %s, in a group of %d", o.Name(), diag.Count(int(n), "warp"), warps).
						WithHelp("give the group as many warps, or the tensor another layout")
					return ir.Stop
				}
			}
			return ir.Advance
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// specializer hands partitions what they use of the function around them.
type specializer struct {
	b       *ir.Builder
	op      *ir.Operation
	regions []*ir.Region
}

// usedIn lists what r uses from outside of the warp group, in order.
func (s *specializer) usedIn(r *ir.Region) (list []*ir.Value) {
	for op := range r.First().Ops() {
		ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
			for _, v := range o.Operands() {
				if p := v.Block().Parent(); (p == nil || !s.op.IsAncestorOf(p)) && !slices.Contains(list, v) {
					list = append(list, v)
				}
			}
			return ir.Advance
		})
	}
	return list
}

// replaceIn has the operations in r use to instead of from.
func replaceIn(r *ir.Region, from, to *ir.Value) {
	from.ReplaceUsesIf(to, func(u *ir.Use) bool { return r.Contains(u.Owner()) })
}

// remade reports whether partitions compute v by themselves.
func remade(v *ir.Value) bool {
	def := v.Def()
	return def != nil && def.NumRegions() == 0 && ir.IsPure(def) && (def.ConstantValue() != nil || data(v) != nil)
}

// data is the type of v if that is a tensor of data: not of tokens, which all warps see.
func data(v *ir.Value) *ir.TensorType {
	if t := tensors.Type(v); t != nil && t.Encoding != nil {
		return t
	}
	return nil
}

// captures readies the partitions and returns what the new operation hands to them.
func (s *specializer) captures() (inputs []*ir.Value) {
	loaded := make(map[*ir.Value]*ir.Value) // tensors by their buffers
	for _, r := range s.regions {
		for _, v := range s.usedIn(r) {
			if !remade(v) {
				continue
			}
			s.b.SetToStart(r.First())
			if v.Def().ConstantValue() == nil {
				// After what is there already: operands come first.
				s.b.SetBefore(firstUser(r, v))
			}
			replaceIn(r, v, s.remake(v))
		}
		for _, v := range s.usedIn(r) {
			if t := data(v); t != nil {
				if loaded[v] == nil {
					s.b.At(s.op)
					e := sharedmem.For(&layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: sharedmem.Order(t)}, t)
					loaded[v] = s.b.Op(ttg.LocalAlloc, []*ir.Value{v}, sharedmem.Type(s.b.Context(), t.Shape, t.Elem, e, false)).OneResult()
				}
				at := r.First().First()
				for at.ConstantValue() != nil {
					at = at.Next()
				}
				s.b.SetBefore(at)
				s.b.Loc = v.Loc()
				replaceIn(r, v, s.b.Op(ttg.LocalLoad, []*ir.Value{loaded[v]}, v.Type()).OneResult())
				v = loaded[v]
			}
			if !slices.Contains(inputs, v) {
				inputs = append(inputs, v)
			}
		}
	}
	return inputs
}

// firstUser is the first operation of r's block that uses v, or holds one that does.
func firstUser(r *ir.Region, v *ir.Value) *ir.Operation {
	for op := range r.First().Ops() {
		if ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
			for _, x := range o.Operands() {
				if x == v {
					return ir.Stop
				}
			}
			return ir.Advance
		}) {
			return op
		}
	}
	return r.First().Terminator()
}

// remake computes v again where the builder inserts, and what it is computed from.
func (s *specializer) remake(v *ir.Value) *ir.Value {
	m := ir.NewMapping()
	var visit func(*ir.Value)
	visit = func(v *ir.Value) {
		if !remade(v) || m.Lookup(v) != v {
			return
		}
		for _, o := range v.Def().Operands() {
			visit(o)
		}
		s.b.Insert(v.Def().Clone(m))
	}
	visit(v)
	return m.Lookup(v)
}
