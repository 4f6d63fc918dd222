package transform

import (
	"fmt"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/pass"
)

// archOption is Triton's option of passes that differ between chips.
var archOption = pass.Option{Name: "arch-generation-name", Doc: "the chip, such as gfx942; empty: that of the module's ttg.target", Default: ""}

// chipOf is the chip that a pass with archOption is for.
func chipOf(r *pass.Run) (*chip.Chip, error) {
	target := r.Module.StringAttr(ttg.TargetAttr)
	if arch := r.Text(archOption.Name); arch != "" {
		target = chip.Backend + ":" + arch
	}
	if c := chip.Of(target); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("the module is for the target %q, which is none of AMD's that are known here, such as %s", target, chip.GFX942.Target())
}
