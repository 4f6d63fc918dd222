package npu

import (
	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/backends/npu/npusim"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/plugin/wire"
)

// simFacts are what the metadata say of a program for the simulated NPU.
type simFacts struct {
	Format string `json:"format"`
	// Together says, by Triton's name, that programs wait for one another: each has a core of
	// its own.
	Together bool `json:"launch_cooperative_grid,omitempty"`
}

// makeNPUSim writes the program of the stage npuir for the simulated NPU.
func makeNPUSim(k *backend.Compilation, c *chip.Chip) error {
	file, err := npusim.Write(k.Module, c)
	if err != nil {
		return wire.ErrorToSDK(err)
	}
	k.Artifact, k.Meta.Usage = file, simFacts{Format: npusim.Format, Together: npuir.Together(k.Module)}
	return nil
}
