package lower

import (
	llvmir "github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// wordBits is the size of the registers in which short elements travel together.
const wordBits = 32

// carriedValue is what a loop carries of one value from iteration to iteration: a phi
// for each register, or for a word of several.
type carriedValue struct {
	arg  *ir.Value // of the loop's body
	elem llir.Type
	per  int // registers of a phi
	phis []*llvmir.InstPhi
}

// carry decides how a loop carries arg, the argument of its body for which an iteration
// yields next. Short elements that come from memory in words stay in them: to take each
// out, and to join it with others again, is more work than to load them.
func (e *emitter) carry(arg, next *ir.Value) (*carriedValue, error) {
	t, err := scalarType(arg.Type())
	if err != nil {
		return nil, err
	}
	n, err := e.m.regsOf(arg.Type())
	if err != nil {
		return nil, err
	}
	c := &carriedValue{arg: arg, elem: t, per: 1}
	if next.DefIs(tt.Load) {
		if bits := llir.Width(t); bits >= 8 && bits < wordBits && n*bits%wordBits == 0 {
			c.per = wordBits / bits
		}
	}
	c.phis = make([]*llvmir.InstPhi, n/c.per)
	return c, nil
}

// enter makes the phis at the start of the loop's body.
func (c *carriedValue) enter(e *emitter) {
	t := c.elem
	if c.per > 1 {
		t = llir.I32
	}
	for i := range c.phis {
		c.phis[i] = e.b.Phi(t)
	}
}

// receive gives the body its registers, after the phis of all values.
func (c *carriedValue) receive(e *emitter) {
	var regs []llir.Value
	for _, p := range c.phis {
		if c.per == 1 {
			regs = append(regs, p)
			continue
		}
		word := e.b.BitCast(p, e.m.llvm.Vec(c.per, c.elem))
		for i := range c.per {
			regs = append(regs, e.b.ExtractElement(word, i))
		}
	}
	e.set(c.arg, regs)
}

// incoming are the values of the phis for regs, computed at the builder's block.
func (c *carriedValue) incoming(e *emitter, regs []llir.Value) []llir.Value {
	if c.per == 1 {
		return regs
	}
	words := make([]llir.Value, len(c.phis))
	for i := range words {
		words[i] = e.b.BitCast(e.b.Vector(regs[i*c.per:(i+1)*c.per]...), llir.I32)
	}
	return words
}
