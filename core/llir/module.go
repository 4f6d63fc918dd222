package llir

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/slab"
	"github.com/tritonc/tritonc/core/work"
)

// Attr is an attribute of a function, a parameter or a return value in LLVM's
// own words: `nounwind`, `"nvvm.reqntid"="128"`, `range(i32 0, 1024)`.
type Attr string

func (a Attr) String() string { return string(a) }

// IsFuncAttribute marks a as usable on functions.
func (Attr) IsFuncAttribute() {}

// IsParamAttribute marks a as usable on parameters.
func (Attr) IsParamAttribute() {}

// IsReturnAttribute marks a as usable on return values.
func (Attr) IsReturnAttribute() {}

// StringAttr returns the attribute "key"="value".
func StringAttr(key, value string) Attr {
	b := appendQuoted(nil, key)
	b = append(b, '=')
	return Attr(appendQuoted(b, value))
}

// QuotedAttr returns the attribute "key", which has no value.
func QuotedAttr(key string) Attr { return Attr(appendQuoted(nil, key)) }

// Module is a module under construction: the library's ir.Module and the tables
// that keep its types, constants and declarations unique.
type Module struct {
	// IR is the module that Print writes. Its metadata definitions are filled
	// by this package.
	IR *ir.Module

	ints     map[bitsKey]*Int
	floats   map[bitsKey]*Float
	literals map[literalKey]*Literal
	vecs     []*types.VectorType
	arrays   []*types.ArrayType
	structs  []*types.StructType

	funcs   map[string]*ir.Func
	ids     map[Value]int32 // of literals, globals and callees
	typeIDs map[Type]int32
	lastID  int32
	asms    map[asmKey]*ir.InlineAsm
	flags   []*metadata.Tuple
	scopes  []*AliasScope
	// texts are the named lists of texts.
	texts []textList
	// narrow holds the address spaces whose pointers have fewer than 64 bits.
	narrow map[int]int
	debug  debugInfo
	noLICM *metadata.Tuple // what loops refer to that keep their code
	meter  *work.Meter
	insts  int // of all functions
	slabs  slabs
}

// slabs have the instructions of which modules have most, and their operands.
type slabs struct {
	geps     slab.Of[ir.InstGetElementPtr]
	fields   slab.Of[ir.InstExtractValue]
	elements slab.Of[ir.InstExtractElement]
	inserts  slab.Of[ir.InstInsertElement]
	calls    slab.Of[ir.InstCall]
	values   slab.Of[Value]
	indices  slab.Of[uint64]
}

// MaxInstructions is how many instructions a module may have. LLVM would take
// hours over as many.
const MaxInstructions = 1 << 20

// TooLarge is the panic of a builder whose module would have more instructions
// than MaxInstructions.
type TooLarge struct{}

// SetMeter has what is built and printed counted, and stopped, by meter.
func (m *Module) SetMeter(meter *work.Meter) { m.meter = meter }

// Meter is what counts, and stops, the work on the module.
func (m *Module) Meter() *work.Meter { return m.meter }

// NewModule returns an empty module for a target triple and data layout.
func NewModule(name, triple, dataLayout string) *Module {
	return &Module{
		IR:       &ir.Module{SourceFilename: name, TargetTriple: triple, DataLayout: dataLayout},
		ints:     make(map[bitsKey]*Int, 64),
		floats:   make(map[bitsKey]*Float),
		literals: make(map[literalKey]*Literal),
		funcs:    make(map[string]*ir.Func),
		ids:      make(map[Value]int32),
		typeIDs:  make(map[Type]int32),
		asms:     make(map[asmKey]*ir.InlineAsm),
		narrow:   narrowPointers(dataLayout),
		meter:    &work.Meter{},
	}
}

// newID returns the next number for a value of the module.
func (m *Module) newID() int32 {
	m.lastID--
	return m.lastID
}

func (m *Module) id(v Value) int32 {
	id, ok := m.ids[v]
	if !ok {
		id = m.newID()
		m.ids[v] = id
	}
	return id
}

func (m *Module) typeID(t Type) int32 {
	id, ok := m.typeIDs[t]
	if !ok {
		id = int32(len(m.typeIDs) + 1)
		m.typeIDs[t] = id
	}
	return id
}

