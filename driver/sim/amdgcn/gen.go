package amdgcn

import "strings"

// gen is a processor as far as its instructions differ from others'.
type gen struct {
	name string
	// major is 9 to 12; lanes of a wavefront where nothing says otherwise.
	major, lanes int
	// cdna3 are gfx940 and those after it, which have the workgroup's numbers of the
	// kernel descriptor, scratch instructions and other formats of 8 bits than gfx950.
	cdna3, gfx950 bool
}

// clobbersHalves reports whether a load of half a register leaves the other half
// undefined: the registers of gfx90a and after it have check bits for a whole word.
func (g gen) clobbersHalves() bool { return g.major == 9 }

// copiesToShared reports whether loads of that type can write to shared memory.
func (g gen) copiesToShared(t memoryType) bool {
	switch {
	case g.major != 9 || t.half != 0:
		return false
	case t.size > 4:
		return g.gfx950 && (t.size == 12 || t.size == 16)
	}
	return true
}

// processors are the known ones.
var processors = map[string]gen{
	"gfx90a":  {major: 9, lanes: 64},
	"gfx942":  {major: 9, lanes: 64, cdna3: true},
	"gfx950":  {major: 9, lanes: 64, cdna3: true, gfx950: true},
	"gfx1100": {major: 11, lanes: 32},
	"gfx1101": {major: 11, lanes: 32},
	"gfx1102": {major: 11, lanes: 32},
	"gfx1200": {major: 12, lanes: 32},
	"gfx1201": {major: 12, lanes: 32},
}

func generation(name string) (gen, bool) {
	g, ok := processors[name]
	g.name = name
	return g, ok
}

// known lists the processors.
func known() string {
	return strings.Join([]string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201"}, ", ")
}

func (g gen) fp8() *small {
	switch {
	case g.cdna3 && !g.gfx950:
		return e4m3fnuz
	case g.gfx950, g.major >= 12:
		return e4m3
	}
	return nil
}

func (g gen) bf8() *small {
	switch {
	case g.cdna3 && !g.gfx950:
		return e5m2fnuz
	case g.gfx950, g.major >= 12:
		return e5m2
	}
	return nil
}
