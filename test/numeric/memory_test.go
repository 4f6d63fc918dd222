package numeric

import (
	"fmt"
	"slices"
	"strings"
)

// memoryTypes are of every width, and those with a representation of their own.
var memoryTypes = []string{"i1", "fp8e5", "i8", "u8", "fp16", "bf16", "i16", "i32", "u32", "fp32", "i64", "fp64"}

func memoryGroups() []*group {
	var all []*group
	for _, typ := range memoryTypes {
		all = append(all, &group{name: "memory/" + typ, build: func(b *builder) { memoryOf(b, typ) }})
	}
	return all
}

// input adds memory without loading it, and returns the parameter's name.
func (b *builder) input(typ string, n int, gen func(i int) num) (string, []num) {
	mem, v := b.room(dtype(typ), n), make([]num, n)
	for i := range v {
		v[i] = gen(i)
		put(mem, i, v[i])
	}
	return b.param("p", mem), v
}

// memoryOf loads and stores one type in every way.
func memoryOf(b *builder, typ string) {
	t := dtype(typ)
	gen := b.anyOf(typ)
	n := max(1, count(b.live))
	st := strides(b.live, b.layout == columns)
	off, inner := pointers(b.dims, b.live, st)
	if len(b.dims) == 0 {
		off = "0"
	}
	at := make([]int, count(b.dims)) // offsets of the elements
	places(b.dims, func(i int, a []int) { at[i] = offset(a, st) })
	also := func(mask string) string {
		if inner != "" {
			mask = strings.TrimPrefix(mask+" & "+inner, " & ")
		}
		if mask == "" {
			return ""
		}
		return ", mask=" + mask
	}

	x := b.load(typ, num{}, gen)
	p, v := b.input(typ, n, gen)
	ptr := fmt.Sprintf("%s + (%s)", p, off)
	load := func(name, args string) {
		b.exact("load"+name, fmt.Sprintf("tl.load(%s%s%s)", ptr, also(""), args), typ, func(i int) num { return v[at[i]] })
	}
	load("", "")
	for _, c := range []string{".ca", ".cg", ".cv"} {
		load(c, fmt.Sprintf(", cache_modifier='%s'", c))
	}
	for _, c := range []string{"evict_first", "evict_last"} {
		load(" "+c, fmt.Sprintf(", eviction_policy='%s'", c))
	}
	load(" volatile", ", volatile=True")

	// Masks that depend on data, with other as a number, as a block, and not at
	// all; addresses of what is masked off lie far outside.
	cond, c := b.input("i1", n, func(int) num { return num{i: int64(b.r.IntN(2))} })
	b.body = append(b.body, fmt.Sprintf("cond = tl.load(%s + (%s)%s)", cond, off, also("")))
	far := fmt.Sprintf("%s + tl.where(cond, %s, 1 << 30)", p, off)
	one := "1"
	if t := dtype(typ); t.Float() {
		one = "1.0" // which floats of eight bits insist on
	}
	b.exact("masked with a number", fmt.Sprintf("tl.load(%s%s, other=%s)", far, also("cond"), one), typ, func(i int) num {
		if c[at[i]].i == 0 {
			return convert(dtype("i32"), t, num{i: 1})
		}
		return v[at[i]]
	})
	b.exact("masked with a block", fmt.Sprintf("tl.load(%s%s, other=%s)", far, also("cond"), x.name), typ, func(i int) num {
		if c[at[i]].i == 0 {
			return x.v[i]
		}
		return v[at[i]]
	})
	b.exact("masked without", fmt.Sprintf("tl.where(cond, tl.load(%s%s), %s)", far, also("cond"), x.name), typ, func(i int) num {
		if c[at[i]].i == 0 {
			return x.v[i]
		}
		return v[at[i]]
	})

	// Stores: what is masked off keeps its value.
	start := make([]num, count(b.dims))
	for i := range start {
		start[i] = gen(i)
	}
	want := make([]num, count(b.dims))
	for i := range want {
		want[i] = start[i]
		if c[at[i]%n].i != 0 {
			want[i] = x.v[i]
		}
	}
	store := func(name, args string) {
		b.check(check{name: "store" + name, out: typ, want: want, start: start, store: func(o string) []string {
			return []string{fmt.Sprintf("tl.store(%s + (%s), %s%s%s)", o, off, x.name, also("cond"), args)}
		}})
	}
	store("", "")
	for _, m := range []string{".wb", ".cg", ".cs", ".wt"} {
		store(m, fmt.Sprintf(", cache_modifier='%s'", m))
	}
	for _, m := range []string{"evict_first", "evict_last"} {
		store(" "+m, fmt.Sprintf(", eviction_policy='%s'", m))
	}
	if len(b.dims) == 0 {
		return
	}

	// Addresses that are not contiguous.
	wide, w := b.input(typ, 3*n+1, gen)
	b.exact("stride 3", fmt.Sprintf("tl.load(%s + 1 + (%s) * 3%s)", wide, off, also("")), typ, func(i int) num { return w[1+3*at[i]] })
	b.exact("backwards", fmt.Sprintf("tl.load(%s + %d - (%s)%s)", p, n-1, off, also("")), typ, func(i int) num { return v[n-1-at[i]] })
	b.exact("one address", fmt.Sprintf("tl.load(%s + (%s) * 0%s)", p, off, also("")), typ, func(int) num { return v[0] })
	b.exact("unaligned", fmt.Sprintf("tl.load(%s + 1 + (%s)%s)", wide, off, also("")), typ, func(i int) num { return w[1+at[i]] })
	idx, to := b.input("i64", n, func(int) num { return num{i: int64(b.r.IntN(n))} })
	b.exact("indirect", fmt.Sprintf("tl.load(%s + tl.load(%s + (%s)%s)%s)", p, idx, off, also(""), also("")), typ, func(i int) num { return v[to[at[i]].i] })
	perm := b.r.Perm(n)
	scatter, _ := b.input("i32", n, func(i int) num { return num{i: int64(perm[i])} })
	inverse := make([]num, len(want))
	byPlace := make([]num, n)
	places(b.dims, func(i int, a []int) {
		if inside(a, b.live) {
			byPlace[perm[at[i]]] = x.v[i]
		}
	})
	for i := range inverse {
		inverse[i] = byPlace[at[i]%n]
	}
	b.check(check{name: "scatter", out: typ, want: inverse, store: func(o string) []string {
		return []string{fmt.Sprintf("tl.store(%s + tl.load(%s + (%s)%s), %s%s)", o, scatter, off, also(""), x.name, also(""))}
	}})
	blockPointers(b, typ, p, v, st)
}

