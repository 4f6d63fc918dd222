package ir

import "iter"

// Value is a result of an operation or an argument of a block.
type Value struct {
	typ   Type
	uses  *Use
	op    *Operation // the defining operation, nil for a block argument
	block *Block     // the owner of a block argument, else nil
	index int
	loc   Location // of a block argument
}

// Use is one operand slot of one operation: a node of its value's use list.
type Use struct {
	value      *Value
	owner      *Operation
	index      int
	next, prev *Use
}

// Type of the value.
func (v *Value) Type() Type { return v.typ }

// SetType changes the type in place; the caller keeps the uses valid.
func (v *Value) SetType(t Type) { v.typ = t }

// Def is the operation that v is a result of, nil for a block argument.
func (v *Value) Def() *Operation { return v.op }

// DefIs reports whether v is the result of an operation with definition d.
func (v *Value) DefIs(d *OpDef) bool { return v.op != nil && v.op.def == d }

// IsArgument reports whether v is a block argument.
func (v *Value) IsArgument() bool { return v.op == nil }

// Block is where v is defined: the block of the argument or of the operation.
func (v *Value) Block() *Block {
	if v.op != nil {
		return v.op.block
	}
	return v.block
}

// Index is the result's or argument's number.
func (v *Value) Index() int { return v.index }

// Loc is the argument's own location or that of the defining operation.
func (v *Value) Loc() Location {
	if v.op != nil {
		return v.op.loc
	}
	return v.loc
}

// SetLoc sets the location of a block argument.
func (v *Value) SetLoc(l Location) {
	if v.op != nil {
		panic("BUG: ir: SetLoc of an operation's result")
	}
	v.loc = l
}

// HasUses reports whether anything uses v.
func (v *Value) HasUses() bool { return v.uses != nil }

// HasOneUse reports whether exactly one operand slot holds v.
func (v *Value) HasOneUse() bool { return v.uses != nil && v.uses.next == nil }

// OnlyUser returns the operation that uses v, which has one use.
func (v *Value) OnlyUser() *Operation { return v.uses.owner }

// NumUses counts the uses; it takes time in proportion.
func (v *Value) NumUses() int {
	n := 0
	for u := v.uses; u != nil; u = u.next {
		u.owner.ctx.meter.Visit()
		n++
	}
	return n
}

// Uses ranges over the uses of v, latest first. The use in hand may be
// redirected and its owner erased during the loop.
func (v *Value) Uses() iter.Seq[*Use] {
	return func(yield func(*Use) bool) {
		for u := v.uses; u != nil; {
			next := u.next
			u.owner.ctx.meter.Visit()
			if !yield(u) {
				return
			}
			u = next
		}
	}
}

// Users ranges over the operations that use v, once for each use.
func (v *Value) Users() iter.Seq[*Operation] {
	return func(yield func(*Operation) bool) {
		for u := range v.Uses() {
			if !yield(u.owner) {
				return
			}
		}
	}
}

// ReplaceAllUsesWith makes every use of v a use of w.
func (v *Value) ReplaceAllUsesWith(w *Value) {
	if v == w {
		return
	}
	for v.uses != nil {
		v.uses.owner.ctx.meter.Visit()
		v.uses.Set(w)
	}
}

// ReplaceUsesIf redirects to w the uses that which selects.
func (v *Value) ReplaceUsesIf(w *Value, which func(*Use) bool) {
	if v == w {
		return
	}
	for u := range v.Uses() {
		if which(u) {
			u.Set(w)
		}
	}
}

// Value in the slot.
func (u *Use) Value() *Value { return u.value }

// Owner is the operation whose operand this is.
func (u *Use) Owner() *Operation { return u.owner }

// Index of the operand in its owner.
func (u *Use) Index() int { return u.index }

// Set puts v into the slot.
func (u *Use) Set(v *Value) {
	u.unlink()
	u.link(v)
}

func (u *Use) link(v *Value) {
	u.value = v
	if v == nil {
		return
	}
	u.prev, u.next = nil, v.uses
	if v.uses != nil {
		v.uses.prev = u
	}
	v.uses = u
}

func (u *Use) unlink() {
	if u.value == nil {
		return
	}
	if u.prev != nil {
		u.prev.next = u.next
	} else {
		u.value.uses = u.next
	}
	if u.next != nil {
		u.next.prev = u.prev
	}
	u.value, u.prev, u.next = nil, nil, nil
}
