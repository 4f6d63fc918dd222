package main

import "github.com/tritonc/tritonc/driver/array"

// arrayMemo keeps generated arrays for launches that take the same ones: random
// values are slow to make. A nil memo keeps none.
type arrayMemo struct{ now, before map[string]*array.Array }

// turn forgets the arrays that nobody has asked for since the turn before.
func (m *arrayMemo) turn() { m.before, m.now = m.now, map[string]*array.Array{} }

// array is the array of a description, which make makes.
func (m *arrayMemo) array(key string, make func() (*array.Array, error)) (*array.Array, error) {
	if m == nil {
		return make()
	}
	x := m.now[key]
	if x == nil {
		x = m.before[key]
	}
	if x == nil {
		var err error
		if x, err = make(); err != nil {
			return nil, err
		}
	}
	if m.now == nil {
		m.turn()
	}
	m.now[key] = x
	return x, nil
}
