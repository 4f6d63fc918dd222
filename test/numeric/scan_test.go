package numeric

import (
	"fmt"
	"slices"
)

func scanGroups() []*group {
	var all []*group
	for _, typ := range reduceTypes {
		all = append(all,
			&group{name: "scan/" + typ, ranks: []int{1, 2, 3, 4}, build: func(b *builder) { scansOf(b, typ) }},
			&group{name: "sort/" + typ, ranks: []int{1, 2, 3, 4}, elements: 4, build: func(b *builder) { sortsOf(b, typ) }},
		)
	}
	return all
}

func scansOf(b *builder, typ string) {
	t := dtype(typ)
	x := b.load(typ, num{}, b.small(typ))
	sign := b.load(typ, num{i: 1, f: 1}, func(int) num {
		v := int64(1 - 2*b.r.IntN(2))
		n := wrap(dtype("i64"), v)
		if !t.Float() {
			n = wrap(t, v)
		}
		return num{i: n.i, f: float64(v)}
	})
	z := b.load(typ, num{}, b.plainOrInt(typ))
	b.define(`
@triton.jit
def most(a, b):
    return tl.maximum(a, b).to(a.dtype)


@triton.jit
def line(a, b, c, d):
    return a * c, b * c + d`)
	for ax := range b.dims {
		for _, reverse := range []bool{false, true} {
			name, arg := fmt.Sprintf(" %d", ax), ""
			if reverse {
				name, arg = name+" reverse", ", reverse=True"
			}
			scan := func(op, expr, out string, f func(acc num, first bool, e int) num) {
				c := check{name: op + name, expr: expr, out: out, dims: b.dims, want: make([]num, count(b.dims))}
				lines(b.dims, ax, func(_ int, elems []int) {
					if reverse {
						elems = slices.Clone(elems)
						slices.Reverse(elems)
					}
					var acc num
					for k, e := range elems {
						acc = f(acc, k == 0, e)
						c.want[e] = acc
					}
				})
				b.check(c)
			}
			sum := sumType(typ)
			scan("cumsum", fmt.Sprintf("tl.cumsum(%s, %d%s)", x.name, ax, arg), sum, func(acc num, _ bool, e int) num {
				if t.Float() {
					return num{f: acc.f + x.v[e].f}
				}
				return wrap(dtype(sum), acc.i+x.v[e].i)
			})
			scan("cumprod", fmt.Sprintf("tl.cumprod(%s, %d%s)", sign.name, ax, arg), typ, func(acc num, first bool, e int) num {
				if first {
					acc = num{i: 1, f: 1}
				}
				if t.Float() {
					return num{f: acc.f * sign.v[e].f}
				}
				return wrap(t, acc.i*sign.v[e].i)
			})
			scan("maximum", fmt.Sprintf("tl.associative_scan(%s, %d, most%s)", z.name, ax, arg), typ, func(acc num, first bool, e int) num {
				if first || order(typ, acc, z.v[e]) {
					return z.v[e]
				}
				return acc
			})
			if t.Float() {
				continue
			}
			// Linear recurrences do not commute.
			c := check{name: "recurrence" + name, out: typ, dims: b.dims, want: make([]num, count(b.dims)), expr: "v"}
			c.text = []string{fmt.Sprintf("u, v = tl.associative_scan((%s, %s), %d, line%s)", sign.name, z.name, ax, arg)}
			lines(b.dims, ax, func(_ int, elems []int) {
				if reverse {
					elems = slices.Clone(elems)
					slices.Reverse(elems)
				}
				v := z.v[elems[0]]
				c.want[elems[0]] = v
				for _, e := range elems[1:] {
					v = wrap(t, v.i*sign.v[e].i+z.v[e].i)
					c.want[e] = v
				}
			})
			b.check(c)
		}
	}
}

// plainOrInt draws finite values.
func (b *builder) plainOrInt(typ string) func(int) num {
	if dtype(typ).Float() {
		return b.plainFloat(typ)
	}
	return b.anyInt(typ)
}

func sortsOf(b *builder, typ string) {
	last := len(b.dims) - 1
	n := b.dims[last]
	x := b.load(typ, num{}, b.plainOrInt(typ))
	y := b.load(typ, num{}, b.small(typ)) // many equal
	sorted := func(of *tensor, descending bool, k int) []num {
		var out []num
		lines(b.dims, last, func(_ int, elems []int) {
			line := make([]num, n)
			for i, e := range elems {
				line[i] = of.v[e]
			}
			slices.SortFunc(line, func(p, q num) int {
				if descending {
					p, q = q, p
				}
				switch {
				case order(typ, p, q):
					return -1
				case order(typ, q, p):
					return 1
				}
				return 0
			})
			out = append(out, line[:k]...)
		})
		return out
	}
	b.check(check{name: "sort", expr: fmt.Sprintf("tl.sort(%s)", x.name), out: typ, dims: b.dims, want: sorted(x, false, n)})
	b.check(check{name: "sort descending", expr: fmt.Sprintf("tl.sort(%s, descending=True)", y.name), out: typ, dims: b.dims, want: sorted(y, true, n)})
	for k := 2; k < n && k <= 8; k *= 4 {
		dims := slices.Clone(b.dims)
		dims[last] = k
		b.check(check{name: fmt.Sprintf("topk %d", k), expr: fmt.Sprintf("tl.topk(%s, %d)", x.name, k), out: typ, dims: dims, want: sorted(x, true, k)})
	}
	for ax := range b.dims {
		c := check{name: fmt.Sprintf("flip %d", ax), expr: fmt.Sprintf("tl.flip(%s, %d)", x.name, ax), out: typ, dims: b.dims, want: make([]num, count(b.dims))}
		lines(b.dims, ax, func(_ int, elems []int) {
			for i, e := range elems {
				c.want[e] = x.v[elems[len(elems)-1-i]]
			}
		})
		b.check(c)
	}
}
