package numeric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// loopProgram writes random kernels about loops and what passes do to them: loads
// under masks, through indices and by pointers that move; dots; values carried
// from iteration to iteration, in other layouts too; memory that a loop writes and reads;
// loops in loops, in branches, with bounds and hints of all kinds.
//
// Beside its text a program is a list of Go functions that do the same, so that
// results are known. All is int32, or integers small enough to be exact in floats.
type loopProgram struct {
	r      *rand.Rand
	n      int // blocks are n x n
	text   strings.Builder
	indent string
	names  int
	// blocks, scalars and dots are the variables in scope: of int32, and sums of
	// dots in fp32.
	blocks, scalars, dots []string
	depth, stores         int
	body                  *[]step // where the next statement goes
}

// machine is the memory and the variables of a program that runs in Go.
type machine struct {
	blocks  map[string][]int32
	scalars map[string]int32
	// p, index and small are only read: any values, places in p, from -2 to 2.
	p, index, small []int32
	// w is only written, z written and read, count added to.
	w, z, count []int32
}

type (
	step   func(*machine)
	scalar struct {
		text string
		is   func(*machine) int32
	}
	block struct {
		text string
		is   func(*machine) []int32
	}
)

// Places in p from which a block of any size can be read, by windows of n·n and
// by pointers that move for as long as loops run.
const windows, farthest = 8, 40

// maxStores is how many places of a program write w.
const maxStores = 4

func (p *loopProgram) line(format string, args ...any) {
	fmt.Fprintf(&p.text, "    %s"+format+"\n", append([]any{p.indent}, args...)...)
}

func (p *loopProgram) do(s step) { *p.body = append(*p.body, s) }

