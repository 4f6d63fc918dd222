package syntax

// Span is the text a node was read from. Lines count from 1; columns are byte
// offsets into the line's UTF-8 text and count from 0, as in CPython's ast.
// The end is just after the last byte.
type Span struct {
	Line, Col, EndLine, EndCol int32
}

// Loc returns s itself; by embedding, every node has this method.
func (s Span) Loc() Span { return s }

// Node is any element of the tree.
type Node interface{ Loc() Span }

// Stmt is one of the *…Def, Return, Assign, … statement nodes.
type Stmt interface {
	Node
	stmt()
}

// Expr is one of the expression nodes.
type Expr interface {
	Node
	expr()
}

// Pattern is what comes after case: MatchValue, MatchClass, …
type Pattern interface {
	Node
	pattern()
}

// TypeParam is a TypeVar, ParamSpec or TypeVarTuple of a type parameter list.
type TypeParam interface {
	Node
	typeParam()
}

// The four embedded headers give a node its position and its family.
type (
	stmtNode      struct{ Span }
	exprNode      struct{ Span }
	patternNode   struct{ Span }
	typeParamNode struct{ Span }
)

func (stmtNode) stmt()           {}
func (exprNode) expr()           {}
func (patternNode) pattern()     {}
func (typeParamNode) typeParam() {}

// Module is a parsed file.
type Module struct {
	Span
	Filename string
	// Source is the text that positions refer to: UTF-8, without byte order
	// mark, with every line ending turned into \n.
	Source   string
	Body     []Stmt
	Comments []Comment // in source order
}

// Comment is one "# …" up to the end of its line.
type Comment struct {
	Span
	Text string // from '#' on, without the newline
}

// Statements.
type (
	// FunctionDef is a def. Its Span starts at "def", not at a decorator.
	FunctionDef struct {
		stmtNode
		Name       string
		Args       *Arguments
		Body       []Stmt
		Decorators []Expr
		Returns    Expr // or nil
		TypeParams []TypeParam
	}
	// AsyncFunctionDef is an async def.
	AsyncFunctionDef struct{ FunctionDef }
	// ClassDef is a class. Its Span starts at "class".
	ClassDef struct {
		stmtNode
		Name       string
		Bases      []Expr
		Keywords   []*Keyword
		Body       []Stmt
		Decorators []Expr
		TypeParams []TypeParam
	}
	// Return is return [Value].
	Return struct {
		stmtNode
		Value Expr // or nil
	}
	// Delete is del Targets.
	Delete struct {
		stmtNode
		Targets []Expr
	}
	// Assign is Targets[0] = Targets[1] = … = Value.
	Assign struct {
		stmtNode
		Targets []Expr
		Value   Expr
	}
	// TypeAlias is type Name[TypeParams] = Value.
	TypeAlias struct {
		stmtNode
		Name       *Name
		TypeParams []TypeParam
		Value      Expr
	}
	// AugAssign is Target Op= Value.
	AugAssign struct {
		stmtNode
		Target Expr
		Op     Operator
		Value  Expr
	}
	// AnnAssign is Target: Annotation [= Value].
	AnnAssign struct {
		stmtNode
		Target     Expr
		Annotation Expr
		Value      Expr // or nil
		// Simple: Target is a Name without parentheses around it.
		Simple bool
	}
	// For is for Target in Iter.
	For struct {
		stmtNode
		Target Expr
		Iter   Expr
		Body   []Stmt
		Orelse []Stmt
	}
	// AsyncFor is async for.
	AsyncFor struct{ For }
	// While is while Test.
	While struct {
		stmtNode
		Test   Expr
		Body   []Stmt
		Orelse []Stmt
	}
	// If is if Test; an elif is an If alone in Orelse.
	If struct {
		stmtNode
		Test   Expr
		Body   []Stmt
		Orelse []Stmt
	}
	// With is with Items.
	With struct {
		stmtNode
		Items []*WithItem
		Body  []Stmt
	}
	// AsyncWith is async with.
	AsyncWith struct{ With }
	// Match is match Subject.
	Match struct {
		stmtNode
		Subject Expr
		Cases   []*MatchCase
	}
	// Raise is raise [Exc [from Cause]].
	Raise struct {
		stmtNode
		Exc, Cause Expr // or nil
	}
	// Try is try with except, else and finally.
	Try struct {
		stmtNode
		Body      []Stmt
		Handlers  []*ExceptHandler
		Orelse    []Stmt
		Finalbody []Stmt
	}
	// TryStar is try with except*.
	TryStar struct{ Try }
	// Assert is assert Test [, Msg].
	Assert struct {
		stmtNode
		Test Expr
		Msg  Expr // or nil
	}
	// Import is import Names.
	Import struct {
		stmtNode
		Names []*Alias
	}
	// ImportFrom is from Module import Names.
	ImportFrom struct {
		stmtNode
		Module string // "" when the import is from dots alone
		Names  []*Alias
		Level  int // number of leading dots
	}
	// Global is global Names.
	Global struct {
		stmtNode
		Names []string
	}
	// Nonlocal is nonlocal Names.
	Nonlocal struct {
		stmtNode
		Names []string
	}
	// ExprStmt is an expression as a statement (ast.Expr).
	ExprStmt struct {
		stmtNode
		Value Expr
	}
	// Pass is pass.
	Pass struct{ stmtNode }
	// Break is break.
	Break struct{ stmtNode }
	// Continue is continue.
	Continue struct{ stmtNode }
)

