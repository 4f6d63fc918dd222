package numeric

import (
	"fmt"
	"math"
	"math/bits"
)

// foreignGroups are code of the user on each element: functions with control
// flow, inline assembly, functions of a device library.
func foreignGroups() []*group {
	var all []*group
	for _, typ := range allTypes {
		all = append(all, &group{name: "foreign/" + typ, build: func(b *builder) { foreignOf(b, typ) }})
	}
	return all
}

func foreignOf(b *builder, typ string) {
	gen := b.anyInt(typ)
	if dtype(typ).Float() {
		gen = b.plainFloat(typ)
	}
	x, y := b.load(typ, num{}, gen), b.load(typ, num{}, gen)
	if onCUDA() { // it has no CUDA
		b.library(typ, x, y)
	}
	if len(b.dims) == 0 {
		return // the others take tensors
	}
	if onCUDA() { // it knows no PTX
		b.assembly(typ, x, y)
	}
	// Of two the smaller and the greater, through a branch on each element.
	b.define(`
@triton.jit
def ordered(a, b):
    if a < b:
        return a, b
    else:
        return b, a
`)
	for k, name := range []string{"smaller", "greater"} {
		b.check(check{
			name: name, out: typ, expr: name, want: b.each(func(i int) num {
				if order(typ, x.v[i], y.v[i]) == (k == 0) {
					return x.v[i]
				}
				return y.v[i]
			}),
			text: []string{fmt.Sprintf("smaller, greater = tl.map_elementwise(ordered, %s, %s)", x.name, y.name)},
		})
	}
}

// each is f of each element that is in memory.
func (b *builder) each(f func(i int) num) []num {
	want := make([]num, count(b.dims))
	places(b.dims, func(i int, at []int) {
		if inside(at, b.live) {
			want[i] = f(i)
		}
	})
	return want
}

// assembly is one instruction on words: exclusive or, or of floats the opposite.
func (b *builder) assembly(typ string, x, y *tensor) {
	t := dtype(typ)
	asm := func(name, text, constraints, args string, pack int, f func(i int) num) {
		b.exact(name, fmt.Sprintf("tl.inline_asm_elementwise('%s', '%s', [%s], dtype=%s, is_pure=True, pack=%d)",
			text, constraints, args, pyType(typ), pack), typ, f)
	}
	pack, word, letter := max(1, 4/t.Size), 8*max(4, t.Size), "r"
	if word == 64 {
		letter = "l"
	}
	both := x.name + ", " + y.name
	switch {
	case !t.Float():
		asm("assembly", fmt.Sprintf("xor.b%d $0, $1, $2;", word), fmt.Sprintf("=%s,%[1]s,%[1]s", letter), both, pack,
			func(i int) num { return wrap(t, x.v[i].i^y.v[i].i) })
	case t.Size == 2:
		asm("assembly", "xor.b32 $0, $1, 0x80008000;", "=r,r", x.name, 2, func(i int) num { return num{f: -x.v[i].f} })
	default:
		letter = map[int]string{4: "f", 8: "d"}[t.Size]
		asm("assembly", fmt.Sprintf("neg.f%d $0, $1;", word), fmt.Sprintf("=%s,%[1]s", letter), x.name, 1, func(i int) num { return num{f: -x.v[i].f} })
	}
	if typ != "i32" {
		return
	}
	for k, v := range []*tensor{y, x} {
		name := fmt.Sprintf("swapped%d", k)
		b.check(check{
			name: name, out: typ, expr: name, want: b.each(func(i int) num { return v.v[i] }),
			text: []string{fmt.Sprintf("swapped0, swapped1 = tl.inline_asm_elementwise('{ mov.b32 $0, $3; mov.b32 $1, $2; }', '=&r,=&r,r,r', [%s], "+
				"dtype=(tl.int32, tl.int32), is_pure=True, pack=1)", both)},
		})
	}
}

// library calls functions that are exact.
func (b *builder) library(typ string, x, y *tensor) {
	call := func(name, args, out string, f func(i int) num) {
		b.exact("libdevice "+name, fmt.Sprintf("tl.extra.cuda.libdevice.%s(%s)", name, args), out, f)
	}
	both := x.name + ", " + y.name
	switch typ {
	case "fp32", "fp64":
		call("copysign", both, typ, func(i int) num { return num{f: math.Copysign(x.v[i].f, y.v[i].f)} })
		call("trunc", x.name, typ, func(i int) num { return num{f: math.Trunc(x.v[i].f)} })
		call("rint", x.name, typ, func(i int) num { return num{f: math.RoundToEven(x.v[i].f)} })
		call("fmod", both, typ, func(i int) num { return num{f: math.Mod(x.v[i].f, y.v[i].f)} })
		call("fdim", both, typ, func(i int) num { return round(dtype(typ), max(x.v[i].f-y.v[i].f, 0)) })
	case "i32":
		call("clz", x.name, "i32", func(i int) num { return num{i: int64(bits.LeadingZeros32(uint32(x.v[i].i)))} })
		call("popc", x.name, "i32", func(i int) num { return num{i: int64(bits.OnesCount32(uint32(x.v[i].i)))} })
		call("brev", x.name, "i32", func(i int) num { return num{i: int64(int32(bits.Reverse32(uint32(x.v[i].i))))} })
		call("ffs", x.name, "i32", func(i int) num { return num{i: int64((bits.TrailingZeros32(uint32(x.v[i].i)) + 1) % 33)} })
		call("mulhi", both, "i32", func(i int) num { return num{i: x.v[i].i * y.v[i].i >> 32} })
	case "i64":
		call("clz", x.name, "i32", func(i int) num { return num{i: int64(bits.LeadingZeros64(uint64(x.v[i].i)))} })
		call("popc", x.name, "i32", func(i int) num { return num{i: int64(bits.OnesCount64(uint64(x.v[i].i)))} })
		call("brev", x.name, "i64", func(i int) num { return num{i: int64(bits.Reverse64(uint64(x.v[i].i)))} })
	}
}
