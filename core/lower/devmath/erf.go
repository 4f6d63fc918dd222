package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

var (
	// erf(x)/x - 1 as a polynomial in x², |x| ≤ 0.95; erf errs by 6.6e-10.
	erfSmall = []float64{
		0.1283791664647878, -0.37612632047125927, 0.11283669468606537, -0.02685795906208454,
		0.005197487225425176, -0.0008102915550351549, 8.204169639990477e-05,
	}
	// log2(1 - erf(x)) for 0.92 ≤ x ≤ 3.95; erf errs by 2.8e-9.
	erfLarge = []float64{
		0.0004701820495536668, -1.630623069880372, -0.9114507455299777, -0.15889923882213258, 0.03817286705842081,
		-0.0068879706833257625, 0.000865941656686821, -6.707574381101993e-05, 2.3957341022763886e-06,
	}
	// (tanh(x) - x)/x³ as a polynomial in x², |x| ≤ 0.65; tanh errs by 1.0e-9.
	tanhSmall = []float64{
		-0.3333333308401984, 0.13333290745778528, -0.05395634939438757, 0.021746187076258538,
		-0.0082724567024282, 0.0022149027166376415,
	}
)

// Erf is the error function of an f32; nil for other types.
func Erf(b *llir.Builder, x llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	k := kitFor(b, x)
	a := k.abs(x)
	small := k.fma(x, k.poly(k.mul(x, x), erfSmall), x)
	far := k.Call(k.M.Declare("llvm.minnum.f32", llir.Pure, llir.F32, llir.F32, llir.F32), a, k.num(3.95))
	large := k.Binary(llir.FSub, k.num(1), k.power2(k.poly(far, erfLarge)), 0)
	y := k.Select(k.FCmp(enum.FPredOLT, a, k.num(0.94)), small, k.withSign(large, x))
	return k.Select(k.FCmp(enum.FPredUNO, x, x), x, y)
}

// Tanh is the hyperbolic tangent of an f32; nil for other types.
func Tanh(b *llir.Builder, x llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	k := kitFor(b, x)
	a := k.abs(x)
	z := k.mul(x, x)
	small := k.fma(k.mul(x, z), k.poly(z, tanhSmall), x)
	// 1 - 2/(e^2a + 1), which is 1 to the last place from 9.1 on.
	far := k.Call(k.M.Declare("llvm.minnum.f32", llir.Pure, llir.F32, llir.F32, llir.F32), a, k.num(9.2))
	e := k.power2(k.mul(far, k.num(2*math.Log2E)))
	large := k.Binary(llir.FSub, k.num(1), k.Binary(llir.FDiv, k.num(2), k.add(e, k.num(1)), 0), 0)
	y := k.Select(k.FCmp(enum.FPredOLT, a, k.num(0.6)), small, k.withSign(large, x))
	return k.Select(k.FCmp(enum.FPredUNO, x, x), x, y)
}

func (k kit) abs(x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.fabs."+k.name, llir.Pure, k.t, k.t), x)
}

// withSign is y, not negative, with the sign of x.
func (k kit) withSign(y, x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.copysign."+k.name, llir.Pure, k.t, k.t, k.t), y, x)
}

// power2 is 2^x for an f32 x of moderate size, without special cases.
func (k kit) power2(x llir.Value) llir.Value {
	n := k.round(x)
	r := k.mul(k.Binary(llir.FSub, x, n, 0), k.num(math.Ln2))
	y := k.add(k.fma(k.mul(r, r), k.poly(r, expSingle), r), k.num(1))
	return k.mul(y, k.power(k.Freeze(k.Cast(llir.FPToSI, n, k.bits, 0))))
}