// Expressions.
type (
	// BoolOp is Values[0] and Values[1] and …, or the same with or.
	BoolOp struct {
		exprNode
		Op     BoolOperator
		Values []Expr
	}
	// NamedExpr is Target := Value.
	NamedExpr struct {
		exprNode
		Target *Name
		Value  Expr
	}
	// BinOp is Left Op Right.
	BinOp struct {
		exprNode
		Left  Expr
		Op    Operator
		Right Expr
	}
	// UnaryOp is Op Operand.
	UnaryOp struct {
		exprNode
		Op      UnaryOperator
		Operand Expr
	}
	// Lambda is lambda Args: Body.
	Lambda struct {
		exprNode
		Args *Arguments
		Body Expr
	}
	// IfExp is Body if Test else Orelse.
	IfExp struct {
		exprNode
		Test, Body, Orelse Expr
	}
	// Dict is {Keys[i]: Values[i], …}; a nil key marks **Values[i].
	Dict struct {
		exprNode
		Keys   []Expr
		Values []Expr
	}
	// Set is {Elts…}.
	Set struct {
		exprNode
		Elts []Expr
	}
	// ListComp is [Elt for …].
	ListComp struct {
		exprNode
		Elt        Expr
		Generators []*Comprehension
	}
	// SetComp is {Elt for …}.
	SetComp struct {
		exprNode
		Elt        Expr
		Generators []*Comprehension
	}
	// DictComp is {Key: Value for …}.
	DictComp struct {
		exprNode
		Key, Value Expr
		Generators []*Comprehension
	}
	// GeneratorExp is (Elt for …).
	GeneratorExp struct {
		exprNode
		Elt        Expr
		Generators []*Comprehension
	}
	// Await is await Value.
	Await struct {
		exprNode
		Value Expr
	}
	// Yield is yield [Value].
	Yield struct {
		exprNode
		Value Expr // or nil
	}
	// YieldFrom is yield from Value.
	YieldFrom struct {
		exprNode
		Value Expr
	}
	// Compare is Left Ops[0] Comparators[0] Ops[1] Comparators[1] …
	Compare struct {
		exprNode
		Left        Expr
		Ops         []CmpOperator
		Comparators []Expr
	}
	// Call is Func(Args…, Keywords…).
	Call struct {
		exprNode
		Func     Expr
		Args     []Expr
		Keywords []*Keyword
	}
	// FormattedValue is one {Value!Conversion:FormatSpec} of an f-string.
	FormattedValue struct {
		exprNode
		Value      Expr
		Conversion rune       // 's', 'r', 'a', or -1 for none
		FormatSpec *JoinedStr // or nil
	}
	// JoinedStr is an f-string: Constants with string values and
	// FormattedValues.
	JoinedStr struct {
		exprNode
		Values []Expr
	}
	// Constant is a literal. The dynamic type of Value is one of int64,
	// *big.Int (only for what int64 does not hold), float64, complex128,
	// string, Bytes, bool, None, Ellipsis. A lone surrogate such as "\ud800"
	// is in a string as the three bytes that UTF-8 would have for it.
	Constant struct {
		exprNode
		Value any
		// UKind: the (first) literal was written u"…" (ast's kind == "u").
		UKind bool
	}
	// Attribute is Value.Attr.
	Attribute struct {
		exprNode
		Value Expr
		Attr  string
		Ctx   ExprContext
	}
	// Subscript is Value[Slice].
	Subscript struct {
		exprNode
		Value Expr
		Slice Expr
		Ctx   ExprContext
	}
	// Starred is *Value.
	Starred struct {
		exprNode
		Value Expr
		Ctx   ExprContext
	}
	// Name is an identifier, in NFKC form.
	Name struct {
		exprNode
		ID  string
		Ctx ExprContext
	}
	// List is [Elts…].
	List struct {
		exprNode
		Elts []Expr
		Ctx  ExprContext
	}
	// Tuple is Elts[0], Elts[1], …, with or without parentheses.
	Tuple struct {
		exprNode
		Elts []Expr
		Ctx  ExprContext
	}
	// Slice is Lower:Upper:Step inside a Subscript.
	Slice struct {
		exprNode
		Lower, Upper, Step Expr // or nil
	}
)

