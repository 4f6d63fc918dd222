package amd

import (
	"slices"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// The functions of ROCm's device libraries under Triton's names: the module
// triton.language.extra.hip.libdevice, which kernels may also import as
// triton.language.extra.libdevice. Package gpu lowers them; ROCm's bitcode is not
// needed.

// ocml are functions of f32 (symbol __ocml_X_f32) and f64 (__ocml_X_f64), with as many
// arguments of that type as the name is followed by, one where it says nothing. A symbol
// that is not the name's follows a colon.
const ocml = "acos acosh asin asinh atan atan2/2 atanh ceil copysign/2 cos cosh cyl_bessel_i0:i0 cyl_bessel_i1:i1 " +
	"erf erfc erfcx erfinv exp exp2 expm1 floor fma/3 fmod/2 hypot/2 j0 j1 lgamma log log10 log1p log2 " +
	"nearbyint nextafter/2 pow/2 round rsqrt sin sinh sqrt tan tanh trunc y0 y1"

// ocmlOnly are functions of ROCm's libraries that Triton's module for HIP lacks and its
// module for CUDA has, so that kernels which call them compile for both vendors' GPUs.
const ocmlOnly = "cbrt cospi erfcinv exp10 fdim/2 logb normcdf:ncdf normcdfinv:ncdfinv norm3d/3:len3 norm4d/4:len4 " +
	"rcbrt remainder/2 rhypot/2 rint rnorm3d/3:rlen3 rnorm4d/4:rlen4 sinpi tgamma"

// singles are functions with overloads of irregular types or symbols: name, arguments,
// result, symbol. A result i1 is an i32 that is zero or not.
const singles = `isnan fp32 i1 __ocml_isnan_f32
isnan fp64 i1 __ocml_isnan_f64
isinf fp32 i1 __ocml_isinf_f32
isinf fp64 i1 __ocml_isinf_f64
finitef fp32 i1 __ocml_isfinite_f32
isfinited fp64 i1 __ocml_isfinite_f64
signbit fp32 i32 __ocml_signbit_f32
signbit fp64 i32 __ocml_signbit_f64
ilogb fp32 i32 __ocml_ilogb_f32
ilogb fp64 i32 __ocml_ilogb_f64
ldexp fp32,i32 fp32 __ocml_ldexp_f32
ldexp fp64,i32 fp64 __ocml_ldexp_f64
scalbn fp32,i32 fp32 __ocml_scalbn_f32
scalbn fp64,i32 fp64 __ocml_scalbn_f64
pow fp32,i32 fp32 __ocml_pown_f32
pow fp64,i32 fp64 __ocml_pown_f64
abs i32 i32 __triton_hip_iabs
abs i64 i64 __triton_hip_iabs
abs fp32 fp32 __triton_hip_fabs
abs fp64 fp64 __triton_hip_fabs
llrint fp32 i64 __triton_hip_llrint
llrint fp64 i64 __triton_hip_llrint
fast_expf fp32 fp32 __triton_hip_fast_expf
fast_tanhf fp32 fp32 __triton_hip_fast_tanhf
fast_dividef fp32,fp32 fp32 __triton_hip_fast_fdividef
div_rn fp32,fp32 fp32 __ocml_div_rte_f32
div_rn fp64,fp64 fp64 __ocml_div_rte_f64
sqrt_rn fp32 fp32 __ocml_sqrt_rte_f32
sqrt_rn fp64 fp64 __ocml_sqrt_rte_f64
fma_rn fp32,fp32,fp32 fp32 __ocml_fma_rte_f32
fma_rn fp64,fp64,fp64 fp64 __ocml_fma_rte_f64
fast_exp10f fp32 fp32 __ocml_native_exp10_f32
fast_logf fp32 fp32 __ocml_native_log_f32
fast_log2f fp32 fp32 __ocml_native_log2_f32
fast_log10f fp32 fp32 __ocml_native_log10_f32
fast_sinf fp32 fp32 __ocml_native_sin_f32
fast_cosf fp32 fp32 __ocml_native_cos_f32`

// libdevice is the module with all of them.
func libdevice() sdk.Module {
	m := sdk.Module{
		Name:    "triton.language.extra.hip.libdevice",
		Aliases: []string{"triton.language.extra.libdevice"},
	}
	add := func(name string, args []string, result, symbol string) {
		m.Externs = append(m.Externs, sdk.ExternFunction{Name: name, Args: args, Result: result, Symbol: symbol, Pure: true})
	}
	for _, f := range strings.Fields(ocml + " " + ocmlOnly) {
		f, symbol, renamed := strings.Cut(f, ":")
		name, digit, several := strings.Cut(f, "/")
		args := 1
		if several {
			args = int(digit[0] - '0')
		}
		if !renamed {
			symbol = name
		}
		add(name, slices.Repeat([]string{"fp32"}, args), "fp32", "__ocml_"+symbol+"_f32")
		add(name, slices.Repeat([]string{"fp64"}, args), "fp64", "__ocml_"+symbol+"_f64")
	}
	for row := range strings.Lines(singles) {
		f := strings.Fields(row)
		add(f[0], strings.Split(f[1], ","), f[2], f[3])
	}
	return m
}

// extraHIP is triton.language.extra.hip. LLVM does not know that the counter is read
// asynchronously, so that the assembly waits itself.
const extraHIP = `import triton
import triton.language as tl


@triton.constexpr_function
def generation():
    return tl.target_info.current_target().arch[:5]


@triton.jit
def memrealtime():
    if generation() == "gfx12":
        return tl.inline_asm_elementwise(
            "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_wait_kmcnt 0x0",
            "=s", [], dtype=tl.int64, is_pure=False, pack=1)
    elif generation() == "gfx11":
        return tl.inline_asm_elementwise(
            "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)",
            "=s", [], dtype=tl.int64, is_pure=False, pack=1)
    else:
        return tl.inline_asm_elementwise(
            "s_memrealtime $0\ns_waitcnt lgkmcnt(0)", "=s", [], dtype=tl.int64, is_pure=False, pack=1)
`

// targetInfo adds to triton.language.target_info.
const targetInfo = `import triton
import triton.language as tl


@triton.constexpr_function
def is_hip_cdna3():
    return tl.target_info.current_target().arch == "gfx942"


@triton.constexpr_function
def is_hip_cdna4():
    return tl.target_info.current_target().arch == "gfx950"
`

// modules are what kernels may import of this backend.
func modules() []sdk.Module {
	return []sdk.Module{
		{Name: "triton.language.target_info", Source: targetInfo},
		{Name: "triton.language.extra.hip", Source: extraHIP},
		libdevice(),
	}
}
