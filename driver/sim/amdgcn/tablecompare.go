package amdgcn

import "math"

// compareRows are v_cmp and v_cmpx, which differ in what takes the result.
func compareRows() (rows []row) {
	floats := [...]struct {
		name string
		f    func(x, y float64) bool
	}{
		{"f", func(x, y float64) bool { return false }},
		{"lt", func(x, y float64) bool { return x < y }},
		{"eq", func(x, y float64) bool { return x == y }},
		{"le", func(x, y float64) bool { return x <= y }},
		{"gt", func(x, y float64) bool { return x > y }},
		{"lg", func(x, y float64) bool { return x < y || x > y }},
		{"ge", func(x, y float64) bool { return x >= y }},
		{"o", func(x, y float64) bool { return x == x && y == y }},
		{"u", func(x, y float64) bool { return x != x || y != y }},
		{"nge", func(x, y float64) bool { return !(x >= y) }},
		{"nlg", func(x, y float64) bool { return !(x < y || x > y) }},
		{"ngt", func(x, y float64) bool { return !(x > y) }},
		{"nle", func(x, y float64) bool { return !(x <= y) }},
		{"neq", func(x, y float64) bool { return x != y }},
		{"nlt", func(x, y float64) bool { return !(x < y) }},
		{"tru", func(x, y float64) bool { return true }},
		{"t", func(x, y float64) bool { return true }},
	}
	for _, c := range floats {
		for _, t := range [...]struct {
			name string
			t    dtype
		}{{"f32", dF32}, {"f64", dF64}, {"f16", dF16}} {
			rows = append(rows, sig(row{
				name: "v_cmp_" + c.name + "_" + t.name,
				cmp:  func(a, b uint64) bool { return c.f(t.t.value(a), t.t.value(b)) },
			}, "="+string(t.t)+string(t.t)))
		}
	}
	ints := [...]struct {
		name string
		f    func(sign int) bool
	}{
		{"f", func(int) bool { return false }},
		{"lt", func(s int) bool { return s < 0 }},
		{"eq", func(s int) bool { return s == 0 }},
		{"le", func(s int) bool { return s <= 0 }},
		{"gt", func(s int) bool { return s > 0 }},
		{"ne", func(s int) bool { return s != 0 }},
		{"lg", func(s int) bool { return s != 0 }},
		{"ge", func(s int) bool { return s >= 0 }},
		{"t", func(int) bool { return true }},
	}
	for _, c := range ints {
		for _, t := range [...]struct {
			name, sig string
			order     func(a, b uint64) int
		}{
			{"i32", "=uu", func(a, b uint64) int { return order(int32(a), int32(b)) }},
			{"u32", "=uu", func(a, b uint64) int { return order(uint32(a), uint32(b)) }},
			{"i16", "=ss", func(a, b uint64) int { return order(int16(a), int16(b)) }},
			{"u16", "=ss", func(a, b uint64) int { return order(uint16(a), uint16(b)) }},
			{"i64", "=qq", func(a, b uint64) int { return order(int64(a), int64(b)) }},
			{"u64", "=qq", func(a, b uint64) int { return order(a, b) }},
		} {
			rows = append(rows, sig(row{
				name: "v_cmp_" + c.name + "_" + t.name,
				cmp:  func(a, b uint64) bool { return c.f(t.order(a, b)) },
			}, t.sig))
		}
	}
	return append(rows,
		sig(row{name: "v_cmp_class_f32", cmp: func(a, b uint64) bool { return class(dF32, a)&b != 0 }}, "=fu"),
		sig(row{name: "v_cmp_class_f64", cmp: func(a, b uint64) bool { return class(dF64, a)&b != 0 }}, "=du"),
		sig(row{name: "v_cmp_class_f16", cmp: func(a, b uint64) bool { return class(dF16, a)&b != 0 }}, "=hs"),
	)
}

func order[T int16 | uint16 | int32 | uint32 | int64 | uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// class is the bit of v_cmp_class for a number.
func class(t dtype, a uint64) uint64 {
	x := t.value(a)
	positive := func(k uint) uint64 {
		if a&t.sign() != 0 {
			return 1 << (11 - k)
		}
		return 1 << k
	}
	switch {
	case x != x && quiet(t, a) == a:
		return 2
	case x != x:
		return 1
	case math.IsInf(x, 0):
		return positive(9)
	case x == 0:
		return positive(6)
	case math.Abs(x) < t.least():
		return positive(7)
	}
	return positive(8)
}
