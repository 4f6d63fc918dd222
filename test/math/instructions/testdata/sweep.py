#!/usr/bin/env python3
"""Runs the kernels of sweep.cubin, which lies beside this file, for all numbers, beside
CUDA's functions of doubles and of floats. Needs CuPy and a GPU.

Prints a row for each function: the digest of its code, the greatest error of ours in units
of the last place of the exact result, the bits of its argument, how many arguments give a NaN or a zero that
is wrong, the greatest error of CUDA's function of floats as nvcc compiles it by default,
and the same with subnormal numbers flushed and approximate division and roots, the
nearest to what Triton links, where nothing is flushed. Functions of two arguments have every number as the first.
"""

import os
import sys
import tempfile

import cupy
from cupy.cuda import nvrtc

HERE = os.path.dirname(os.path.abspath(__file__))

# Ours: (CUDA's name, where it is measured). Elsewhere CUDA's function of doubles, too,
# has errors that are not relative to the result.
ONE = {name: (name, "true") for name in (
    "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan sinpi cospi asin acos atan sinh cosh tanh asinh acosh atanh "
    "erf erfc erfcx erfinv erfcinv normcdf normcdfinv tgamma cyl_bessel_i0 cyl_bessel_i1 cbrt rcbrt rsqrt sqrt logb round "
    "rint").split()}
ONE["lgamma"] = ("lgamma", "!(x < -2)")
ONE |= {name: (name, "!(fabsf(x) > 8)") for name in ("j0", "j1", "y0", "y1")}
TWO = {name: (name, "true") for name in "pow atan2 hypot rhypot fmod remainder fdim".split()}
TWO["nextafter"] = ("", "true")  # of doubles it is another function

FOLDER = tempfile.TemporaryDirectory()
AS_IT_IS = ("--ftz=false", "--prec-div=true", "--prec-sqrt=true")
FLUSHED = ("--ftz=true", "--prec-div=false", "--prec-sqrt=false")

SOURCE = r"""
__device__ double off(float got, double want) {
    double g = got;
    if (isinf(got)) g = copysign(0x1p128, g);
    if (fabs(want) >= 0x1p128) want = copysign(0x1p128, want);
    int e = want == 0 ? -126 : max(min(ilogb(want), 127), -126);
    return fabs(g - want) * ldexp(1.0, 23 - e);
}

__device__ unsigned long long mix(unsigned long long x) {
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
    return x ^ x >> 32;
}

// The second argument: any number, or one of a size like that of the first, or, for
// powers, one for which the result is in range.
extern "C" __global__ void fill(float *px, float *py, unsigned first, int power) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, b = first + i;
    float x = __uint_as_float(b), y;
    unsigned long long r = mix(b);
    if (r >> 60 == 0) {
        y = __uint_as_float(r);
    } else if (power) {
        y = 155 * (float)((double)(long long)(r << 4) * 0x1p-63) / log2f(fabsf(x));
        if (x < 0 || r >> 60 < 3) y = rintf(y);
    } else {
        int e = max(min((int)(b >> 23 & 255) + (int)(r >> 32 & 63) - 40, 255), 0);
        y = __uint_as_float((unsigned)r & 0x807FFFFF | (unsigned)e << 23);
    }
    px[i] = x;
    py[i] = y;
}

// judge keeps the greatest error, as bits of a float above the bits of the argument.
__device__ void judge(float got, double want, unsigned bits, unsigned long long *worst) {
    if (isnan(got) || isnan(want)) return;
    unsigned long long key = (unsigned long long)__float_as_uint((float)off(got, want)) << 32 | bits;
    if (key > *(volatile unsigned long long *)worst) atomicMax(worst, key);
}

// out: the greatest errors of ours, CUDA's and CUDA's flushed, and how often ours is NaN, or
// zero with a sign, and should not be.
extern "C" __global__ void check(const float *px, const float *py, const float *po, const float *pc, const float *pf,
                                 unsigned long long *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = px[i], y = py[i], got = po[i];
    if (!(WHERE)) return;
    double want = EXACT;
    if (isnan(got) != isnan(want) || want == 0 && __float_as_uint(got) != __float_as_uint((float)want)) {
        atomicAdd(out + 3, 1ull);
    } else {
        judge(got, want, __float_as_uint(x), out);
    }
    judge(pc[i], want, __float_as_uint(x), out + 1);
    // Neither numbers nor results that are flushed count.
    if (fabsf(x) < 0x1p-126f || TWO && fabsf(y) < 0x1p-126f || fabs(want) < 0x1p-126) return;
    judge(pf[i], want, __float_as_uint(x), out + 2);
}
"""