// narrowPointers reads the fields "pN:bits:..." of a data layout.
func narrowPointers(layout string) map[int]int {
	n := make(map[int]int)
	for field := range strings.SplitSeq(layout, "-") {
		if !strings.HasPrefix(field, "p") {
			continue
		}
		parts := strings.Split(field[1:], ":")
		if len(parts) < 2 {
			continue
		}
		space, _ := strconv.Atoi(parts[0]) // "p:" is address space 0
		if bits, err := strconv.Atoi(parts[1]); err == nil {
			n[space] = bits
		}
	}
	return n
}

func (m *Module) ptrBits(t Type) int {
	if bits, ok := m.narrow[t.(*Ptr).AddrSpace]; ok {
		return bits
	}
	return 64
}

// Effects says what calls of a declared function may do.
type Effects uint8

const (
	// HasEffects: the call must stay, and stay in order.
	HasEffects Effects = iota
	// Pure: the result depends on the operands alone; equal calls are shared
	// and unused ones dropped. The declaration gets memory(none).
	Pure
)

// pureAttr marks the declarations of pure functions, in the module and in the
// text.
const pureAttr = Attr("nounwind willreturn memory(none)")

// Declare returns the declaration of a function, making it on first use. The
// attributes of the first call remain.
func (m *Module) Declare(name string, effects Effects, ret Type, params ...Type) *ir.Func {
	if f, ok := m.funcs[name]; ok {
		return f
	}
	f := m.newFunc(name, ret, params)
	if effects == Pure {
		f.FuncAttrs = []ir.FuncAttribute{pureAttr}
	}
	return f
}

// Rename gives declared functions another name, which one with the same types may
// have already. For names it returns unchanged, nothing happens.
func (m *Module) Rename(to func(name string) string) {
	for _, f := range slices.Clone(m.IR.Funcs) {
		name := to(f.GlobalName)
		if name == f.GlobalName {
			continue
		}
		delete(m.funcs, f.GlobalName)
		f.GlobalName = name
		if m.funcs[name] == nil {
			m.funcs[name] = f
			continue
		}
		i := slices.Index(m.IR.Funcs, f) // its calls name the other one
		m.IR.Funcs = slices.Delete(m.IR.Funcs, i, i+1)
	}
}

func (m *Module) newFunc(name string, ret Type, params []Type) *ir.Func {
	f := &ir.Func{Sig: types.NewFunc(ret, params...)}
	f.GlobalName = name
	f.Params = make([]*ir.Param, len(params))
	for i, t := range params {
		f.Params[i] = &ir.Param{Typ: t}
	}
	m.funcs[name] = f
	m.IR.Funcs = append(m.IR.Funcs, f)
	return f
}

// AddGlobal adds a global variable in an address space and returns its address.
// A nil init makes an external declaration; otherwise the variable is private
// and constant. Align 0 leaves the target's alignment.
func (m *Module) AddGlobal(name string, t Type, addrSpace, align int, init Value) *Address {
	g := &ir.Global{ContentType: t, AddrSpace: types.AddrSpace(addrSpace), Align: ir.Align(align)}
	g.GlobalName = name
	if init == nil {
		g.Linkage = enum.LinkageExternal
	} else {
		g.Linkage = enum.LinkagePrivate
		g.Immutable = true
		g.Init = init.(interface {
			Value
			IsConstant()
		})
	}
	m.IR.Globals = append(m.IR.Globals, g)
	return &Address{Typ: PtrIn(addrSpace), Global: g}
}

// StringConst returns the bytes of s as a constant array; add a final zero
// where the reader wants one.
func (m *Module) StringConst(s string) *Bytes {
	return &Bytes{Typ: m.Array(len(s), I8), Data: s}
}

// Behaviors of a module flag when modules are linked.
const (
	FlagError    = 1
	FlagWarning  = 2
	FlagOverride = 4
)

// AddFlag adds a module flag (i32 value), such as "nvvm-reflect-ftz".
func (m *Module) AddFlag(behavior int, name string, value int) {
	m.flags = append(m.flags, &metadata.Tuple{MetadataID: -1, Fields: []metadata.Field{
		m.I32(behavior), &metadata.String{Value: name}, m.I32(value),
	}})
}

// textList is named metadata, each node of which is a text.
type textList struct {
	name    string
	nodes   []*metadata.Tuple
	numbers map[string]int // by key
}

