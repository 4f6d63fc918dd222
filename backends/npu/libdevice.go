package npu

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// libdeviceSource are the functions that Triton's own operations make.
//
//go:embed libdevice.py
var libdeviceSource string

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
