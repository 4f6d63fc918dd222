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
	// placePTX is a label, or a branch to one.
	placePTX = regexp.MustCompile(`(?m)^\s*(?:(\$\w+):|(?:@!?%p\d+\s+)?bra(?:\.uni)?\s+(\$\w+);)`)
	// sumPTX is a register that is another and a constant.
	sumPTX = regexp.MustCompile(`(?m)^\s*(?:add\.s64|or\.b64)\s+(%\w+),\s*(%\w+),\s*(-?\d+);`)
)

// confused is Confused of one function.
func confused(body string) []string {
	sum := sums(body)
	first := make(map[string]string) // descriptors of A: the dot that has it
	dots := dotPTX.FindAllStringSubmatch(body, -1)
	for _, m := range dots {
		if m[2][0] != '{' {
			first[fmt.Sprint(sum(m[2]))] = m[0]
		}
	}
	var faults []string
	for _, m := range dots {
		if of := first[fmt.Sprint(sum(m[3]))]; m[2][0] == '{' && of != "" {
			faults = append(faults, fmt.Sprintf("%s… has the B that is A of %s…: ptxas 12.4 gives it the B of that dot", m[0], of))
		}
	}
	return faults
}

// Forgotten lists the dots of warpgroups in a PTX module whose B is the sum of a constant
// and a register of which A of it, or of a dot before, is a sum, too, or B of a dot before
// with another upper word: that of another buffer. ptxas 12.8 computes what such sums share
// once, and with several dots may use it before it does:
//
//	UIADD3 UR18, UP0, UR7, 0x40, URZ     nothing has written UR7
//
// This was seen in functions without a loop alone, and only these are looked at.
func Forgotten(ptx string) []string {
	if !strings.Contains(ptx, "wgmma.mma_async") {
		return nil
	}
	var faults []string
	for _, body := range strings.Split(ptx, "\n.visible ") {
		if hasLoop(body) {
			continue
		}
		sum := sums(body)
		of := make(map[string]string)   // registers that A are sums of: the dot
		upper := make(map[string]int64) // registers that B are sums of: the upper word
		dots := dotPTX.FindAllStringSubmatch(body, -1)
		for _, m := range dots {
			if m[2][0] != '{' {
				of[sum(m[2]).root] = m[0]
			}
			b := sum(m[3])
			before, again := upper[b.root]
			switch {
			case of[b.root] != "":
				faults = append(faults, fmt.Sprintf("%s… has a B that is made of %s, as A of %s… is: ptxas 12.8 may forget to compute it", m[0], b.root, of[b.root]))
			case again && before != b.plus>>32:
				faults = append(faults, fmt.Sprintf("%s… has a B that is made of %s, as another B before: ptxas 12.8 may forget to compute it", m[0], b.root))
			}
			upper[b.root] = b.plus >> 32
		}
	}
	return faults
}

// hasLoop reports whether a function branches to a label before the branch.
func hasLoop(body string) bool {
	seen := make(map[string]bool)
	for _, m := range placePTX.FindAllStringSubmatch(body, -1) {
		if m[1] != "" {
			seen[m[1]] = true
		} else if seen[m[2]] {
			return true
		}
	}
	return false
}

// sum is a register and a constant.
type sum struct {
	root string
	plus int64
}

// sums gives for a register of a function the register, computed otherwise, of which it is
// the sum with constants.
func sums(body string) func(reg string) sum {
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
	return func(reg string) sum {
		s := sum{root: reg}
		for range len(made) {
			t := made[s.root]
			if !t.known {
				break
			}
			s = sum{t.of, s.plus + t.plus}
		}
		return s
	}
}
