package layouts

import "github.com/tritonc/tritonc/core/ir"

// copies are the values known to be another value in another layout.
type copies struct {
	values map[conversion]*ir.Value
	// keys are the conversions in values of which a value is the operand or the
	// result, and some that were.
	keys map[*ir.Value][]conversion
}

func newCopies() copies {
	return copies{values: make(map[conversion]*ir.Value), keys: make(map[*ir.Value][]conversion)}
}

// of returns a value known to be v with the encoding enc, or nil.
func (c copies) of(v *ir.Value, enc ir.Attribute) *ir.Value { return c.values[conversion{v, enc}] }

// add notes that w is what key says, whatever was before.
func (c copies) add(key conversion, w *ir.Value) {
	c.values[key] = w
	c.keys[key.v] = append(c.keys[key.v], key)
	c.keys[w] = append(c.keys[w], key)
}

// rename makes what is known of v known of w, which takes its place.
func (c copies) rename(v, w *ir.Value) {
	keys := c.keys[v]
	delete(c.keys, v)
	for _, key := range keys {
		have := c.values[key]
		if have == nil {
			continue
		}
		if have == v {
			have = w
			c.add(key, w)
		}
		if key.v == v {
			delete(c.values, key)
			c.add(conversion{w, key.enc}, have)
		}
	}
}
