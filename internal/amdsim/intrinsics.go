package amdsim

import (
	"math"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/internal/llirdevice"
	"github.com/tritonc/tritonc/internal/llirsim"
)

// intrinsicsOf says what those of a chip do.
func intrinsicsOf(c *chip.Chip) *llirsim.Target {
	t := &llirsim.Target{
		Lanes: c.Lanes,
		Thread: map[string]func(*llirsim.Thread, []uint64) uint64{
			"llvm.amdgcn.workitem.id.x":   func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Index) },
			"llvm.amdgcn.workgroup.id.x":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[0]) },
			"llvm.amdgcn.workgroup.id.y":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[1]) },
			"llvm.amdgcn.workgroup.id.z":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[2]) },
			"llvm.amdgcn.implicitarg.ptr": func(*llirsim.Thread, []uint64) uint64 { return llirdevice.Grid },
			"llvm.exp2.f32":               single(math.Exp2),
			"llvm.amdgcn.exp2.f32":        flushed(math.Exp2),
			"llvm.log.f32":                single(math.Log),
			"llvm.log2.f32":               single(math.Log2),
			"llvm.amdgcn.sqrt.f32":        flushed(math.Sqrt),
			"llvm.amdgcn.rsq.f32":         flushed(func(x float64) float64 { return 1 / math.Sqrt(x) }),
			"llvm.amdgcn.mbcnt.lo": func(t *llirsim.Thread, x []uint64) uint64 {
				return x[1] + uint64(min(t.Index%c.Lanes, 32))
			},
			"llvm.amdgcn.mbcnt.hi": func(t *llirsim.Thread, x []uint64) uint64 {
				return x[1] + uint64(max(t.Index%c.Lanes-32, 0))
			},
		},
		Warp: map[string]func([][]uint64) []uint64{
			"llvm.amdgcn.ds.bpermute":    from(1, func(lane int, x []uint64) int { return int(x[0]/4) % c.Lanes }),
			"llvm.amdgcn.ds.swizzle":     from(0, func(lane int, x []uint64) int { return swizzled(lane, int(x[1])) }),
			"llvm.amdgcn.update.dpp.i32": from(1, func(lane int, x []uint64) int { return dppSource(lane, int(x[2])) }),
			"llvm.amdgcn.permlanex16.i32": from(1, func(lane int, x []uint64) int {
				choice := x[2+lane%16/8] >> (4 * (lane % 8)) & 15
				return (lane&^15 ^ 16) + int(choice)
			}),
		},
		Wide:    matrixOf(c),
		Barrier: "llvm.amdgcn.s.barrier",
	}
	return t
}

// single is a function of f32, rounded from a longer result.
func single(f func(float64) float64) func(*llirsim.Thread, []uint64) uint64 {
	return func(_ *llirsim.Thread, x []uint64) uint64 {
		return uint64(math.Float32bits(float32(f(float64(math.Float32frombits(uint32(x[0])))))))
	}
}

// flushed is single with denormals for zeros, as an instruction may have them.
func flushed(f func(float64) float64) func(*llirsim.Thread, []uint64) uint64 {
	const least = 0x1p-126
	zero := func(x float64) float64 {
		if math.Abs(x) < least {
			return math.Copysign(0, x)
		}
		return x
	}
	return single(func(x float64) float64 { return zero(f(zero(x))) })
}

// from is an intrinsic that gives each lane the argument with a number of another lane.
func from(arg int, source func(lane int, x []uint64) int) func([][]uint64) []uint64 {
	return func(args [][]uint64) []uint64 {
		out := make([]uint64, len(args))
		for i, x := range args {
			out[i] = args[source(i, x)][arg]
		}
		return out
	}
}

// swizzled is the lane that ds_swizzle_b32 reads in the mode of bit masks.
func swizzled(lane, offset int) int {
	if offset&0x8000 != 0 {
		panic("ds_swizzle_b32 of quads")
	}
	and, or, xor := offset&31, offset>>5&31, offset>>10&31
	return lane&^31 + (lane&31&and | or) ^ xor
}

// dppSource is the lane that a DPP control reads.
func dppSource(lane, control int) int {
	row := lane &^ 15
	switch {
	case control < 0x100: // quad_perm
		return lane&^3 + control>>(2*(lane&3))&3
	case control >= 0x121 && control <= 0x12f: // row_ror
		return row + (lane-control&15)&15
	case control == 0x140: // row_mirror
		return row + 15 - lane&15
	case control == 0x141: // row_half_mirror
		return lane&^7 + 7 - lane&7
	case control >= 0x160 && control <= 0x16f: // row_xmask
		return row + lane&15 ^ control&15
	}
	panic("a DPP control that is not described")
}
