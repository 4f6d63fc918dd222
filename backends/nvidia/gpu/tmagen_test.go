package gpu

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// tmaCase is a kernel that copies blocks of a tensor through a descriptor, one
// after the other along the tensor's first dimension, programs along its last.
// Inwards, every block is loaded from shared memory in a layout and written to a
// place of its own by plain stores; outwards it is the other way round.
type tmaCase struct {
	elem    string // of the IR
	typ     int    // its number in a tensor map
	bytes   int
	block   []int // outermost first, as all that follows
	swizzle int   // bytes
	dims    []int // of the tensor
	row     int   // elements from row to row; at least the last of dims
	start   []int // coordinates of the first program's first block
	rounds  int
	buffers int    // how many blocks are in shared memory at a time
	layout  string // of the registers
	early   bool   // the blocks' memory is none that the map was made in
	flat    bool   // shared memory and registers lack a first dimension of 1
	out     bool
	reduce  string // how blocks are combined with the tensor; "" replaces
}

// strides of the tensor in elements.
func (c *tmaCase) strides() []int {
	s := make([]int, len(c.dims))
	s[len(s)-1] = 1
	next := c.row
	for d := len(s) - 2; d >= 0; d-- {
		s[d] = next
		next *= c.dims[d]
	}
	return s
}

// size is the number of the tensor's elements, gaps included.
func (c *tmaCase) size() int {
	n := c.row
	for _, d := range c.dims[:len(c.dims)-1] {
		n *= d
	}
	return n
}

func (c *tmaCase) programs() int { return 2 }

// dumped is the number of elements of all blocks of all programs.
func (c *tmaCase) dumped() int { return c.programs() * c.rounds * volume(c.block) }

// at gives the coordinates of element i of the block of a round.
func (c *tmaCase) at(program, round, i int) []int {
	x := make([]int, len(c.block))
	for d := len(x) - 1; d >= 0; d-- {
		x[d] = c.start[d] + i%c.block[d]
		i /= c.block[d]
	}
	if last := len(x) - 1; last > 0 {
		x[0] += round * c.block[0]
		x[last] += program * c.block[last]
	} else {
		x[0] += (program*c.rounds + round) * c.block[0]
	}
	return x
}

// place is the element's index in the tensor's memory; false outside of it. What
// goes out goes in pieces of 16 bytes: the hardware also writes what is after the
// end of a row in the piece in which it ends.
func (c *tmaCase) place(program, round, i int) (int, bool) {
	at := 0
	strides := c.strides()
	for d, x := range c.at(program, round, i) {
		n := c.dims[d]
		if align := 16 / c.bytes; c.out && d == len(c.dims)-1 {
			n = (n + align - 1) / align * align
		}
		if x < 0 || x >= n {
			return 0, false
		}
		at += x * strides[d]
	}
	return at, true
}

// box is the hardware's: what one instruction copies.
func (c *tmaCase) box() []int {
	box := make([]int, len(c.block))
	for d, n := range c.block {
		box[d] = min(n, 256)
	}
	if last := len(box) - 1; c.swizzle > 0 && last > 0 {
		box[last] = c.swizzle / c.bytes
	}
	return box
}

// held is the shape of a block in shared memory.
func (c *tmaCase) held() []int {
	if c.flat {
		return c.block[1:]
	}
	return c.block
}

var swizzleModes = map[int]int{0: 0, 32: 1, 64: 2, 128: 3}

