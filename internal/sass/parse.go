package sass

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// inst is one instruction.
type inst struct {
	addr int
	text string // "@P0 LDGSTS.E [R1], desc[UR4][R2.64]"
	// op is the opcode with its modifiers; guard the predicate before it, "" for none.
	op, guard string
	operands  []string
	// targets are addresses that it names as places in the code.
	targets []int
}

// root is the opcode without its modifiers.
func (in *inst) root() string {
	r, _, _ := strings.Cut(in.op, ".")
	return r
}

var (
	line = regexp.MustCompile(`^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P[0-9T]+)\s+)?([A-Z][A-Z0-9_.a-z]*)\s*(.*?)\s*;`)
	hex  = regexp.MustCompile("^0x[0-9a-f]+$")
)

// jumps are the instructions with a place in the code among their operands.
var jumps = map[string]bool{
	"BRA": true, "BSSY": true, "CALL": true, "JMP": true, "WARPSYNC": true, "BRX": true, "JMX": true, "BRXU": true, "JMXU": true, "RET": true,
}

// parse reads the text of "nvdisasm -b", one instruction per line.
func parse(text string) ([]inst, error) {
	var code []inst
	for l := range strings.Lines(text) {
		m := line.FindStringSubmatch(l)
		if m == nil {
			if strings.Contains(l, ";") {
				return nil, fmt.Errorf("%q is not a line of nvdisasm", strings.TrimSpace(l))
			}
			continue
		}
		addr, err := strconv.ParseInt(m[1], 16, 0)
		if err != nil {
			return nil, err
		}
		in := inst{addr: int(addr), guard: m[2], op: m[3], text: m[3] + " " + m[4]}
		if in.guard != "" {
			in.text = "@" + in.guard + " " + in.text
		}
		if m[4] != "" {
			for _, o := range strings.Split(m[4], ",") {
				in.operands = append(in.operands, strings.TrimSpace(o))
			}
		}
		if jumps[in.root()] {
			for _, o := range in.operands {
				if hex.MatchString(o) {
					at, err := strconv.ParseInt(o[2:], 16, 0)
					if err != nil {
						return nil, err
					}
					in.targets = append(in.targets, int(at))
				}
			}
		}
		code = append(code, in)
	}
	return code, nil
}
