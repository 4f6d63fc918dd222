package llvm

import (
	"fmt"
	"runtime/debug"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/work"
)

// Producer names the compiler in the debug information.
const Producer = "tritonc"

// Lower lowers the module to LLVM IR for one thread, whose text becomes the Artifact
// once adjust has changed it, and fills in the metadata that follow from it. A
// panic on the way is told with the module as a reproducer.
func Lower(c *backend.Compilation, target lower.Target, adjust func(*lower.Result)) (*lower.Result, error) {
	res, err := LowerInMemory(c, target, adjust)
	if err != nil {
		return nil, err
	}
	c.Text()
	return res, nil
}

// LowerInMemory is Lower for a backend that goes on with the module itself: the Artifact is
// printed for those who ask for it.
func LowerInMemory(c *backend.Compilation, target lower.Target, adjust func(*lower.Result)) (res *lower.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = work.Stopped(p); err != nil {
				return
			}
			err = c.Crashed(&pass.Crash{
				Pass: "lowering to LLVM IR", Reason: fmt.Sprint(p), Stack: string(debug.Stack()),
				Reproducer: fmt.Sprintf("// tritonc --target %s --emit llir -o - THIS-FILE.ttgir\n%s", c.Request.Target, backend.Print(c.Module)),
			})
		}
	}()
	res, err = lower.Module(c.Module, target, lower.Options{Producer: Producer, LineInfo: true})
	if err != nil {
		return nil, wire.ErrorToSDK(err)
	}
	adjust(res)
	c.Artifact, c.Print = nil, res.LLVM.Print
	c.Meta.Name = res.Kernel
	c.Meta.NumWarps = res.Threads / c.Plan.Device.WarpSize
	c.Meta.Shared = &res.Shared
	c.Meta.GlobalScratchSize, c.Meta.GlobalScratchAlign = res.GlobalScratch, res.GlobalScratchAlign
	if int64(res.Shared) > c.Plan.Device.SharedMemory {
		c.Warn(wire.ToSDK(tooMuchShared(c, res)))
	}
	return res, nil
}

// maxSharedUses is how many areas of shared memory a message names.
const maxSharedUses = 6

// tooMuchShared warns of a kernel that will not launch: what needs the memory,
// and what to reduce. Whether that is an error is the host's to say.
func tooMuchShared(c *backend.Compilation, res *lower.Result) *diag.Diagnostic {
	uses := res.SharedUses()
	d := &diag.Diagnostic{
		Severity: diag.Warning,
		Message: fmt.Sprintf("kernel %s uses %s of shared memory, and a block may have %d on %s: it will not launch",
			res.Kernel, diag.Count(res.Shared, "byte"), c.Plan.Device.SharedMemory, c.Request.Target),
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
			d.WithNote(u.Pos, "%s: %s, %d for each of the pipeline's buffers", diag.Count(u.Bytes, "byte"), u.What, u.Bytes/u.Stages)
		case i < maxSharedUses:
			d.WithNote(u.Pos, "%s: %s", diag.Count(u.Bytes, "byte"), u.What)
		}
	}
	if parts > 1 {
		d.Help = fmt.Sprintf("a stage less (num_stages, of the kernel or of the loop) saves about %s; smaller blocks use less", diag.Count(staged/parts, "byte"))
	}
	return d
}

// Allocator places the buffers of a module as Lower does for a target, for a Plan.
func Allocator(target lower.Target) report.Place {
	return func(m *ir.Operation) (*allocation.Result, membar.Foreign, error) { return lower.Allocate(m, target) }
}
