package nvidia

import (
	"slices"
	"strconv"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// backendName is the backend's part of a target, "cuda" in "cuda:90".
const backendName = "cuda"

// warpSize is that of every NVIDIA GPU so far.
const warpSize = 32

// arch is one compute capability, 90 for 9.0.
type arch struct {
	cc  int
	doc string
	// sharedMemory is what a block may have after opting in, in bytes.
	sharedMemory int64
	// threads of a multiprocessor.
	threads int
	// ctas of a cluster, without asking for a non-portable size; 1: no clusters.
	ctas int
}

// archs are the targets, as NVIDIA's programming guide tabulates them.
var archs = []arch{
	{cc: 80, doc: "Ampere: A100", sharedMemory: 163 << 10, threads: 2048, ctas: 1},
	{cc: 86, doc: "Ampere: A10, RTX 30", sharedMemory: 99 << 10, threads: 1536, ctas: 1},
	{cc: 89, doc: "Ada: L40, RTX 40", sharedMemory: 99 << 10, threads: 1536, ctas: 1},
	{cc: 90, doc: "Hopper: H100, H200", sharedMemory: 227 << 10, threads: 2048, ctas: 8},
}

// passArchs are more targets of modules that passes run on one by one, for which nothing
// is compiled: passes need no more than what a row says. They follow archs in order.
var passArchs = []arch{
	{cc: 100, doc: "Blackwell: B200", sharedMemory: 227 << 10, threads: 2048, ctas: 8},
	{cc: 103, doc: "Blackwell: B300", sharedMemory: 227 << 10, threads: 2048, ctas: 8},
	{cc: 120, doc: "Blackwell: RTX 50", sharedMemory: 99 << 10, threads: 1536, ctas: 8},
}

// passArchOf returns the facts that passes run with on modules for a target: those of
// its row, else of the nearest one below, else of the first.
func passArchOf(t sdk.Target) (arch, error) {
	cc, err := strconv.Atoi(t.Arch)
	if t.Backend != backendName || err != nil {
		return archOf(t)
	}
	found := archs[0]
	for _, a := range slices.Concat(archs, passArchs) {
		if a.cc <= cc {
			found = a
		}
	}
	return found, nil
}

// archOf returns the row of a target that the backend supports.
func archOf(t sdk.Target) (arch, error) {
	for _, a := range archs {
		if t.Backend == backendName && t.Arch == strconv.Itoa(a.cc) {
			return a, nil
		}
	}
	return arch{}, sdk.Errorf("the nvidia backend does not compile for %s", t).WithHelp("its targets are %s", targetList())
}

func targetList() string {
	s := ""
	for i, a := range archs {
		if i > 0 {
			s += ", "
		}
		s += backendName + ":" + strconv.Itoa(a.cc)
	}
	return s
}

// smName is the name that LLVM and ptxas have for the architecture. From 9.0 on
// it is the one with that architecture's own instructions (wgmma, TMA).
func (a arch) smName() string {
	s := "sm_" + strconv.Itoa(a.cc)
	if a.cc >= 90 {
		s += "a"
	}
	return s
}

// fp8Kinds are the 8-bit floats that a kernel may use, sorted.
func (a arch) fp8Kinds() []string {
	if a.cc >= 89 {
		return []string{"fp8e4b15", "fp8e4nv", "fp8e5"}
	}
	return []string{"fp8e4b15", "fp8e5"}
}

// deprecatedFP8 are those that a dot takes with a warning.
func (a arch) deprecatedFP8() []string {
	if a.cc >= 90 {
		return []string{"fp8e4b15"}
	}
	return []string{}
}

// impreciseAcc is how many multiplications an fp8 dot may sum up at the tensor core's
// own precision: all of them on Hopper, whose accumulator is short.
func (a arch) impreciseAcc() int {
	if a.cc == 90 {
		return 1 << 30
	}
	return 0
}

// dotPrecisions are the ways to multiply f32 operands.
var dotPrecisions = []string{"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"}

// target is what code for the architecture is lowered for. A multiprocessor has
// 1 KiB of shared memory more than a block may have.
func (a arch) target() *gpu.Target {
	return &gpu.Target{CC: a.cc, Shared: int(a.sharedMemory) + 1<<10, Threads: a.threads}
}

// registers are those of a multiprocessor, and the most that a block may have.
const registers = 64 << 10

// facts of the architecture, for Describe.
func (a arch) facts() sdk.TargetFacts {
	return sdk.TargetFacts{
		Pattern:  backendName + ":" + strconv.Itoa(a.cc),
		WarpSize: warpSize,
		Limits: sdk.DeviceLimits{
			MaxThreadsPerBlock:          1024,
			MaxThreadsPerMultiprocessor: a.threads,
			MaxRegistersPerThread:       255,
			RegistersPerMultiprocessor:  registers,
			MaxSharedMemory:             a.sharedMemory,
			StaticSharedMemory:          48 << 10,
			MaxCTAsPerCluster:           a.ctas,
		},
		// The tensor core's K: 256 bits of an operand's row.
		MinDotSizes:              []sdk.MinDotSize{{Bits: 8, M: 1, N: 1, K: 32}, {M: 1, N: 1, K: 16}},
		FP8Kinds:                 a.fp8Kinds(),
		DeprecatedFP8DotOperands: a.deprecatedFP8(),
		DotInputPrecisions:       dotPrecisions,
		DefaultDotInputPrecision: "tf32",
		Doc:                      a.doc,
	}
}
