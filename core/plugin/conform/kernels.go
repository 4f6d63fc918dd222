package conform

import (
	"embed"
	"encoding/binary"
	"fmt"
	"math"
)

// Each kernel's ttir is what the front end builds, without locations.
//
//go:embed kernels/*.ttir
var kernelFiles embed.FS

// golden is a kernel of kernels/kernels.py with arguments, and what it must make of them,
// which is computed here without a compiler.
type golden struct {
	name string
	grid [3]int
	args func() []argument
}

func (g *golden) ttir() []byte {
	text, err := kernelFiles.ReadFile("kernels/" + g.name + ".ttir")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return text
}

// argument is a number, or memory with its contents before and after the launch, which
// are the same bytes where the kernel only reads.
type argument struct {
	scalar       []byte
	before, want []byte
}

func number(v any) argument {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return argument{scalar: b}
}

// array is memory that the kernel reads.
func array(v any) argument {
	a := number(v)
	return argument{before: a.scalar, want: a.scalar}
}

// result is memory that the kernel writes. Before the launch it has bytes that no right
// result has throughout.
func result(v any) argument {
	want := number(v).scalar
	before := make([]byte, len(want))
	for i := range before {
		before[i] = untouched
	}
	return argument{before: before, want: want}
}

// untouched is each byte of what a kernel must leave alone.
const untouched = 0xa5

// kept is what an element that no program writes still holds.
var (
	keptFloat = math.Float32frombits(0xa5a5a5a5)
	keptInt   = int32(-0x5a5a5a5b)
)

// vectorAdd is the kernel that the checks of single calls compile.
const vectorAdd = "vector_add"

// goldens have exact results in any order of arithmetic: numbers are small multiples of
// powers of two. Masks cut through a block, and programs after the last element write
// nothing.
var goldens = []golden{
	{vectorAdd, [3]int{3, 1, 1}, func() []argument {
		const n, room = 2500, 3072
		x, y, out := make([]float32, room), make([]float32, room), make([]float32, room)
		for i := range out {
			x[i], y[i], out[i] = float32(i)*0.5, float32(i%17-8), keptFloat
			if i < n {
				out[i] = x[i] + y[i]
			}
		}
		return []argument{array(x), array(y), result(out), number(int32(n))}
	}},
	{"blend", [3]int{3, 1, 1}, func() []argument {
		const n, room = 601, 768
		x, y, out := make([]float32, room), make([]float32, room), make([]float32, room)
		for i := range out {
			x[i], y[i], out[i] = float32(i%31-15), float32(i%13)*0.25, keptFloat
			if i < n {
				out[i] = (x[i]*-1.5 - y[i]) / 2
			}
		}
		return []argument{array(x), array(y), result(out), number(float32(-1.5)), number(int32(n))}
	}},
	{"integers", [3]int{4, 1, 1}, func() []argument {
		const n, room = 389, 512
		x, out := make([]int32, room), make([]int32, room)
		for i := range out {
			x[i], out[i] = int32(i*i*7919)-1<<20, keptInt
			if i < n {
				y := x[i] / 7 // towards zero, as the kernel's // is
				if x[i] >= 0 {
					y = x[i] % 7
				}
				out[i] = (y ^ x[i]>>3) * 65537
			}
		}
		return []argument{array(x), result(out), number(int32(n))}
	}},
	{"casts", [3]int{2, 1, 1}, func() []argument {
		x, ints, halves := make([]float32, 128), make([]int32, 128), make([]uint16, 128)
		for i := range x {
			x[i] = float32(i-64) * 0.75
			ints[i], halves[i] = int32(x[i]), half(x[i])
		}
		return []argument{array(x), result(ints), result(halves)}
	}},
	{"programs", [3]int{3, 4, 2}, func() []argument {
		out := make([]int32, 32)
		for i := range out {
			out[i] = keptInt
			if i < 3*4*2 {
				out[i] = int32(i/12*10000 + i/3%4*100 + i%3)
			}
		}
		return []argument{result(out)}
	}},
	{"row_sums", [3]int{5, 1, 1}, func() []argument {
		const rows, columns = 5, 100
		x, out := make([]float32, rows*columns), make([]float32, 8)
		for i := range out {
			out[i] = keptFloat
		}
		for i := range x {
			x[i] = float32(i%23 - 9)
			if i%columns == 0 {
				out[i/columns] = 0
			}
			out[i/columns] += x[i]
		}
		return []argument{array(x), result(out), number(int32(columns))}
	}},
	{"column_sums", [3]int{2, 1, 1}, func() []argument {
		const rows, columns = 37, 90
		x, out := make([]float32, rows*columns), make([]float32, 128)
		for i := range out {
			if out[i] = 0; i >= columns {
				out[i] = keptFloat
			}
		}
		for i := range x {
			x[i] = float32(i%19-7) * 0.5
			out[i%columns] += x[i]
		}
		return []argument{array(x), result(out), number(int32(rows)), number(int32(columns))}
	}},
	{"matmul", [3]int{2, 1, 1}, func() []argument {
		const rows, k, columns = 128, 192, 64
		a, b, c := make([]uint16, rows*k), make([]uint16, k*columns), make([]float32, rows*columns)
		at := func(i int) float32 { return float32(i%7 - 3) }
		bt := func(i int) float32 { return float32(i%5-2) * 0.5 }
		for i := range a {
			a[i] = half(at(i))
		}
		for i := range b {
			b[i] = half(bt(i))
		}
		for i := range c {
			for j := range k {
				c[i] += at(i/columns*k+j) * bt(j*columns+i%columns)
			}
		}
		return []argument{array(a), array(b), result(c), number(int32(k))}
	}},
	{"count", [3]int{4, 1, 1}, func() []argument {
		const n = 1000
		x, before, want := make([]int32, n), make([]int32, 16), make([]int32, 16)
		for i := range before {
			before[i] = int32(i * 100)
		}
		copy(want, before)
		for i := range x {
			x[i] = int32(i * i % 11)
			want[x[i]]++
		}
		counts := argument{before: number(before).scalar, want: number(want).scalar}
		return []argument{array(x), counts, number(int32(n))}
	}},
}

// half is the fp16 of a float that has few bits and is 0 or a normal number there.
func half(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	if f == 0 {
		return sign
	}
	exponent := int(bits>>23&0xff) - 127 + 15
	if exponent < 1 || exponent > 30 || bits&0x1fff != 0 {
		panic(fmt.Sprintf("BUG: %g is not exact in fp16", f))
	}
	return sign | uint16(exponent)<<10 | uint16(bits>>13&0x3ff)
}
