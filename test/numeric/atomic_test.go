package numeric

import (
	"fmt"
	"math"
)

func atomicGroups() []*group {
	var all []*group
	for _, typ := range []string{"i32", "u32", "i64", "u64", "fp16", "bf16", "fp32", "fp64"} {
		all = append(all, &group{name: "atomic/" + typ, words: true, build: func(b *builder) { atomicsOf(b, typ) }})
	}
	return all
}

// atomicOp is one operation; f is what the memory becomes.
type atomicOp struct {
	name string
	f    func(old, v num) num
}

func atomicOps(typ string) []atomicOp {
	t := dtype(typ)
	ops := []atomicOp{{"add", func(old, v num) num {
		if t.Float() {
			return num{f: old.f + v.f}
		}
		return wrap(t, old.i+v.i)
	}}}
	if typ == "fp16" || typ == "bf16" {
		return ops
	}
	ops = append(ops,
		atomicOp{"max", func(old, v num) num {
			if order(typ, old, v) {
				return v
			}
			return old
		}},
		atomicOp{"min", func(old, v num) num {
			if order(typ, v, old) {
				return v
			}
			return old
		}},
		atomicOp{"xchg", func(_, v num) num { return v }})
	if t.Float() {
		return ops
	}
	return append(ops,
		atomicOp{"and", func(old, v num) num { return num{i: old.i & v.i} }},
		atomicOp{"or", func(old, v num) num { return num{i: old.i | v.i} }},
		atomicOp{"xor", func(old, v num) num { return num{i: old.i ^ v.i} }})
}

func atomicsOf(b *builder, typ string) {
	t := dtype(typ)
	exact := func(int) num { // sums of few are exact
		v := int64(b.r.IntN(9)) - 4
		if t.Float() {
			return num{f: float64(v)}
		}
		return wrap(t, v*int64(1+b.r.IntN(1000)))
	}
	x := b.load(typ, num{}, exact)
	mask := b.load("i1", num{}, func(int) num { return num{i: int64(b.r.IntN(2))} })
	st := strides(b.live, b.layout == columns)
	off, inner := pointers(b.dims, b.live, st)
	if len(b.dims) == 0 {
		off = "0"
	}
	if inner != "" {
		inner = " & " + inner
	}
	order := func() string {
		sems := []string{"", ", sem='relaxed'", ", sem='acquire'", ", sem='release'", ", sem='acq_rel'"}
		scopes := []string{"", ", scope='cta'", ", scope='gpu'", ", scope='sys'"}
		return sems[b.r.IntN(len(sems))] + scopes[b.r.IntN(len(scopes))]
	}
	inMask := mask.name + inner
	n := count(b.dims)
	for _, op := range atomicOps(typ) {
		start := make([]num, n)
		for i := range start {
			start[i] = exact(i)
		}
		after := make([]num, n)
		places(b.dims, func(i int, at []int) {
			after[i] = start[i]
			if mask.v[i].i != 0 && inside(at, b.live) {
				after[i] = op.f(start[i], x.v[i])
			}
		})
		// Each element at an address of its own; the result unused, then used.
		b.check(check{name: op.name, out: typ, start: start, want: after, store: func(o string) []string {
			return []string{fmt.Sprintf("tl.atomic_%s(%s + (%s), %s, mask=%s%s)", op.name, o, off, x.name, inMask, order())}
		}})
		mem, old := b.input(typ, max(1, count(b.live)), exact)
		before := make([]num, n)
		places(b.dims, func(i int, at []int) {
			if inside(at, b.live) {
				before[i] = old[offset(at, st)]
				if mask.v[i].i == 0 {
					before[i] = x.v[i]
				}
			}
		})
		b.check(check{name: op.name + " old", out: typ, want: before, expr: fmt.Sprintf("tl.where(%s, tl.atomic_%s(%s + (%s), %s, mask=%s%s), %s)",
			mask.name, op.name, mem, off, x.name, inMask, order(), x.name)})
		if op.name == "xchg" || len(b.dims) == 0 {
			continue
		}
		// All elements at few addresses.
		const slots = 4
		start, want := make([]num, slots), make([]num, slots)
		for i := range start {
			start[i] = exact(i)
			want[i] = start[i]
		}
		small := b.load(typ, num{}, b.small(typ))
		places(b.dims, func(i int, at []int) {
			if inside(at, b.live) {
				s := offset(at, st) % slots
				want[s] = op.f(want[s], small.v[i])
			}
		})
		guard := ""
		if inner != "" {
			guard = ", mask=" + inner[3:]
		}
		b.check(check{name: op.name + " contended", out: typ, dims: []int{slots}, start: start, want: want, store: func(o string) []string {
			return []string{fmt.Sprintf("tl.atomic_%s(%s + (%s) %% %d, %s%s%s)", op.name, o, off, slots, small.name, guard, order())}
		}})
	}
	if t.Size < 4 || len(b.dims) > 0 && count(b.live) != n {
		return // compare and swap takes no mask
	}
	start, after := make([]num, n), make([]num, n)
	for i := range start {
		start[i], after[i] = exact(i), exact(i)
		if b.r.IntN(2) == 0 {
			start[i] = x.v[i]
		}
	}
	next := b.load(typ, num{}, exact)
	for i := range start {
		after[i] = start[i]
		if start[i] == x.v[i] && !math.Signbit(start[i].f) {
			after[i] = next.v[i]
		}
	}
	if !t.Float() { // of floats the bits are compared
		b.check(check{name: "cas", out: typ, start: start, want: after, store: func(o string) []string {
			return []string{fmt.Sprintf("tl.atomic_cas(%s + (%s), %s, %s%s)", o, off, x.name, next.name, order())}
		}})
	}
}
