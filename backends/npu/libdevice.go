package npu

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// libdeviceSource are the functions that Triton's own operations make.
const libdeviceSource = `import triton
import triton.language as tl


@triton.jit
def reciprocal(x):
    return 1.0 / x


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def hypot(x, y):
    x = tl.abs(x)
    y = tl.abs(y)
    large = tl.maximum(x, y)
    ratio = tl.where(large == 0.0, 0.0, tl.minimum(x, y) / large)
    return tl.where(large == float("inf"), large, large * tl.sqrt(1.0 + ratio * ratio))


@triton.jit
def isinf(x):
    return tl.abs(x) == float("inf")


@triton.jit
def isnan(x):
    return x != x


@triton.jit
def isfinited(x):
    return tl.abs(x) < float("inf")


@triton.jit
def finitef(x):
    return tl.abs(x) < float("inf")


@triton.jit
def float_as_int(x):
    return x.to(tl.int32, bitcast=True)


@triton.jit
def signbit(x):
    if x.dtype.primitive_bitwidth == 16:
        return x.to(tl.int16, bitcast=True) < 0
    else:
        return x.to(tl.int32, bitcast=True) < 0


@triton.jit
def fast_dividef(x, y):
    return x / y


@triton.jit
def fast_expf(x):
    return tl.exp(x)
`

// libdevice is the module with the functions of triton-ascend's, and those that other
// backends' modules have and MLIR has operations for.
func libdevice() sdk.Module {
	m := sdk.Module{
		Name:    "triton.language.extra.cann.libdevice",
		Aliases: []string{"triton.language.extra.libdevice", "triton.language.extra.ascend.libdevice"},
		Source:  libdeviceSource,
	}
	for _, f := range adapter.Functions() {
		name, symbol, args := f.Name, f.Symbol, f.Args
		for _, t := range strings.Fields("fp32 fp16 bf16 fp64") {
			m.Externs = append(m.Externs, sdk.ExternFunction{
				Name: name, Args: slices.Repeat([]string{t}, args), Result: t, Symbol: symbol, Pure: true,
			})
		}
	}
	return m
}

// modules are what kernels may import of this backend.
func modules() []sdk.Module { return append(extensions(), libdevice()) }
