package ptx

import "math"

// Pos is a place in the PTX text; Line and Col count from 1.
type Pos struct{ Line, Col int }

// Module is a parsed PTX file.
type Module struct {
	// File names the text in diagnostics.
	File string
	// Src is the text itself.
	Src string
	// Major and Minor are the ISA version of .version.
	Major, Minor int
	// Target is the first name of .target, such as "sm_80".
	Target      string
	AddressSize int
	// Files are the .file entries in order.
	Files []SourceFile
	// Vars are the variables of module scope.
	Vars []*Var
	// Funcs are entries and device functions, declarations included.
	Funcs []*Func
}

// SourceFile is one .file directive.
type SourceFile struct {
	Index int
	Name  string
}

// Var is a variable, a function parameter, or a register declaration.
type Var struct {
	Pos   Pos
	Name  string
	Space string // "global", "shared", "local", "const", "param", "reg"
	Type  string // element type without the dot
	Vec   int    // elements of a vector type, 1 for scalars
	Align int    // bytes; 0 where none is given
	// Count is the number of elements: 1 for scalars, the product of the
	// dimensions for arrays, 0 for "[]". For registers "%r<7>" it is 7, and 0
	// for a single one.
	Count   int
	Array   bool
	Extern  bool
	Init    []Operand // initialiser values, flattened; nil when absent
	HasInit bool
}

// Func is a kernel or a device function. Body is nil for a declaration.
type Func struct {
	Pos      Pos
	Name     string
	Entry    bool
	Extern   bool
	NoReturn bool
	Rets     []*Var
	Params   []*Var
	// ReqNTid and MaxNTid are the block shapes of .reqntid and .maxntid, zero
	// where absent.
	ReqNTid, MaxNTid [3]int
	MaxNReg          int
	// Cluster is the shape of .reqnctapercluster, zero where there is none.
	Cluster [3]int
	HasBody bool
	Body    []Stmt
}

// StmtKind tells the forms of Stmt apart.
type StmtKind uint8

const (
	StmtInst StmtKind = iota
	StmtLabel
	StmtVar   // Var holds a .reg, .local, .shared or .param declaration
	StmtOpen  // "{"
	StmtClose // "}"
	StmtLoc   // Loc
	StmtTable // Name: .branchtargets or .calltargets; Args are the names
)

// Stmt is one statement of a body.
type Stmt struct {
	Pos  Pos
	Kind StmtKind
	// Name is the opcode with all its modifiers, or the label.
	Name string
	// Guard is the predicate register's name, empty where there is none.
	Guard    string
	GuardNot bool
	GuardPos Pos
	Args     []Operand
	Var      *Var
	Loc      Loc
}

// Loc is a .loc directive.
type Loc struct {
	File, Line, Col int
	// Name is the file's, where the text has that in place of a number.
	Name string
	// Inlined is the call site of an inlined function, nil at the top.
	Inlined *Loc
}

// OperandKind tells the forms of Operand apart.
type OperandKind uint8

const (
	OpdName   OperandKind = iota // register, label, symbol, or "_"
	OpdInt                       // integer constant in Bits
	OpdF32                       // float constant, 32 bits in Bits
	OpdF64                       // float constant, 64 bits in Bits
	OpdVector                    // {a, b, …}: List
	OpdAddr                      // [base+Off] or [base, {coordinates}]
	OpdPair                      // a|b: List of two
	OpdList                      // (a, b, …) of a call
)

// Operand is one operand of an instruction or one value of an initialiser.
type Operand struct {
	Pos  Pos
	Kind OperandKind
	Name string
	// Not marks "!p", Neg a minus before a name.
	Not  bool
	Neg  bool
	Bits uint64
	// Off is the displacement of an address or of "symbol+4".
	Off  int64
	List []Operand
	// Generic marks generic(symbol) in an initialiser.
	Generic bool
}

func f64bits(v float64) uint64 { return math.Float64bits(v) }
