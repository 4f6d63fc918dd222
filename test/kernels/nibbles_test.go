package kernels

import (
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestNibblesToFloats builds bf16 out of packed 4-bit floats (e2m1) with unsigned
// arithmetic of 8 bits: (exponent - 1 + 127) << 23. Triton 3.6's code for it loses
// the exponents of the high nibbles on an H200; see docs/triton-faults.md.
func TestNibblesToFloats(t *testing.T) {
	k := kerneltest.Kernel{Source: `import triton
import triton.language as tl


@triton.jit
def unpack(q, p, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    byte = tl.load(p + at, mask=at < n)
    nibble = tl.interleave(byte >> 4, byte & 15)
    sign = nibble & 8
    size = nibble ^ sign
    exponent = (size >> 1) - 1 + 127
    bits = (exponent.to(tl.int32) << 23) | ((size & 1).to(tl.int32) << 22)
    bits = tl.where(size == 0, 0, tl.where(size == 1, 0x3F000000, bits)) | (sign.to(tl.int32) << 28)
    out = tl.program_id(0) * B * 2 + tl.arange(0, B * 2)
    tl.store(q + out, bits.to(tl.float32, bitcast=True).to(tl.bfloat16), mask=out < n * 2)
`, Name: "unpack"}
	values := [16]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
	forWarps(t, k, func(t *testing.T, k kerneltest.Kernel) {
		for _, target := range []string{"cuda:80", "cuda:90"} {
			const n, b = 251, 64
			in, out := kerneltest.Randint(kerneltest.Rand(t), 0, 255, "u8", n), kerneltest.Empty("bf16", 2*n)
			bytes := in.Floats()
			k.Target = target
			k.Run(t, kerneltest.Grid(cdiv(n, b)), out, in, n, b)
			kerneltest.Equal(t, "out", out, each(2*n, func(i int) float64 {
				v := int(bytes[i/2])
				if i%2 == 0 {
					return values[v>>4]
				}
				return values[v&15]
			}))
		}
	})
}
