package ir

// WalkResult tells Walk how to go on.
type WalkResult uint8

const (
	// Advance goes on, into the regions of the operation in hand.
	Advance WalkResult = iota
	// Skip goes on without entering the regions of the operation in hand.
	Skip
	// Stop ends the walk.
	Stop
)

// Walk visits op and everything inside it, parents before their regions, in
// order. The function may erase or replace the operation it is given (then it
// returns Skip) and change what comes after it; operations inserted before the
// one in hand are not visited. It reports whether the walk was stopped.
func Walk(op *Operation, f func(*Operation) WalkResult) (stopped bool) {
	op.ctx.meter.Visit()
	switch f(op) {
	case Stop:
		return true
	case Skip:
		return false
	}
	for _, r := range op.regions {
		for b := r.first; b != nil; {
			nextBlock := b.next
			for o := b.first; o != nil; {
				next := o.next
				if Walk(o, f) {
					return true
				}
				o = next
			}
			b = nextBlock
		}
	}
	return false
}

// WalkPost visits everything inside op and then op itself. The function may
// erase the operation it is given.
func WalkPost(op *Operation, f func(*Operation)) {
	op.ctx.meter.Visit()
	for _, r := range op.regions {
		for b := r.first; b != nil; {
			nextBlock := b.next
			for o := b.first; o != nil; {
				next := o.next
				WalkPost(o, f)
				o = next
			}
			b = nextBlock
		}
	}
	f(op)
}
