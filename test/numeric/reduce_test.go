package numeric

import (
	"fmt"
	"math"
	"slices"
)

// reduceTypes are those that reductions and scans treat differently.
var reduceTypes = []string{"i8", "u8", "i16", "i32", "u32", "i64", "u64", "fp16", "bf16", "fp32", "fp64"}

func reduceGroups() []*group {
	var all []*group
	for _, typ := range reduceTypes {
		all = append(all, &group{name: "reduce/" + typ, ranks: []int{1, 2, 3, 4}, build: func(b *builder) { reductionsOf(b, typ) }})
	}
	return all
}

// small draws integers whose sums are exact in every type: few of them, where
// there are many elements.
func (b *builder) small(typ string) func(int) num {
	t, n := dtype(typ), count(b.dims)
	return func(int) num {
		v := 0
		if b.r.IntN(n) < 60 {
			v = b.r.IntN(5) - 2
			if typ[0] == 'u' {
				v += 2
			}
		}
		if t.Float() {
			return num{f: float64(v)}
		}
		return num{i: int64(v)}
	}
}

// lines calls f for every line of t along an axis, or once for all elements
// with axis -1, giving the number of each element.
func lines(dims []int, axis int, f func(line int, elems []int)) {
	n := count(dims)
	if axis < 0 {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		f(0, all)
		return
	}
	inner := count(dims[axis+1:])
	elems := make([]int, dims[axis])
	line := 0
	for outer := 0; outer < n; outer += dims[axis] * inner {
		for in := range inner {
			for k := range elems {
				elems[k] = outer + k*inner + in
			}
			f(line, elems)
			line++
		}
	}
}

// sumType is the type of sums.
func sumType(typ string) string {
	switch typ {
	case "i8", "i16":
		return "i32"
	case "u8", "u16":
		return "u32"
	}
	return typ
}

// value of an element of either kind, for comparing.
func order(typ string, a, b num) bool {
	if dtype(typ).Float() {
		return a.f < b.f
	}
	return less(dtype(typ), a.i, b.i)
}

