package sass

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// registers are a set of uniform registers (bits 0 to 62) and, at predicates, of
// uniform predicates.
type registers struct{ values, predicates uint64 }

func (r registers) with(o registers) registers {
	return registers{r.values | o.values, r.predicates | o.predicates}
}

func (r registers) without(o registers) registers {
	return registers{r.values &^ o.values, r.predicates &^ o.predicates}
}

// all is every register there is.
var all = registers{1<<63 - 1, 1<<7 - 1}

func (r registers) String() string {
	var names []string
	for i := range 63 {
		if r.values>>i&1 != 0 {
			names = append(names, fmt.Sprint("UR", i))
		}
		if r.predicates>>i&1 != 0 {
			names = append(names, fmt.Sprint("UP", i))
		}
	}
	return strings.Join(names, ", ")
}

// run is n uniform registers from the one numbered first.
func run(first, n int) registers {
	return registers{values: (1<<n - 1) << first & all.values}
}

var (
	uniform    = regexp.MustCompile(`(g?desc\[)?\bU([RP])(\d+)\b(\.64)?`)
	whole      = regexp.MustCompile(`^[!-]?U[RP](\d+|Z|T)$`)
	descriptor = regexp.MustCompile(`\bdesc\[UR(\d+)\]`)
	matrices   = regexp.MustCompile(`\bgdesc\[UR(\d+)\]`)
)

// writers are instructions beside those of the uniform unit (U…) that write a
// uniform register or predicate, their first operand.
var writers = map[string]bool{
	"R2UR": true, "S2UR": true, "REDUX": true, "VOTEU": true, "ELECT": true, "CREDUX": true, "LDCU": true, "SYNCS": true,
}

// readers are instructions whose names begin with U and that write none.
var readers = map[string]bool{
	"UTMALDG": true, "UTMASTG": true, "UTMAREDG": true, "UTMAPF": true, "UTMACCTL": true, "UTMACMDFLUSH": true,
	"UBLKCP": true, "UBLKPF": true, "UBLKRED": true, "UCGABAR_ARV": true, "UCGABAR_WAIT": true, "USTG": true,
}

// access is what an instruction reads and writes of uniform registers.
func (in *inst) access() (reads, writes registers) {
	if strings.HasPrefix(strings.TrimPrefix(in.guard, "!"), "UP") {
		reads = reads.with(read(in.guard))
	}
	// UPRMT UR5, UR5, 0x3340, UR5 packs two undefined bytes: ptxas emits it for elements
	// of a vector that no insertelement has set yet, and replaces them later.
	if o := in.operands; in.root() == "UPRMT" && len(o) == 4 && o[0] == o[1] && o[2] == "0x3340" && o[0] == o[3] {
		return reads, read(o[0])
	}
	dst := 0 // operands written
	if root := in.root(); writers[root] || root[0] == 'U' && !readers[root] {
		dst = in.destinations()
	}
	for i, o := range in.operands {
		if i >= dst {
			r := read(o)
			if m := matrices.FindStringSubmatch(o); m != nil && in.matrixInRegisters() {
				first, _ := strconv.Atoi(m[1])
				r = r.without(run(first, 2))
			}
			reads = reads.with(r)
			continue
		}
		w := read(o)
		if m := uniform.FindStringSubmatch(o); m != nil && m[2] == "R" {
			first, _ := strconv.Atoi(m[3])
			w = run(first, in.width())
		}
		writes = writes.with(w)
	}
	switch in.root() {
	case "R2UP", "UR2UP": // to all predicates
		writes = writes.with(registers{predicates: all.predicates})
	}
	return reads, writes
}

// matrixInRegisters reports whether a dot of a warpgroup (HGMMA, IGMMA, QGMMA) has A in
// registers. Of its four registers of descriptors it reads the last two, those of B.
func (in *inst) matrixInRegisters() bool {
	return strings.HasSuffix(in.root(), "GMMA") && len(in.operands) > 1 && in.operands[1][0] == 'R'
}

// destinations counts the operands in front that an instruction writes: predicates,
// a register, and the predicates of its carry.
func (in *inst) destinations() int {
	seen, n := false, 0
	for _, o := range in.operands {
		if root := in.root(); n == 0 && (root == "ELECT" || root == "R2UR") && o[0] == 'P' {
			n++ // ELECT P0, UR4, URZ; R2UR.OR P0, UR4, R4, of lanes with one value
			continue
		}
		if !whole.MatchString(o) || o[0] == '!' || o[0] == '-' {
			break
		}
		if o[1] == 'R' {
			if seen {
				break
			}
			seen = true
		}
		n++
	}
	switch in.root() {
	case "UISETP", "UPLOP3", "UFSETP", "UPSETP": // two predicates, and then sources
		return min(n, 2)
	case "USEL", "UP2UR", "USETP": // a register, and then sources
		return min(n, 1)
	case "USETMAXREG": // TRY_ALLOC says in a predicate whether there were as many
		if !strings.Contains(in.op, ".TRY_ALLOC") {
			return 0
		}
		return min(n, 1)
	}
	return n
}

