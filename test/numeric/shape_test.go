package numeric

import (
	"fmt"
	"slices"
)

func shapeGroups() []*group {
	var all []*group
	for _, typ := range []string{"i1", "fp8e5", "i8", "fp16", "bf16", "i32", "fp32", "i64", "fp64"} {
		all = append(all, &group{name: "shape/" + typ, ranks: []int{1, 2, 3, 4}, build: func(b *builder) { shapesOf(b, typ) }})
	}
	for _, typ := range []string{"i32", "u32", "i8"} {
		all = append(all, &group{name: "histogram/" + typ, ranks: []int{1}, build: func(b *builder) { histogramOf(b, typ) }})
	}
	return all
}

// permutations of 0 to n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(p), at, n-1))
		}
	}
	return all
}

func index(at, dims []int) int {
	i := 0
	for d := range dims {
		i = i*dims[d] + at[d]
	}
	return i
}

func shapesOf(b *builder, typ string) {
	rank := len(b.dims)
	gen := b.anyOf(typ)
	x, y := b.load(typ, num{}, gen), b.load(typ, num{}, gen)
	result := func(name, expr string, dims []int, f func(at []int) num) {
		c := check{name: name, expr: expr, out: typ, dims: dims, want: make([]num, count(dims))}
		places(dims, func(i int, at []int) { c.want[i] = f(at) })
		b.check(c)
	}
	perms := permutations(rank)
	b.r.Shuffle(len(perms), func(i, j int) { perms[i], perms[j] = perms[j], perms[i] })
	for _, p := range perms[:min(len(perms), 4)] {
		dims, src := make([]int, rank), make([]int, rank)
		for i, d := range p {
			dims[i] = b.dims[d]
		}
		result(fmt.Sprintf("permute %v", p), fmt.Sprintf("tl.permute(%s, (%s))", x.name, list(p)), dims, func(at []int) num {
			for i, d := range p {
				src[d] = at[i]
			}
			return x.v[index(src, b.dims)]
		})
	}
	n := count(b.dims)
	flat := func(dims []int) func(at []int) num { return func(at []int) num { return x.v[index(at, dims)] } }
	result("ravel", fmt.Sprintf("tl.ravel(%s)", x.name), []int{n}, flat([]int{n}))
	for _, dims := range [][]int{{n / 2, 2}, {2, n / 2}, {2, 1, n / 4, 2}} {
		result(fmt.Sprintf("reshape %v", dims), fmt.Sprintf("tl.reshape(%s, (%s))", x.name, list(dims)), dims, flat(dims))
	}
	for d := 0; d <= rank && n <= 1024; d++ {
		dims := slices.Insert(slices.Clone(b.dims), d, 4)
		result(fmt.Sprintf("broadcast %d", d), fmt.Sprintf("tl.broadcast_to(tl.expand_dims(%s, %d), (%s))", x.name, d, list(dims)), dims, func(at []int) num {
			return x.v[index(slices.Delete(slices.Clone(at), d, d+1), b.dims)]
		})
	}
	joined := append(slices.Clone(b.dims), 2)
	result("join", fmt.Sprintf("tl.join(%s, %s)", x.name, y.name), joined, func(at []int) num {
		return []*tensor{x, y}[at[rank]].v[index(at[:rank], b.dims)]
	})
	wide := slices.Clone(b.dims)
	wide[rank-1] *= 2
	result("interleave", fmt.Sprintf("tl.reshape(tl.join(%s, %s), (%s))", x.name, y.name, list(wide)), wide, func(at []int) num {
		at = slices.Clone(at)
		half := at[rank-1] & 1
		at[rank-1] /= 2
		return []*tensor{x, y}[half].v[index(at, b.dims)]
	})
	if last := b.dims[rank-1]; last >= 2 {
		halves := append(slices.Clone(b.dims[:rank-1]), last/2, 2)
		for h := range 2 {
			dims := halves[:rank]
			c := check{name: fmt.Sprintf("split %d", h), out: typ, dims: dims, want: make([]num, count(dims)), expr: fmt.Sprintf("s%d", h)}
			c.text = []string{fmt.Sprintf("s0, s1 = tl.split(tl.reshape(%s, (%s)))", x.name, list(halves))}
			for i := range c.want {
				c.want[i] = x.v[2*i+h]
			}
			b.check(c)
		}
	}
	if rank == 1 {
		c := check{name: "cat", expr: fmt.Sprintf("tl.cat(%s, %s, can_reorder=True)", x.name, y.name), out: typ, dims: []int{2 * n}}
		left := map[uint64]int{} // the order is free
		bits := func(v num) uint64 { return dtype(typ).Bits(v.f) ^ uint64(v.i) }
		for _, v := range append(slices.Clone(x.v), y.v...) {
			left[bits(v)]++
		}
		c.accept = func(i int, got num) bool {
			if i == 0 {
				seen := map[uint64]int{}
				for _, v := range append(slices.Clone(x.v), y.v...) {
					seen[bits(v)]++
				}
				left = seen
			}
			left[bits(got)]--
			return left[bits(got)] >= 0
		}
		b.check(c)
	}
	// Gathers along each axis, with more or fewer indices than elements.
	for d := range b.dims {
		dims := slices.Clone(b.dims)
		if dims[d] > 2 && b.r.IntN(2) == 0 {
			dims[d] /= 2
		}
		idx := b.loadDims("i32", dims, dims, num{}, func(int) num { return num{i: int64(b.r.IntN(b.dims[d]))} })
		result(fmt.Sprintf("gather %d", d), fmt.Sprintf("tl.gather(%s, %s, %d)", x.name, idx.name, d), dims, func(at []int) num {
			from := slices.Clone(at)
			from[d] = int(idx.v[index(at, dims)].i)
			return x.v[index(from, b.dims)]
		})
	}
}

func histogramOf(b *builder, typ string) {
	for _, bins := range []int{2, 16, 64} {
		x := b.load(typ, num{i: 1}, func(int) num { return num{i: int64(b.r.IntN(bins))} })
		mask := b.load("i1", num{}, func(int) num { return num{i: int64(b.r.IntN(2))} })
		all, some := make([]num, bins), make([]num, bins)
		for i, v := range x.v {
			all[v.i].i++
			some[v.i].i += mask.v[i].i
		}
		b.check(check{name: fmt.Sprintf("histogram %d", bins), expr: fmt.Sprintf("tl.histogram(%s, %d)", x.name, bins), out: "i32", dims: []int{bins}, want: all})
		b.check(check{name: fmt.Sprintf("masked histogram %d", bins), expr: fmt.Sprintf("tl.histogram(%s, %d, mask=%s)", x.name, bins, mask.name), out: "i32", dims: []int{bins}, want: some})
	}
}
