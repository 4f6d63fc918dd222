package sass

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// lanes are the registers and predicates that may differ between the lanes of a
// warp, by number. Uniform registers never do.
type lanes struct {
	values     [4]uint64
	predicates uint8
}

func (l *lanes) add(first, n int) {
	for r := first; r < min(first+n, 255); r++ { // 255 is RZ
		l.values[r/64] |= 1 << (r % 64)
	}
}

func (l *lanes) remove(first, n int) {
	for r := first; r < min(first+n, 255); r++ {
		l.values[r/64] &^= 1 << (r % 64)
	}
}

func (l *lanes) merge(o lanes) (changed bool) {
	before := *l
	for i := range l.values {
		l.values[i] |= o.values[i]
	}
	l.predicates |= o.predicates
	return *l != before
}

// named is a register or predicate in an operand.
var named = regexp.MustCompile(`(U?)\b(R|P)(\d+)\b(\.64)?`)

// varies reports whether any register or predicate of a text may differ; registers
// count for as many as the text or the caller says.
func (l *lanes) varies(text string, width int) bool {
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[3])
		if m[2] == "P" {
			if l.predicates>>n&1 != 0 {
				return true
			}
			continue
		}
		w := width
		if m[4] != "" {
			w = max(w, 2)
		}
		for r := n; r < min(n+w, 255); r++ {
			if l.values[r/64]>>(r%64)&1 != 0 {
				return true
			}
		}
	}
	return false
}

// same are instructions that give all lanes the same result where their sources are
// the same. Loads are among them: lanes that read one place get one value.
var same = map[string]bool{
	"IMAD": true, "IADD3": true, "VIADD": true, "LEA": true, "LOP3": true, "SHF": true, "MOV": true, "SEL": true, "ISETP": true, "PLOP3": true,
	"IABS": true, "IMNMX": true, "VIMNMX": true, "PRMT": true, "SGXT": true, "BMSK": true, "POPC": true, "FLO": true, "BREV": true,
	"FADD": true, "FMUL": true, "FFMA": true, "FSETP": true, "FSEL": true, "FMNMX": true, "MUFU": true, "I2F": true, "F2I": true, "I2FP": true, "F2F": true,
	"LDC": true, "LDG": true, "LDS": true, "P2R": true, "R2P": true, "I2I": true, "CS2R": true,
}

// wide is how many registers a modifier makes of one.
var wide = map[string]int{"64": 2, "WIDE": 2, "128": 4, "F64": 2}

// differ is the state after an instruction, from that before.
func (in *inst) differ(before lanes) lanes {
	after := before
	guarded := in.guard != "" && in.guard != "PT" && in.guard != "!PT"
	partial := guarded && before.varies(in.guard, 1)
	width := 1
	for _, m := range strings.Split(in.op, ".")[1:] {
		width = max(width, wide[m])
	}
	root := in.root()
	known := same[root] || root == "S2R" && len(in.operands) == 2 && strings.HasPrefix(in.operands[1], "SR_CTAID") || root == "VOTE"
	if root == "CS2R" && !strings.HasPrefix(in.operands[len(in.operands)-1], "SRZ") {
		known = false
	}
	// Results come first: a predicate or two, or a register and its carries.
	dst := 0
	switch {
	case stores[root] || jumps[root] || len(in.operands) == 0:
	case pure.MatchString(in.operands[0]):
		for dst < min(2, len(in.operands)) && pure.MatchString(in.operands[dst]) {
			dst++
		}
		if !strings.HasSuffix(root, "SETP") && !strings.HasSuffix(root, "SETP2") && root != "PLOP3" { // and a register
			dst = min(dst+1, len(in.operands))
		}
	default:
		dst = 1
		for dst < len(in.operands) && pure.MatchString(in.operands[dst]) && (root == "IADD3" || root == "LEA" || root == "IMAD") && dst < 3 {
			dst++
		}
	}
	result := !known || partial || root != "VOTE" && before.varies(strings.Join(in.operands[dst:], ","), width)
	for _, o := range in.operands[:dst] {
		m := named.FindStringSubmatch(o)
		if m == nil || m[1] == "U" {
			continue
		}
		n, _ := strconv.Atoi(m[3])
		switch {
		case m[2] == "P" && result:
			after.predicates |= 1 << n
		case m[2] == "P" && !guarded:
			after.predicates &^= 1 << n
		case m[2] == "R" && result:
			w := width
			if !known && root != "S2R" && root != "SHFL" {
				w = max(w, 4) // as many as any has
			}
			after.add(n, w)
		case m[2] == "R" && !guarded:
			after.remove(n, width)
		}
	}
	return after
}

var pure = regexp.MustCompile(`^P(\d|T)$`)

// stores are instructions without a result in a register.
var stores = map[string]bool{
	"ST": true, "STG": true, "STS": true, "STL": true, "STSM": true, "RED": true, "LDGSTS": true, "BAR": true, "BSYNC": true, "EXIT": true,
	"MEMBAR": true, "ERRBAR": true, "CCTL": true, "DEPBAR": true, "LDGDEPBAR": true, "NOP": true, "WARPSYNC": true, "YIELD": true, "NANOSLEEP": true,
}

// together finds, of the instructions with the given opcodes that a predicate takes
// from lanes, those where the predicate may differ between the lanes of a warp. An
// assembler may leave out the last iterations of an unrolled loop by a predicate:
// this one does not differ.
func together(code []inst, entry bool, roots map[string]bool) []string {
	before := make([]*lanes, len(code))
	next := edges(code)
	if len(code) == 0 {
		return nil
	}
	before[0] = &lanes{}
	if !entry {
		before[0] = &lanes{[4]uint64{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<63 - 1}, 127}
	}
	for open := []int{0}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		after := code[i].differ(*before[i])
		if code[i].root() == "CALL" {
			after = lanes{[4]uint64{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<63 - 1}, 127}
		}
		for _, to := range next[i] {
			if before[to] == nil {
				before[to] = new(lanes)
				*before[to] = after
			} else if !before[to].merge(after) {
				continue
			}
			open = append(open, to)
		}
	}
	apart := false // lanes take different ways: nothing is known of what they write there
	for i := range code {
		if in := &code[i]; before[i] != nil && len(next[i]) > 1 && in.root() != "BSYNC" && in.root() != "CALL" && in.root() != "BSSY" {
			apart = apart || before[i].varies(in.guard, 1) || before[i].varies(strings.Join(in.operands, ","), 1)
		}
	}
	var faults []string
	for i := range code {
		in := &code[i]
		if before[i] == nil || !roots[in.root()] || in.guard == "" {
			continue
		}
		if apart || before[i].varies(in.guard, 1) {
			faults = append(faults, fmt.Sprintf("/*%04x*/ %s: some lanes of a warp may not do it", in.addr, in.text))
		}
	}
	return faults
}
