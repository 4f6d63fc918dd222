package amdgcn

import (
	"math"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// dotShape is a matrix instruction: D(M×N) = A(M×K) × B(K×N) + C(M×N), so often as
// there are blocks.
type dotShape struct {
	m, n, k, blocks int
	a, b, d         *element
	wmma            bool
}

// element is a type of matrix elements.
type element struct {
	bits   int
	value  func(x uint64) float64
	encode func(x float64) uint64 // of results
	// chain is how many products are added exactly before the sum is rounded; 0 means
	// that each product is added to the sum with one rounding.
	chain int
	// ints are integers, which wrap.
	ints bool
}

func halfValue(t dtype) func(uint64) float64 {
	return func(x uint64) float64 { return t.value(x & 0xffff) }
}

// elements are the types by name.
func elements(g gen) map[string]*element {
	m := map[string]*element{
		"f64":  {bits: 64, value: f64, encode: u64},
		"f32":  {bits: 32, value: dF32.value, encode: dF32.encode},
		"xf32": {bits: 32, value: func(x uint64) float64 { return tf32(f32(x)) }},
		"f16":  {bits: 16, value: halfValue(dF16), encode: dF16.encode, chain: 4},
		"bf16": {bits: 16, value: halfValue(dBF16), encode: dBF16.encode, chain: 4},
		"i32":  {bits: 32, ints: true},
		"i8":   {bits: 8, ints: true},
		"iu8":  {bits: 8, ints: true},
		"iu4":  {bits: 4, ints: true},
	}
	if f := g.fp8(); f != nil {
		m["fp8"] = &element{bits: 8, value: f.value, chain: 4}
		m["bf8"] = &element{bits: 8, value: g.bf8().value, chain: 4}
	}
	return m
}

// tf32 rounds to ten bits after the point.
func tf32(x float32) float64 {
	b := math.Float32bits(x)
	if b&0x7f800000 != 0x7f800000 {
		b += 0xfff + b>>13&1
		b &^= 0x1fff
	}
	return float64(math.Float32frombits(b))
}

// parseDot reads the name of a matrix instruction, such as v_mfma_f32_32x32x8_f16.
func parseDot(name string, g gen) (s dotShape, ok bool) {
	rest, isMfma := strings.CutPrefix(name, "v_mfma_")
	if !isMfma {
		if rest, ok = strings.CutPrefix(name, "v_wmma_"); !ok {
			return s, false
		}
		s.wmma = true
	}
	types := elements(g)
	out, rest, _ := strings.Cut(rest, "_")
	s.d = types[out]
	shape := strings.SplitN(rest, "x", 3)
	if len(shape) != 3 {
		return s, false
	}
	end := 0
	for end < len(shape[2]) && isDigit(shape[2][end]) {
		end++
	}
	s.m, _ = strconv.Atoi(shape[0])
	s.n, _ = strconv.Atoi(shape[1])
	s.k, _ = strconv.Atoi(shape[2][:end])
	s.blocks = 1
	in := strings.TrimSuffix(strings.TrimPrefix(shape[2][end:], "_"), "_1k")
	if n, after, ok := strings.Cut(in, "b_"); ok && n != "" && isDigit(n[0]) {
		s.blocks, _ = strconv.Atoi(n)
		in = after
	}
	a, b, two := strings.Cut(in, "_")
	if !two {
		b = a
	}
	s.a, s.b = types[a], types[b]
	ok = s.a != nil && s.b != nil && s.d != nil && (s.d.ints || s.d.encode != nil) && s.m*s.n*s.k*s.blocks > 0
	if !s.wmma && ok {
		// The older names have no number of blocks: four rows of sixteen lanes cover
		// those that a row of the matrix does not.
		if perLane := s.m * s.k * s.a.bits / g.lanes; g.major == 9 && !g.cdna3 && s.blocks == 1 && perLane < 32 && s.a.bits <= 32 {
			s.blocks = g.lanes / s.m
		}
		ok = s.m == s.n && (s.m == 32 || s.m == 16 || s.m == 4 && s.blocks == 16) && s.m*s.k*s.blocks%g.lanes == 0
	}
	if s.wmma && ok {
		ok = s.m == 16 && s.n == 16 && g.major >= 11
	}
	return s, ok
}

// dot executes a matrix instruction. It heeds no EXEC.
type dot struct {
	dotShape
	g       gen
	src     [3]source // first registers of A, B, C; C may be a constant
	dst     int
	signedA bool // of iu8 and iu4
	signedB bool
	negC    bool
	high    bool // f16 results go to upper halves
	clamp   bool
	// shared is the logarithm of how many blocks take the same one of A, that with the
	// number from among them.
	shared, from int
	// regsA to regsD are how many registers each takes.
	regsA, regsB, regsD int
}

// countRegs finds how many registers the operands take in each lane.
func (p *dot) countRegs() {
	lanes := p.g.lanes
	per := p.k * p.m * p.blocks / lanes
	if p.wmma && p.g.major == 11 {
		per = p.k // each half of the lanes holds all
	}
	p.regsA, p.regsB = max(per*p.a.bits/32, 1), max(per*p.b.bits/32, 1)
	p.regsD = p.m * p.n * p.blocks / lanes * p.d.bits / 32
	if p.wmma && p.g.major == 11 {
		p.regsD = 8
	}
}

// blockOfA is which block of A a block of B is multiplied by.
func (p *dot) blockOfA(block int) int { return block>>p.shared<<p.shared | p.from }

// placeA is where row i (or column) and k of a block of an operand are: the lane, and
// the element of its registers.
func (p *dot) placeA(block, i, k, k0 int) (lane, elem int) {
	switch {
	case p.wmma && p.g.major == 11:
		return i, k
	case p.blocks > 1 && p.m*p.blocks == p.g.lanes:
		return block*p.m + i, k
	}
	return k/k0*p.m + i, k % k0
}

// placeD is where row m and column n of a block of the result are.
func (p *dot) placeD(block, m, n int) (lane, elem int) {
	switch {
	case p.wmma && p.g.major == 11:
		return m%2*16 + n, m / 2
	case p.wmma:
		return m/8*16 + n, m % 8
	case p.d.bits == 64:
		return m%4*16 + n, m / 4
	case p.m == 32:
		return m%8/4*32 + n, block*16 + m/8*4 + m%4
	case p.m == 16:
		return m/4*16 + n, block*4 + m%4
	}
	return block*4 + n, m
}

func (p *dot) do(v *simt.Wavefront) {
	lanes := p.g.lanes
	for i, n := range [...]int{p.regsA, p.regsB, p.regsD} {
		if p.src[i].where == fromV {
			v.UseV(p.src[i].reg, n)
		}
	}
	v.UseV(p.dst, p.regsD)
	lost := p.undefined(v)
	if p.wmma && p.g.major == 11 {
		p.replicated(v)
	}
	size := p.d.bits
	if p.wmma && p.g.major == 11 && size == 16 {
		size = 32 // one element per register
	}
	c := func(lane, e int) uint64 {
		if p.src[2].where != fromV {
			return p.src[2].value
		}
		return element32(v, p.src[2].reg, lane, e, size)
	}
	k0 := p.m * p.k * p.blocks / lanes
	results := make([]uint64, p.blocks*p.m*p.n)
	if p.d.ints {
		a, b := make([]int64, p.m*p.k), make([]int64, p.n*p.k)
		for block := range p.blocks {
			for i := range p.m {
				for k := range p.k {
					la, ea := p.placeA(p.blockOfA(block), i, k, k0)
					lb, eb := p.placeA(block, i, k, k0)
					a[i*p.k+k] = extend(element32(v, p.src[0].reg, la, ea, p.a.bits), p.a.bits, p.signedA)
					b[i*p.k+k] = extend(element32(v, p.src[1].reg, lb, eb, p.b.bits), p.b.bits, p.signedB)
				}
			}
			for m := range p.m {
				for n := range p.n {
					sum := int64(int32(c(p.placeD(block, m, n))))
					for k := range p.k {
						sum += a[m*p.k+k] * b[n*p.k+k]
					}
					if p.clamp {
						sum = int64(satI32(uint64(sum)))
					}
					results[(block*p.m+m)*p.n+n] = uint64(uint32(sum))
				}
			}
		}
	} else {
		a, b := make([]float64, p.m*p.k), make([]float64, p.n*p.k)
		for block := range p.blocks {
			for i := range p.m {
				for k := range p.k {
					la, ea := p.placeA(p.blockOfA(block), i, k, k0)
					lb, eb := p.placeA(block, i, k, k0)
					a[i*p.k+k] = p.src[0].signed(p.a.value(element32(v, p.src[0].reg, la, ea, p.a.bits)))
					b[i*p.k+k] = p.src[1].signed(p.b.value(element32(v, p.src[1].reg, lb, eb, p.b.bits)))
				}
			}
			for m := range p.m {
				for n := range p.n {
					x := p.d.value(c(p.placeD(block, m, n)))
					if p.negC {
						x = -x
					}
					results[(block*p.m+m)*p.n+n] = p.sum(a[m*p.k:(m+1)*p.k], b[n*p.k:(n+1)*p.k], x)
				}
			}
		}
	}
	for block := range p.blocks {
		for m := range p.m {
			for n := range p.n {
				lane, e := p.placeD(block, m, n)
				p.put(v, lane, e, results[(block*p.m+m)*p.n+n], lost)
			}
		}
	}
	v.Matrix(uint64(2 * p.m * p.n * p.k * p.blocks))
}

// signed applies the negation of a double-precision operand.
func (s *source) signed(x float64) float64 {
	if s.neg {
		return -x
	}
	return x
}

// sum adds the products of a row and a column to c.
func (p *dot) sum(a, b []float64, c float64) uint64 {
	switch {
	case p.d.bits == 64:
		for k := range a {
			c = math.FMA(a[k], b[k], c)
		}
		return u64(c)
	case p.a.chain == 0:
		for k := range a {
			c = float64(float32(simt.AddOdd(a[k]*b[k], c)))
		}
	default:
		for k := 0; k < len(a); k += p.a.chain {
			s := 0.0
			for j := k; j < k+p.a.chain; j++ {
				s += a[j] * b[j]
			}
			c = float64(float32(simt.AddOdd(s, c)))
		}
	}
	return p.d.encode(c)
}

// put writes an element of the result.
func (p *dot) put(v *simt.Wavefront, lane, e int, x uint64, lost bool) {
	undef := uint32(0)
	if lost {
		undef = ^uint32(0)
	}
	switch {
	case p.d.bits == 64:
		v.SetV(p.dst+2*e, lane, uint32(x), undef)
		v.SetV(p.dst+2*e+1, lane, uint32(x>>32), undef)
	case p.d.bits == 32:
		v.SetV(p.dst+e, lane, uint32(x), undef)
	default:
		reg, shift := p.dst+e/2, 16*(e%2)
		if p.g.major == 11 {
			if reg, shift = p.dst+e, 0; p.high {
				shift = 16
			}
		}
		keep := ^(uint32(0xffff) << shift)
		v.SetV(reg, lane, v.V[reg*v.Lanes+lane]&keep|uint32(x&0xffff)<<shift, v.UndefinedV(reg, lane)&keep|undef&^keep)
	}
}

// element32 reads element e of a lane, of so many bits, from registers on.
func element32(v *simt.Wavefront, reg, lane, e, size int) uint64 {
	if size == 64 {
		return uint64(v.V[(reg+2*e)*v.Lanes+lane]) | uint64(v.V[(reg+2*e+1)*v.Lanes+lane])<<32
	}
	at := e * size
	return uint64(v.V[(reg+at/32)*v.Lanes+lane]) >> (at % 32) & (1<<size - 1)
}

func extend(x uint64, size int, signed bool) int64 {
	if signed {
		return int64(x<<(64-size)) >> (64 - size)
	}
	return int64(x)
}

// undefined reports whether an operand has undefined bits: the whole result is then.
func (p *dot) undefined(v *simt.Wavefront) bool {
	if v.Lost == nil {
		return false
	}
	for i, n := range [...]int{p.regsA, p.regsB, p.regsD} {
		if p.src[i].where != fromV {
			continue
		}
		for r := range n {
			if v.Lost[p.src[i].reg+r] == 0 {
				continue
			}
			if i < 2 || p.d.bits != 16 || p.g.major != 11 {
				return true
			}
			for l := range v.Lanes {
				u := v.UndefinedV(p.src[i].reg+r, l)
				if p.high {
					u >>= 16
				}
				if u&0xffff != 0 {
					return true
				}
			}
		}
	}
	return false
}

// replicated checks that both halves of the lanes have the same operands, as gfx11
// wants it.
func (p *dot) replicated(v *simt.Wavefront) {
	for i, n := range [...]int{p.regsA, p.regsB} {
		for r := range n {
			at := v.V[(p.src[i].reg+r)*v.Lanes:]
			for l := range 16 {
				if at[l] != at[l+16] {
					v.Undefined(l+16, "v%d of the matrix differs between lanes %d and %d, which must have the same rows", p.src[i].reg+r, l, l+16)
					return
				}
			}
		}
	}
}
