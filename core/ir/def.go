package ir

import "sync/atomic"

// Dialect is a set of operations, types and attributes: data, assembled where
// it is used. Core's dialects are Go tables; a backend's arrive as declarations
// and become the same structure.
type Dialect struct {
	Name string
	Doc  string
	Ops  []*OpDef
	// Families are views that several operations share.
	Families []Family

	// Asm prints and parses the dialect's own types and attributes, and the
	// irregular forms of its operations. It is defined and called by package
	// core/ir/text; nil for a dialect that has none.
	Asm any

	// Check verifies what is about more than one operation, such as types against
	// the attributes of a module. Verify calls it for the whole that it verifies,
	// when each operation has passed. Nil for most dialects.
	Check func(top *Operation) *VerifyError

	index atomic.Pointer[map[string]*OpDef]
}

// Op returns the definition of that name (with the dialect), or nil. Two
// operations of one name are a bug of the table.
func (d *Dialect) Op(name string) *OpDef {
	index := d.index.Load()
	if index == nil {
		m := make(map[string]*OpDef, len(d.Ops))
		for _, op := range d.Ops {
			if m[op.Name] != nil {
				panic("BUG: ir: two operations named " + op.Name)
			}
			m[op.Name] = op
		}
		index = &m
		d.index.Store(index)
	}
	return (*index)[name]
}

// Family is a view that serves every operation, of whatever dialect, whose row
// names operands and results as one row does and has its attributes: such as all
// that compute "result" from "lhs" and "rhs". Package internal/opviews generates it.
type Family struct {
	Name string // of the view: "Binary" for AsBinary and BinaryOp
	Doc  string // one line, of the operations: "an operation on two operands"
	Like *OpDef
}

// OpDef is one row of a dialect's table: everything that is known about an
// operation apart from one instance of it. Definitions are immutable and shared.
type OpDef struct {
	Name string // with the dialect: "tt.load"
	Doc  string // one line

	Operands []Operand
	Results  []Result
	Attrs    []AttrDef // inherent attributes; all others are discardable
	Regions  []RegionDef
	// Successors is the number of successor blocks, -1 for any.
	Successors int

	Traits  Trait
	Effects Effects

	// Asm is the assembly format in MLIR's declarative notation, e.g.
	// "$ptr attr-dict `:` type($ptr)". Empty: the generic form, or an irregular
	// form that the dialect's Asm provides.
	Asm string

	// Infer computes the result types from operands and attributes, where they
	// follow from them. Nil: they are given at creation.
	Infer func(s *State) ([]Type, error)

	// Verify checks what the row cannot say. Nil: nothing more.
	Verify func(op *Operation) error

	// Fold returns, for each result, a constant attribute or an existing value
	// that it always equals; nil where the operation does not fold. consts has
	// one entry an operand, nil where the operand is not constant.
	Fold func(op *Operation, consts []Attribute) []FoldResult

	// ResultName names the results when no location does ("c1_i32", "true").
	ResultName func(op *Operation, result int) string

	// Unregistered marks the stand-in for an operation that no loaded dialect knows.
	Unregistered bool

	form atomic.Pointer[any]
}

// Form returns what compile makes of d. It is made once, on first use: package
// core/ir/text keeps the compiled assembly there.
func (d *OpDef) Form(compile func(*OpDef) any) any {
	if f := d.form.Load(); f != nil {
		return *f
	}
	f := compile(d)
	d.form.CompareAndSwap(nil, &f)
	return *d.form.Load()
}

// FoldResult is an attribute (to be materialised as a constant) or a value.
type FoldResult struct {
	Attr  Attribute
	Value *Value
}

// Arity says how many values stand for one named operand or result.
type Arity uint8

const (
	One Arity = iota
	Optional
	Variadic
)

// Operand is a named operand group. With more than one group that is not One,
// the sizes of the groups are kept as Operation.Segments.
type Operand struct {
	Name  string
	Type  Constraint
	Arity Arity
}

// Result is a named result group.
type Result struct {
	Name  string
	Type  Constraint
	Arity Arity
}

// Constraint is a named predicate over types. The zero Constraint allows any.
type Constraint struct {
	Name string // as written in an error: "tensor of pointers or pointer"
	Test func(Type) bool
	// Prefix is what qualifiedless(type(…)) leaves out: "!tt.ptr". Empty where
	// types of several kinds fulfil the constraint.
	Prefix string
}

// AttrDef is an inherent attribute.
type AttrDef struct {
	Name string
	Kind AttrKind
	// Enum maps the keyword of each case to its value for AttrEnum kinds.
	Enum []EnumCase
	// Width of an AttrEnum's integer in bits; 0 is 32.
	Width int
	// Optional attributes may be absent. An absent attribute with a Default
	// has that value, and one that has its default is not printed.
	Optional bool
	Default  func(c *Context) Attribute
}

// AttrKind is the form of an inherent attribute.
type AttrKind uint8

const (
	AttrAny AttrKind = iota
	AttrUnit
	AttrBool
	AttrInt  // with its type printed
	AttrI32  // of type i32
	AttrI64  // of type i64
	AttrEnum // an integer of AttrDef.Width bits shown as a keyword
	AttrString
	AttrType
	AttrSymbol
	AttrDenseI32
	AttrDenseI64
	AttrArray
	AttrDict
	AttrTyped // integer, float or elements with the type of the result
)

// EnumCase is one keyword of an enumeration.
type EnumCase struct {
	Keyword string
	Value   int64
}

