package llirsim

import (
	"math"
	"math/bits"
	"strings"

	"github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/llir"
)

// call executes a call, or begins to wait for the other lanes.
func (t *Thread) call(c *ir.InstCall) {
	if asm, ok := c.Callee.(*ir.InlineAsm); ok && asm.Asm == "" && len(c.Args) == 0 {
		return // it only orders what is around it
	}
	callee, ok := c.Callee.(*ir.Func)
	if !ok {
		fail("cannot execute %s", c.LLString())
	}
	name, target := callee.GlobalName, t.p.k.Target
	if name == target.Barrier || target.Warp[name] != nil || target.Wide[name] != nil {
		t.wait = c
		return
	}
	if target.Ordering[name] {
		return
	}
	if f := target.Thread[name]; f != nil {
		args := make([]uint64, len(c.Args))
		for i, a := range c.Args {
			args[i] = t.get(a).lo
		}
		t.define(c, value{lo: f(t, args)})
		return
	}
	args := make([]value, len(c.Args))
	for i, a := range c.Args {
		args[i] = t.get(a)
	}
	if len(callee.Blocks) > 0 {
		t.enter(callee, c, args)
		return
	}
	base, ok := strings.CutPrefix(name, "llvm.")
	if !ok {
		fail("nothing defines the function %s", name)
	}
	switch base {
	case "assume":
		if t.defined(c.Args[0]) == 0 {
			fail("what llvm.assume is told does not hold")
		}
		return
	case "trap":
		fail("thread %d of program %v traps", t.Index, t.Program)
	}
	base, _, _ = strings.Cut(base, ".")
	t.define(c, mapped(c.Typ, func(elem llir.Type, x []value) value {
		if llir.IsFloat(elem) {
			return floatIntrinsic(base, elem, x)
		}
		return intIntrinsic(base, llir.Width(elem), x)
	}, args...))
}

func floatIntrinsic(name string, t llir.Type, x []value) value {
	a := asFloat(t, x[0])
	sign := uint64(1) << (llir.Width(t) - 1)
	switch name {
	case "fabs":
		return value{lo: x[0].lo &^ sign}
	case "copysign":
		return value{lo: x[0].lo&^sign | x[1].lo&sign}
	case "fma":
		return fma(t, a, asFloat(t, x[1]), asFloat(t, x[2]))
	case "sqrt":
		return ofFloat(t, math.Sqrt(a))
	case "floor":
		return ofFloat(t, math.Floor(a))
	case "ceil":
		return ofFloat(t, math.Ceil(a))
	case "trunc":
		return ofFloat(t, math.Trunc(a))
	case "round":
		return ofFloat(t, math.Round(a))
	case "roundeven", "rint":
		return ofFloat(t, math.RoundToEven(a))
	case "minnum":
		return ofFloat(t, minNum(a, asFloat(t, x[1])))
	case "maxnum":
		return ofFloat(t, -minNum(-a, -asFloat(t, x[1])))
	case "minimum":
		return ofFloat(t, min(a, asFloat(t, x[1])))
	case "maximum":
		return ofFloat(t, max(a, asFloat(t, x[1])))
	}
	fail("no intrinsic %s of floats", name)
	return value{}
}

// minNum is the lesser number; a NaN is none.
func minNum(x, y float64) float64 {
	switch {
	case math.IsNaN(x):
		return y
	case math.IsNaN(y):
		return x
	}
	return min(x, y)
}

func intIntrinsic(name string, w int, x []value) value {
	switch name {
	case "umin", "umax", "smin", "smax":
		return integer(name, x[0], x[1], w)
	case "abs":
		if n := signed(x[0], w); n < 0 {
			return cut(value{lo: uint64(-n)}, w)
		}
		return x[0]
	case "ctpop":
		return value{lo: uint64(bits.OnesCount64(x[0].lo))}
	case "ctlz":
		return value{lo: uint64(bits.LeadingZeros64(x[0].lo) - (64 - w))}
	case "cttz":
		return value{lo: uint64(min(bits.TrailingZeros64(x[0].lo), w))}
	case "bitreverse":
		return value{lo: bits.Reverse64(x[0].lo) >> (64 - w)}
	case "fshl", "fshr":
		n := int(x[2].lo % uint64(w))
		if name == "fshr" {
			if n == 0 {
				return x[1]
			}
			n = w - n
		}
		if n == 0 {
			return x[0]
		}
		return cut(value{lo: x[0].lo<<n | x[1].lo>>(w-n)}, w)
	case "bswap":
		return value{lo: bits.ReverseBytes64(x[0].lo) >> (64 - w)}
	}
	fail("no intrinsic %s of integers", name)
	return value{}
}
