package numeric

import (
	"maps"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// onAMD reports whether kernels are compiled for AMD's GPUs.
func onAMD() bool { return strings.HasPrefix(os.Getenv(kerneltest.TargetEnv), "hip:") }

// amdOptions are options of AMD's GPUs on which code depends and results do not.
func amdOptions() []kerneltest.Options {
	all := []kerneltest.Options{
		{"kpack": 2},
		{"matrix_instr_nonkdim": 16},
		{"matrix_instr_nonkdim": 32},
		{"waves_per_eu": 2},
		{"use_buffer_ops": false},
		{"schedule_hint": "memory-bound-attention"},
	}
	switch os.Getenv(kerneltest.TargetEnv) {
	case "hip:gfx90a":
		all = append(all, kerneltest.Options{"use_block_pingpong": true})
	case "hip:gfx942", "hip:gfx950":
		all = append(all, kerneltest.Options{"use_async_copy": true}, kerneltest.Options{"use_block_pingpong": os.Getenv(kerneltest.TargetEnv) == "hip:gfx950"})
	}
	return all
}

// amdVariations are AMD's in the place of dotVariations.
func amdVariations() []dotVariation {
	all := []dotVariation{{warps: 8, stages: 3}, {warps: 4, stages: 1}, {warps: 4, stages: 2}, {warps: 8, stages: 4, random: true}}
	for _, o := range amdOptions() {
		all = append(all, dotVariation{warps: 4, stages: 3, options: o}, dotVariation{warps: 4, stages: 2, random: true, options: o})
	}
	return all
}

// randomAMD draws each option by itself.
func randomAMD(r *rand.Rand) dotVariation {
	v := dotVariation{warps: one(r, 1, 2, 4, 4, 8), stages: 1 + r.IntN(4), random: r.IntN(2) == 0, options: kerneltest.Options{}}
	for _, o := range amdOptions() {
		if r.IntN(3) == 0 {
			maps.Copy(v.options, o)
		}
	}
	return v
}
