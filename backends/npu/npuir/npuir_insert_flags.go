package npuir

import (
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// InsertFlags orders pipes by flags where they access the same memory.
var InsertFlags = &pass.Pass{
	Name:    "npuir-insert-flags",
	Doc:     "have pipes wait for one another where they access the same bytes",
	Example: insertFlagsExample,
	Options: []pass.Option{{Name: Without, Default: -1, Doc: "number of an order whose flags are left out, to see that it is needed"}},
	Run: func(r *pass.Run) error {
		for op := range r.Module.Body().Ops() {
			if op.Is(linalg.Func) {
				for b := range linalg.AsFunc(op).Body().Blocks() {
					f := &flags{
						Builder: ir.NewBuilder(op.Context()), first: make(map[*ir.Operation]*ir.Operation), last: make(map[*ir.Operation]*ir.Operation),
						without: r.Int(Without),
						carried: make(map[*ir.Operation][]order), around: make(map[*ir.Operation]*ir.Operation),
					}
					f.block(b, once, allEvents())
				}
			}
		}
		return nil
	},
}

// Without is the option of npuir-insert-flags that leaves out an order, for tests.
const Without = "without"

const pipes = int(PipeFix) + 1

// clock says of each pipe which of its items are known to be complete: all up to that one.
type clock [pipes]int

// events are sets of flags, for each pair of pipes.
type events [pipes][pipes]uint

func allEvents() (e events) {
	for i := range e {
		for k := range e[i] {
			e[i][k] = 1<<Events - 1
		}
	}
	return e
}

// item is an operation of a block with what it accesses.
type item struct {
	op       *ir.Operation
	accesses []access
	// guard is the conditional that the operation is in, of those that npuir-multibuffer
	// has made, and class the condition: those of a class run in the same iterations.
	guard *ir.Operation
	class int64
	// begun are the pairs of pipes of which the second knows, after a loop, that the first
	// has begun it: of orders that the loop carries.
	begun [pipes][pipes]bool
	// joined is a loop whose runs are one, as far as flags go.
	joined bool
}

func (it *item) uses(p Pipe) bool {
	return slices.ContainsFunc(it.accesses, func(a access) bool { return a.pipe == p })
}

// order is a need: pipe "to" begins item before when pipe "from" has completed item after.
// Those are numbers of items; a loop carries the order if after belongs to the iteration
// before.
type order struct {
	from, to      Pipe
	after, before int
	carried       bool
	// inside orders are between items of one class: their flags are in the guards alone.
	// Others are in the block that runs in place of a guard, too; or if there is none, set
	// after the guard and waited for before it.
	inside bool
	event  int // or byBarrier, leftOut
}

const (
	byBarrier = -1 // the core waits for the pipe
	leftOut   = -2
)

// repetition is how often a block runs.
type repetition int

const (
	once repetition = iota
	loop
	grid // a loop over programs, whose accesses to global memory have no order
)

// flags inserts flags.
type flags struct {
	*ir.Builder
	// first and last are the flags next to a loop that belong to it, of which those before
	// it are set first and those after it taken last.
	first, last map[*ir.Operation]*ir.Operation
	// carried are the orders of a loop with flags that are set before it.
	carried map[*ir.Operation][]order
	// around is the outer loop that has the flags of orders that a loop in it carries: they
	// are set once before it, as if all runs of the inner loop were one.
	around map[*ir.Operation]*ir.Operation
	// flags counts the orders that have some, of which number without gets none.
	flags, without int
}

// schedule is the analysis of a block.
type schedule struct {
	items  []item
	orders []order
	// known[i][p] is what pipe p knows before item i; the second round of a loop follows
	// the first. done[i][p] is what it knows when item i is complete.
	known, done [][pipes]clock
	// sure is done without what is known only where guarded items run.
	sure [][pipes]clock
}

// at is what pipes know when a flag of an order is set, after item i.
func (s *schedule) at(i int, o *order) *[pipes]clock {
	if o.inside {
		return &s.done[i]
	}
	return &s.sure[i]
}

// block orders the items of a block, with the events that are free there. It returns the
// events that it uses.
func (f *flags) block(b *ir.Block, how repetition, free events) (used events) {
	s := &schedule{}
	for op := range b.Ops() {
		if class, ok := op.IntAttr(GuardAttr); ok && how != once && op.Is(scf.If) {
			for in := range scf.AsIf(op).ThenRegion().First().Ops() {
				if as := accessesOf(in); len(as) > 0 {
					s.items = append(s.items, item{op: in, accesses: as, guard: op, class: class})
				}
			}
		} else if as := accessesOf(op); len(as) > 0 {
			s.items = append(s.items, item{op: op, accesses: as})
		}
	}
	var reserved events
	if inner := s.loop(how); inner != nil {
		inner.joined = true
		f.around[inner.op] = f.outermost(b.Parent())
		reserved = f.regions(inner.op, free)
		used = reserved
	}
	s.analyze(how)

	n := len(s.items)
	var last [pipes][pipes][Events]int // the item before which a wait takes the flag, 1 on
	for k := range s.orders {
		if o := &s.orders[k]; o.carried {
			o.event = take(free[o.from][o.to]&^reserved[o.from][o.to], func(int) bool { return true })
			if o.event >= 0 {
				reserved[o.from][o.to] |= 1 << o.event
				used[o.from][o.to] |= 1 << o.event
				f.carried[f.outermost(b.Parent())] = append(f.carried[f.outermost(b.Parent())], *o)
			}
		}
	}
	// Orders begin after items, in their order; items have blocks of their own.
	for i := range s.items {
		var within events
		for p := range pipes {
			for q := range pipes {
				for e := range Events {
					if free[p][q]&^reserved[p][q]&(1<<e) != 0 && last[p][q][e]-1 <= s.known[i][p][q] {
						within[p][q] |= 1 << e
					}
				}
			}
		}
		var inner events
		if !s.items[i].joined {
			inner = f.regions(s.items[i].op, within)
		}
		for _, o := range f.carried[s.items[i].op] {
			s.items[i].begun[o.from][o.to] = true
		}
		for p := range pipes {
			for q := range pipes {
				used[p][q] |= inner[p][q]
				for e := range Events {
					if inner[p][q]&(1<<e) != 0 {
						last[p][q][e] = i + 1
					}
				}
			}
		}
		for k := range s.orders {
			o := &s.orders[k]
			if o.carried || o.after != i {
				continue
			}
			known := s.at(i, o)[o.from][o.to]
			o.event = take(free[o.from][o.to]&^reserved[o.from][o.to], func(e int) bool { return last[o.from][o.to][e]-1 <= known })
			if o.event >= 0 {
				last[o.from][o.to][o.event] = o.before + 1
				used[o.from][o.to] |= 1 << o.event
			}
		}
	}
	for k := range s.orders {
		if o := &s.orders[k]; o.event >= 0 {
			if f.flags == f.without {
				o.event = leftOut
			}
			f.flags++
		}
	}
	f.emit(b, s)
	if how != once {
		f.atEnd(b, s, n, used, last)
	}
	return used
}

// outermost is the loop around which the flags are that a loop carries.
func (f *flags) outermost(loop *ir.Operation) *ir.Operation {
	if outer := f.around[loop]; outer != nil {
		return outer
	}
	return loop
}

// loop is the one loop among the items of a loop, if there is one: its runs are joined.
// Its events are then its own throughout the outer loop.
func (s *schedule) loop(how repetition) (found *item) {
	if how == once {
		return nil
	}
	for i := range s.items {
		it := &s.items[i]
		if !it.op.Is(scf.For) || it.guard != nil {
			continue
		}
		if found != nil {
			return nil
		}
		found = it
	}
	return found
}

// take is the first event of a set that a condition holds of, -1 if there is none.
func take(set uint, ok func(int) bool) int {
	for ; set != 0; set &= set - 1 {
		if e := bits.TrailingZeros(set); ok(e) {
			return e
		}
	}
	return -1
}

// regions orders what is in the regions of an operation.
func (f *flags) regions(op *ir.Operation, free events) (used events) {
	how := once
	if op.Is(scf.For) {
		how = loop
		if op.HasAttr(GridAttr) {
			how = grid
		}
	}
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			if op.Is(linalg.GenericAtomicRMW) {
				continue
			}
			inner := f.block(b, how, free)
			for p := range pipes {
				for q := range pipes {
					used[p][q] |= inner[p][q]
				}
			}
			if op.Is(scf.While) { // its blocks take turns
				f.SetToStart(b)
				f.Loc = op.Loc()
				f.barriers(accessesOf(op))
			}
		}
	}
	return used
}

