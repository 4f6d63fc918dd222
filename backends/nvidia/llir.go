package nvidia

import (
	"fmt"
	"runtime/debug"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/work"
)

// producer names the compiler in the debug information.
const producer = "tritonc"

// makeLLIR lowers the module to LLVM IR for one thread. A panic on the way is
// told with the module as a reproducer.
func (c *compilation) makeLLIR() (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = work.Stopped(p); err != nil {
				return
			}
			err = toHost(&pass.Crash{
				Pass: "lowering to LLVM IR", Reason: fmt.Sprint(p), Stack: string(debug.Stack()),
				Reproducer: fmt.Sprintf("// tritonc --target %s --emit llir -o - THIS-FILE.ttgir\n%s", c.req.Target, printModule(c.module)),
			}, &c.resp.Reproducer)
		}
	}()
	res, err := lower.Module(c.module, c.early.target(), lower.Options{Producer: producer, LineInfo: true})
	if err != nil {
		return wire.ErrorToSDK(err)
	}
	if c.opts.EnableReflectFTZ { // what functions of libraries ask for
		res.LLVM.AddFlag(llir.FlagOverride, "nvvm-reflect-ftz", 1)
	} else { // and what stands for them here
		res.LLVM.Rename(gpu.KeepDenormals)
	}
	c.llir = string(res.LLVM.Print())
	c.meta.Name = res.Kernel
	c.meta.NumWarps = res.Threads / warpSize
	c.meta.Shared = &res.Shared
	c.meta.GlobalScratchSize, c.meta.GlobalScratchAlign = res.GlobalScratch, res.GlobalScratchAlign
	if int64(res.Shared) > c.arch.sharedMemory {
		c.resp.Diagnostics = append(c.resp.Diagnostics, wire.ToSDK(c.tooMuchShared(res)))
	}
	if len(res.Externs) > 0 {
		if err := c.link(res.Externs); err != nil {
			return err
		}
	}
	return c.optimizeLLVM()
}

// maxSharedUses is how many areas of shared memory a message names.
const maxSharedUses = 6

// tooMuchShared warns of a kernel that will not launch: what needs the memory,
// and what to reduce. Whether that is an error is the host's to say.
func (c *compilation) tooMuchShared(res *lower.Result) *diag.Diagnostic {
	uses := res.SharedUses()
	d := &diag.Diagnostic{
		Severity: diag.Warning,
		Message: fmt.Sprintf("kernel %s uses %d bytes of shared memory, and a block may have %d on %s: it will not launch",
			res.Kernel, res.Shared, c.arch.sharedMemory, c.req.Target),
		Help: "smaller blocks use less", Unlaunchable: true,
	}
	if len(uses) == 0 {
		return d
	}
	d.Pos = uses[0].Pos
	staged, parts := 0, 1
	for i, u := range uses {
		if u.Stages > 1 {
			staged, parts = staged+u.Bytes, max(parts, u.Stages)
		}
		switch {
		case i == maxSharedUses:
			d.WithNote(diag.Pos{}, "and %d smaller ones", len(uses)-i)
		case i < maxSharedUses && u.Stages > 1:
			d.WithNote(u.Pos, "%d bytes: %s, %d for each of the pipeline's buffers", u.Bytes, u.What, u.Bytes/u.Stages)
		case i < maxSharedUses:
			d.WithNote(u.Pos, "%d bytes: %s", u.Bytes, u.What)
		}
	}
	if parts > 1 {
		d.Help = fmt.Sprintf("each stage less (num_stages is %d) saves about %d bytes; smaller blocks use less", c.opts.NumStages, staged/parts)
	}
	return d
}
