package array

import (
	"math"
	"slices"
	"strings"
)

// DType is an element type. Equal types are the same pointer.
type DType struct {
	// Name is Triton's short name, as signatures have it.
	Name string
	// Size is the element's in bytes.
	Size int
	kind kind
	// Of floating-point types: the widths of the fields and the bias of the
	// exponent, the greatest finite magnitude's bits, and what lies beyond it.
	expBits, manBits uint
	bias             int
	maxFinite        uint64
	beyond           beyond
}

type kind uint8

const (
	signed kind = iota
	unsigned
	boolean
	float
)

// beyond says what a format has above its greatest finite value.
type beyond uint8

const (
	ieee      beyond = iota // infinity, then NaNs
	nanOnly                 // one NaN, all ones
	nanAtZero               // one NaN, where negative zero would be
	nothing                 // neither: values saturate
)

// dtypes lists the types, integers first.
var dtypes = []*DType{
	{Name: "i1", Size: 1, kind: boolean},
	{Name: "i8", Size: 1, kind: signed},
	{Name: "i16", Size: 2, kind: signed},
	{Name: "i32", Size: 4, kind: signed},
	{Name: "i64", Size: 8, kind: signed},
	{Name: "u8", Size: 1, kind: unsigned},
	{Name: "u16", Size: 2, kind: unsigned},
	{Name: "u32", Size: 4, kind: unsigned},
	{Name: "u64", Size: 8, kind: unsigned},
	{Name: "fp8e4nv", Size: 1, kind: float, expBits: 4, manBits: 3, bias: 7, maxFinite: 0x7e, beyond: nanOnly},
	{Name: "fp8e4b8", Size: 1, kind: float, expBits: 4, manBits: 3, bias: 8, maxFinite: 0x7f, beyond: nanAtZero},
	{Name: "fp8e4b15", Size: 1, kind: float, expBits: 4, manBits: 3, bias: 15, maxFinite: 0x7f, beyond: nothing},
	{Name: "fp8e5", Size: 1, kind: float, expBits: 5, manBits: 2, bias: 15, maxFinite: 0x7b},
	{Name: "fp8e5b16", Size: 1, kind: float, expBits: 5, manBits: 2, bias: 16, maxFinite: 0x7f, beyond: nanAtZero},
	{Name: "fp16", Size: 2, kind: float, expBits: 5, manBits: 10, bias: 15, maxFinite: 0x7bff},
	{Name: "bf16", Size: 2, kind: float, expBits: 8, manBits: 7, bias: 127, maxFinite: 0x7f7f},
	{Name: "fp32", Size: 4, kind: float, expBits: 8, manBits: 23, bias: 127, maxFinite: 0x7f7fffff},
	{Name: "fp64", Size: 8, kind: float, expBits: 11, manBits: 52, bias: 1023, maxFinite: 0x7fefffffffffffff},
}

// longNames are those of tl.float16 and of PyTorch.
var longNames = [...]struct{ long, short string }{
	{"bool", "i1"},
	{"u1", "i1"},
	{"int1", "i1"},
	{"int8", "i8"},
	{"int16", "i16"},
	{"int32", "i32"},
	{"int64", "i64"},
	{"uint8", "u8"},
	{"uint16", "u16"},
	{"uint32", "u32"},
	{"uint64", "u64"},
	{"float16", "fp16"},
	{"bfloat16", "bf16"},
	{"float32", "fp32"},
	{"float64", "fp64"},
	{"float8e4nv", "fp8e4nv"},
	{"float8e4b8", "fp8e4b8"},
	{"float8e4b15", "fp8e4b15"},
	{"float8e5", "fp8e5"},
	{"float8e5b16", "fp8e5b16"},
	{"float8_e4m3fn", "fp8e4nv"},
	{"float8_e5m2", "fp8e5"},
	{"float8_e4m3fnuz", "fp8e4b8"},
	{"float8_e5m2fnuz", "fp8e5b16"},
}

// Named returns the type of a name, Triton's short or long one, or nil.
func Named(name string) *DType {
	for i := range longNames {
		if longNames[i].long == name {
			name = longNames[i].short
		}
	}
	if i := slices.IndexFunc(dtypes, func(d *DType) bool { return d.Name == name }); i >= 0 {
		return dtypes[i]
	}
	return nil
}

// must is Named for a name that is known to be one.
func must(name string) *DType {
	d := Named(name)
	if d == nil {
		panic("BUG: no element type " + name)
	}
	return d
}

// Names lists the short names, for messages.
func Names() string {
	names := make([]string, len(dtypes))
	for i, d := range dtypes {
		names[i] = d.Name
	}
	return strings.Join(names, " ")
}

func (d *DType) String() string { return d.Name }