// barriers waits for all pipes that accesses are by.
func (f *flags) barriers(as []access) {
	for p := range pipes {
		if slices.ContainsFunc(as, func(a access) bool { return a.pipe == Pipe(p) }) {
			f.barrier(Pipe(p))
		}
	}
}

func (f *flags) barrier(p Pipe) {
	f.Create(Barrier, ir.State{Attrs: []ir.NamedAttr{{Name: "pipe", Attr: f.Context().I64Attr(int64(p))}}})
}

// analyze finds the orders that the items of a block need.
func (s *schedule) analyze(how repetition) {
	n := len(s.items)
	var know [pipes]clock // without what items of a class know, which is in classes
	for p := range know {
		for q := range know[p] {
			know[p][q] = -1
		}
	}
	classes := make(map[int64]*[pipes]clock)
	for _, it := range s.items {
		if it.guard != nil && classes[it.class] == nil {
			k := know
			classes[it.class] = &k
		}
	}
	rounds := 1
	if how != once {
		rounds = 2
	}
	for round := range rounds {
		for j := range s.items {
			at := round*n + j
			it := &s.items[j]
			here := func() *[pipes]clock {
				if it.guard == nil {
					return &know
				}
				k := classes[it.class]
				for p := range know {
					k[p].join(know[p])
				}
				return k
			}
			learn := func(o *order, after int) {
				if o.inside {
					classes[it.class][o.to].join(s.done[after][o.from])
				} else {
					know[o.to].join(s.sure[after][o.from])
				}
			}
			if round == 1 { // the flags of the first are there, too
				for k := range s.orders {
					if o := &s.orders[k]; !o.carried && o.before == j {
						learn(o, n+o.after)
					}
				}
			}
			for {
				o, ok := s.missing(here(), round, j, how)
				if !ok {
					break
				}
				from := &s.items[o.after]
				o.inside = it.guard != nil && from.guard != nil && from.class == it.class
				s.orders = append(s.orders, o)
				learn(&o, o.after)
			}
			s.known = append(s.known, *here())
			for p := range pipes {
				if it.uses(Pipe(p)) {
					know[p][p] = at
				}
			}
			s.done, s.sure = append(s.done, *here()), append(s.sure, know)
		}
	}
}

