package npu

import "fmt"

// Space is a memory that programs access.
type Space uint8

// The memories. All but global memory are those of a core.
const (
	GM Space = iota
	UB
	L1
	L0A
	L0B
	L0C
	numSpaces
)

var spaceNames = [...]string{GM: "gm", UB: "ub", L1: "l1", L0A: "l0a", L0B: "l0b", L0C: "l0c"}

func (s Space) String() string { return spaceNames[s] }

// name is the space's name in messages.
func (s Space) name() string {
	if s == GM {
		return "global memory"
	}
	return s.String()
}

// Pipe is a unit of a core that runs beside the others.
type Pipe uint8

// The pipes.
const (
	PipeS Pipe = iota
	PipeV
	PipeM
	PipeMTE1
	PipeMTE2
	PipeMTE3
	PipeFix
	numPipes
)

var pipeNames = [...]string{PipeS: "s", PipeV: "v", PipeM: "m", PipeMTE1: "mte1", PipeMTE2: "mte2", PipeMTE3: "mte3", PipeFix: "fix"}

func (p Pipe) String() string { return pipeNames[p] }

// events is how many flags there are from a pipe to another.
const events = 8

// transferPipes are the pipes that copy from a space to another, and fillPipes those that
// fill one.
var (
	transferPipes = map[[2]Space]Pipe{
		{GM, UB}: PipeMTE2, {GM, L1}: PipeMTE2, {UB, GM}: PipeMTE3, {UB, UB}: PipeV,
		{L1, L0A}: PipeMTE1, {L1, L0B}: PipeMTE1, {L0C, GM}: PipeFix,
	}
	fillPipes = map[Space]Pipe{UB: PipeV, L1: PipeMTE2, L0A: PipeMTE1, L0B: PipeMTE1, L0C: PipeM}
)

// CoreKind says what runs a program.
type CoreKind uint8

// The kinds. A program of the grid is one that is started for each place in the grid;
// those of cores run once a core and find their places themselves.
const (
	GridProgram CoreKind = iota
	VectorCore
	AICore
)

var coreNames = [...]string{GridProgram: "program", VectorCore: "vector", AICore: "ai"}

// trailing is how many of the parameters the launch fills: the sizes of the grid, and
// where in it a program of the grid is.
func (k CoreKind) trailing() int {
	if k == GridProgram {
		return 6
	}
	return 3
}

// Loc is a place in a source file.
type Loc struct {
	File      string
	Line, Col int
}

func (l Loc) String() string {
	if l.File == "" {
		return "an unknown line"
	}
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}

// regType is the type of a register: a scalar, or a view of memory of so many dimensions.
type regType struct {
	elem   Type
	memory bool
	space  Space
	rank   int
}

func (t regType) String() string {
	if !t.memory {
		return t.elem.String()
	}
	return fmt.Sprintf("%s<%s,%d>", t.space, t.elem, t.rank)
}

// operand is a register, or where reg is negative a number.
type operand struct {
	reg int
	num int64
}

// inst is an instruction.
type inst struct {
	op    *opcode
	index int // of the program's code
	line  int // of the file
	loc   Loc
	dst   int // register, or -1
	pipe  Pipe
	args  []operand
	lists [3][]operand
	name  string // of the scalar operation, or a mode
	fn    scalarFunc
	// n is what the instruction says in numbers: the bits of a constant, an offset, a
	// dimension, an event; flag whether it has its one option.
	n        int64
	flag     bool
	from, to Pipe
	targets  [2]int // instructions
}

// Program is a decoded file. It is immutable, and serves any number of launches.
type Program struct {
	// Kernel and Chip are their names.
	Kernel, Chip string
	Core         CoreKind
	// Workspace is how many bytes of global memory a core needs for itself.
	Workspace int
	// Used is how many bytes of each memory of the core buffers take.
	Used [numSpaces]int

	file    string
	text    []string // lines
	params  []int    // registers
	regs    []regType
	code    []inst
	touches [numPipes]bool // pipes that access global memory
	// together is an instruction by which all programs of a launch wait for one another, nil
	// where there is none.
	together *inst
}

// Params is how many arguments a launch gives.
func (p *Program) Params() int { return len(p.params) - p.Core.trailing() }

// Limits of what a file may ask for.
const (
	maxFile  = 64 << 20
	maxRegs  = 1 << 20
	maxRank  = 32
	maxSpace = 1 << 24
	maxWork  = 1 << 30
	maxParam = 1024
)
