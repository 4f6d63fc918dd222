package nvidia

import (
	"fmt"
	"strings"
)

// growing are kernels of any length, each long in its own way, for growth_test.go.
var growing = []struct {
	name   string
	sizes  []int // what tests hold near-linear between the last two; benchmarks run all
	source func(n int) string
}{
	{"unrolled", []int{64, 256, 1024, 4096}, func(n int) string { // straight-line code with an access each
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    s = tl.zeros([128], tl.float32)
    for i in tl.static_range(%d):
        s += tl.load(x + o + i * n, mask=o < n - i)
    tl.store(x + o, s)
`, n)
	}},
	{"loop_body", []int{64, 256, 1024, 4096}, func(n int) string { // the same in a loop
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    s = tl.zeros([128], tl.float32)
    for j in range(n):
        for i in tl.static_range(%d):
            s += tl.load(x + o + (i + j) * n)
    tl.store(x + o, s)
`, n)
	}},
	{"arithmetic", []int{64, 256, 1024, 4096}, func(n int) string { // one long expression
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    s = tl.load(x + o)
    for i in tl.static_range(%d):
        s = s * 1.5 + i
    tl.store(x + o, s)
`, n)
	}},
	{"stores", []int{64, 256, 1024, 4096}, func(n int) string {
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    for i in tl.static_range(%d):
        tl.store(x + o + i * n, tl.load(x + o * n + i))
`, n)
	}},
	{"ifs", []int{10, 100, 1000}, func(n int) string { // conditionals with an effect, one after another
		return fmt.Sprintf(`
    for i in tl.static_range(%d):
        if n > i * 3:
            tl.store(x + i, 1.0)
`, n)
	}},
	{"selects", []int{10, 100, 1000}, func(n int) string { // conditionals with a value
		return fmt.Sprintf(`
    s = 0.0
    for i in tl.static_range(%d):
        if n > i * 3:
            s += tl.load(x + i)
        else:
            s = s * 2
    tl.store(x, s)
`, n)
	}},
	{"loops", []int{10, 100, 1000}, func(n int) string {
		return fmt.Sprintf(`
    s = 0.0
    for i in tl.static_range(%d):
        for j in range(n):
            s += tl.load(x + i * j)
    tl.store(x, s)
`, n)
	}},
	{"whiles", []int{10, 100, 1000}, func(n int) string {
		return fmt.Sprintf(`
    s = n
    for i in tl.static_range(%d):
        while s > i:
            s = s // 2 - 1
    tl.store(x, s.to(tl.float32))
`, n)
	}},
	{"returns", []int{10, 100, 1000}, func(n int) string { // early returns, which are blocks of cf
		return fmt.Sprintf(`
    for i in tl.static_range(%d):
        if n == i * 3:
            tl.store(x + i, 1.0)
            return
`, n)
	}},
	{"calls", []int{10, 100, 1000}, func(n int) string { // inlined, each with two returns
		return fmt.Sprintf(`
    s = n
    for i in tl.static_range(%d):
        s = f(s, i)
    tl.store(x, s.to(tl.float32))

@triton.jit
def f(a, b):
    if a > b:
        return a
    return a * 3 + b
`, n)
	}},
	{"reductions", []int{10, 100, 1000}, func(n int) string { // shared memory and barriers
		return fmt.Sprintf(`
    o = tl.arange(0, 1024)
    s = tl.load(x + o)
    for i in tl.static_range(%d):
        s = s + tl.sum(s * i, 0)
    tl.store(x + o, s)
`, n)
	}},
	{"expression", []int{10, 100, 1000}, func(n int) string { // one of many terms
		return "\n    s = n" + lines(n, " + n * %d") + "\n    tl.store(x, s.to(tl.float32))\n"
	}},
	{"masks", []int{16, 64, 256}, func(n int) string { // each used twice: 2^n ways through them
		return `
    o = tl.arange(0, 128)
    m = o < n
` + lines(n, "    m = (m & (o > %d)) | (m ^ (o < n))\n") + `
    for i in range(n):
        tl.store(x + o, tl.load(x + o + i, mask=m), mask=m)
`
	}},
	{"conjunctions", []int{16, 64, 256}, func(n int) string { // the same of conditions that all hold
		return `
    o = tl.arange(0, 128)
    m = o < n
` + lines(n, "    m = (m & (o < n * %[1]d)) & (m & (o > %[1]d - n))\n") + `
    tl.store(x + o, 1.0, mask=m)
`
	}},
	{"chained_masks", []int{64, 256, 1024}, func(n int) string { // each access has one condition more
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    s = tl.zeros([128], tl.float32)
    m = o < n
    for i in tl.static_range(%d):
        m = m & (o < n + i)
        s += tl.load(x + o, mask=m, other=1.0)
    tl.store(x + o, s)
`, n)
	}},
	{"wide_sums", []int{16, 64, 256}, func(n int) string { // of 64 bits, each used twice, as bounds checks have
		return `
    o = tl.arange(0, 128).to(tl.int64)
    i = o
` + lines(n, "    i = i + (i + (n + %d).to(tl.int64))\n") + `
    tl.store(x + o, 1.0, mask=(i >= 0) & (i < n.to(tl.int64)))
`
	}},
	{"indices", []int{16, 64, 256}, func(n int) string { // the same of integers, in two layouts
		return `
    a = tl.arange(0, 64)
    o = a[:, None] * n + a[None, :]
` + lines(n, "    o = (o + n) * (o ^ %d)\n") + `
    for i in range(n):
        tl.store(x + o, tl.load(x + tl.trans(o) + i))
`
	}},
	{"choices", []int{16, 64, 256}, func(n int) string { // and of conditions
		return "\n    s = n\n" + lines(n, `    if s > %d:
        s = s * s
    else:
        s = s + s
`) + "    tl.store(x, s.to(tl.float32))\n"
	}},
	{"rows", []int{10, 100, 400}, func(n int) string { // conversions that are computed again
		return `
    a = tl.arange(0, 32)
    o = a[:, None] * n + a[None, :]
    s = tl.load(x + o)
` + lines(n, "    s = s + tl.load(x + a * n + %[1]d)[:, None] * tl.load(x + a + %[1]d)[None, :]\n") + `
    tl.store(x + o, s)
`
	}},
	{"gathers", []int{10, 50, 200}, func(n int) string {
		return `
    o = tl.arange(0, 1024)
    s = tl.load(x + o)
` + lines(n, "    s = tl.gather(s, o ^ %d, 0) + s\n") + `
    tl.store(x + o, s)
`
	}},
	{"dot_loops", []int{4, 16, 64}, func(n int) string { // pipelined loops
		return `
    a = tl.arange(0, 32)
    o = a[:, None] * n + a[None, :]
    s = tl.zeros([32, 32], tl.float32)
` + lines(n, `    for j in range(n):
        s = tl.dot(tl.load(x + o + %d + j * 64), tl.load(x + o + n + j * 64), s)
`) + `
    tl.store(x + o, s)
`
	}},
	{"chained_loops", []int{10, 100, 400}, func(n int) string { // each goes on with the last one's pointers
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    p = x + o
    s = tl.zeros([128], tl.float32)
    for i in tl.static_range(%d):
        for j in range(n):
            s += tl.load(p)
            p += 128
    tl.store(x + o, s)
`, n)
	}},
	{"chained_pointers", []int{64, 512, 2048}, func(n int) string { // each made of the last one, by a constant
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    p = x + o
    s = tl.zeros([128], tl.float32)
    for i in tl.static_range(%d):
        s += tl.load(p)
        p += 128
    tl.store(x + o, s)
`, n)
	}},
	{"chained_offsets", []int{64, 512, 2048}, func(n int) string { // each made of the last one, by a number of 64 bits
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    p = x + o
    s = tl.zeros([128], tl.float32)
    for i in tl.static_range(%d):
        s += tl.load(p)
        p += n.to(tl.int64) * (i + 1)
    tl.store(x + o, s)
`, n)
	}},
	{"functions", []int{10, 100, 400}, func(n int) string { // that are called
		return "\n    s = n\n" + lines(n, "    s = f%d(s)\n") + "    tl.store(x, s.to(tl.float32))\n" +
			lines(n, `
@triton.jit(noinline=True)
def f%[1]d(a):
    if a > %[1]d:
        return a * 2
    return a + 1
`)
	}},
	{"carried", []int{32, 128, 512}, func(n int) string { // variables that a loop carries
		return "\n" + lines(n, "    a%d = n\n") + "    for j in range(n):\n" + lines(n, "        a%[1]d = a%[1]d * %[1]d + j\n") +
			"    s = 0\n" + lines(n, "    s = s ^ a%d\n") + "    tl.store(x, s.to(tl.float32))\n"
	}},
	{"asserts", []int{10, 100, 1000}, func(n int) string {
		return "\n    o = tl.arange(0, 128)\n" + lines(n, "    tl.device_assert(o < n * %[1]d, 'no %[1]d')\n    tl.device_print('p', o)\n")
	}},
	{"elifs", []int{10, 100, 1000}, func(n int) string { // conditionals, each in the else of the one before
		return "\n    if n == 5000:\n        tl.store(x, 1.0)\n" + lines(n, "    elif n == %d:\n        tl.store(x + %[1]d, 1.0)\n")
	}},
	{"elif_values", []int{10, 100, 1000}, func(n int) string { // the same with a value
		return "\n    s = " + lines(n, "%d if n == %[1]d * 3 else ") + "7\n    tl.store(x, s)\n"
	}},
	{"same_condition", []int{10, 100, 1000}, func(n int) string { // one that many blocks, of any depth, ask
		return "\n    c = n > 5\n" + lines(n/2, "    if c:\n        tl.store(x + %d, 1.0)\n") +
			"    if n == 5000:\n        tl.store(x, 1.0)\n" +
			lines(n/2, "    elif n == %d:\n        if c:\n            tl.store(x + %[1]d, 1.0)\n")
	}},
	{"dots", []int{16, 64, 256}, func(n int) string {
		return `
    a = tl.arange(0, 32)
    o = a[:, None] * n + a[None, :]
    s = tl.zeros([32, 32], tl.float32)
` + lines(n, "    s = tl.dot(tl.load(x + o + %d), tl.load(x + o + n * %[1]d), s)\n") + "    tl.store(x + o, s)\n"
	}},
	{"chained_dots", []int{32, 256, 1024}, func(n int) string {
		return `
    i = tl.arange(0, 16)
    o = i[:, None] * 16 + i[None, :]
    s = tl.load(x + o).to(tl.float16)
` + strings.Repeat("    s = tl.dot(s, s, out_dtype=tl.float16)\n", n) + "    tl.store(x + o, s)\n"
	}},
	{"lone_dots", []int{32, 256, 1024}, func(n int) string { // which have a constant in common
		return `
    i = tl.arange(0, 16)
    o = i[:, None] * 16 + i[None, :]
` + lines(n, "    s = tl.load(x + o + %[1]d).to(tl.float16)\n    tl.store(x + o + %[1]d, tl.dot(s, s))\n")
	}},
	{"sorts", []int{2, 8, 16}, func(n int) string { // conversions of all that was computed so far
		return "\n    o = tl.arange(0, 64)\n    s = tl.load(x + o)\n" + lines(n, "    s = tl.sort(s * (o + %d))\n") + "    tl.store(x + o, s)\n"
	}},
	{"transposes", []int{16, 64, 256}, func(n int) string {
		return `
    a = tl.arange(0, 32)
    o = a[:, None] * n + a[None, :]
    s = tl.load(x + o)
` + lines(n, "    s = tl.trans(s) + tl.load(x + o + %d)\n") + "    tl.store(x + o, s)\n"
	}},
	{"pointers", []int{10, 80, 320}, func(n int) string { // tensors that a loop carries
		return "\n    o = tl.arange(0, 512)\n" +
			lines(n, "    p%d = x + o * %[1]d\n    s%[1]d = tl.zeros([512], tl.float32)\n") +
			"    for j in range(n):\n" + lines(n, "        s%d += tl.load(p%[1]d)\n        p%[1]d += n\n") +
			lines(n, "    tl.store(x + o + %d, s%[1]d)\n")
	}},
}

// lines formats n numbers, one after another.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
