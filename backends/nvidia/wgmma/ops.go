package wgmma

import (
	"sync"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/ir"
)

// opDefs are the operations of ttng that the passes look for and make.
type opDefs struct{ dot, wait, fence, copyIn, gather, expect, barrierWait *ir.OpDef }

// ops finds them in the dialect, which is made on first use.
var ops = sync.OnceValue(func() *opDefs {
	def := func(name string) *ir.OpDef {
		d := ttng.Dialect().Op(ttng.Name + "." + name)
		if d == nil {
			panic("BUG: wgmma: no operation ttng." + name)
		}
		return d
	}
	return &opDefs{
		dot: def("warp_group_dot"), wait: def("warp_group_dot_wait"), fence: def("fence_async_shared"),
		copyIn: def("async_tma_copy_global_to_local"), gather: def("async_tma_gather"),
		expect: def("barrier_expect"), barrierWait: def("wait_barrier"),
	}
})
