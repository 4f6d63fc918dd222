package scf

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// sameTypes checks that what is in two lists has equal types, pair by pair. what and
// like name one of each; of says where the second are, or is empty.
func sameTypes(what string, got []*ir.Value, like, of string, want []*ir.Value) error {
	if len(got) != len(want) {
		return fmt.Errorf("has %s, but %s%s", diag.Count(len(got), what), diag.Count(len(want), like), of)
	}
	for i, v := range got {
		if v.Type() != want[i].Type() {
			return fmt.Errorf("types of %ss #%d and %ss%s #%d differ", what, i, like, of, i)
		}
	}
	return nil
}

func verifyFor(op *ir.Operation) error {
	body := op.Body()
	if body == nil {
		return fmt.Errorf("must have a body")
	}
	t := LowerBound(op).Type()
	if UpperBound(op).Type() != t || Step(op).Type() != t {
		return fmt.Errorf("bounds and step must have one type")
	}
	if body.NumArgs() == 0 || body.Arg(0).Type() != t {
		return fmt.Errorf("the first argument of the body must be the induction variable, of the type of the bounds")
	}
	if err := sameTypes("initial value", Inits(op), "argument", " of the body", IterArgs(op)); err != nil {
		return err
	}
	return sameTypes("result", op.Results(), "initial value", "", Inits(op))
}

func verifyIf(op *ir.Operation) error {
	if op.Body() == nil {
		return fmt.Errorf("must have a block in its first region")
	}
	if op.NumResults() > 0 && AsIf(op).ElseRegion().Empty() {
		return fmt.Errorf("must have an else block if defining values")
	}
	for _, r := range op.Regions() {
		if b := r.First(); b != nil && b.NumArgs() != 0 {
			return fmt.Errorf("regions must have no arguments")
		}
	}
	return nil
}

func verifyWhile(op *ir.Operation) error {
	loop := AsWhile(op)
	before, after := loop.Before().First(), loop.After().First()
	if before == nil || after == nil {
		return fmt.Errorf("must have a block in both regions")
	}
	if t := before.Terminator(); t == nil || !t.Is(Condition) {
		return fmt.Errorf("expects the 'before' region to terminate with 'scf.condition'")
	}
	if t := after.Terminator(); t == nil || !t.Is(Yield) {
		return fmt.Errorf("expects the 'after' region to terminate with 'scf.yield'")
	}
	if err := sameTypes("operand", op.OperandValues(), "argument", " of the 'before' region", before.Args()); err != nil {
		return err
	}
	return sameTypes("result", op.Results(), "argument", " of the 'after' region", after.Args())
}

func verifyExecuteRegion(op *ir.Operation) error {
	if op.Body() == nil {
		return fmt.Errorf("must have a block")
	}
	if op.Body().NumArgs() != 0 {
		return fmt.Errorf("region must have no arguments")
	}
	return nil
}

func verifyCondition(op *ir.Operation) error {
	w := op.Parent()
	if w == nil || w.Name() != "scf.while" || op.Block().Region() != AsWhile(w).Before() {
		return fmt.Errorf("expects to stand in the 'before' region of 'scf.while'")
	}
	return sameTypes("value", AsCondition(op).Args(), "result", " of the loop", w.Results())
}

// verifyYield compares with the parent by name, since the tables of the parents
// refer to that of Yield.
func verifyYield(op *ir.Operation) error {
	p := op.Parent()
	if p == nil {
		return nil
	}
	switch p.Name() {
	case "scf.for", "scf.if", "scf.execute_region":
		return sameTypes("value", op.OperandValues(), "result", " of the parent", p.Results())
	case "scf.while":
		return sameTypes("value", op.OperandValues(), "operand", " of the loop", p.OperandValues())
	}
	return fmt.Errorf("expects parent op to be one of 'scf.for, scf.if, scf.while, scf.execute_region'")
}