THEIRS = r"""
extern "C" __global__ void theirs(const float *px, const float *py, float *po) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = px[i], y = py[i];
    po[i] = SINGLE;
}
"""


def compiled(text, *options):
    # Not by RawModule, which always flushes subnormal numbers.
    program = nvrtc.createProgram(text, "sweep.cu", [], [])
    try:
        nvrtc.compileProgram(program, ("--gpu-architecture=sm_90", "--std=c++17", *options))
    except nvrtc.NVRTCError:
        sys.stderr.write(nvrtc.getProgramLog(program))
        raise
    handle, path = tempfile.mkstemp(suffix=".cubin", dir=FOLDER.name)  # loaded when a kernel is asked for
    with os.fdopen(handle, "wb") as f:
        f.write(nvrtc.getCUBIN(program))
    return cupy.RawModule(path=path)


def modules(name, theirs, where, two):
    """Kernels that fill and check, and CUDA's function as it is and flushed."""
    arguments = "x, y" if two else "x"
    wide = "(double)x, (double)y" if two else "(double)x"
    single = f"{theirs or name}f({arguments})"
    exact = f"{theirs}({wide})" if theirs else single
    check = compiled(SOURCE.replace("WHERE", where).replace("EXACT", exact).replace("TWO", str(int(two))), *AS_IT_IS)
    text = THEIRS.replace("SINGLE", single)
    return check, compiled(text, *AS_IT_IS).get_function("theirs"), compiled(text, *FLUSHED).get_function("theirs")


def greatest(word):
    return float(cupy.asarray([word >> 32], dtype=cupy.uint32).view(cupy.float32)[0]), word & 0xFFFFFFFF


def main():
    with open(os.path.join(HERE, "digests.tsv")) as f:
        digests = dict(line.split() for line in f)
    ours = cupy.RawModule(path=os.path.join(HERE, "sweep.cubin"))
    grid, chunk = ((1 << 20,), (256,)), 1 << 28
    x, y, o, c, f = (cupy.empty(chunk, dtype=cupy.float32) for _ in range(5))
    print("# Errors over all 2^32 (first) arguments on a GPU: function, digest of its code, greatest of ours, bits of\n"
          "# its argument, wrong zeros and NaNs, greatest of CUDA's, the same flushed and approximate. sweep.py writes this.")
    print(f"# {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CUDA {cupy.cuda.runtime.runtimeGetVersion()}")
    for name, (theirs, where) in (ONE | TWO).items():
        check, plain, flushed = modules(name, theirs, where, name in TWO)
        out = cupy.zeros(4, dtype=cupy.uint64)
        for first in range(0, 1 << 32, chunk):
            check.get_function("fill")(*grid, (x, y, cupy.uint32(first), cupy.int32(name == "pow")))
            ours.get_function(f"k_{name}")(*grid, (x, y, o))
            plain(*grid, (x, y, c))
            flushed(*grid, (x, y, f))
            check.get_function("check")(*grid, (x, y, o, c, f, out))
        *words, wrong = (int(v) for v in out.get())
        (worst, at), (default, _), (fast, _) = map(greatest, words)
        print(f"{name}\t{digests[name]}\t{worst:.4f}\t{at:08x}\t{wrong}\t{default:.4f}\t{fast:.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