// RegionDef is a named region. MaxBlocks 0 means any number.
type RegionDef struct {
	Name      string
	MaxBlocks int
	Variadic  bool
}

// Trait is a set of properties that hold for every instance of an operation.
type Trait uint32

const (
	// Terminator: comes last in its block, and only there.
	Terminator Trait = 1 << iota
	// IsolatedFromAbove: its regions use no value defined outside.
	IsolatedFromAbove
	// Commutative: its two operands may be swapped.
	Commutative
	// ConstantLike: no operands, one result, the attribute "value" where the value
	// is not the operation itself.
	ConstantLike
	// SameOperandsAndResultType: all operands and results have one type.
	SameOperandsAndResultType
	// SameOperandsType: all operands have one type.
	SameOperandsType
	// SameShape: operands and results have one shape (element types may differ).
	SameShape
	// SameEncoding: operands and results have one encoding.
	SameEncoding
	// Elementwise: applies to each element on its own.
	Elementwise
	// SymbolTable: its region's operations may carry sym_name.
	SymbolTable
	// Symbol: has a sym_name.
	Symbol
	// NoTerminator: the blocks of its regions need no terminator.
	NoTerminator
	// SingleBlock: each region has at most one block.
	SingleBlock
	// SegmentedOperands: the sizes of the operand groups are kept explicitly.
	SegmentedOperands
	// TensorSize: tensors have at most 1048576 elements and powers of two for sizes, or any
	// where the module has AnyBlockSizes.
	TensorSize
	// HasParent: may appear only inside the operations its Verify names.
	HasParent
	// PassesOperands: each result is the operand of the same number, in any layout.
	PassesOperands
	// AnyWarps: its tensors may have layouts for another number of warps, lanes or CTAs
	// than there are, as long as nothing else uses them.
	AnyWarps
)

// Effects says what an operation does besides computing its results.
type Effects struct {
	// Unknown: anything may happen. The zero Effects is the absence of effects.
	Unknown bool
	Read    bool // reads memory
	Write   bool // writes memory
	Alloc   bool
	// Recursive: has the effects of the operations in its regions.
	Recursive bool
	// Of, when set, decides for one instance (a volatile load writes).
	Of func(op *Operation) Effects
	// NotSpeculatable: must not be executed where it was not (integer division).
	NotSpeculatable bool
}

// Pure is the absence of effects.
var Pure = Effects{}

// Has reports whether the definition has the trait.
func (d *OpDef) Has(t Trait) bool { return d.Traits&t != 0 }

// AttrDef returns the row of the inherent attribute of that name, or nil.
func (d *OpDef) AttrDef(name string) *AttrDef {
	for i := range d.Attrs {
		if d.Attrs[i].Name == name {
			return &d.Attrs[i]
		}
	}
	return nil
}

// Dialect is the part of the name before the first dot.
func (d *OpDef) Dialect() string {
	for i := 0; i < len(d.Name); i++ {
		if d.Name[i] == '.' {
			return d.Name[:i]
		}
	}
	return "builtin"
}

// EffectsOf returns the effects of op, regions included where it says so.
func EffectsOf(op *Operation) Effects {
	e := OwnEffects(op)
	if e.Recursive {
		for _, r := range op.regions {
			for b := r.First(); b != nil; b = b.Next() {
				for inner := b.First(); inner != nil; inner = inner.Next() {
					e = e.With(EffectsOf(inner))
				}
			}
		}
	}
	return e
}

// OwnEffects are the effects of op, those of its regions left out.
func OwnEffects(op *Operation) Effects {
	if op.def.Unregistered {
		return Effects{Unknown: true}
	}
	if e := op.def.Effects; e.Of == nil {
		return e
	}
	return op.def.Effects.Of(op)
}

// With returns e with the effects of x too.
func (e Effects) With(x Effects) Effects {
	e.Unknown = e.Unknown || x.Unknown
	e.Read = e.Read || x.Read
	e.Write = e.Write || x.Write
	e.Alloc = e.Alloc || x.Alloc
	e.NotSpeculatable = e.NotSpeculatable || x.NotSpeculatable
	return e
}

// Any reports whether there is an effect.
func (e Effects) Any() bool { return e.Unknown || e.Read || e.Write || e.Alloc }

// Writes reports whether memory may be written.
func (e Effects) Writes() bool { return e.Unknown || e.Write }

// Changes reports whether there is an effect but reading.
func (e Effects) Changes() bool { return e.Unknown || e.Write || e.Alloc }

// HasEffect reports whether op, or an operation in its regions where those count,
// has effects for which is says so. It looks no further than the first.
func HasEffect(op *Operation, is func(Effects) bool) bool {
	e := OwnEffects(op)
	if is(e) {
		return true
	}
	if e.Recursive {
		for _, r := range op.regions {
			for b := r.First(); b != nil; b = b.Next() {
				for inner := b.First(); inner != nil; inner = inner.Next() {
					if HasEffect(inner, is) {
						return true
					}
				}
			}
		}
	}
	return false
}

// IsPure reports whether op has no effect, so that it may be erased when its
// results are unused and shared with an equal operation.
func IsPure(op *Operation) bool {
	return !op.def.Has(Terminator) && !HasEffect(op, Effects.Any)
}

// IsSpeculatable reports whether op may be executed where it was not before.
func IsSpeculatable(op *Operation) bool {
	return !op.def.Has(Terminator) && !HasEffect(op, func(e Effects) bool { return e.Any() || e.NotSpeculatable })
}
