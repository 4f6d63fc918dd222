package numeric

import (
	"fmt"
	"math"
)

// scaledGroups are dots of matrices of small floats, of which each 32 of a
// row share a power of two.
func scaledGroups() []*group {
	var all []*group
	formats := []string{"e2m1", "e4m3", "e5m2", "bf16", "fp16"}
	for _, lhs := range formats {
		for _, rhs := range formats {
			if lhs == "bf16" && rhs == "fp16" || lhs == "fp16" && rhs == "bf16" {
				continue // they do not go together
			}
			least := 0
			if lhs == "e4m3" || rhs == "e4m3" {
				least = 89 // to which the format came
			}
			all = append(all, &group{
				name: "scaled/" + lhs + " " + rhs, min: least, ranks: []int{2}, layouts: []string{rows}, sizes: []string{odd, large}, warps: []int{1, 4, 8},
				shapes: func(config) (dims, live []int) { return nil, nil },
				tile:   func(size string) int { return largest(scaledShapes[size]) },
				build:  func(b *builder) { scaledOf(b, lhs, rhs) },
			})
		}
	}
	return all
}

// scaledShapes are M, N, K by size.
var scaledShapes = map[string][3]int{odd: {16, 32, 64}, large: {64, 32, 128}}

// e2m1Values are those of 4-bit floats.
var e2m1Values = [16]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

// operand makes an n by depth matrix of a format, row by row what is multiplied,
// and the tensor that holds it: turned for the right side.
func (b *builder) operand(format string, n, depth int, right bool) (v []float64, name string) {
	v = make([]float64, n*depth)
	typ, per := format, 1
	switch format {
	case "e2m1":
		typ, per = "u8", 2 // two in a byte, along the depth, the first one low
	case "e4m3", "e5m2":
		typ = "u8"
	}
	dims := []int{n, depth / per}
	if right {
		dims = []int{depth / per, n}
	}
	small := map[string]string{"e4m3": "fp8e4nv", "e5m2": "fp8e5"}[format]
	x := b.loadDims(typ, dims, dims, num{}, func(i int) num {
		row, k := i/dims[1], i%dims[1]
		if right {
			row, k = k, row
		}
		at := row*depth + k*per
		if format == "e2m1" {
			lo, hi := b.r.IntN(16), b.r.IntN(16)
			v[at], v[at+1] = e2m1Values[lo], e2m1Values[hi]
			return num{i: int64(lo | hi<<4)}
		}
		v[at] = float64(b.r.IntN(9)-4) / 2
		if small != "" {
			return num{i: int64(dtype(small).Bits(v[at]))}
		}
		return num{f: v[at]}
	})
	return v, x.name
}

// scales multiplies rows of v by powers of two, and returns the tensor of them: bytes
// with the exponents, or the numbers.
func (b *builder) scales(v []float64, n, depth int) string {
	dims := []int{n, depth / 32}
	typ := []string{"u8", "u8", "fp32", "bf16"}[b.r.IntN(4)]
	factors := make([]float64, n*depth/32)
	x := b.loadDims(typ, dims, dims, num{}, func(i int) num {
		exponent := b.r.IntN(3) - 1
		if factors[i] = math.Exp2(float64(exponent)); typ != "u8" {
			return num{f: factors[i]}
		}
		return num{i: int64(127 + exponent)}
	})
	for i := range v {
		v[i] *= factors[i/depth*dims[1]+i%depth/32]
	}
	return x.name
}

func scaledOf(b *builder, lhs, rhs string) {
	s := scaledShapes[b.size]
	m, n, depth := s[0], s[1], s[2]
	small := func(format string) bool { return format != "bf16" && format != "fp16" }
	for _, which := range []string{"both", "left", "right"} {
		left, right := which != "right" && small(lhs), which != "left" && small(rhs)
		x, xs := b.operand(lhs, m, depth, false)
		y, ys := b.operand(rhs, n, depth, true)
		xScale, yScale := "None", "None"
		if left {
			xScale = b.scales(x, m, depth)
		}
		if right {
			yScale = b.scales(y, n, depth)
		}
		want := make([]num, m*n)
		for i := range m {
			for j := range n {
				for k := range depth {
					want[i*n+j].f += x[i*depth+k] * y[j*depth+k]
				}
			}
		}
		b.check(check{ // all products and sums are exact
			name: which + " scaled", out: "fp32", dims: []int{m, n}, want: want,
			expr: fmt.Sprintf("tl.dot_scaled(%s, %s, '%s', %s, %s, '%s')", xs, xScale, lhs, ys, yScale, rhs),
		})
	}
}