// source is the module's text.
func (c *tmaCase) source() string {
	rank := len(c.block)
	held := c.held()
	shape := times(held)
	arrangement := func(rank int) string {
		s := fmt.Sprintf("#ttg.nvmma_shared<{swizzlingByteWidth = %d, transposed = false, elementBitWidth = %d", c.swizzle, 8*c.bytes)
		if rank != 2 {
			s += fmt.Sprintf(", rank = %d", rank)
		}
		return s + "}>"
	}
	shared := arrangement(len(held))
	const bars = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
	desc := fmt.Sprintf("!tt.tensordesc<tensor<%sx%s, %s>>", times(c.block), c.elem, arrangement(rank))
	mem := func(shape, elem, enc string) string {
		return fmt.Sprintf("!ttg.memdesc<%sx%s, %s, #ttg.shared_memory, mutable>", shape, elem, enc)
	}
	one, all := mem(shape, c.elem, shared), mem(fmt.Sprintf("%dx%s", c.buffers, shape), c.elem, shared)
	bar, barAll := mem("1", "i64", bars), mem(fmt.Sprintf("%dx1", c.buffers), "i64", bars)
	value := fmt.Sprintf("tensor<%sx%s, %s>", shape, c.elem, c.layout)

	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "    "+format+"\n", args...) }
	params := fmt.Sprintf("%%t: !tt.ptr<%s>, %%o: !tt.ptr<%s>, %%rounds: i32", c.elem, c.elem)
	each := func(format string) string { // for every dimension, innermost first
		var s []string
		for d := rank - 1; d >= 0; d-- {
			s = append(s, fmt.Sprintf(format, d))
		}
		return strings.Join(s, ", ")
	}
	for d := range rank {
		params += fmt.Sprintf(", %%n%d: i32, %%s%d: i64, %%c%d: i32", d, d, d)
	}
	fmt.Fprintf(&b, "  tt.func public @k(%s) {\n", params)
	for d, n := range c.box() {
		line("%%box%d = arith.constant %d : i32", d, n)
	}
	line("%%zero = arith.constant 0 : i32\n%%one = arith.constant 1 : i32\n%%true = arith.constant true\n%%buffers = arith.constant %d : i32", c.buffers)
	if c.early {
		line("%%all = ttg.local_alloc : () -> %s", all)
	}
	line("%%map = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>")
	strides := ""
	if rank > 1 {
		strides = strings.TrimPrefix(each("%%s%d"), fmt.Sprintf("%%s%d, ", rank-1))
	}
	steps := strings.TrimSuffix(strings.Repeat("%one, ", rank), ", ")
	types := func(t string, n int) string { return strings.Repeat(", "+t, n) }
	line("ttng.tensormap_create %%map, %%t, [%s], [%s], [%s], [%s] {elem_type = %d : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = %d : i32} : (!tt.ptr<i8>, !tt.ptr<%s>%s%s%s%s) -> ()",
		each("%%box%d"), each("%%n%d"), strides, steps, c.typ, swizzleModes[c.swizzle], c.elem,
		types("i32", rank), types("i32", rank), types("i64", rank-1), types("i32", rank))
	line("ttng.tensormap_fenceproxy_acquire %%map : !tt.ptr<i8>")
	line("%%desc = ttng.reinterpret_tensor_descriptor %%map : !tt.ptr<i8> to %s", desc)
	text, index := linear("i", held, c.layout)
	b.WriteString(text)
	line("%%pid = tt.get_program_id x : i32")
	line("%%volume = arith.constant %d : i32\n%%first = arith.muli %%pid, %%rounds : i32", volume(c.block))
	if !c.early {
		line("%%all = ttg.local_alloc : () -> %s", all)
	}
	if !c.out {
		line("%%bars = ttg.local_alloc : () -> %s", barAll)
		for i := range c.buffers {
			line("%%b%d = arith.constant %d : i32", i, i)
			line("%%bar%d = ttg.memdesc_index %%bars[%%b%d] : %s -> %s", i, i, barAll, bar)
			line("ttng.init_barrier %%bar%d, 1 : %s", i, bar)
		}
	}
	line("scf.for %%r = %%zero to %%rounds step %%one : i32 {")
	line("%%nth = arith.addi %%first, %%r : i32")
	coords := make([]string, rank)
	for d := range rank {
		step := "%zero"
		switch {
		case rank == 1:
			step = "%nth"
		case d == 0:
			step = "%r"
		case d == rank-1:
			step = "%pid"
		}
		coords[d] = fmt.Sprintf("%%at%d", d)
		line("%%block%d = arith.constant %d : i32\n%%off%d = arith.muli %s, %%block%d : i32\n%%at%d = arith.addi %%c%d, %%off%d : i32", d, c.block[d], d, step, d, d, d, d)
	}
	line("%%slot = arith.remsi %%r, %%buffers : i32")
	line("%%m = ttg.memdesc_index %%all[%%slot] : %s -> %s", all, one)
	line("%%skip = arith.muli %%nth, %%volume : i32")
	line("%%to = tt.addptr %%o, %%skip : !tt.ptr<%s>, i32", c.elem)
	b.WriteString(pointers("o", "to", index, shape, c.elem, c.layout))
	place := strings.Join(coords, ", ")
	if c.out {
		line("%%v = tt.load %%o_p : tensor<%sx!tt.ptr<%s>, %s>", shape, c.elem, c.layout)
		line("ttng.async_tma_store_wait {pendings = %d : i32}", c.buffers-1)
		line("ttg.local_store %%v, %%m : %s -> %s", value, one)
		line("ttng.fence_async_shared {bCluster = false}")
		if c.reduce != "" {
			line("ttng.async_tma_reduce %s, %%desc[%s] %%m : %s, %s", c.reduce, place, desc, one)
		} else {
			line("ttng.async_tma_copy_local_to_global %%desc[%s] %%m : %s, %s", place, desc, one)
		}
		line("}\nttng.async_tma_store_wait {pendings = 0 : i32}")
	} else {
		line("%%turn = arith.divsi %%r, %%buffers : i32\n%%phase = arith.andi %%turn, %%one : i32")
		line("%%bar = ttg.memdesc_index %%bars[%%slot] : %s -> %s", barAll, bar)
		line("ttng.barrier_expect %%bar, %d, %%true : %s", volume(c.block)*c.bytes, bar)
		line("ttng.async_tma_copy_global_to_local %%desc[%s] %%m, %%bar, %%true : %s, %s -> %s", place, desc, bar, one)
		line("ttng.wait_barrier %%bar, %%phase : %s", bar)
		line("%%v = ttg.local_load %%m : %s -> %s", one, value)
		line("tt.store %%o_p, %%v : tensor<%sx!tt.ptr<%s>, %s>", shape, c.elem, c.layout)
		line("}")
		for i := range c.buffers {
			line("ttng.inval_barrier %%bar%d : %s", i, bar)
		}
	}
	line("tt.return\n  }")
	return moduleOf(b.String())
}