// None is the value of the Constant None.
type None struct{}

// Ellipsis is the value of the Constant "...".
type Ellipsis struct{}

// Bytes is the value of a bytes literal: raw bytes in an immutable string.
type Bytes string

// Patterns.
type (
	// MatchValue compares with Value, an attribute or a literal.
	MatchValue struct {
		patternNode
		Value Expr
	}
	// MatchSingleton is None, True or False.
	MatchSingleton struct {
		patternNode
		Value any // None or bool
	}
	// MatchSequence is [Patterns…] or (Patterns…).
	MatchSequence struct {
		patternNode
		Patterns []Pattern
	}
	// MatchMapping is {Keys[i]: Patterns[i], **Rest}.
	MatchMapping struct {
		patternNode
		Keys     []Expr
		Patterns []Pattern
		Rest     string // "" when absent
	}
	// MatchClass is Cls(Patterns…, KwdAttrs[i]=KwdPatterns[i]…).
	MatchClass struct {
		patternNode
		Cls         Expr
		Patterns    []Pattern
		KwdAttrs    []string
		KwdPatterns []Pattern
	}
	// MatchStar is *Name; Name is "" for *_.
	MatchStar struct {
		patternNode
		Name string
	}
	// MatchAs is Pattern as Name; without Pattern a capture, without both "_".
	MatchAs struct {
		patternNode
		Pattern Pattern // or nil
		Name    string  // or ""
	}
	// MatchOr is Patterns[0] | Patterns[1] | …
	MatchOr struct {
		patternNode
		Patterns []Pattern
	}
)

// Type parameters.
type (
	// TypeVar is Name [: Bound].
	TypeVar struct {
		typeParamNode
		Name  string
		Bound Expr // or nil
	}
	// ParamSpec is **Name.
	ParamSpec struct {
		typeParamNode
		Name string
	}
	// TypeVarTuple is *Name.
	TypeVarTuple struct {
		typeParamNode
		Name string
	}
)

