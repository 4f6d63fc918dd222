package nvidia

import (
	"slices"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// The functions of CUDA's libdevice under Triton's names: the module
// triton.language.extra.cuda.libdevice, which kernels may also import as
// triton.language.extra.libdevice. Rows give names and types; symbols follow
// libdevice's own rules from them.

// both are functions of f32 (symbol __nv_Xf) and f64 (__nv_X), with as many
// arguments of that type as the name is followed by, one where it says nothing.
const both = "acos acosh asin asinh atan atan2/2 atanh cbrt ceil copysign/2 cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 " +
	"erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fdim/2 floor fma/3 fmod/2 hypot/2 j0 j1 lgamma log log10 log1p log2 logb " +
	"nearbyint nextafter/2 norm3d/3 norm4d/4 normcdf normcdfinv pow/2 rcbrt remainder/2 rhypot/2 rint rnorm3d/3 rnorm4d/4 " +
	"round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1"

// fast are approximations of f32; their symbols are __nv_fast_X.
const fast = "sinf cosf log2f logf expf tanf exp10f log10f powf/2"

// rounded are operations with a rounding mode in the name: of f32 __nv_fX_rM and
// of f64 __nv_dX_rM, but fma __nv_fmaf_rM and __nv_fma_rM.
const rounded = "fma/3 add/2 mul/2 sub/2 div/2 rcp sqrt"

// roundings are the rounding modes: to nearest even, toward zero, down, up.
var roundings = []string{"rn", "rz", "rd", "ru"}

// conversions with a rounding mode: from to, in libdevice's names of types.
const conversions = "double2float double2int double2uint double2ll double2ull float2int float2uint float2ll float2ull " +
	"int2float uint2float ll2float ull2float ll2double ull2double"

// single are functions with one or more overloads of irregular symbols:
// name, arguments, result, symbol. A result i1 is an i32 that is zero or not.
const single = `abs i32 i32 abs
abs i64 i64 llabs
abs fp32 fp32 fabsf
abs fp64 fp64 fabs
clz i32 i32 clz
clz i64 i32 clzll
popc i32 i32 popc
popc i64 i32 popcll
ffs i32 i32 ffs
ffs i64 i32 ffsll
brev i32 i32 brev
brev i64 i64 brevll
byte_perm i32,i32,i32 i32 byte_perm
mulhi i32,i32 i32 mulhi
mulhi u32,u32 u32 umulhi
mulhi i64,i64 i64 mul64hi
mulhi u64,u64 u64 umul64hi
mul24 i32,i32 i32 mul24
mul24 u32,u32 u32 umul24
sad i32,i32,u32 i32 sad
sad u32,u32,u32 u32 usad
hadd i32,i32 i32 hadd
hadd u32,u32 u32 uhadd
rhadd i32,i32 i32 rhadd
rhadd u32,u32 u32 urhadd
saturatef fp32 fp32 saturatef
rcp64h fp64 fp64 rcp64h
isnan fp32 i1 isnanf
isnan fp64 i1 isnand
isinf fp32 i1 isinff
isinf fp64 i1 isinfd
signbit fp32 i32 signbitf
signbit fp64 i32 signbitd
isfinited fp64 i1 isfinited
finitef fp32 i1 finitef
fast_dividef fp32,fp32 fp32 fast_fdividef
rsqrt_rn fp32 fp32 frsqrt_rn
ilogb fp32 i32 ilogbf
ilogb fp64 i32 ilogb
llrint fp32 i64 llrintf
llrint fp64 i64 llrint
llround fp32 i64 llroundf
llround fp64 i64 llround
ldexp fp32,i32 fp32 ldexpf
ldexp fp64,i32 fp64 ldexp
scalbn fp32,i32 fp32 scalbnf
scalbn fp64,i32 fp64 scalbn
jn i32,fp32 fp32 jnf
jn i32,fp64 fp64 jn
yn i32,fp32 fp32 ynf
yn i32,fp64 fp64 yn
pow fp32,i32 fp32 powif
pow fp64,i32 fp64 powi
int2double_rn i32 fp64 int2double_rn
uint2double_rn u32 fp64 uint2double_rn
hiloint2double i32,i32 fp64 hiloint2double
double2loint fp64 i32 double2loint
double2hiint fp64 i32 double2hiint
int_as_float i32 fp32 int_as_float
float_as_int fp32 i32 float_as_int
uint_as_float u32 fp32 uint_as_float
float_as_uint fp32 u32 float_as_uint
longlong_as_double i64 fp64 longlong_as_double
double_as_longlong fp64 i64 double_as_longlong`

// cTypes are Triton's names of the types in the names of conversions.
var cTypes = map[string]string{
	"double": "fp64", "float": "fp32", "int": "i32", "uint": "u32", "ll": "i64", "ull": "u64",
}

// arity splits "fma/3" into its name and 3; a bare name has one argument.
func arity(s string) (name string, n int) {
	name, digits, ok := strings.Cut(s, "/")
	if !ok {
		return name, 1
	}
	return name, int(digits[0] - '0')
}

func extern(name string, args []string, result, symbol string) sdk.ExternFunction {
	return sdk.ExternFunction{Name: name, Args: args, Result: result, Symbol: "__nv_" + symbol, Pure: true}
}

func libdevice() sdk.Module {
	m := sdk.Module{
		Name:    "triton.language.extra.cuda.libdevice",
		Aliases: []string{"triton.language.extra.libdevice"},
	}
	add := func(name string, args []string, result, symbol string) {
		m.Externs = append(m.Externs, extern(name, args, result, symbol))
	}
	for _, f := range strings.Fields(both) {
		name, n := arity(f)
		add(name, slices.Repeat([]string{"fp32"}, n), "fp32", name+"f")
		add(name, slices.Repeat([]string{"fp64"}, n), "fp64", name)
	}
	for _, f := range strings.Fields(fast) {
		name, n := arity(f)
		add("fast_"+name, slices.Repeat([]string{"fp32"}, n), "fp32", "fast_"+name)
	}
	for _, f := range strings.Fields(rounded) {
		name, n := arity(f)
		for _, r := range roundings {
			single, double := "f"+name, "d"+name
			if name == "fma" {
				single, double = "fmaf", "fma"
			}
			add(name+"_"+r, slices.Repeat([]string{"fp32"}, n), "fp32", single+"_"+r)
			add(name+"_"+r, slices.Repeat([]string{"fp64"}, n), "fp64", double+"_"+r)
		}
	}
	for _, c := range strings.Fields(conversions) {
		from, to, _ := strings.Cut(c, "2")
		for _, r := range roundings {
			add(c+"_"+r, []string{cTypes[from]}, cTypes[to], c+"_"+r)
		}
	}
	for row := range strings.Lines(single) {
		f := strings.Fields(row)
		add(f[0], strings.Split(f[1], ","), f[2], f[3])
	}
	return m
}

// extraCUDA is triton.language.extra.cuda: what a program may ask the device,
// in the Triton language.
const extraCUDA = `import triton
import triton.language as tl


@triton.jit
def globaltimer():
    return tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def smid():
    return tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=True, pack=1)


@tl.core.extern
def num_warps():
    return tl.core._num_warps()


@tl.core.extern
def num_threads():
    return tl.core._num_warps() * tl.core._warp_size()


@triton.jit
def gdc_wait():
    tl.static_assert(
        tl.target_info.cuda_capability_geq(9), "gdc_wait needs compute capability 9.0 or higher")
    tl.inline_asm_elementwise(
        "griddepcontrol.wait; // dummy $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def gdc_launch_dependents():
    tl.static_assert(
        tl.target_info.cuda_capability_geq(9), "gdc_launch_dependents needs compute capability 9.0 or higher")
    tl.inline_asm_elementwise(
        "griddepcontrol.launch_dependents; // dummy $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1)


# Casts from and to fp8e4b15, for which no hardware has an instruction. On all
# architectures that the backend knows the two are one.
@triton.jit
def convert_custom_float8_sm80(arg, dst_ty: tl.constexpr, fp_downcast_rounding: tl.constexpr = None):
    if arg.type.scalar.is_fp8e4b15():
        if dst_ty.scalar.is_fp32():
            return arg.to(tl.float32)
        else:
            return arg.to(tl.float16)
    else:
        tl.static_assert(arg.type.scalar.is_fp16() or arg.type.scalar.is_fp32(), "fp8e4b15 is made of fp16 or fp32")
        return arg.to(tl.float8e4b15)


convert_custom_float8_sm70 = convert_custom_float8_sm80
`

// modules are what kernels may import of this backend.
func modules() []sdk.Module {
	return []sdk.Module{
		{Name: "triton.language.extra.cuda", Source: extraCUDA},
		libdevice(),
	}
}