// blockPointers loads and stores through pointers to blocks that stick out.
func blockPointers(b *builder, typ, p string, v []num, st []int) {
	rank := len(b.dims)
	order := make([]int, rank)
	for d := range order {
		order[d] = rank - 1 - d
	}
	if b.layout == columns {
		slices.Reverse(order)
	}
	var checked []int
	for d := range b.dims {
		if b.live[d] < b.dims[d] {
			checked = append(checked, d)
		}
	}
	boundary := ""
	if checked != nil {
		boundary = fmt.Sprintf(", boundary_check=(%s)", list(checked))
	}
	make := func(p string) string {
		return fmt.Sprintf("tl.make_block_ptr(%s, (%s), (%s), (%s), (%s), (%s))", p,
			list(b.live), list(st), list(slices.Repeat([]int{0}, rank)), list(b.dims), list(order))
	}
	var at []int
	places(b.dims, func(_ int, a []int) { at = append(at, offset(a, st)) })
	padding := ""
	if boundary != "" {
		padding = ", padding_option='zero'"
	}
	b.check(check{name: "block pointer", out: typ, dims: b.dims, expr: fmt.Sprintf("tl.load(%s%s%s)", make(p), boundary, padding), want: func() []num {
		var w []num
		places(b.dims, func(i int, a []int) {
			if inside(a, b.live) {
				w = append(w, v[at[i]])
			} else {
				w = append(w, num{})
			}
		})
		return w
	}()})
	b.check(check{name: "store by block pointer", out: typ, want: func() []num {
		var w []num
		for i := range at {
			w = append(w, v[at[i]%len(v)])
		}
		return w
	}(), store: func(o string) []string {
		return []string{fmt.Sprintf("tl.store(%s, tl.load(%s%s)%s)", make(o), make(p), boundary, boundary)}
	}})
}
