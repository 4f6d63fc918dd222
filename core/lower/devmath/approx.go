package devmath

import "github.com/tritonc/tritonc/core/llir"

// Approx are instructions of a GPU that give nearly what they should, with
// which some functions are shorter. Their errors are in units of the last place of an f32.
type Approx struct {
	// Exp2 is 2^x for x ≥ 0, off by two units; infinite from 128 on.
	Exp2 func(b *llir.Builder, x llir.Value) llir.Value
	// Inverse is 1/x for |x| between 2^-100 and 2^100, off by one unit; beyond, any
	// number between 0 and 1/x, as for infinities 0.
	Inverse func(b *llir.Builder, x llir.Value) llir.Value
	// InverseRoot is 1/√x for x ≥ 2^-100, off by two units; NaN below zero, anything
	// between.
	InverseRoot func(b *llir.Builder, x llir.Value) llir.Value
	// InverseDouble is 1/x of an f64, |x| between 2^-1000 and 2^1000, to 2^-19 of it.
	InverseDouble func(b *llir.Builder, x llir.Value) llir.Value
}

// short are the functions that are shorter with a GPU's approximations, and
// keep their bounds. (The exponentials would not: what 2^x errs by, they would.)
var short = map[string]func(k kit, x []llir.Value) llir.Value{
	"log":        func(k kit, x []llir.Value) llir.Value { return k.log(x[0]) },
	"log2":       func(k kit, x []llir.Value) llir.Value { return k.log2(x[0]) },
	"log10":      func(k kit, x []llir.Value) llir.Value { return k.log10(x[0]) },
	"log1p":      func(k kit, x []llir.Value) llir.Value { return k.log1pOne(x[0]) },
	"erf":        func(k kit, x []llir.Value) llir.Value { return k.erf(x[0]) },
	"sinh":       func(k kit, x []llir.Value) llir.Value { return k.sinh(x[0]) },
	"cosh":       func(k kit, x []llir.Value) llir.Value { return k.cosh(x[0]) },
	"asinh":      func(k kit, x []llir.Value) llir.Value { return k.asinh(x[0]) },
	"acosh":      func(k kit, x []llir.Value) llir.Value { return k.acosh(x[0]) },
	"atanh":      func(k kit, x []llir.Value) llir.Value { return k.atanh(x[0]) },
	"erfc":       func(k kit, x []llir.Value) llir.Value { return k.erfc(x[0]) },
	"erfcx":      func(k kit, x []llir.Value) llir.Value { return k.erfcx(x[0]) },
	"erfinv":     func(k kit, x []llir.Value) llir.Value { return k.erfinv(x[0]) },
	"erfcinv":    func(k kit, x []llir.Value) llir.Value { return k.erfcinv(x[0]) },
	"normcdfinv": func(k kit, x []llir.Value) llir.Value { return k.normcdfinv(x[0]) },
	"normcdf":    func(k kit, x []llir.Value) llir.Value { return k.normcdf(x[0]) },
	"hypot":      kit.hypot,
	"norm3d":     kit.hypot,
	"norm4d":     kit.hypot,
	"rhypot":     kit.rhypot,
	"rnorm3d":    kit.rhypot,
	"rnorm4d":    kit.rhypot,
	"tan":        func(k kit, x []llir.Value) llir.Value { return k.tan(x[0]) },
	"tanh":       func(k kit, x []llir.Value) llir.Value { return k.tanh(x[0]) },
	"atan":       func(k kit, x []llir.Value) llir.Value { return k.atan(x[0]) },
	"asin":       func(k kit, x []llir.Value) llir.Value { return k.asin(x[0]) },
	"acos":       func(k kit, x []llir.Value) llir.Value { return k.acos(x[0]) },
	"fmod":       func(k kit, x []llir.Value) llir.Value { return k.fmod(x[0], x[1]) },
	"remainder":  func(k kit, x []llir.Value) llir.Value { return k.remainder(x[0], x[1]) },
	"pow":        func(k kit, x []llir.Value) llir.Value { return k.pow(x[0], x[1]) },
}

// Find is the package's Find, with shorter code where there is.
func (a *Approx) Find(name string) *Function {
	f, quick := functions[name], short[name]
	if quick == nil {
		return f
	}
	return &Function{f.Args, func(b *llir.Builder, x ...llir.Value) llir.Value {
		k := kitFor(b, x[0])
		k.hw = a
		return quick(k, x)
	}}
}
