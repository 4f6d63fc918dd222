package numeric

import (
	"fmt"
	"math"
)

// dotKind is a dot's operands, result, and precision.
type dotKind struct {
	name, in, out, arg string
	// eps is the relative error of one term of the sum; 0 means that only the
	// accumulator rounds.
	eps  float64
	minK int
	min  int
}

var dotKinds = []dotKind{
	{"fp16", "fp16", "fp32", "", 0, 16, 0},
	{"fp16 to fp16", "fp16", "fp16", ", out_dtype=tl.float16", 0, 16, 0},
	{"bf16", "bf16", "fp32", "", 0, 16, 0},
	{"fp32 ieee", "fp32", "fp32", ", input_precision='ieee'", 0, 16, 0},
	{"fp32 tf32", "fp32", "fp32", ", input_precision='tf32'", 0x1p-9, 16, 0},
	{"fp32 tf32x3", "fp32", "fp32", ", input_precision='tf32x3'", 0x1p-19, 16, 0},
	{"fp32 bf16x3", "fp32", "fp32", ", input_precision='bf16x3'", 0x1p-14, 16, 0},
	{"fp32 bf16x6", "fp32", "fp32", ", input_precision='bf16x6'", 0x1p-19, 16, 0},
	{"fp64", "fp64", "fp64", ", out_dtype=tl.float64", 0, 16, 0},
	{"i8", "i8", "i32", ", out_dtype=tl.int32", 0, 32, 0},
	{"fp8e5", "fp8e5", "fp32", "", 0, 32, 0},
	{"fp8e4nv", "fp8e4nv", "fp32", "", 0, 32, 89},
}

func dotGroups() []*group {
	var all []*group
	for _, k := range dotKinds {
		all = append(all, &group{
			name: "dot/" + k.name, ranks: []int{2, 3}, min: k.min,
			shapes: func(c config) (dims, live []int) { return nil, nil },
			tile:   func(size string) int { return largest(dotShapes[size]) },
			build:  func(b *builder) { dotOf(b, k) },
		})
	}
	return all
}

// dotShapes are M, N, K by size.
var dotShapes = map[string][3]int{tiny: {4, 8, 16}, odd: {16, 32, 64}, whole: {32, 16, 32}, large: {64, 128, 32}}

// largest is the number of elements of the largest matrix of a product of M, N and K.
func largest(s [3]int) int { return max(s[0]*s[1], s[0]*s[2], s[1]*s[2]) }

// shortTerm is what a term of a sum of fp8 products may lose in wgmma, relative to the
// greatest: terms are cut 13 bits below its exponent.
const shortTerm = 0x1p-12

func dotOf(b *builder, k dotKind) {
	s := dotShapes[b.size]
	m, n, depth := s[0], s[1], max(s[2], k.minK)
	if b.size == large && k.in == "fp64" {
		m, n = 32, 64 // more does not fit into the shared memory of cc 86
	}
	batch := 1
	dims := func(p, q int) []int { return []int{p, q} }
	if b.rank == 3 {
		if batch = 2; b.size == large {
			m, n = 32, 32
		}
		dims = func(p, q int) []int { return []int{batch, p, q} }
	}
	in, out := dtype(k.in), dtype(k.out)
	short := in.Float() && in.Size == 1 && b.cc == 90 && b.nwarps%4 == 0 && batch == 1 && m%64 == 0 // by wgmma
	whole := func(int) num {                                                                        // products and sums are exact
		v := int64(b.r.IntN(5)) - 2
		return num{i: v, f: float64(v)}
	}
	any := func(int) num {
		if !in.Float() {
			return wrap(in, int64(b.r.Uint64()))
		}
		return round(in, b.r.NormFloat64())
	}
	if !in.Float() {
		whole = any
	}
	load := func(gen func(int) num, p, q int) *tensor { return b.loadDims(k.in, dims(p, q), dims(p, q), num{}, gen) }
	product := func(name, expr string, text []string, x, y, acc *tensor, exact bool, turned bool) {
		c := check{name: name, text: text, expr: expr, out: k.out, dims: dims(m, n), want: make([]num, batch*m*n), bound: make([]float64, batch*m*n)}
		man, _ := 0, 0
		if out.Float() {
			man, _ = precision(out)
		}
		for g := range batch {
			for i := range m {
				for j := range n {
					var sum num
					size, greatest := 0.0, 0.0
					for l := range depth {
						p, q := x.v[(g*m+i)*depth+l], num{}
						if turned {
							q = y.v[(g*n+j)*depth+l]
						} else {
							q = y.v[(g*depth+l)*n+j]
						}
						sum.i, sum.f = sum.i+p.i*q.i, sum.f+p.f*q.f
						size += math.Abs(p.f * q.f)
						greatest = max(greatest, math.Abs(p.f*q.f))
					}
					at := (g*m+i)*n + j
					if acc != nil {
						sum.i, sum.f = sum.i+acc.v[at].i, sum.f+acc.v[at].f
						size += math.Abs(acc.v[at].f)
						greatest = max(greatest, math.Abs(acc.v[at].f))
					}
					if !out.Float() {
						c.want[at] = wrap(out, sum.i)
						continue
					}
					c.want[at] = round(out, sum.f)
					if !exact { // every step of a sum rounds, in hardware toward zero
						c.bound[at] = size * (k.eps + float64(depth+1)*math.Ldexp(1, -man))
						if short {
							c.bound[at] += float64(depth+1) * shortTerm * greatest
						}
					}
				}
			}
		}
		b.check(c)
	}
	x, y := load(whole, m, depth), load(whole, depth, n)
	product("exact", fmt.Sprintf("tl.dot(%s, %s%s)", x.name, y.name, k.arg), nil, x, y, nil, true, false)
	p, q := load(any, m, depth), load(any, depth, n)
	product("any", fmt.Sprintf("tl.dot(%s, %s%s)", p.name, q.name, k.arg), nil, p, q, nil, false, false)
	acc := b.loadDims(k.out, dims(m, n), dims(m, n), num{}, func(int) num {
		v := int64(b.r.IntN(100)) - 50
		return num{i: v, f: float64(v)}
	})
	product("accumulator", fmt.Sprintf("tl.dot(%s, %s, acc=%s%s)", x.name, y.name, acc.name, k.arg), nil, x, y, acc, true, false)
	product("added", fmt.Sprintf("tl.dot(%s, %s%s) + %s", p.name, q.name, k.arg, acc.name), nil, p, q, acc, false, false)
	z := load(whole, n, depth)
	perm := "(1, 0)"
	if b.rank == 3 {
		perm = "(0, 2, 1)"
	}
	product("transposed", fmt.Sprintf("tl.dot(%s, tl.permute(%s, %s)%s)", x.name, z.name, perm, k.arg), nil, x, z, nil, true, true)
}
