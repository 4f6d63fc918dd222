package nvidia

import (
	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/plugin/wire"
)

// producer names the compiler in the debug information.
const producer = "tritonc"

// makeLLIR lowers the module to LLVM IR for one thread.
func (c *compilation) makeLLIR() error {
	res, err := lower.Module(c.module, &gpu.Target{CC: c.early.cc}, lower.Options{Producer: producer, LineInfo: true})
	if err != nil {
		return wire.ErrorToSDK(err)
	}
	c.llir = string(res.LLVM.Print())
	c.meta.Name = res.Kernel
	c.meta.NumWarps = res.Threads / warpSize
	c.meta.Shared = &res.Shared
	return nil
}
