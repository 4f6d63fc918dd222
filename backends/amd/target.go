package amd

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/backends/amd/chip"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// backendName is the backend's part of a target, "hip" in "hip:gfx942".
const backendName = chip.Backend

// arch is one GPU architecture.
type arch struct {
	chip *chip.Chip
	doc  string
	// sharedMemory is the LDS that a work-group may have, in bytes.
	sharedMemory int64
	// registers are the vector registers of a thread, and those of a compute unit,
	// counted lane by lane.
	threadRegisters int
	registers       int64
	// pingpong: use_block_pingpong is true by default, as in Triton.
	pingpong bool
}

// archs are the targets. Limits are those of LLVM's guide to AMDGPU and of AMD's
// instruction set documents.
var archs = []arch{
	{chip: &chip.GFX90A, doc: "CDNA 2: MI210, MI250", sharedMemory: 64 << 10, threadRegisters: 512, registers: 128 << 10},
	{chip: &chip.GFX942, doc: "CDNA 3: MI300, MI325", sharedMemory: 64 << 10, threadRegisters: 512, registers: 128 << 10, pingpong: true},
	{chip: &chip.GFX950, doc: "CDNA 4: MI350, MI355", sharedMemory: 160 << 10, threadRegisters: 512, registers: 128 << 10},
	{chip: &chip.GFX1100, doc: "RDNA 3: RX 7900, W7900", sharedMemory: 64 << 10, threadRegisters: 256, registers: 96 << 10},
	{chip: &chip.GFX1200, doc: "RDNA 4: RX 9060", sharedMemory: 64 << 10, threadRegisters: 256, registers: 96 << 10},
}

// maxThreads is how many threads a work-group may have, and maxResident a compute unit.
const (
	maxThreads  = 1024
	maxResident = 2048
)

// archOf returns the row of a target that the backend supports.
func archOf(t sdk.Target) (arch, error) {
	for _, a := range archs {
		if t.Backend == backendName && t.Arch == a.chip.Name {
			return a, nil
		}
	}
	return arch{}, sdk.Errorf("the amd backend does not compile for %s", t).WithHelp("its targets are %s", targetList())
}

// passArch is the row by which single passes run on modules for t, which may be a chip that
// nothing is compiled for: that of the newest chip of its generation, gfx9 … gfx12, that is
// known.
func passArch(t sdk.Target) (arch, error) {
	own, err := archOf(t)
	if err == nil || t.Backend != backendName {
		return own, err
	}
	for _, a := range slices.Backward(archs) {
		generation := a.chip.Name[:len(a.chip.Name)-stepping]
		if strings.HasPrefix(t.Arch, generation) && len(t.Arch) == len(a.chip.Name) {
			return a, nil
		}
	}
	return own, err
}

// stepping is how many characters of a chip's name tell chips of a generation apart.
const stepping = 2

func targetList() string {
	names := make([]string, len(archs))
	for i, a := range archs {
		names[i] = a.chip.Target()
	}
	return strings.Join(names, ", ")
}

// maxWarps is how many warps a work-group may have.
func (a arch) maxWarps() int { return maxThreads / a.chip.Lanes }

// copiesToLDS reports whether the chip has instructions that copy to LDS.
func (a arch) copiesToLDS() bool { return a.chip.MFMA >= 3 }

// fp8Kinds are the 8-bit floats that a kernel may use, sorted: all of them, those that
// the chip does not convert by integer arithmetic.
var fp8Kinds = []string{"fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16"}

// deprecatedFP8 are those that a dot takes with a warning: the chip has the OCP formats
// in their place.
func (a arch) deprecatedFP8() []string {
	if a.chip == &chip.GFX950 {
		return []string{"fp8e4b8", "fp8e5b16"}
	}
	return []string{}
}

// dotPrecisions are the ways to multiply f32 operands. gfx942 alone has the
// instructions for tf32.
func (a arch) dotPrecisions() []string {
	if a.chip.HasXF32 {
		return []string{"ieee", "bf16x3", "bf16x6", "tf32"}
	}
	return []string{"ieee", "bf16x3", "bf16x6"}
}

// defaultPrecision is what tl.dot computes f32 in that says nothing. Triton's takes tf32
// where that is allowed, and no notice of the option default_dot_input_precision, which its
// HIPOptions have as ieee.
func (a arch) defaultPrecision() string {
	if a.chip.HasXF32 {
		return "tf32"
	}
	return "ieee"
}

// facts of the architecture, for Describe.
func (a arch) facts() sdk.TargetFacts {
	return sdk.TargetFacts{
		Pattern:  a.chip.Target(),
		WarpSize: a.chip.Lanes,
		Limits: sdk.DeviceLimits{
			MaxThreadsPerBlock:          maxThreads,
			MaxThreadsPerMultiprocessor: maxResident,
			MaxRegistersPerThread:       a.threadRegisters,
			RegistersPerMultiprocessor:  a.registers,
			MaxSharedMemory:             a.sharedMemory,
			StaticSharedMemory:          a.sharedMemory,
			MaxCTAsPerCluster:           1,
		},
		// What the matrix cores do not multiply, multiply-adds do.
		MinDotSizes:              []sdk.MinDotSize{{M: 1, N: 1, K: 1}},
		FP8Kinds:                 fp8Kinds,
		DeprecatedFP8DotOperands: a.deprecatedFP8(),
		DotInputPrecisions:       a.dotPrecisions(),
		DefaultDotInputPrecision: a.defaultPrecision(),
		Doc:                      a.doc,
	}
}
