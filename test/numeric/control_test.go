package numeric

import (
	"fmt"
)

func controlGroups() []*group {
	var all []*group
	for _, typ := range []string{"i8", "i32", "u32", "i64", "fp16", "fp32", "fp64"} {
		all = append(all, &group{name: "control/" + typ, build: func(b *builder) { controlOf(b, typ) }})
	}
	return all
}

// controlOf carries blocks and numbers through loops and branches, whose bounds
// the compiler does not know. Values stay small, so that floats are exact.
func controlOf(b *builder, typ string) {
	t := dtype(typ)
	x, y := b.load(typ, num{}, b.small(typ)), b.load(typ, num{}, b.small(typ))
	trips, flag := b.r.IntN(5), b.r.IntN(2)
	n := b.param("n", trips)
	f := b.param("f", flag)
	cast := func(v int64) num {
		if t.Float() {
			return num{f: float64(v)}
		}
		return wrap(t, v)
	}
	val := func(v num) int64 { return v.i + int64(v.f) }
	run := func(name string, text []string, expr string, g func(x, y int64) int64) {
		want := make([]num, count(b.dims))
		for i := range want {
			want[i] = cast(g(val(x.v[i]), val(y.v[i])))
		}
		b.check(check{name: name, text: text, expr: expr, out: typ, want: want})
	}
	run("for", []string{
		"acc = " + x.name,
		fmt.Sprintf("for i in range(%s):", n),
		fmt.Sprintf("    acc = (acc + %s).to(%s)", y.name, pyType(typ)),
		"    if i % 2 == 0:",
		"        acc += 1",
		"    else:",
		"        acc = acc - " + x.name,
	}, "acc", func(x, y int64) int64 {
		acc := x
		for i := range trips {
			if acc += y; i%2 == 0 {
				acc++
			} else {
				acc -= x
			}
		}
		return acc
	})
	run("exchange", []string{
		"u = " + x.name,
		"v = " + y.name,
		fmt.Sprintf("for i in range(%s, 0, -1):", n),
		"    u, v = v, u",
	}, "u", func(x, y int64) int64 {
		if trips%2 == 1 {
			return y
		}
		return x
	})
	run("while", []string{
		"w = " + x.name,
		"k = 0",
		fmt.Sprintf("while k < %s:", n),
		"    w = w + " + y.name,
		"    k += 2",
	}, "w", func(x, y int64) int64 {
		for k := 0; k < trips; k += 2 {
			x += y
		}
		return x
	})
	run("nested", []string{
		"q = " + x.name,
		fmt.Sprintf("for i in range(%s):", n),
		"    for j in range(i):",
		"        q += 1",
		fmt.Sprintf("    if (i == 1) & (%s != 0):", f),
		"        q = q - " + y.name,
	}, "q", func(x, y int64) int64 {
		for i := range trips {
			if x += int64(i); i == 1 && flag != 0 {
				x -= y
			}
		}
		return x
	})
	run("if", []string{
		fmt.Sprintf("if %s != 0:", f),
		"    c = " + x.name,
		"    d = " + y.name,
		"else:",
		"    c = " + y.name,
		"    d = " + y.name,
	}, "(c + d)", func(x, y int64) int64 {
		if flag != 0 {
			return x + y
		}
		return 2 * y
	})
	run("choice", nil, fmt.Sprintf("(%s if %s > 2 else %s)", x.name, n, y.name), func(x, y int64) int64 {
		if trips > 2 {
			return x
		}
		return y
	})
	run("unrolled", []string{
		"e = " + x.name,
		"for i in tl.static_range(3):",
		"    e = e + i",
		fmt.Sprintf("for i in tl.range(0, %s, loop_unroll_factor=2):", n),
		"    e = e + " + y.name,
	}, "e", func(x, y int64) int64 { return x + 3 + int64(trips)*y })
	if len(b.dims) > 0 && typ != "i8" {
		// A reduction in a loop, of what the loop carries.
		sum, magnitude := int64(0), int64(0)
		for _, v := range x.v {
			sum += val(v)
			magnitude += max(val(v), -val(v))
		}
		total, bound := int64(0), int64(0)
		for i := range trips {
			total += sum + int64(i*count(b.dims))
			bound += magnitude + int64(i*count(b.dims))
		}
		// fp16 holds the integers up to 2048: within that bound every partial
		// sum, in any order, is exact; beyond it there is nothing to hold it to.
		if typ != "fp16" || bound <= 2048 {
			b.check(check{name: "reduce in loop", text: []string{
				fmt.Sprintf("s = tl.sum(%s) * 0", x.name),
				"r = " + x.name,
				fmt.Sprintf("for i in range(%s):", n),
				"    s += tl.sum(r)",
				"    r = r + 1",
			}, expr: "s", out: typ, dims: []int{}, want: []num{cast(total)}, accept: func(_ int, got num) bool { return got == cast(total) }})
		}
	}
}