func (c *clock) join(d clock) {
	for q := range c {
		c[q] = max(c[q], d[q])
	}
}

// missing finds the latest item that item j must wait for, and does not yet.
func (s *schedule) missing(know *[pipes]clock, round, j int, how repetition) (o order, ok bool) {
	first, last := 0, j // the items to look at: of this iteration, or of the one before
	if round == 1 {
		first, last = j, len(s.items)
	}
	for i := last - 1; i >= first; i-- {
		if i == j && s.items[i].joined {
			continue // its own flags order its runs
		}
		for _, a := range s.items[i].accesses {
			for _, b := range s.items[j].accesses {
				if a.pipe == b.pipe || i <= know[b.pipe][a.pipe] || !a.conflicts(b) || round == 1 && how == grid && a.base != nil {
					continue
				}
				return order{from: a.pipe, to: b.pipe, after: i, before: j, carried: round == 1}, true
			}
		}
	}
	return o, false
}

// emit writes the flags of a block: in each gap between items first those that are set.
func (f *flags) emit(b *ir.Block, s *schedule) {
	flag := func(d *ir.OpDef, o order) *ir.Operation {
		number := func(name string, n int64) ir.NamedAttr { return ir.NamedAttr{Name: name, Attr: f.Context().I64Attr(n)} }
		return f.Create(d, ir.State{Attrs: []ir.NamedAttr{number("from", int64(o.from)), number("to", int64(o.to)), number("event", int64(o.event))}})
	}
	for _, o := range s.orders {
		it := &s.items[o.before]
		at := it.op
		if first := f.first[at]; first != nil {
			at = first
		}
		if it.guard != nil && !o.inside && otherwise(it.guard) == nil {
			at = it.guard
		}
		f.At(at)
		if o.event >= 0 {
			flag(WaitFlag, o)
		} else if o.event == byBarrier {
			f.barrier(o.from)
		}
	}
	for _, o := range slices.Backward(s.orders) { // each next to its item
		if o.event >= 0 {
			it := &s.items[o.after]
			at := it.op
			if last := f.last[at]; last != nil {
				at = last
			}
			if it.guard != nil && !o.inside && otherwise(it.guard) == nil {
				at = it.guard
			}
			f.After(at)
			flag(SetFlag, o)
		}
	}
	// What is set or taken by an item with a guard is so without the item, too.
	for j := range s.items {
		guard := s.items[j].guard
		if guard == nil || otherwise(guard) == nil {
			continue
		}
		f.At(otherwise(guard).Terminator())
		for _, o := range s.orders {
			if o.before == j && !o.inside && o.event >= 0 {
				flag(WaitFlag, o)
			}
		}
		for _, o := range s.orders {
			if o.after == j && !o.inside && o.event >= 0 {
				flag(SetFlag, o)
			}
		}
	}
	parent := f.outermost(b.Parent())
	for _, o := range s.orders {
		if o.carried && o.event >= 0 {
			f.At(parent)
			if set := flag(SetFlag, o); f.first[parent] == nil {
				f.first[parent] = set
			}
		}
	}
	for _, o := range slices.Backward(s.orders) {
		if o.carried && o.event >= 0 {
			f.After(parent)
			if wait := flag(WaitFlag, o); f.last[parent] == nil {
				f.last[parent] = wait
			}
		}
	}
}