func (p *loopProgram) name(kind string) string {
	p.names++
	return fmt.Sprintf("%s%d", kind, p.names)
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func (p *loopProgram) scalar() scalar {
	k := int32(p.r.IntN(10))
	name := pick(p.r, p.scalars)
	get := func(m *machine) int32 { return m.scalars[name] }
	switch p.r.IntN(6) {
	case 0:
		return scalar{fmt.Sprintf("(%s * %d + 1)", name, k), func(m *machine) int32 { return get(m)*k + 1 }}
	case 1:
		other := pick(p.r, p.scalars)
		return scalar{fmt.Sprintf("(%s ^ %s)", name, other), func(m *machine) int32 { return get(m) ^ m.scalars[other] }}
	case 2:
		return scalar{fmt.Sprintf("tl.load(idx + (%s & 63))", name), func(m *machine) int32 { return m.index[get(m)&63] }}
	}
	return scalar{name, get}
}

// place is the first element of a block in memory.
func (p *loopProgram) place() scalar {
	s, nn := p.scalar(), int32(p.n*p.n)
	if off := int32(p.r.IntN(8)); p.r.IntN(5) == 0 {
		return scalar{fmt.Sprintf("((%s & 7) * %d + %d)", s.text, nn, off), func(m *machine) int32 { return s.is(m)&7*nn + off }}
	}
	return scalar{fmt.Sprintf("(%s & 7) * %d", s.text, nn), func(m *machine) int32 { return s.is(m) & 7 * nn }}
}

// each makes a block element by element.
func (p *loopProgram) each(f func(m *machine) func(i int) int32) func(*machine) []int32 {
	nn := p.n * p.n
	return func(m *machine) []int32 {
		at, out := f(m), make([]int32, nn)
		for i := range out {
			out[i] = at(i)
		}
		return out
	}
}

func (p *loopProgram) variable() block {
	name := pick(p.r, p.blocks)
	return block{name, func(m *machine) []int32 { return m.blocks[name] }}
}

// mask is a block of truth values as 0 and 1.
func (p *loopProgram) mask() block {
	s := p.scalar()
	switch p.r.IntN(4) {
	case 0:
		limit := int32(p.r.IntN(p.n * p.n))
		return block{fmt.Sprintf("(o < %d - (%s & 7) * 8)", limit, s.text), p.each(func(m *machine) func(int) int32 {
			end := limit - s.is(m)&7*8
			return func(i int) int32 { return bit(int32(i) < end) }
		})}
	case 1:
		return block{fmt.Sprintf("((o & 3) != (%s & 3))", s.text), p.each(func(m *machine) func(int) int32 {
			not := s.is(m) & 3
			return func(i int) int32 { return bit(int32(i)&3 != not) }
		})}
	case 2:
		limit := int32(p.r.IntN(6))
		return block{fmt.Sprintf("((%s & 7) < %d)", s.text, limit), p.each(func(m *machine) func(int) int32 {
			yes := bit(s.is(m)&7 < limit)
			return func(int) int32 { return yes }
		})}
	}
	v := p.variable()
	return block{"((" + v.text + " & 1) == 0)", p.each(func(m *machine) func(int) int32 {
		at := v.is(m)
		return func(i int) int32 { return 1 - at[i]&1 }
	})}
}

func bit(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// masked is a load that a mask guards; read has an element's value where it is read.
func (p *loopProgram) masked(address string, read func(*machine) func(int) int32) block {
	mask, other := p.mask(), p.r.Int32N(100)
	text, instead := fmt.Sprint(other), func(*machine) func(int) int32 { return func(int) int32 { return other } }
	if p.r.IntN(4) == 0 {
		v := p.variable()
		text, instead = v.text, func(m *machine) func(int) int32 {
			at := v.is(m)
			return func(i int) int32 { return at[i] }
		}
	}
	return block{fmt.Sprintf("tl.load(%s, mask=%s, other=%s)", address, mask.text, text), p.each(func(m *machine) func(int) int32 {
		yes, a, b := mask.is(m), read(m), instead(m)
		return func(i int) int32 {
			if yes[i] != 0 {
				return a(i)
			}
			return b(i)
		}
	})}
}

func (p *loopProgram) load() block {
	at, n := p.place(), p.n
	read := func(m *machine) func(int) int32 {
		from := at.is(m)
		return func(i int) int32 { return m.p[from+int32(i)] }
	}
	switch p.r.IntN(7) {
	case 0, 1:
		return p.masked("p + "+at.text+" + o", read)
	case 2: // through indices
		k := fmt.Sprintf("tl.load(idx + %s + o)", at.text)
		through := func(m *machine) func(int) int32 {
			from := at.is(m)
			return func(i int) int32 { return m.p[m.index[from+int32(i)]] }
		}
		if p.r.IntN(2) == 0 {
			return p.masked("p + "+k, through)
		}
		return block{"tl.load(p + " + k + ")", p.each(through)}
	case 3: // rows and columns
		if p.r.IntN(2) == 0 {
			return block{fmt.Sprintf("tl.broadcast_to(tl.load(p + %s + c)[:, None], (%d, %d))", at.text, n, n), p.each(func(m *machine) func(int) int32 {
				from := at.is(m)
				return func(i int) int32 { return m.p[from+int32(i/n)] }
			})}
		}
		return block{fmt.Sprintf("tl.broadcast_to(tl.load(p + %s + c)[None, :], (%d, %d))", at.text, n, n), p.each(func(m *machine) func(int) int32 {
			from := at.is(m)
			return func(i int) int32 { return m.p[from+int32(i%n)] }
		})}
	}
	return block{"tl.load(p + " + at.text + " + o)", p.each(read)}
}

// turned is the place of element i in the transposed block.
func (p *loopProgram) turned(i int) int { return i%p.n*p.n + i/p.n }

// along combines the elements of a block's rows (axis 1) or columns.
func (p *loopProgram) along(v []int32, axis int, f func(a, b int32) int32) []int32 {
	out, steps := slices.Clone(v), [2]int{p.n, 1}
	for i := range out {
		if first := [2]int{i / p.n, i % p.n}[axis] == 0; !first {
			out[i] = f(out[i-steps[axis]], v[i])
		}
	}
	return out
}

// end is the last of what along makes, for every element of its row or column.
func (p *loopProgram) end(v []int32, axis, i int) int32 {
	if axis == 1 {
		return v[i/p.n*p.n+p.n-1]
	}
	return v[(p.n-1)*p.n+i%p.n]
}

func add(a, b int32) int32 { return a + b }

// value is an expression over blocks.
func (p *loopProgram) value() block {
	v, w, s := p.variable(), p.variable(), p.scalar()
	axis := p.r.IntN(2)
	spread := []string{"[None, :]", "[:, None]"}[axis]
	pair := func(op string, f func(a, b int32) int32) block {
		return block{"(" + v.text + " " + op + " " + w.text + ")", p.each(func(m *machine) func(int) int32 {
			a, b := v.is(m), w.is(m)
			return func(i int) int32 { return f(a[i], b[i]) }
		})}
	}
	switch p.r.IntN(14) {
	case 0:
		return pair("+", add)
	case 1:
		return pair("^", func(a, b int32) int32 { return a ^ b })
	case 2:
		return pair("*", func(a, b int32) int32 { return a * b })
	case 3:
		return block{"(" + v.text + " * 3 + " + s.text + ")", p.each(func(m *machine) func(int) int32 {
			a, k := v.is(m), s.is(m)
			return func(i int) int32 { return a[i]*3 + k }
		})}
	case 4:
		return block{"tl.trans(" + v.text + ")", p.each(func(m *machine) func(int) int32 {
			a := v.is(m)
			return func(i int) int32 { return a[p.turned(i)] }
		})}
	case 5:
		return block{fmt.Sprintf("(%s + tl.sum(%s, %d)%s)", w.text, v.text, axis, spread), p.each(func(m *machine) func(int) int32 {
			sums, b := p.along(v.is(m), axis, add), w.is(m)
			return func(i int) int32 { return b[i] + p.end(sums, axis, i) }
		})}
	case 6:
		return block{fmt.Sprintf("(%s ^ tl.max(%s, %d)%s)", w.text, v.text, axis, spread), p.each(func(m *machine) func(int) int32 {
			most, b := p.along(v.is(m), axis, func(a, b int32) int32 { return max(a, b) }), w.is(m)
			return func(i int) int32 { return b[i] ^ p.end(most, axis, i) }
		})}
	case 7:
		return block{fmt.Sprintf("tl.cumsum(%s, %d)", v.text, axis), func(m *machine) []int32 { return p.along(v.is(m), axis, add) }}
	case 8:
		mask := p.mask()
		return block{fmt.Sprintf("tl.where(%s, %s, %s)", mask.text, v.text, w.text), p.each(func(m *machine) func(int) int32 {
			yes, a, b := mask.is(m), v.is(m), w.is(m)
			return func(i int) int32 {
				if yes[i] != 0 {
					return a[i]
				}
				return b[i]
			}
		})}
	case 9:
		if len(p.dots) > 0 {
			d := pick(p.r, p.dots)
			return block{fmt.Sprintf("(%s + %s.to(tl.int32))", v.text, d), p.each(func(m *machine) func(int) int32 {
				a, b := v.is(m), m.blocks[d]
				return func(i int) int32 { return a[i] + b[i] }
			})}
		}
	}
	l := p.load()
	return block{"(" + v.text + " + " + l.text + ")", p.each(func(m *machine) func(int) int32 {
		a, b := v.is(m), l.is(m)
		return func(i int) int32 { return a[i] + b[i] }
	})}
}

// sum adds blocks to the first one there is, each another number of times.
func (p *loopProgram) sum(names []string) block {
	text := p.blocks[0]
	for i, name := range names {
		text += fmt.Sprintf(" + %s * %d", name, 2*i+3)
	}
	names = slices.Clone(names)
	return block{text, p.each(func(m *machine) func(int) int32 {
		return func(at int) int32 {
			x := m.blocks[p.blocks[0]][at]
			for i, name := range names {
				x += m.blocks[name][at] * int32(2*i+3)
			}
			return x
		}
	})}
}

// operand is a block of fp16 with integers from -3 to 3.
func (p *loopProgram) operand() block {
	at := p.place()
	read := func(m *machine) func(int) int32 {
		from := at.is(m)
		return func(i int) int32 { return m.small[from+int32(i)] }
	}
	plain := block{"tl.load(h + " + at.text + " + o)", p.each(read)}
	switch p.r.IntN(6) {
	case 0:
		mask := p.mask()
		return block{fmt.Sprintf("tl.load(h + %s + o, mask=%s, other=1.0)", at.text, mask.text), p.each(func(m *machine) func(int) int32 {
			yes, a := mask.is(m), read(m)
			return func(i int) int32 {
				if yes[i] != 0 {
					return a(i)
				}
				return 1
			}
		})}
	case 1:
		return block{"tl.trans(" + plain.text + ")", p.each(func(m *machine) func(int) int32 {
			a := read(m)
			return func(i int) int32 { return a(p.turned(i)) }
		})}
	case 2:
		v := p.variable()
		return block{"(" + v.text + " & 3).to(tl.float16)", p.each(func(m *machine) func(int) int32 {
			a := v.is(m)
			return func(i int) int32 { return a[i] & 3 }
		})}
	case 3:
		return block{"(" + plain.text + " + 1)", p.each(func(m *machine) func(int) int32 {
			a := read(m)
			return func(i int) int32 { return a(i) + 1 }
		})}
	}
	return plain
}

// product is a dot of two operands, without what it is added to.
func (p *loopProgram) product() (a, b block, is func(*machine) []int32) {
	a, b = p.operand(), p.operand()
	return a, b, func(m *machine) []int32 {
		x, y, out := a.is(m), b.is(m), make([]int32, p.n*p.n)
		for i := range p.n {
			for k := range p.n {
				for j := range p.n {
					out[i*p.n+j] += x[i*p.n+k] * y[k*p.n+j]
				}
			}
		}
		return out
	}
}

// statement adds one.
func (p *loopProgram) statement() {
	switch k := p.r.IntN(20); {
	case k < 5: // a value, of a new variable or of an old one
		v := p.value()
		if p.r.IntN(2) == 0 {
			p.newBlock(v)
		} else {
			p.set(pick(p.r, p.blocks), v)
		}
	case k < 8:
		p.newBlock(p.load())
	case k < 9:
		p.addDot()
	case k < 10: // a dot that nothing is added to
		a, b, is := p.product()
		p.newBlock(block{fmt.Sprintf("tl.dot(%s, %s).to(tl.int32)", a.text, b.text), is})
	case k < 11:
		s, name := p.scalar(), pick(p.r, p.scalars)
		if strings.HasPrefix(name, "s") {
			p.line("%s = (%s * 5 + %s) & 1023", name, name, s.text)
			p.do(func(m *machine) { m.scalars[name] = (m.scalars[name]*5 + s.is(m)) & 1023 })
		}
	case k < 12:
		p.store()
	case k < 13:
		p.through()
	case k < 14:
		v, s := p.variable(), p.scalar()
		p.line("tl.atomic_add(count + (o & 7) + (%s & 7), %s)", s.text, v.text)
		p.do(func(m *machine) {
			at := s.is(m) & 7
			for i, x := range v.is(m) {
				m.count[at+int32(i)&7] += x
			}
		})
	case k < 15: // values that change places
		v, w := pick(p.r, p.blocks), pick(p.r, p.blocks)
		p.line("%s, %s = %s, %s", v, w, w, v)
		p.do(func(m *machine) { m.blocks[v], m.blocks[w] = m.blocks[w], m.blocks[v] })
	case k < 16 && p.depth < 3:
		p.branch()
	case p.depth < 2:
		p.loop()
	}
}

func (p *loopProgram) newBlock(v block) {
	name := p.name("v")
	p.set(name, v)
	p.blocks = append(p.blocks, name)
}

func (p *loopProgram) set(name string, v block) {
	p.line("%s = %s", name, v.text)
	p.do(func(m *machine) { m.blocks[name] = v.is(m) })
}

// addDot adds a dot to a sum of dots.
func (p *loopProgram) addDot() {
	if len(p.dots) == 0 {
		return
	}
	d := pick(p.r, p.dots)
	a, b, is := p.product()
	p.line("%s = tl.dot(%s, %s, %s)", d, a.text, b.text, d)
	p.do(func(m *machine) {
		sum := is(m)
		for i, x := range m.blocks[d] {
			sum[i] += x
		}
		m.blocks[d] = sum
	})
}

// store writes memory that nothing reads.
func (p *loopProgram) store() {
	if p.stores == maxStores {
		return
	}
	nn := int32(p.n * p.n)
	first := int32(p.stores) * windows * nn
	p.stores++
	v, s, mask := p.variable(), p.scalar(), p.mask()
	p.line("tl.store(w + %d + (%s & 7) * %d + o, %s, mask=%s)", first, s.text, nn, v.text, mask.text)
	p.do(func(m *machine) {
		to, yes := first+s.is(m)&7*nn, mask.is(m)
		for i, x := range v.is(m) {
			if yes[i] != 0 {
				m.w[to+int32(i)] = x
			}
		}
	})
}

// through sends a value through memory, to other threads too.
func (p *loopProgram) through() {
	v := p.variable()
	p.line("tl.debug_barrier()")
	p.line("tl.store(z + o, %s)", v.text)
	p.line("tl.debug_barrier()")
	p.do(func(m *machine) { copy(m.z, v.is(m)) })
	p.newBlock(block{"tl.load(z + t)", p.each(func(m *machine) func(int) int32 {
		return func(i int) int32 { return m.z[p.turned(i)] }
	})})
}

// inner writes a nested block: what first and more write, statements in between. It
// returns what the block does.
func (p *loopProgram) inner(first func(), statements int, more func()) step {
	blocks, scalars, dots, body, indent := len(p.blocks), len(p.scalars), len(p.dots), p.body, p.indent
	var steps []step
	p.body, p.indent, p.depth = &steps, p.indent+"    ", p.depth+1
	p.line("pass")
	first()
	for range statements {
		p.statement()
	}
	more()
	p.blocks, p.scalars, p.dots = p.blocks[:blocks], p.scalars[:scalars], p.dots[:dots]
	p.body, p.indent, p.depth = body, indent, p.depth-1
	return func(m *machine) {
		for _, s := range steps {
			s(m)
		}
	}
}

func (p *loopProgram) branch() {
	s, k := p.scalar(), int32(p.r.IntN(4))
	text, is := fmt.Sprintf("(%s & 3) >= %d", s.text, k), func(m *machine) bool { return s.is(m)&3 >= k }
	if p.r.IntN(3) == 0 {
		v := p.variable()
		text, is = fmt.Sprintf("tl.max(%s) > %s", v.text, s.text), func(m *machine) bool { return slices.Max(v.is(m)) > s.is(m) }
	}
	p.line("if %s:", text)
	nothing := func() {}
	yes, no := p.inner(nothing, 1+p.r.IntN(2), nothing), step(func(*machine) {})
	if p.r.IntN(2) == 0 {
		p.line("else:")
		no = p.inner(nothing, 1+p.r.IntN(2), nothing)
	}
	p.do(func(m *machine) {
		if is(m) {
			yes(m)
		} else {
			no(m)
		}
	})
}

// hints are options of tl.range.
func (p *loopProgram) hints() string {
	s := ""
	if p.r.IntN(4) != 0 {
		s += fmt.Sprintf(", num_stages=%d", 1+p.r.IntN(5))
	}
	if p.r.IntN(6) == 0 {
		s += fmt.Sprintf(", loop_unroll_factor=%d", 1+p.r.IntN(3))
	}
	for _, h := range []string{"flatten", "disallow_acc_multi_buffer", "disable_licm"} {
		if p.r.IntN(6) == 0 {
			s += ", " + h + "=True"
		}
	}
	return s
}

// loop adds a loop, with what one usually has before it: a sum of dots, and a
// pointer that moves.
func (p *loopProgram) loop() {
	nn := p.n * p.n
	if p.r.IntN(2) == 0 {
		d := p.name("d")
		p.line("%s = tl.zeros((%d, %d), tl.float32)", d, p.n, p.n)
		p.do(func(m *machine) { m.blocks[d] = make([]int32, nn) })
		p.dots = append(p.dots, d)
	}
	pointer, stride := "", []int{nn, 16, 1}[p.r.IntN(3)]
	if p.r.IntN(3) == 0 && p.depth == 0 {
		pointer = p.name("q")
		p.line("%s = p + o", pointer)
		p.do(func(m *machine) { m.scalars[pointer] = 0 })
	}
	previous := ""
	if p.r.IntN(4) == 0 { // a value that is used an iteration later
		previous = p.name("v")
		p.set(previous, p.variable())
		p.blocks = append(p.blocks, previous)
	}

	i, trips := p.name("i"), pick(p.r, []string{"t0", "t1", "t2"})
	var counts func(m *machine) []int32 // the values of i
	up := func(from, by int32) func(m *machine) []int32 {
		return func(m *machine) []int32 {
			var out []int32
			for k := range m.scalars[trips] {
				out = append(out, from+k*by)
			}
			return out
		}
	}
	while, narrow := false, func() {}
	switch p.r.IntN(14) {
	case 0:
		p.line("for %s in range(%s):", i, trips)
		counts = up(0, 1)
	case 1:
		p.line("for %s in tl.range(3, 3 + %s * 2, 2%s):", i, trips, p.hints())
		counts = up(3, 2)
	case 2:
		p.line("for %s in tl.range(0, %s * 16 - 5, 16%s):", i, trips, p.hints())
		counts = up(0, 16)
	case 3:
		p.line("for %s in range(%s, 0, -1):", i, trips)
		counts = func(m *machine) []int32 {
			out := up(1, 1)(m)
			slices.Reverse(out)
			return out
		}
	case 4:
		n := int32(p.r.IntN(4))
		p.line("for %s in tl.range(0, %d%s):", i, n, p.hints())
		counts = func(*machine) []int32 { return []int32{0, 1, 2}[:n] }
	case 5:
		p.line("%s = t0 * 0", i)
		p.line("while %s < %s:", i, trips)
		counts, while = up(0, 1), true
	case 6: // a step that is not known, down and up to what no step meets
		p.line("for %s in tl.range(-%s, %s, t2 + 1%s):", i, trips, trips, p.hints())
		counts = func(m *machine) (out []int32) {
			for k := -m.scalars[trips]; k < m.scalars[trips]; k += m.scalars["t2"] + 1 {
				out = append(out, k)
			}
			return out
		}
	case 7: // of 64 bits
		p.line("for %s_wide in tl.range(0, tl.cast(%s, tl.int64)%s):", i, trips, p.hints())
		narrow = func() { p.line("%s = %s_wide.to(tl.int32)", i, i) }
		counts = up(0, 1)
	default:
		p.line("for %s in tl.range(0, %s%s):", i, trips, p.hints())
		counts = up(0, 1)
	}
	scalars, known := p.scalars, len(p.blocks)
	p.scalars = append(slices.Clone(scalars), i)
	body := p.inner(narrow, 1+p.r.IntN(4), func() {
		if len(p.dots) > 0 && p.r.IntN(2) == 0 {
			p.addDot()
		}
		if pointer != "" {
			p.newBlock(block{"tl.load(" + pointer + ")", p.each(func(m *machine) func(int) int32 {
				from := m.scalars[pointer]
				return func(k int) int32 { return m.p[from+int32(k)] }
			})})
			p.line("%s += %d", pointer, stride)
			p.do(func(m *machine) { m.scalars[pointer] += int32(stride) })
		}
		if previous != "" {
			p.set(pick(p.r, p.blocks), block{"(" + previous + " * 5 + 1)", p.each(func(m *machine) func(int) int32 {
				a := m.blocks[previous]
				return func(k int) int32 { return a[k]*5 + 1 }
			})})
			p.set(previous, p.load())
		}
		if p.r.IntN(2) == 0 {
			p.set(p.blocks[0], p.value())
		}
		p.set(p.blocks[0], p.sum(p.blocks[known:])) // what the iteration made is known after the loop
		if while {
			p.line("%s += 1", i)
		}
	})
	p.scalars = scalars
	p.do(func(m *machine) {
		for _, k := range counts(m) {
			m.scalars[i] = k
			body(m)
		}
	})
}

func randomLoops(r *rand.Rand) (*loopProgram, []step) {
	p := &loopProgram{r: r, n: 16 << r.IntN(2), scalars: []string{"t0", "t1", "t2", "s0"}, blocks: []string{"v0", "w0"}}
	var steps []step
	p.body = &steps
	nn := p.n * p.n
	p.text.WriteString("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(p, idx, h, w, z, count, out, t0, t1, t2):\n")
	p.line("c = tl.arange(0, %d)", p.n)
	p.line("o = c[:, None] * %d + c[None, :]", p.n)
	p.line("t = c[None, :] * %d + c[:, None]", p.n)
	p.line("s0 = tl.load(idx)")
	p.do(func(m *machine) { m.scalars["s0"] = m.index[0] })
	p.set("v0", block{"tl.load(p + o)", func(m *machine) []int32 { return slices.Clone(m.p[:nn]) }})
	p.set("w0", block{"o * 7 + 1", p.each(func(*machine) func(int) int32 { return func(i int) int32 { return int32(i)*7 + 1 } })})
	for range 1 + r.IntN(3) {
		if r.IntN(3) == 0 {
			p.statement()
		}
		p.loop()
	}
	for k, v := range append(slices.Clone(p.blocks[:min(len(p.blocks), 4)]), p.dots...) {
		text := v
		if strings.HasPrefix(v, "d") {
			text += ".to(tl.int32)"
		}
		p.line("tl.store(out + %d + o, %s)", k%8*nn, text)
		p.do(func(m *machine) { copy(m.w[(maxStores*windows+k%8)*nn:], m.blocks[v]) })
	}
	return p, steps
}

// TestRandomLoops: random programs with loops do what they say, however many warps
// compute them, in however many stages, whichever passes are left out.
func TestRandomLoops(t *testing.T) {
	all := choices(t)
	var ran, ahead atomic.Int32 // programs, and those of which some form copies asynchronously
	t.Cleanup(func() {
		t.Logf("%d of %d programs copy ahead", ahead.Load(), ran.Load())
		if onCUDA() && !t.Failed() && ahead.Load() < ran.Load()/8 {
			t.Error("too few to say much of pipelines")
		}
	})
	eachProgram(t, func(t *testing.T, _ int, r *rand.Rand) {
		mine := slices.Clone(machines)
		for range 2 {
			mine = append(mine, pick(r, all), someLeftOut(r, all))
		}
		if ran.Add(1); runLoops(t, r, mine) {
			ahead.Add(1)
		}
	})
}

// someLeftOut leaves several passes out at a time.
func someLeftOut(r *rand.Rand, all []variation) variation {
	v := variation{1 << r.IntN(4), 1 + r.IntN(5), kerneltest.Options{}}
	var skip []string
	for _, a := range all {
		if s, ok := a.options["skip_passes"].([]string); ok && r.IntN(3) == 0 {
			skip = append(skip, s...)
		}
	}
	v.options["skip_passes"] = skip
	return v
}

// runLoops makes a program and tries variations of it; ahead is whether one of them
// copies asynchronously.
func runLoops(t *testing.T, r *rand.Rand, variations []variation) (ahead bool) {
	p, steps := randomLoops(r)
	nn := p.n * p.n
	m := machine{blocks: map[string][]int32{}, scalars: map[string]int32{}, count: make([]int32, 16), z: make([]int32, nn)}
	fill := func(n int, value func() int32) []int32 {
		out := make([]int32, n)
		for i := range out {
			out[i] = value()
		}
		return out
	}
	m.p = fill((farthest+1)*nn, func() int32 { return int32(r.Uint32()) })
	m.index = fill((windows+1)*nn, func() int32 { return r.Int32N(int32(windows * nn)) })
	m.small = fill((windows+1)*nn, func() int32 { return r.Int32N(5) - 2 })
	// out follows what the program stores to w.
	m.w = make([]int32, (maxStores*windows+8)*nn)
	for i := range 3 {
		m.scalars[fmt.Sprint("t", i)] = r.Int32N(maxTrips + 1)
	}
	target := fmt.Sprintf("cuda:%d", pick(r, capabilities()))
	variations = withClusters(r, variations, target)
	trips := []any{int(m.scalars["t0"]), int(m.scalars["t1"]), int(m.scalars["t2"])}
	for _, s := range steps {
		s(&m)
	}
	h := kerneltest.Zeros("fp16", len(m.small))
	for i, x := range m.small {
		h.Set(i, float64(x))
	}
	words, index := array.Of(dtype("i32"), m.p...), array.Of(dtype("i32"), m.index...)
	for _, v := range variations {
		w, z := kerneltest.Zeros("i32", maxStores*windows*nn), kerneltest.Zeros("i32", nn)
		count, out := kerneltest.Zeros("i32", 16), kerneltest.Zeros("i32", 8*nn)
		k := kerneltest.Kernel{Source: p.text.String(), Target: target, Options: kerneltest.Options{"num_warps": v.warps, "num_stages": v.stages}}
		args := append([]any{words, index, h, w, z, count, out}, trips...)
		ran, err := k.With(portable(v.options)).TryRun(t, kerneltest.Grid(1), args...)
		if err != nil {
			// Without a pass, what all iterations need may take a buffer for each stage.
			if text := kerneltest.Text(err); v.options["skip_passes"] != nil && strings.Contains(text, "bytes of shared memory, and a block may have") {
				t.Logf("left out: %s, %v, %s: %s", target, trips, v, strings.SplitN(text, "\n", 2)[0])
				continue
			}
			t.Fatalf("%s, %v, %s: %s\n%s", target, trips, v, kerneltest.Text(err), p.text.String())
		}
		ahead = ahead || strings.Contains(ran.PTX, "cp.async.c")
		for _, c := range []struct {
			name string
			got  *array.Array
			want []int32
		}{{"out", out, m.w[maxStores*windows*nn:]}, {"w", w, m.w}, {"count", count, m.count}} {
			for i := range c.got.Len() {
				if got := c.got.Int(i); got != int64(c.want[i]) {
					t.Fatalf("%s, %v, %s: %s[%d] is %d, want %d\n%s", target, trips, v, c.name, i, got, c.want[i], p.text.String())
				}
			}
		}
	}
	return ahead
}
