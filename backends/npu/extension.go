package npu

import (
	_ "embed"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// What kernels for Ascend NPUs have beside Triton's language: slices of tensors, hints, and
// synchronization, in the module that triton-ascend has them in, and in triton.language,
// where its older releases had them.
var (
	//go:embed extension.py
	extensionSource string
	//go:embed extension_extra.py
	extensionExtra string
	// builtinsSource has the built-in functions of triton.language that take more arguments in
	// triton-ascend's; cast, which its module has, too, is in extensionSource.
	//
	//go:embed extension_builtins.py
	builtinsSource string
)

// mathSource are functions of the device library that triton-ascend's triton.language.math has,
// too.
const mathSource = `import triton
from triton.language.extra.cann import libdevice


@triton.jit
def tanh(x):
    return libdevice.tanh(x)
`

func extensions() []sdk.Module {
	return []sdk.Module{
		{Name: "triton.language", Source: extensionSource + builtinsSource},
		{Name: "triton.language.math", Source: mathSource},
		{
			Name:    "triton.language.extra.cann.extension",
			Aliases: []string{"triton.language.extra.ascend.extension", "triton.language.extra.extension"},
			Source:  extensionSource + extensionExtra,
		},
	}
}
