package devmath

import "github.com/tritonc/tritonc/core/llir"

// Function is a function under the name that it has in C's library.
type Function struct {
	// Args is the number of operands, all of one type, f32 or f64, which is the
	// result's as well.
	Args int
	// Build appends the function's code.
	Build func(b *llir.Builder, x ...llir.Value) llir.Value
}

func one(f func(*llir.Builder, llir.Value) llir.Value) *Function {
	return &Function{1, func(b *llir.Builder, x ...llir.Value) llir.Value { return f(b, x[0]) }}
}

func two(f func(b *llir.Builder, x, y llir.Value) llir.Value) *Function {
	return &Function{2, func(b *llir.Builder, x ...llir.Value) llir.Value { return f(b, x[0], x[1]) }}
}

// functions by name.
var functions = map[string]*Function{
	"exp": one(Exp), "exp2": one(Exp2), "exp10": one(Exp10), "expm1": one(Expm1),
	"log": one(Log), "log2": one(Log2), "log10": one(Log10), "log1p": one(Log1p), "logb": one(Logb),
	"sin": one(Sin), "cos": one(Cos), "tan": one(Tan), "sinpi": one(Sinpi), "cospi": one(Cospi),
	"asin": one(Asin), "acos": one(Acos), "atan": one(Atan), "atan2": two(Atan2),
	"sinh": one(Sinh), "cosh": one(Cosh), "tanh": one(Tanh),
	"asinh": one(Asinh), "acosh": one(Acosh), "atanh": one(Atanh),
	"erf": one(Erf), "erfc": one(Erfc), "erfcx": one(Erfcx), "erfinv": one(Erfinv), "erfcinv": one(Erfcinv),
	"normcdf": one(Normcdf), "normcdfinv": one(Normcdfinv), "tgamma": one(Tgamma), "lgamma": one(Lgamma),
	"j0": one(J0), "j1": one(J1), "y0": one(Y0), "y1": one(Y1),
	"cyl_bessel_i0": one(BesselI0), "cyl_bessel_i1": one(BesselI1),
	"pow": two(Pow), "cbrt": one(Cbrt), "rcbrt": one(Rcbrt), "rsqrt": one(Rsqrt),
	"hypot": {2, Hypot}, "norm3d": {3, Hypot}, "norm4d": {4, Hypot},
	"rhypot": {2, Rhypot}, "rnorm3d": {3, Rhypot}, "rnorm4d": {4, Rhypot},
	"fmod": two(Fmod), "remainder": two(Remainder), "fdim": two(Fdim), "nextafter": two(Nextafter),
}

// Find gives the function with a name, such as "atan2"; nil if there is none.
func Find(name string) *Function { return functions[name] }
