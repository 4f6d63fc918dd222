package numeric

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// descriptorGroups are blocks of memory that tensor descriptors show.
func descriptorGroups() []*group {
	var all []*group
	for _, typ := range []string{"i8", "fp8e5", "fp16", "bf16", "i32", "fp32", "i64", "fp64"} {
		all = append(all, &group{
			name: "descriptor/" + typ, ranks: []int{1, 2, 3, 4, 5}, layouts: []string{rows}, sizes: []string{tiny, odd, large},
			shapes: func(c config) (dims, live []int) { return descriptorDims(c, dtype(typ).Size) },
			build:  func(b *builder) { descriptorsOf(b, typ) },
		})
	}
	for _, typ := range []string{"i32", "u32", "i64", "u64", "fp16", "bf16", "fp32"} {
		all = append(all, &group{
			name: "descriptor reduce/" + typ, ranks: []int{1, 2, 3, 5}, layouts: []string{rows}, sizes: []string{tiny, odd, large}, programs: 2,
			shapes: func(c config) (dims, live []int) { return descriptorDims(c, dtype(typ).Size) },
			build:  func(b *builder) { descriptorReductionsOf(b, typ) },
		})
	}
	return all
}

// descriptorDims are a block and the memory that it is a part of, whose rows are
// whole multiples of 16 bytes.
func descriptorDims(c config, size int) (block, shape []int) {
	unit := 16 / size
	block, shape = make([]int, c.rank), make([]int, c.rank)
	outer := map[string][]int{tiny: {1, 2, 1, 2}, odd: {4, 2, 4, 2}, large: {8, 4, 4, 2}}[c.size]
	for d := range c.rank - 1 {
		block[d], shape[d] = outer[d], outer[d]+1+d
	}
	last := c.rank - 1
	block[last] = map[string]int{tiny: unit, odd: 2 * unit, large: 4 * unit}[c.size]
	shape[last] = block[last] + unit
	return block, shape
}

func descriptorsOf(b *builder, typ string) {
	t := dtype(typ)
	block, shape := b.dims, b.live
	st := strides(shape, false)
	n := count(shape)
	gen := b.anyOf(typ)
	p, v := b.input(typ, n, gen)
	head := func(name, mem, more string) string {
		return fmt.Sprintf("%s = tl.make_tensor_descriptor(%s, [%s], [%s], [%s]%s)", name, mem, list(shape), list(st), list(block), more)
	}
	b.body = append(b.body, head("d", p, ""))
	x := b.loadDims(typ, block, block, num{}, gen)

	// A corner, the middle, and blocks that hang over each edge.
	offsets := func(which int) []int {
		at := make([]int, len(block))
		for d := range at {
			switch which {
			case 1:
				at[d] = 1 + d%2
			case 2:
				at[d] = shape[d] - 1
			case 3:
				at[d] = -1
			}
		}
		return at
	}
	inside := func(at, from []int) (int, bool) {
		o := 0
		for d := range at {
			k := at[d] + from[d]
			if k < 0 || k >= shape[d] {
				return 0, false
			}
			o += k * st[d]
		}
		return o, true
	}
	for which, name := range []string{"corner", "middle", "end", "before"} {
		from := offsets(which)
		index := "[" + strings.TrimSuffix(list(from), ", ") + "]"
		loaded, stored := make([]num, count(block)), make([]num, n)
		c := check{name: "load " + name, out: typ, dims: block, want: loaded, expr: "d.load(" + index + ")"}
		s := check{name: "store " + name, out: typ, dims: []int{n}, start: make([]num, n), want: stored}
		for i := range stored {
			s.start[i] = gen(i)
			stored[i] = s.start[i]
		}
		places(block, func(i int, at []int) {
			if o, ok := inside(at, from); ok {
				loaded[i], stored[o] = v[o], x.v[i]
			}
		})
		b.check(c)
		s.store = func(o string) []string {
			return []string{head("e", o, ""), fmt.Sprintf("e.store(%s, %s)", index, x.name)}
		}
		b.check(s)
	}
	if t.Float() && t.Size > 1 {
		from := offsets(2)
		loaded := make([]num, count(block))
		places(block, func(i int, at []int) {
			loaded[i] = num{f: math.NaN()}
			if o, ok := inside(at, from); ok {
				loaded[i] = v[o]
			}
		})
		b.check(check{
			name: "padded with NaN", out: typ, dims: block, want: loaded, text: []string{head("f", p, ", padding_option='nan'")},
			expr: "f.load([" + strings.TrimSuffix(list(from), ", ") + "])",
		})
	}
}

// descriptorReductionsOf combine a block with memory, each program's a place
// further; blocks hang over the edge.
func descriptorReductionsOf(b *builder, typ string) {
	t := dtype(typ)
	block, shape := b.dims, b.live
	st := strides(shape, false)
	n := count(shape)
	exact := func(int) num { // sums of few are exact
		v := int64(b.r.IntN(9)) - 4
		if t.Float() {
			return num{f: float64(v)}
		}
		return wrap(t, v*int64(1+b.r.IntN(1000)))
	}
	x := b.loadDims(typ, block, block, num{}, exact)
	ops := slices.DeleteFunc(atomicOps(typ), func(o atomicOp) bool {
		return o.name == "xchg" || o.name == "add" && typ == "i64" || o.name != "add" && typ == "fp32"
	})
	if t.Float() && t.Size == 2 && b.cc >= 90 {
		for name, pick := range map[string]func(a, b float64) float64{"max": math.Max, "min": math.Min} {
			ops = append(ops, atomicOp{name, func(old, v num) num { return num{f: pick(old.f, v.f)} }})
		}
		slices.SortFunc(ops, func(a, b atomicOp) int { return strings.Compare(a.name, b.name) })
	}
	for _, op := range ops {
		from := make([]int, len(block))
		for d := range from {
			from[d] = b.r.IntN(shape[d]+1) - 1
		}
		start, after := make([]num, n), make([]num, n)
		for i := range start {
			start[i] = exact(i)
			after[i] = start[i]
		}
		index := slices.Clone(from)
		for program := range b.programs {
			places(block, func(i int, at []int) {
				o := 0
				for d := range at {
					k := at[d] + index[d]
					if k < 0 || k >= shape[d] {
						return
					}
					o += k * st[d]
				}
				after[o] = op.f(after[o], x.v[i])
			})
			index[0] = from[0] + program + 1
		}
		text := make([]string, len(from))
		for d, k := range from {
			text[d] = fmt.Sprint(k)
		}
		text[0] += " + tl.program_id(0)"
		b.check(check{name: op.name, out: typ, dims: []int{n}, start: start, want: after, store: func(o string) []string {
			return []string{
				fmt.Sprintf("e = tl.make_tensor_descriptor(%s, [%s], [%s], [%s])", o, list(shape), list(st), list(block)),
				fmt.Sprintf("e.atomic_%s([%s], %s)", op.name, strings.Join(text, ", "), x.name),
			}
		}})
	}
}