// otherwise is the block that runs in place of a guard's, if it has one.
func otherwise(guard *ir.Operation) *ir.Block { return scf.AsIf(guard).ElseRegion().First() }

// atEnd adds barriers to the end of a loop for the flags that could be set again before
// they are taken.
func (f *flags) atEnd(b *ir.Block, s *schedule, n int, used events, last [pipes][pipes][Events]int) {
	var late [pipes]bool
	for k := range s.orders {
		o := &s.orders[k]
		if o.event < 0 {
			continue
		}
		known := s.at(n+o.after, o)[o.from][o.to]
		if o.carried {
			// Set again by item after of the next iteration, in which item before took it.
			late[o.to] = late[o.to] || known < n+o.before && !s.took(o)
		} else {
			late[o.to] = late[o.to] || known < last[o.from][o.to][o.event]-1
		}
	}
	for i := range s.items {
		if s.items[i].op.NumRegions() == 0 || s.items[i].joined {
			continue
		}
		for p := range pipes {
			for q := range pipes {
				for e := range Events {
					if used[p][q]&(1<<e) != 0 && last[p][q][e] == i+1 && s.known[n+i][p][q] < i {
						late[q] = true
					}
				}
			}
		}
	}
	f.At(b.Terminator())
	for p, is := range late {
		if is && Pipe(p) != PipeS { // which issues the instruction that sets a flag again when it has taken it
			f.barrier(Pipe(p))
		}
	}
}

// took reports whether a loop between the items of a carried order tells the pipe that sets
// its flag that the other has taken it.
func (s *schedule) took(o *order) bool {
	for i := o.before; i <= o.after; i++ {
		if s.items[i].guard == nil && s.items[i].begun[o.to][o.from] {
			return true
		}
	}
	return false
}
