package ir

// The attributes of operations with the trait Symbol: the name, who may refer to it,
// and of functions their type.
const (
	symbolName       = "sym_name"
	symbolVisibility = "sym_visibility"
	functionType     = "function_type"
)

// SymbolName is the name of a symbol, "" for an operation that has none.
func (op *Operation) SymbolName() string { return op.StringAttr(symbolName) }

// IsPrivate reports whether a symbol is one that only its table refers to.
func (op *Operation) IsPrivate() bool { return op.StringAttr(symbolVisibility) == "private" }

// IsFunction reports whether a symbol is a function, whichever dialect has it.
func (op *Operation) IsFunction() bool {
	t, _ := op.Attr(functionType).(*TypeAttr)
	if t == nil || !op.def.Has(Symbol) {
		return false
	}
	_, ok := t.Type.(*FunctionType)
	return ok
}

// namedSymbol is a name in an operation whose first block holds symbols.
type namedSymbol struct {
	table *Operation
	name  string
}

// LookUp returns the first operation of that name in table's first block, such as
// a function of a module, or nil. One walk over the block answers for all names in
// it, until one of them goes or another comes.
func LookUp(table *Operation, name string) *Operation {
	body, c := table.Body(), table.ctx
	if body == nil {
		return nil
	}
	if op := c.symbols[namedSymbol{table, name}]; op != nil && op.block == body && op.StringAttr(symbolName) == name {
		return op
	}
	if c.symbols == nil {
		c.symbols = make(map[namedSymbol]*Operation)
	}
	delete(c.symbols, namedSymbol{table, name})
	for op := range body.Ops() {
		delete(c.symbols, namedSymbol{table, op.StringAttr(symbolName)})
	}
	for op := range body.Ops() {
		if k := (namedSymbol{table, op.StringAttr(symbolName)}); c.symbols[k] == nil {
			c.symbols[k] = op
		}
	}
	return c.symbols[namedSymbol{table, name}]
}