// Float reports whether the type is a floating-point one.
func (d *DType) Float() bool { return d.kind == float }

// Round returns the value of the type that is nearest to v.
func (d *DType) Round(v float64) float64 {
	var word [8]byte
	d.put(word[:], v)
	return d.get(word[:])
}

// Bits is the encoding of v in the type, a float type rounding to nearest even.
func (d *DType) Bits(v float64) uint64 {
	var word [8]byte
	d.put(word[:], v)
	return load(word[:d.Size])
}

// Value is what an encoding of the type stands for.
func (d *DType) Value(bits uint64) float64 {
	var word [8]byte
	store(word[:], d.Size, bits)
	return d.get(word[:])
}

// encode rounds v to the float format: to nearest even, and beyond the greatest
// finite value to infinity, to NaN, or to that value, as the format has them.
func (d *DType) encode(v float64) uint64 {
	switch d.Size {
	case 8:
		return math.Float64bits(v)
	case 4:
		return uint64(math.Float32bits(float32(v)))
	}
	sign := uint64(0)
	if math.Signbit(v) {
		sign = 1 << (d.expBits + d.manBits)
	}
	a := math.Abs(v)
	bits := d.maxFinite + 1 // infinity
	switch {
	case a != a:
		return d.nan()
	case a == 0:
		bits = 0
	case !math.IsInf(a, 0):
		least := 1 - d.bias // exponent of the least normal number
		_, exp := math.Frexp(a)
		exp = max(exp-1, least)
		m := uint64(math.RoundToEven(math.Ldexp(a, int(d.manBits)-exp)))
		bits = uint64(exp-least)<<d.manBits + m
	}
	if bits > d.maxFinite {
		switch d.beyond {
		case ieee:
			bits = d.maxFinite + 1
		case nothing:
			bits = d.maxFinite
		default:
			bits = d.nan()
		}
	}
	if d.beyond == nanAtZero && (bits == 0 || bits == d.nan()) {
		return bits // there is no negative zero, and the NaN has its place
	}
	return sign | bits
}

// nan is the bits of a quiet NaN; a format without takes its greatest value.
func (d *DType) nan() uint64 {
	switch d.beyond {
	case nanOnly:
		return 1<<(d.expBits+d.manBits) - 1
	case nanAtZero:
		return 1 << (d.expBits + d.manBits)
	case nothing:
		return d.maxFinite
	}
	return d.maxFinite + 1 + 1<<(d.manBits-1)
}

func (d *DType) decode(bits uint64) float64 {
	switch d.Size {
	case 8:
		return math.Float64frombits(bits)
	case 4:
		return float64(math.Float32frombits(uint32(bits)))
	}
	sign := 1.0
	top := uint64(1) << (d.expBits + d.manBits)
	if d.beyond == nanAtZero && bits == top {
		return math.NaN()
	}
	if bits&top != 0 {
		sign, bits = -1, bits&^top
	}
	if bits > d.maxFinite {
		if d.beyond == ieee && bits == d.maxFinite+1 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	exp, m := int(bits>>d.manBits), bits&(1<<d.manBits-1)
	if exp == 0 {
		exp = 1
	} else {
		m |= 1 << d.manBits
	}
	// The least number of any type, 2^-149, is a normal float64.
	unit := math.Float64frombits(uint64(exp-d.bias-int(d.manBits)+1023) << 52)
	return sign * float64(m) * unit
}

// put writes v into the first Size bytes of b. Integers drop the fraction and
// wrap around.
func (d *DType) put(b []byte, v float64) {
	switch {
	case d.kind == float:
		store(b, d.Size, d.encode(v))
	case d.kind == unsigned && v >= 1<<63:
		store(b, d.Size, uint64(v))
	default:
		d.putInt(b, int64(v))
	}
}

func (d *DType) get(b []byte) float64 {
	switch {
	case d.kind == float:
		return d.decode(load(b[:d.Size]))
	case d.kind == unsigned:
		return float64(load(b[:d.Size]))
	}
	return float64(d.getInt(b))
}

func (d *DType) putInt(b []byte, v int64) {
	switch d.kind {
	case float:
		d.put(b, float64(v))
	case boolean:
		store(b, 1, uint64(v&1))
	default:
		store(b, d.Size, uint64(v))
	}
}

func (d *DType) getInt(b []byte) int64 {
	bits := load(b[:d.Size])
	switch d.kind {
	case float:
		return int64(d.decode(bits))
	case signed:
		shift := 64 - 8*d.Size
		return int64(bits<<shift) >> shift
	}
	return int64(bits)
}

// load and store are little-endian, as every device that we know.
func load(b []byte) uint64 {
	var v uint64
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

func store(b []byte, size int, v uint64) {
	for i := range size {
		b[i] = byte(v >> (8 * i))
	}
}
