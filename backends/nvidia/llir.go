package nvidia

import (
	"fmt"
	"runtime/debug"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/wire"
)

// producer names the compiler in the debug information.
const producer = "tritonc"

// makeLLIR lowers the module to LLVM IR for one thread. A panic on the way is
// told with the module as a reproducer.
func (c *compilation) makeLLIR() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = toHost(&pass.Crash{
				Pass: "lowering to LLVM IR", Reason: fmt.Sprint(p), Stack: string(debug.Stack()),
				Reproducer: fmt.Sprintf("// tritonc --target %s --emit llir -o - THIS-FILE.ttgir\n%s", c.req.Target, printModule(c.module)),
			}, &c.resp.Reproducer)
		}
	}()
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
