package cuda

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

// CUDA 12 brought tensor maps; headers before do not declare this, and drivers before
// lack it.
typedef CUresult (*encode_tiled)(void *map, int type, uint32_t rank, void *address, const uint64_t *sizes,
	const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);

static CUresult encode_map(void *map, int type, uint32_t rank, uint64_t address, const uint64_t *sizes,
		const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int swizzle, int promotion, int fill) {
	static encode_tiled f;
	if (!f) f = (encode_tiled)dlsym(RTLD_DEFAULT, "cuTensorMapEncodeTiled");
	if (!f) return CUDA_ERROR_NOT_SUPPORTED;
	return f(map, type, rank, (void *)(uintptr_t)address, sizes, strides, box, steps, 0, swizzle, promotion, fill);
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/tritonc/tritonc/driver"
)

const (
	// mapBytes are those of a tensor map, and of the place of each parameter here.
	mapBytes = 128
	mapAlign = 64
	// promotion of what a copy reads in the L2 cache: CU_TENSOR_MAP_L2_PROMOTION_L2_128B.
	promotion = 2
	// outsideNaN is CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA.
	outsideNaN = 1
)

// hostTypes are the numbers of CUtensorMapDataType for the types that PTX's
// tensormap.replace numbers in another way: f32.ftz, f64 and bf16.
var hostTypes = map[int]int{8: 10, 9: 8, 10: 9}

// paramBlock is the parameters of a launch in C's memory, where CUDA looks for them: each
// has mapBytes, of which CUDA takes as many as the parameter has.
type paramBlock struct {
	memory unsafe.Pointer
	slots  []unsafe.Pointer // addresses of the parameters
}

// grow makes room for n parameters.
func (p *paramBlock) grow(n int) error {
	if n <= cap(p.slots) {
		p.slots = p.slots[:n]
		return nil
	}
	p.free()
	size := n * (mapBytes + int(unsafe.Sizeof(p.memory)))
	if C.posix_memalign(&p.memory, mapAlign, C.size_t(size)) != 0 {
		return fmt.Errorf("no memory for %d bytes of parameters", size)
	}
	p.slots = unsafe.Slice((*unsafe.Pointer)(unsafe.Add(p.memory, n*mapBytes)), n)
	for i := range p.slots {
		p.slots[i] = unsafe.Add(p.memory, i*mapBytes)
	}
	return nil
}

func (p *paramBlock) free() {
	C.free(p.memory)
	*p = paramBlock{}
}

// set gives a parameter its value.
func (p *paramBlock) set(i int, v uint64) { *(*uint64)(p.slots[i]) = v }

// encode makes the tensor map of an array, which begins Offset bytes after address.
func (p *paramBlock) encode(i int, address uint64, t *driver.TensorMap) error {
	rank := len(t.Shape)
	var sizes, strides [5]C.uint64_t
	var box, steps [5]C.uint32_t
	for d := range rank { // CUDA counts dimensions from the fastest on, and knows the stride of that
		from := rank - 1 - d
		sizes[d], box[d], steps[d] = C.uint64_t(t.Shape[from]), C.uint32_t(t.Box[from]), 1
		if d > 0 {
			strides[d-1] = C.uint64_t(t.Strides[from])
		}
	}
	typ := t.ElemType
	if other, ok := hostTypes[typ]; ok {
		typ = other
	}
	fill := 0
	if t.NaN {
		fill = outsideNaN
	}
	return explainResult(fmt.Sprintf("making the tensor map of argument %d", i), C.encode_map(p.slots[i], C.int(typ), C.uint32_t(rank),
		C.uint64_t(address+uint64(t.Offset)), &sizes[0], &strides[0], &box[0], &steps[0], C.int(t.Swizzle), promotion, C.int(fill)))
}
