// Package chip says what is known of AMD's GPU architectures. It imports nothing.
package chip

import "strings"

// Chip is one GPU architecture.
type Chip struct {
	Name  string // as LLVM has it, gfx942
	Lanes int    // of a warp
	// GFX9: CDNA, whose instructions are those of GFX9: no permlanex16, no row_xmask.
	GFX9 bool
	// GFX12: the numbers of work-groups come in registers of the trap handler, and each kind
	// of access has a counter to wait for.
	GFX12 bool
	// LDSBanks is how many banks of 4 bytes LDS has.
	LDSBanks int
	// MFMA and WMMA are the version of the matrix cores by Triton's count: CDNA's or
	// RDNA's; 0 without.
	MFMA, WMMA int
	// HasXF32: matrix instructions take operands of tf32.
	HasXF32 bool
	// OCPFloat8 and FNUZFloat8: instructions convert floats of 8 bits in the formats of
	// the Open Compute Project, or in those without negative zero.
	OCPFloat8, FNUZFloat8 bool
}

// The chips.
var (
	GFX90A  = Chip{Name: "gfx90a", Lanes: 64, GFX9: true, LDSBanks: 32, MFMA: 2}
	GFX942  = Chip{Name: "gfx942", Lanes: 64, GFX9: true, LDSBanks: 32, MFMA: 3, HasXF32: true, FNUZFloat8: true}
	GFX950  = Chip{Name: "gfx950", Lanes: 64, GFX9: true, LDSBanks: 64, MFMA: 4, OCPFloat8: true}
	GFX1100 = Chip{Name: "gfx1100", Lanes: 32, LDSBanks: 32, WMMA: 1}
	GFX1200 = Chip{Name: "gfx1200", Lanes: 32, GFX12: true, LDSBanks: 32, WMMA: 2, OCPFloat8: true}
)

// GFX1250 is a chip that nothing is compiled for; passes by name know its matrix cores.
var GFX1250 = Chip{Name: "gfx1250", Lanes: 32, GFX12: true, LDSBanks: 64, WMMA: 3, OCPFloat8: true}

// Backend is the backend's part of a target, "hip" in "hip:gfx942".
const Backend = "hip"

// Of returns the chip of a target such as hip:gfx942, or nil.
func Of(target string) *Chip {
	name, ok := strings.CutPrefix(target, Backend+":")
	for _, c := range []*Chip{&GFX90A, &GFX942, &GFX950, &GFX1100, &GFX1200} {
		if ok && c.Name == name {
			return c
		}
	}
	return nil
}

// Known returns the chip of a target as Of does, and those that only passes by name know.
func Known(target string) *Chip {
	if target == GFX1250.Target() {
		return &GFX1250
	}
	return Of(target)
}

// Target is the chip's target, hip:gfx942.
func (c *Chip) Target() string { return Backend + ":" + c.Name }
