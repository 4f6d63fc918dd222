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
	encode_tiled f = (encode_tiled)dlsym(RTLD_DEFAULT, "cuTensorMapEncodeTiled");
	if (!f) return CUDA_ERROR_NOT_SUPPORTED;
	return f(map, type, rank, (void *)(uintptr_t)address, sizes, strides, box, steps, 0, swizzle, promotion, fill);
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

const (
	mapBytes = 128
	// mapAlign is that of a tensor map, and of each parameter here.
	mapAlign = 64
	// promotion of what a copy reads in the L2 cache: CU_TENSOR_MAP_L2_PROMOTION_L2_128B.
	promotion = 2
	// outsideNaN is CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA.
	outsideNaN = 1
)

// hostTypes are the numbers of CUtensorMapDataType for the types that PTX's
// tensormap.replace numbers in another way: f32.ftz, f64 and bf16.
var hostTypes = map[int]int{8: 10, 9: 8, 10: 9}

// paramBlock is the parameters of a launch in C's memory, where CUDA looks for them.
type paramBlock struct {
	memory unsafe.Pointer
	values []byte           // mapAlign for each slot, mapBytes for a tensor map
	at     []int            // offset of each parameter in values
	slots  []unsafe.Pointer // addresses of the parameters
}

// newParamBlock lays the parameters out: 8 bytes each, of which CUDA takes as many as
// the parameter has, or a tensor map.
func newParamBlock(slots []slot) (*paramBlock, error) {
	p := &paramBlock{at: make([]int, len(slots))}
	size := 0
	for i := range slots {
		p.at[i] = size
		size += mapAlign
		if slots[i].tensor != nil {
			size += mapBytes - mapAlign
		}
	}
	pointers := size
	size += len(slots) * int(unsafe.Sizeof(p.memory))
	if C.posix_memalign(&p.memory, mapAlign, C.size_t(size)) != 0 {
		return nil, fmt.Errorf("no memory for %d bytes of parameters", size)
	}
	all := unsafe.Slice((*byte)(p.memory), size)
	clear(all)
	p.values = all[:pointers]
	p.slots = unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(&all[pointers])), len(slots))
	for i := range slots {
		p.slots[i] = unsafe.Pointer(&all[p.at[i]])
		if t := slots[i].tensor; t == nil {
			p.set(i, slots[i].value)
		} else if err := p.encode(i, slots[i].value, t); err != nil {
			p.free()
			return nil, err
		}
	}
	return p, nil
}

func (p *paramBlock) free() { C.free(p.memory) }

// set gives a parameter its value.
func (p *paramBlock) set(i int, v uint64) { binary.LittleEndian.PutUint64(p.values[p.at[i]:], v) }

// encode makes the tensor map of an array, which begins at address.
func (p *paramBlock) encode(i int, address uint64, t *sdk.DeviceTensorMap) error {
	rank := len(t.Shape)
	if rank < 1 || rank > len([5]int{}) || len(t.Strides) != rank || len(t.Box) != rank {
		return sdk.Errorf("argument %d is a tensor map of %d dimensions with %d strides and a box of %d", i, rank, len(t.Strides), len(t.Box))
	}
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
	e := C.encode_map(p.slots[i], C.int(typ), C.uint32_t(rank), C.uint64_t(address+uint64(t.Offset)),
		&sizes[0], &strides[0], &box[0], &steps[0], C.int(t.Swizzle), promotion, C.int(fill))
	if e != C.CUDA_SUCCESS {
		return &Error{What: fmt.Sprintf("making the tensor map of argument %d", i), Code: int(e)}
	}
	return nil
}

// handleOf is a function's handle: cu's Function is a struct of it alone.
func handleOf(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }

// streamOf is a stream's handle.
func streamOf(s cu.Stream) C.CUstream { return *(*C.CUstream)(unsafe.Pointer(&s)) }
