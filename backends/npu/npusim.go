package npu

import (
	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/backends/npu/npusim"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/plugin/wire"
)

// simFacts are what the metadata say of a program for the simulated NPU.
type simFacts struct {
	Format string `json:"format"`
}

// makeNPUSim writes the program of the stage npuir for the simulated NPU.
func makeNPUSim(k *backend.Compilation, c *chip.Chip) error {
	file, err := npusim.Write(k.Module, c)
	if err != nil {
		return wire.ErrorToSDK(err)
	}
	k.Artifact, k.Meta.Usage = file, simFacts{Format: npusim.Format}
	return nil
}
