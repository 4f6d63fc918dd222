package npu

import "math"

func readMMAD(r *reader, in *inst, _ regType) {
	in.args, in.pipe = []operand{r.memory(L0A), r.memory(L0B), r.memory(L0C)}, PipeM
	in.flag = r.keyword("init")
	a, b, t := r.typeOf(in.args[0]), r.typeOf(in.args[1]), r.typeOf(in.args[2])
	if r.err != nil {
		return
	}
	floats := (a.elem == F16 || a.elem == BF16 || a.elem == F32) && t.elem == F32
	if a.rank != 2 || b.rank != 2 || t.rank != 2 || a.elem != b.elem || !floats && (a.elem != I8 || t.elem != I32) {
		r.fail("the cube unit does not multiply %s and %s into %s", a, b, t)
	}
}

func execMMAD(c *core, in *inst) {
	var v [3]*view
	for i, o := range in.args {
		var ok bool
		if v[i], ok = c.view(in, o); !ok {
			return
		}
		if v[i].count() < 0 {
			c.stop(in, WrongShape, "there is no memory of the shape %v", v[i].sizes)
			return
		}
	}
	m, k, n := v[0].sizes[0], v[0].sizes[1], v[1].sizes[1]
	if v[1].sizes[0] != k || v[2].sizes[0] != m || v[2].sizes[1] != n {
		c.stop(in, WrongShape, "matrices of the shapes %v and %v have no product of the shape %v", v[0].sizes, v[1].sizes, v[2].sizes)
		return
	}
	if m > 0 && n > 0 && k > 0 {
		a, ok := c.peeks(in, v[0])
		if !ok {
			return
		}
		b, ok := c.peeks(in, v[1])
		if !ok {
			return
		}
		var old access
		if !in.flag {
			if old, ok = c.peeks(in, v[2]); !ok {
				return
			}
		}
		bad := undefined(in, [3]input{products(&a, &b), {a: old}}, m*n)
		t, ok := c.writes(in, v[2])
		if !ok {
			return
		}
		multiply(&a, &b, &t, in.flag)
		t.undefine(bad)
	}
	c.record(in, cubeWork(v[0].elem, m, n, k))
}

// products has, as bytes, which elements of a product are made of written ones alone.
func products(a, b *access) input {
	if a.whole && b.whole {
		return input{}
	}
	m, n := a.v.sizes[0], b.v.sizes[1]
	rows, cols := make([]bool, m), make([]bool, n)
	for w := a.v.walk(); ; {
		rows[w.index[0]] = rows[w.index[0]] || !a.defined(w.at)
		if !w.next() {
			break
		}
	}
	for w := b.v.walk(); ; {
		cols[w.index[1]] = cols[w.index[1]] || !b.defined(w.at)
		if !w.next() {
			break
		}
	}
	known := make([]bool, m*n)
	for i := range m {
		for j := range n {
			known[i*n+j] = !rows[i] && !cols[j]
		}
	}
	v := &view{valid: true, elem: I8, sizes: []int64{m, n}, strides: []int64{n, 1}}
	return input{a: access{v: v, written: known}}
}

// multiply adds the product of two matrices to a third, or replaces it by the product.
// Floats are summed in 64 bits and rounded at the end.
func multiply(a, b, t *access, replace bool) {
	left, right := matrix(a), matrix(b)
	rows, inner, cols := int(a.v.sizes[0]), int(a.v.sizes[1]), int(b.v.sizes[1])
	row := make([]float64, cols)
	size := int64(t.v.elem.Size())
	for i := range rows {
		clear(row)
		for l := range inner {
			x := left[i*inner+l]
			for j, y := range right[l*cols:][:cols] {
				row[j] += x * y
			}
		}
		for j, sum := range row {
			at := t.v.base + (int64(i)*t.v.strides[0]+int64(j)*t.v.strides[1])*size
			if t.v.elem == I32 {
				x := int64(sum) // products of 8 bits stay exact
				if !replace {
					x += t.v.elem.signed(t.get(at))
				}
				t.put(at, uint64(x)&math.MaxUint32)
				continue
			}
			if !replace {
				sum += t.v.elem.value(t.get(at))
			}
			t.put(at, t.v.elem.round(sum))
		}
	}
}

// matrix is the elements of a view as numbers, row by row.
func matrix(a *access) []float64 {
	out := make([]float64, 0, a.v.count())
	for w := a.v.walk(); ; {
		x := a.get(w.at)
		if a.v.elem.float() {
			out = append(out, a.v.elem.value(x))
		} else {
			out = append(out, float64(a.v.elem.signed(x)))
		}
		if !w.next() {
			return out
		}
	}
}