// params are the arguments after the two tensors.
func (c *tmaCase) params() []any {
	args := []any{int32(c.rounds)}
	for d, s := range c.strides() {
		args = append(args, int32(c.dims[d]), int64(s*c.bytes), int32(c.start[d]))
	}
	return args
}

var tmaElems = []struct {
	name  string
	typ   int
	bytes int
}{{"f32", 7, 4}, {"f16", 6, 2}, {"bf16", 10, 2}, {"i8", 0, 1}, {"f8E5M2", 0, 1}, {"i32", 3, 4}, {"f8E4M3FN", 0, 1}}

// randomTMA is a case of any rank, type, swizzle and size; some blocks leave the
// tensor at its borders.
func randomTMA(r *rand.Rand, rank int) *tmaCase {
	e := tmaElems[r.IntN(len(tmaElems))]
	c := &tmaCase{elem: e.name, typ: e.typ, bytes: e.bytes, rounds: 1 + r.IntN(4), buffers: 1 + r.IntN(3), early: r.IntN(2) == 0}
	c.swizzle = []int{0, 32, 64, 128}[r.IntN(4)]
	c.block, c.dims, c.start = make([]int, rank), make([]int, rank), make([]int, rank)
	inner := max(c.swizzle, 16) / e.bytes << r.IntN(2)
	rows := 8 << r.IntN(3)
	if rank == 1 {
		c.swizzle = 0
		c.block[0] = 64 << r.IntN(5)
	} else {
		c.block[rank-2], c.block[rank-1] = rows, inner
	}
	for d := range rank - 2 {
		c.block[d] = 1 << r.IntN(max(2, 6-rank))
		c.block[rank-2] = 8
	}
	if c.swizzle == 0 && rank > 1 {
		c.block[rank-1] = min(c.block[rank-1], 256)
	}
	align := 16 / e.bytes
	for d, n := range c.block {
		c.dims[d] = 1 + r.IntN(3*n)
		c.start[d] = r.IntN(n+1) - n/2
		if d == rank-1 {
			c.start[d] = c.start[d] / align * align
		}
	}
	last := c.dims[rank-1]
	c.row = (last + align - 1) / align * align
	if rank > 1 && r.IntN(2) == 0 {
		c.row += align
	}
	if c.flat = rank > 2 && r.IntN(2) == 0; c.flat {
		c.block[0] = 1
	}
	if held := c.held(); r.IntN(2) == 0 {
		c.layout = randomLinear(r, held, r.IntN(2) == 0)
	} else {
		c.layout = randomBlocked(r, len(held))
	}
	return c
}
