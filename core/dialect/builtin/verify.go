package builtin

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
)

func verifyModule(op *ir.Operation) error {
	body := op.Body()
	if body == nil {
		return fmt.Errorf("must have a block")
	}
	if body.NumArgs() != 0 {
		return fmt.Errorf("body must have no arguments")
	}
	names := make(map[string]bool)
	for o := range body.Ops() {
		if !o.Def().Has(ir.Symbol) {
			continue
		}
		name := o.SymbolName()
		if names[name] {
			return fmt.Errorf("redefinition of symbol named '%s'", name)
		}
		names[name] = true
	}
	return nil
}

// Lookup is the operation with that symbol name in module m, or nil.
func Lookup(m *ir.Operation, name string) *ir.Operation {
	if m.Body() == nil {
		return nil
	}
	for o := range m.Body().Ops() {
		if o.Def().Has(ir.Symbol) && o.SymbolName() == name {
			return o
		}
	}
	return nil
}
