package warpspec

import (
	"sync"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/ir"
)

// opDefs are the operations of ttng that the pass makes.
type opDefs struct{ dotWait, init, fence, wait, arrive *ir.OpDef }

// ops finds them in the dialect, which is made on first use.
var ops = sync.OnceValue(func() *opDefs {
	def := func(name string) *ir.OpDef {
		d := ttng.Dialect().Op(ttng.Name + "." + name)
		if d == nil {
			panic("BUG: warpspec: no operation ttng." + name)
		}
		return d
	}
	return &opDefs{
		dotWait: def("warp_group_dot_wait"), init: def("init_barrier"),
		fence: def("fence_async_shared"), wait: def("wait_barrier"), arrive: def("arrive_barrier"),
	}
})
