package sass

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Confused lists the dots of warpgroups in a PTX module that ptxas 12.4 may assemble
// with the wrong B. Such a dot has A in registers, and its descriptor of B is, bit for
// bit, the descriptor of A of another dot. ptxas keeps both descriptors of a dot in four
// uniform registers, and takes those of the other dot for this one: with them its B.
//
//	HGMMA.64x32x16.F32 R24, gdesc[UR16].tnspB, RZ, !UPT, gsb0       A in UR16, UR17, B in UR18, UR19
//	HGMMA.64x32x16.F32 R24, R52, gdesc[UR16].tnspB, RZ, !UPT, gsb0  must read UR16, UR17
//
// Values that are computed alike are taken for equal, and others for different.
func Confused(ptx string) []string {
	if !strings.Contains(ptx, "wgmma.mma_async") {
		return nil
	}
	var faults []string
	for _, body := range strings.Split(ptx, "\n.visible ") {
		faults = append(faults, confused(body)...)
	}
	return faults
}

var (
	// dotPTX is a dot: its form, the sums, A (registers or a descriptor), B.
	dotPTX = regexp.MustCompile(`(wgmma\.mma_async\S+)\s+\{[^}]*\},\s*(\{[^}]*\}|%\w+),\s*(%\w+),`)
	// sumPTX is a register that is another and a constant.
	sumPTX = regexp.MustCompile(`(?m)^\s*(?:add\.s64|or\.b64)\s+(%\w+),\s*(%\w+),\s*(-?\d+);`)
)

// confused is Confused of one function.
func confused(body string) []string {
	type term struct {
		of    string
		plus  int64
		known bool
	}
	made := make(map[string]term)
	for _, m := range sumPTX.FindAllStringSubmatch(body, -1) {
		c, err := strconv.ParseInt(m[3], 10, 64)
		_, twice := made[m[1]]
		made[m[1]] = term{m[2], c, err == nil && !twice}
	}
	key := func(reg string) string {
		var sum int64
		for range len(made) {
			t := made[reg]
			if !t.known {
				break
			}
			reg, sum = t.of, sum+t.plus
		}
		return fmt.Sprintf("%s%+d", reg, sum)
	}
	first := make(map[string]string) // descriptors of A: the dot that has it
	dots := dotPTX.FindAllStringSubmatch(body, -1)
	for _, m := range dots {
		if m[2][0] != '{' {
			first[key(m[2])] = m[0]
		}
	}
	var faults []string
	for _, m := range dots {
		if of := first[key(m[3])]; m[2][0] == '{' && of != "" {
			faults = append(faults, fmt.Sprintf("%s… has the B that is A of %s…: ptxas 12.4 gives it the B of that dot", m[0], of))
		}
	}
	return faults
}
