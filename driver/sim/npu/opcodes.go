package npu

// opcode is a kind of instruction: how its line is read, and what it does. What exec does
// with memory is checked as it runs; registers and types are when the line is read.
type opcode struct {
	name   string
	result bool // it writes a register
	ends   bool // what follows is reached by jumps alone
	read   func(r *reader, in *inst, result regType)
	exec   func(c *core, in *inst)
}

// opcodes are the instructions by name. Scalar operations go by arith.
var opcodes map[string]*opcode

func init() {
	opcodes = map[string]*opcode{}
	for _, op := range []*opcode{
		{name: "arith", result: true, read: readScalar, exec: execScalar},
		{name: "const", result: true, read: readConst, exec: func(c *core, in *inst) { c.regs[in.dst] = uint64(in.n) }},
		{name: "move", result: true, read: readMove, exec: execMove},
		{name: "core_id", result: true, read: readPlace, exec: func(c *core, in *inst) { c.regs[in.dst] = uint64(c.id) }},
		{name: "num_cores", result: true, read: readPlace, exec: func(c *core, in *inst) { c.regs[in.dst] = uint64(c.run.cores) }},
		{name: "jump", ends: true, read: readJump, exec: func(c *core, in *inst) { c.pc = in.targets[0] }},
		{name: "branch", ends: true, read: readBranch, exec: execBranch},
		{name: "return", ends: true, read: func(*reader, *inst, regType) {}, exec: func(c *core, _ *inst) { c.pc = len(c.p.code) }},
		{name: "assert", read: readAssert, exec: execAssert},

		{name: "alloc", result: true, read: readAlloc, exec: execAlloc},
		{name: "workspace", result: true, read: readWorkspace, exec: execWorkspace},
		{name: "cast", result: true, read: readCast, exec: execCast},
		{name: "subview", result: true, read: readSubview, exec: execSubview},

		{name: "load", result: true, read: readLoad, exec: execLoad},
		{name: "store", read: readStore, exec: execStore},
		{name: "atomic", result: true, read: readAtomic, exec: execAtomic},

		{name: "dma", read: readDMA, exec: execDMA},
		{name: "fill", read: readFill, exec: execFill},
		{name: "iota", read: readIota, exec: execIota},
		{name: "vector", read: readVector, exec: execVector},
		{name: "broadcast", read: readBroadcast, exec: execBroadcast},
		{name: "transpose", read: readTranspose, exec: execTranspose},
		{name: "reduce", read: readReduce, exec: execReduce},
		{name: "gather", read: readGather, exec: execGather},
		{name: "scatter", read: readScatter, exec: execScatter},
		{name: "mmad", read: readMMAD, exec: execMMAD},

		{name: "set_flag", read: readFlag, exec: execSetFlag},
		{name: "wait_flag", read: readFlag, exec: execWaitFlag},
		{name: "barrier", read: readBarrier, exec: execBarrier},
		{name: "sync_block", read: readSync, exec: execSync},
	} {
		opcodes[op.name] = op
	}
}