// Parts of statements and expressions. Those that CPython gives no position
// (Arguments, Comprehension, WithItem, MatchCase) span the text they stand for;
// an empty parameter list has the position where it would be.
type (
	// Arguments is a parameter list.
	Arguments struct {
		Span
		PosOnly []*Arg
		Args    []*Arg
		Vararg  *Arg // or nil
		KwOnly  []*Arg
		// KwDefaults matches KwOnly; nil where there is no default.
		KwDefaults []Expr
		Kwarg      *Arg // or nil
		// Defaults belong to the last len(Defaults) of PosOnly and Args
		// together.
		Defaults []Expr
	}
	// Arg is one parameter.
	Arg struct {
		Span
		Name       string
		Annotation Expr // or nil
	}
	// Keyword is Arg=Value in a call; Arg is "" for **Value.
	Keyword struct {
		Span
		Arg   string
		Value Expr
	}
	// Alias is Name [as Asname] of an import.
	Alias struct {
		Span
		Name   string // dotted, or "*"
		Asname string // or ""
	}
	// WithItem is ContextExpr [as OptionalVars].
	WithItem struct {
		Span
		ContextExpr  Expr
		OptionalVars Expr // or nil
	}
	// Comprehension is [async] for Target in Iter if Ifs[0] if Ifs[1] …
	Comprehension struct {
		Span
		Target  Expr
		Iter    Expr
		Ifs     []Expr
		IsAsync bool
	}
	// ExceptHandler is except Type as Name.
	ExceptHandler struct {
		Span
		Type Expr   // or nil
		Name string // or ""
		Body []Stmt
	}
	// MatchCase is case Pattern if Guard.
	MatchCase struct {
		Span
		Pattern Pattern
		Guard   Expr // or nil
		Body    []Stmt
	}
)

// ExprContext says what happens to the place an expression names.
type ExprContext uint8

const (
	Load ExprContext = iota
	Store
	Del
)

var contextNames = [...]string{"Load", "Store", "Del"}

func (c ExprContext) String() string { return contextNames[c] }

// Operator is a binary arithmetic or bit operator.
type Operator uint8

const (
	Add Operator = iota
	Sub
	Mult
	MatMult
	Div
	Mod
	Pow
	LShift
	RShift
	BitOr
	BitXor
	BitAnd
	FloorDiv
)

var operators = [...]struct{ name, symbol string }{
	{"Add", "+"},
	{"Sub", "-"},
	{"Mult", "*"},
	{"MatMult", "@"},
	{"Div", "/"},
	{"Mod", "%"},
	{"Pow", "**"},
	{"LShift", "<<"},
	{"RShift", ">>"},
	{"BitOr", "|"},
	{"BitXor", "^"},
	{"BitAnd", "&"},
	{"FloorDiv", "//"},
}

func (o Operator) String() string { return operators[o].name }

// Symbol is the operator as written: "+", "//", …
func (o Operator) Symbol() string { return operators[o].symbol }

// UnaryOperator is ~, not, + or -.
type UnaryOperator uint8

const (
	Invert UnaryOperator = iota
	Not
	UAdd
	USub
)

var unaryOperators = [...]struct{ name, symbol string }{
	{"Invert", "~"},
	{"Not", "not "},
	{"UAdd", "+"},
	{"USub", "-"},
}

func (o UnaryOperator) String() string { return unaryOperators[o].name }

// Symbol is the operator as written before its operand: "~", "not ", …
func (o UnaryOperator) Symbol() string { return unaryOperators[o].symbol }

// BoolOperator is and or or.
type BoolOperator uint8

const (
	And BoolOperator = iota
	Or
)

var boolOperators = [...]struct{ name, symbol string }{{"And", "and"}, {"Or", "or"}}

func (o BoolOperator) String() string { return boolOperators[o].name }

// Symbol is "and" or "or".
func (o BoolOperator) Symbol() string { return boolOperators[o].symbol }

// CmpOperator is a comparison.
type CmpOperator uint8

const (
	Eq CmpOperator = iota
	NotEq
	Lt
	LtE
	Gt
	GtE
	Is
	IsNot
	In
	NotIn
)

var cmpOperators = [...]struct{ name, symbol string }{
	{"Eq", "=="},
	{"NotEq", "!="},
	{"Lt", "<"},
	{"LtE", "<="},
	{"Gt", ">"},
	{"GtE", ">="},
	{"Is", "is"},
	{"IsNot", "is not"},
	{"In", "in"},
	{"NotIn", "not in"},
}

func (o CmpOperator) String() string { return cmpOperators[o].name }

// Symbol is the operator as written: "==", "not in", …
func (o CmpOperator) Symbol() string { return cmpOperators[o].symbol }