// AddText adds a text to the named metadata of a name, such as "llvm.printf.fmts", unless
// there is one with the same key, and returns its number, from 1 on, from which text makes
// it.
func (m *Module) AddText(name, key string, text func(number int) string) int {
	i := slices.IndexFunc(m.texts, func(l textList) bool { return l.name == name })
	if i < 0 {
		i = len(m.texts)
		m.texts = append(m.texts, textList{name: name, numbers: map[string]int{}})
	}
	l := &m.texts[i]
	n, known := l.numbers[key]
	if !known {
		n = len(l.nodes) + 1
		l.numbers[key] = n
		l.nodes = append(l.nodes, &metadata.Tuple{MetadataID: -1, Fields: []metadata.Field{&metadata.String{Value: text(n)}}})
	}
	return n
}

// Func is a function definition under construction.
type Func struct {
	IR  *ir.Func
	Mod *Module

	table vnTable
	known map[Value]uint64 // bits known to be zero of values promised by AssumeZeroBits
	zeros []knownZeros     // zeroBits of results, by their numbers
	spans []span           // of results, by their numbers
	dom   map[*ir.Block]domNode
	scope *metadata.DISubprogram
	// lastID is the last number given to a parameter or result.
	lastID int64
	// home is the block of each number's instruction, nil for parameters.
	home []*ir.Block
	// loaded and combined are the numbers of what MarkLoaded and MarkCombined marked.
	loaded, combined []int64
}

// domNode places a block in the dominator tree.
type domNode struct {
	idom  *ir.Block
	depth int
}

// NewFunc defines a function. Visible outside the module unless internal.
func (m *Module) NewFunc(name string, internal bool, ret Type, params ...Type) *Func {
	if f, ok := m.funcs[name]; ok && len(f.Blocks) > 0 {
		panic("BUG: llir: function defined twice: " + name)
	}
	irf, ok := m.funcs[name]
	if !ok {
		irf = m.newFunc(name, ret, params)
	}
	if internal {
		irf.Linkage = enum.LinkageInternal
	}
	f := &Func{
		IR: irf, Mod: m,
		known: make(map[Value]uint64),
		dom:   make(map[*ir.Block]domNode),
	}
	for _, p := range irf.Params {
		f.lastID++
		p.SetID(f.lastID)
	}
	f.home = make([]*ir.Block, f.lastID+1)
	return f
}

// Param returns parameter i.
func (f *Func) Param(i int) Value { return f.IR.Params[i] }

// AddAttr adds function attributes.
func (f *Func) AddAttr(attrs ...Attr) {
	for _, a := range attrs {
		f.IR.FuncAttrs = append(f.IR.FuncAttrs, a)
	}
}

// AddParamAttr adds attributes to parameter i.
func (f *Func) AddParamAttr(i int, attrs ...Attr) {
	for _, a := range attrs {
		f.IR.Params[i].Attrs = append(f.IR.Params[i].Attrs, a)
	}
}

// SetCallingConv sets the calling convention by LLVM's number (71 is
// ptx_kernel).
func (f *Func) SetCallingConv(cc int) { f.IR.CallingConv = enum.CallingConv(cc) }

// AssumeZeroBits promises that the bits set in zero are never set in v, an
// integer parameter, call or phi: a thread id is below the block size, say.
func (f *Func) AssumeZeroBits(v Value, zero uint64) { f.known[v] |= zero }

// NewBlock makes a block whose immediate dominator is idom (nil for the entry
// block) and places it at the function's end. Values computed in a dominator
// are shared in the block.
func (f *Func) NewBlock(idom *ir.Block) *ir.Block {
	b := &ir.Block{Parent: f.IR}
	n := domNode{idom: idom}
	if idom != nil {
		n.depth = f.dom[idom].depth + 1
	}
	f.dom[b] = n
	f.IR.Blocks = append(f.IR.Blocks, b)
	return b
}

// SetIDom says that idom is b's immediate dominator after all, for a block that
// was made before its predecessors were known. It must be called before
// anything is built in b or below it.
func (f *Func) SetIDom(b, idom *ir.Block) {
	f.dom[b] = domNode{idom: idom, depth: f.dom[idom].depth + 1}
}

// MoveToEnd moves b after all blocks made so far, so that the text follows the
// order of execution.
func (f *Func) MoveToEnd(b *ir.Block) {
	bs := f.IR.Blocks
	for i, x := range bs {
		if x == b {
			copy(bs[i:], bs[i+1:])
			bs[len(bs)-1] = b
			return
		}
	}
}

func (f *Func) dominates(a, b *ir.Block) bool {
	if a == b {
		return true
	}
	da := f.dom[a].depth
	for {
		n := f.dom[b]
		if n.depth <= da {
			return false
		}
		if b = n.idom; b == a {
			return true
		}
	}
}

// Block is a basic block.
type Block = ir.Block