func reductionsOf(b *builder, typ string) {
	t := dtype(typ)
	x := b.load(typ, num{}, b.small(typ))
	y := b.load(typ, num{}, func(int) num { // ties
		v := int64(b.r.IntN(9))
		return num{i: v, f: float64(v)}
	})
	var z *tensor
	if t.Float() {
		z = b.load(typ, num{}, b.plainFloat(typ))
	} else {
		z = b.load(typ, num{}, b.anyInt(typ))
	}
	b.define(`
@triton.jit
def mul(a, b):
    return a * b


@triton.jit
def three(a, b, c, d, e, f):
    return a + d, tl.maximum(b, e), c ^ f`)

	var axes []int
	for d := range b.dims {
		axes = append(axes, d)
	}
	for _, ax := range append(axes, -1) {
		name, arg := fmt.Sprintf(" %d", ax), fmt.Sprint(ax)
		dims := []int{}
		if ax < 0 {
			name, arg = " all", "None"
		} else {
			dims = slices.Delete(slices.Clone(b.dims), ax, ax+1)
		}
		reduce := func(op, expr, out string, f func(elems []int) num) {
			c := check{name: op + name, expr: expr, out: out, dims: dims, want: make([]num, count(dims))}
			lines(b.dims, ax, func(line int, elems []int) { c.want[line] = f(elems) })
			b.check(c)
		}
		sum := sumType(typ)
		reduce("sum", fmt.Sprintf("tl.sum(%s, %s)", x.name, arg), sum, func(elems []int) num {
			var s num
			for _, e := range elems {
				s.i, s.f = s.i+x.v[e].i, s.f+x.v[e].f
			}
			if !t.Float() {
				return wrap(dtype(sum), s.i)
			}
			return s
		})
		if typ == "fp32" || typ == "fp64" { // any order of adding has this bound
			c := check{name: "sum of any" + name, expr: fmt.Sprintf("tl.sum(%s, %s)", z.name, arg), out: typ, dims: dims}
			man, _ := precision(t)
			lines(b.dims, ax, func(_ int, elems []int) {
				s, size := 0.0, 0.0
				for _, e := range elems {
					s, size = s+z.v[e].f, size+math.Abs(z.v[e].f)
				}
				c.want = append(c.want, round(t, s))
				c.bound = append(c.bound, 2*size*float64(len(elems))*math.Ldexp(1, -man-1))
			})
			b.check(c)
		}
		for _, most := range []bool{true, false} {
			op := "min"
			before := func(p, q num) bool { return order(typ, p, q) }
			if most {
				op, before = "max", func(p, q num) bool { return order(typ, q, p) }
			}
			best := func(of *tensor, elems []int) int {
				k := 0
				for i, e := range elems {
					if before(of.v[e], of.v[elems[k]]) {
						k = i
					}
				}
				return k
			}
			reduce(op, fmt.Sprintf("tl.%s(%s, %s)", op, z.name, arg), typ, func(elems []int) num { return z.v[elems[best(z, elems)]] })
			if ax < 0 {
				continue
			}
			reduce("arg"+op, fmt.Sprintf("tl.arg%s(%s, %s)", op, y.name, arg), "i32", func(elems []int) num { return num{i: int64(best(y, elems))} })
			c := check{name: "any arg" + op + name, expr: fmt.Sprintf("tl.arg%s(%s, %s, tie_break_left=False)", op, y.name, arg), out: "i32", dims: dims}
			var bests []func(k int64) bool
			lines(b.dims, ax, func(_ int, elems []int) {
				elems = slices.Clone(elems)
				top := y.v[elems[best(y, elems)]]
				bests = append(bests, func(k int64) bool { return k >= 0 && k < int64(len(elems)) && y.v[elems[k]] == top })
			})
			c.accept = func(i int, got num) bool { return bests[i](got.i) }
			b.check(c)
			reduce(op+" with indices", fmt.Sprintf("tl.%s(%s, %s, return_indices=True)[0]", op, y.name, arg), typ, func(elems []int) num { return y.v[elems[best(y, elems)]] })
		}
		if ax < 0 {
			continue
		}
		if !t.Float() {
			reduce("xor_sum", fmt.Sprintf("tl.xor_sum(%s, %s)", z.name, arg), typ, func(elems []int) num {
				s := int64(0)
				for _, e := range elems {
					s ^= z.v[e].i
				}
				return num{i: s}
			})
			reduce("reduce_or", fmt.Sprintf("tl.reduce_or(%s, %s)", x.name, arg), typ, func(elems []int) num {
				s := int64(0)
				for _, e := range elems {
					s |= x.v[e].i
				}
				return num{i: s}
			})
			reduce("product", fmt.Sprintf("tl.reduce(%s, %s, mul)", z.name, arg), typ, func(elems []int) num {
				s := int64(1)
				for _, e := range elems {
					s *= z.v[e].i
				}
				return wrap(t, s)
			})
		}
		// Several values at once, of several types.
		tuple := fmt.Sprintf("(%s, %s.to(tl.float32), %s.to(tl.int16))", x.name, y.name, y.name)
		c := check{name: "tuple" + name, out: "fp32", dims: dims, want: make([]num, count(dims))}
		c.text = []string{fmt.Sprintf("s, m, o = tl.reduce(%s, %d, three)", tuple, ax)}
		c.expr = "s.to(tl.float32) + m * 1024 + o.to(tl.float32) * 65536"
		lines(b.dims, ax, func(line int, elems []int) {
			var s num
			top, xor := 0.0, int64(0)
			for _, e := range elems {
				s.i, s.f = s.i+x.v[e].i, s.f+x.v[e].f
				v := y.v[e].i
				if t.Float() {
					v = int64(y.v[e].f)
				}
				top, xor = max(top, float64(v)), xor^v
			}
			if !t.Float() {
				s.f = float64(wrap(t, s.i).i)
			}
			c.want[line] = num{f: s.f + top*1024 + float64(xor)*65536}
		})
		b.check(c)
		kept := slices.Clone(b.dims)
		kept[ax] = 1
		k := check{name: "keep_dims" + name, expr: fmt.Sprintf("tl.max(%s, %d, keep_dims=True)", z.name, ax-len(b.dims)), out: typ, dims: kept, want: make([]num, count(kept))}
		lines(b.dims, ax, func(line int, elems []int) {
			k.want[line] = z.v[elems[0]]
			for _, e := range elems {
				if order(typ, k.want[line], z.v[e]) {
					k.want[line] = z.v[e]
				}
			}
		})
		b.check(k)
	}
}