// width is how many registers the result takes.
func (in *inst) width() int {
	for _, m := range strings.Split(in.op, ".")[1:] {
		switch m {
		case "64", "WIDE":
			return 2
		case "128":
			return 4
		}
	}
	return 1
}

// read is what an operand names: a descriptor takes two registers, and that of
// matrices in shared memory (gdesc) four.
func read(operand string) (r registers) {
	for _, m := range uniform.FindAllStringSubmatch(operand, -1) {
		n, _ := strconv.Atoi(m[3])
		switch {
		case m[2] == "P":
			r.predicates |= 1 << n & all.predicates
		case m[1] == "gdesc[":
			r = r.with(run(n, 4))
		case m[1] == "desc[" || m[4] != "":
			r = r.with(run(n, 2))
		default:
			r = r.with(run(n, 1))
		}
	}
	return r
}

// check lists the faults of one function. Of one that is not an entry, the caller may
// have set everything.
func check(code []inst, entry bool) []string {
	var faults []string
	fault := func(in *inst, what string) {
		faults = append(faults, fmt.Sprintf("/*%04x*/ %s: %s", in.addr, in.text, what))
	}
	for i := range code {
		for _, m := range descriptor.FindAllStringSubmatch(code[i].text, -1) {
			if n, _ := strconv.Atoi(m[1]); n%2 != 0 {
				fault(&code[i], fmt.Sprintf("UR%d is not a first half of a descriptor", n))
			}
		}
	}
	before := written(code, entry)
	for i := range code {
		if before[i] == nil {
			continue // never reached
		}
		if reads, _ := code[i].access(); reads.without(*before[i]) != (registers{}) {
			fault(&code[i], fmt.Sprintf("nothing writes %v before", reads.without(*before[i])))
		}
	}
	return faults
}

// written is, for each instruction that can be reached, what may have been written
// on the way to it.
func written(code []inst, entry bool) []*registers {
	next := edges(code)
	before := make([]*registers, len(code))
	if len(code) == 0 {
		return before
	}
	before[0] = &registers{}
	if !entry {
		before[0] = &all
	}
	for open := []int{0}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		_, writes := code[i].access()
		after := before[i].with(writes)
		if code[i].root() == "CALL" && len(next[i]) == 1 { // somewhere else
			after = all
		}
		for _, to := range next[i] {
			switch {
			case before[to] == nil:
				before[to] = new(registers)
				*before[to] = after
			case after.without(*before[to]) == (registers{}):
				continue
			default:
				sum := before[to].with(after)
				before[to] = &sum
			}
			open = append(open, to)
		}
	}
	return before
}

// edges are, for each instruction, those that may follow it.
func edges(code []inst) [][]int {
	at := make(map[int]int, len(code))
	for i := range code {
		at[code[i].addr] = i
	}
	var labels, joins, returns []int // that are named; after BSSY; after calls
	for i := range code {
		for _, a := range code[i].targets {
			if to, ok := at[a]; ok {
				labels = append(labels, to)
				if code[i].root() == "BSSY" {
					joins = append(joins, to)
				}
			}
		}
		if code[i].root() == "CALL" && i+1 < len(code) {
			returns = append(returns, i+1)
		}
	}
	next := make([][]int, len(code))
	for i := range code {
		in := &code[i]
		var to []int
		for _, a := range in.targets {
			if j, ok := at[a]; ok {
				to = append(to, j)
			}
		}
		through := true
		switch in.root() {
		case "EXIT":
			through = in.guard != ""
		case "RET":
			to, through = append(to, returns...), in.guard != ""
		case "BRX", "BRXU", "JMX", "JMXU":
			to, through = append(to, labels...), in.guard != ""
		case "BRA", "JMP": // with a condition among the operands, or before
			through = in.guard != "" || len(in.operands) > 1
		case "BSYNC":
			to = append(to, joins...)
		}
		if through && i+1 < len(code) {
			to = append(to, i+1)
		}
		slices.Sort(to)
		next[i] = slices.Compact(to)
	}
	return next
}
