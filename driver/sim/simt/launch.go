package simt

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tritonc/tritonc/core/diag"
)

// Checks chooses what a launch looks for beyond what stops it anyway
// (out-of-bounds and misaligned accesses, divergent barriers, deadlocks).
type Checks struct {
	// Undefined reports uses of registers and of memory never written.
	Undefined bool
	// Shared reports data races in shared memory between barriers and reads of
	// what an async copy still owns.
	Shared bool
	// Conflicts reports plain accesses of two blocks to one global address, one
	// of them a write.
	Conflicts bool
}

// Config is the simulated device and how a launch runs on it.
type Config struct {
	Lanes     int // of a warp
	SMs       int
	MaxWarps  int // resident on one SM
	MaxBlocks int // resident on one SM
	// SharedSM is the shared memory of one SM, SharedBlock the most that one
	// block may have, in bytes.
	SharedSM, SharedBlock int
	// MaxThreads is the most threads a block may have.
	MaxThreads int
	// MaxCluster is the most blocks a cluster may have; 0 where there are none.
	MaxCluster int
	Check      Checks
	// Waves counts the distinct sectors of every wave of blocks, and the misses
	// of a second-level cache (see waves.go).
	Waves bool
	// Rates, when not nil, has the launch's time estimated (see model.go).
	Rates *Rates
	// Sample is how many clusters are executed, at even distances, of a launch that has
	// more; 0 means all. The others write nothing, so that only counters and estimates
	// are of use.
	Sample int
	// Workers is how many host cores run blocks at a time where the program
	// allows it; 0 means all.
	Workers int
	// MaxInstructions ends a launch one of whose blocks would execute more warp
	// instructions; 0 means no limit.
	MaxInstructions uint64
	// Random permutes blocks and warps by Seed.
	Random bool
	Seed   uint64
	// Output receives what the kernel prints; nil drops it.
	Output io.Writer
	// Progress, when not nil, is called after each block that ended, with how
	// many have; from one goroutine at a time.
	Progress func(done, total int)
	// Trace, when not nil, is called before every instruction of warp TraceWarp of
	// block number TraceBlock.
	Trace                 func(TraceStep)
	TraceBlock, TraceWarp int
}

// TraceStep is one instruction that a traced warp is about to execute.
type TraceStep struct {
	// Loc is its place in the kernel's source; Loc.Line is 0 without line
	// information.
	Loc Loc
	// Line and Text are its line in the program text and its opcode.
	Line int
	Text string
	// Mask is the set of lanes that execute it.
	Mask uint64
}

// Args describes one launch.
type Args struct {
	Kernel      int // index of the function
	Grid, Block [3]int
	// Shared is the dynamic shared memory in bytes.
	Shared int
	// Params is the parameter buffer, Func.ParamBytes long.
	Params []byte
	// Usage is what the kernel's machine code takes, for the estimate.
	Usage Usage
}

// initReg is a bound Init.
type initReg struct {
	class   Class
	off     int32
	special Special
	value   uint64
}

// launch is the state shared by the blocks of one launch.
type launch struct {
	released    map[uint64]blockSet // of programs that are Ordered; see conflict.go
	cfg         *Config
	ctx         context.Context
	prog        *Program
	code        []step
	mem         *Memory
	params      []byte
	consts      []byte
	entry       int
	kernel      *Func
	index       int // the kernel's, among the functions
	grid, block [3]int
	cluster     [3]int // in blocks
	clusterSize int
	threads     int
	lanes       int
	sharedBytes int
	usage       Usage
	dynShared   int
	constants   []initReg
	specials    []initReg
	sharedInit  []*Symbol
	stop        atomic.Bool
	first       atomic.Int64 // number of the first cluster that cannot go on
	mu          sync.Mutex
	report      *Report
	found       *findings
	pending     map[int][]*Finding // of clusters that ended before one with a lower number did
	merged      int                // clusters whose findings are in found
	done        int                // blocks that ended, under mu
	waves       *waves
	order       []int    // permutation of the clusters, nil for the natural order
	timing      []timing // of the code; nil where no time is estimated
	prints      *Buffer  // what the kernel prints to, nil where it does not
	total       int      // clusters of the launch
	executed    int      // those of them that are
}

// stopped reports whether the launch has to end for all clusters.
func (r *launch) stopped() bool { return r.stop.Load() }

// Launch runs a kernel of a loaded program. The error tells what was wrong with
// the arguments, or is the context's. What the kernel did wrong is in the
// report.
func (l *Loaded) Launch(ctx context.Context, cfg *Config, a Args) (*Report, error) {
	r, err := l.prepare(ctx, cfg, a)
	if err != nil {
		return nil, err
	}
	if cfg.Check.Conflicts {
		l.mem.startConflicts()
	}
	r.total = r.grid[0] * r.grid[1] * r.grid[2] / r.clusterSize
	r.executed = r.total
	if cfg.Sample > 0 {
		r.executed = min(r.total, cfg.Sample)
	}
	r.first.Store(math.MaxInt64)
	r.report.Blocks, r.report.Ran = r.total*r.clusterSize, r.executed*r.clusterSize
	if cfg.Rates != nil {
		r.timing = timings(r.prog, cfg.Rates, r.lanes, (r.threads+r.lanes-1)/r.lanes)
	}
	if cfg.Waves {
		r.waves = &waves{resident: r.resident()}
	}
	if cfg.Random {
		r.order = rand.New(rand.NewPCG(cfg.Seed, 1)).Perm(r.total)
	}
	done := make(chan struct{})
	defer close(done)
	if ctx.Done() != nil {
		go func() {
			select {
			case <-ctx.Done():
				r.stop.Store(true)
			case <-done:
			}
		}()
	}
	if r.prog.Ordered {
		r.runResident()
	} else {
		r.runParallel()
	}
	if err := r.print(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.report.finish(r)
	return r.report, nil
}

// prepare checks the arguments and sets up the launch.
func (l *Loaded) prepare(ctx context.Context, cfg *Config, a Args) (*launch, error) {
	prog := l.prog
	if a.Kernel < 0 || a.Kernel >= len(prog.Funcs) || !prog.Funcs[a.Kernel].Kernel {
		return nil, fmt.Errorf("function %d is not a kernel", a.Kernel)
	}
	if cfg.Lanes != l.lanes {
		return nil, fmt.Errorf("program was loaded for warps of %d lanes, the device has %d", l.lanes, cfg.Lanes)
	}
	f := &prog.Funcs[a.Kernel]
	names := [3]string{"x", "y", "z"}
	for i, n := range a.Grid {
		limit := 65535
		if i == 0 {
			limit = 1<<31 - 1
		}
		if n < 1 || n > limit {
			return nil, fmt.Errorf("grid dimension %s is %d: it must be from 1 to %d", names[i], n, limit)
		}
	}
	threads := 1
	for i, n := range a.Block {
		if n < 1 || n > cfg.MaxThreads {
			return nil, fmt.Errorf("block dimension %s is %d: it must be from 1 to %d", names[i], n, cfg.MaxThreads)
		}
		threads *= n
	}
	if threads > cfg.MaxThreads {
		return nil, fmt.Errorf("block of %s: the device allows %d", diag.Count(threads, "thread"), cfg.MaxThreads)
	}
	if f.ReqBlock[0] != 0 && f.ReqBlock != a.Block {
		return nil, fmt.Errorf("kernel %s requires blocks of %v threads, launched with %v", f.Name, f.ReqBlock, a.Block)
	}
	if m := f.MaxBlock; m[0] != 0 && threads > m[0]*m[1]*m[2] {
		return nil, fmt.Errorf("kernel %s allows blocks of %s, launched with %d", f.Name, diag.Count(m[0]*m[1]*m[2], "thread"), threads)
	}
	size := 1
	cluster := f.Cluster
	if cluster[0] == 0 {
		cluster = [3]int{1, 1, 1}
	}
	for i, n := range cluster {
		if a.Grid[i]%n != 0 {
			return nil, fmt.Errorf("grid dimension %s is %d: kernel %s has clusters of %s there, of which it must be a multiple", names[i], a.Grid[i], f.Name, diag.Count(n, "block"))
		}
		size *= n
	}
	if size > max(cfg.MaxCluster, 1) {
		return nil, fmt.Errorf("kernel %s has clusters of %s, the device allows %d", f.Name, diag.Count(size, "block"), max(cfg.MaxCluster, 1))
	}
	if a.Shared < 0 || prog.DynShared+a.Shared > cfg.SharedBlock {
		return nil, fmt.Errorf("kernel %s needs %s of shared memory: the device allows a block %d", f.Name, diag.Count(prog.DynShared+a.Shared, "byte"), cfg.SharedBlock)
	}
	if len(a.Params) != f.ParamBytes {
		return nil, fmt.Errorf("kernel %s takes %s of parameters, given %d", f.Name, diag.Count(f.ParamBytes, "byte"), len(a.Params))
	}
	r := &launch{
		cfg: cfg, ctx: ctx, prog: prog, code: l.code, mem: l.mem, params: a.Params, consts: l.consts,
		entry: f.Start, kernel: f, index: a.Kernel, grid: a.Grid, block: a.Block, threads: threads, lanes: l.lanes,
		cluster: cluster, clusterSize: size,
		sharedBytes: prog.DynShared + a.Shared, dynShared: a.Shared,
		constants: l.constants, specials: l.specials,
		usage:  a.Usage,
		report: &Report{Kernel: f.Name, Lanes: l.lanes, Threads: threads, Shared: prog.DynShared + a.Shared, prog: prog},
		found:  &findings{}, pending: map[int][]*Finding{},
	}
	if err := r.fillImplicit(); err != nil {
		return nil, err
	}
	for i := range prog.Symbols {
		if s := &prog.Symbols[i]; s.Space == SpaceShared && len(s.Data) > 0 {
			r.sharedInit = append(r.sharedInit, s)
		}
	}
	return r, nil
}

// fillImplicit sets the parameters that the launch itself knows.
func (r *launch) fillImplicit() (err error) {
	if len(r.kernel.Implicit) == 0 {
		return nil
	}
	r.params = slices.Clone(r.params)
	for _, p := range r.kernel.Implicit {
		if p.Prints {
			if r.prints, err = newPrints(r.mem); err != nil {
				return err
			}
			storeBytes(r.params[p.Offset:], 8*p.Size, r.prints.addr)
			continue
		}
		n := 0
		switch p.What {
		case SpecNCtaX, SpecNCtaY, SpecNCtaZ:
			n = r.grid[p.What-SpecNCtaX]
		case SpecNTidX, SpecNTidY, SpecNTidZ:
			n = r.block[p.What-SpecNTidX]
		default:
			panic("BUG: not a size of the launch")
		}
		storeBytes(r.params[p.Offset:], 8*p.Size, uint64(n))
	}
	return nil
}

// warpOrder returns the order in which a block's warps take turns.
func (r *launch) warpOrder(c *cta) func(int) int {
	n := len(c.warps)
	if !r.cfg.Random {
		return func(i int) int { return i }
	}
	c.turns++
	rng := rand.New(rand.NewPCG(r.cfg.Seed, uint64(c.index)<<20|c.turns))
	perm := rng.Perm(n)
	return func(i int) int { return perm[i] }
}

// quantum is how many instructions a warp runs before the next one's turn.
const quantum = 8192

// runParallel runs clusters to their ends, several at a time.
func (r *launch) runParallel() {
	workers := r.cfg.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, r.executed)
	var next atomic.Int64
	work := func() {
		c := newCluster(r)
		for !r.stopped() {
			k := int(next.Add(1) - 1)
			if k >= r.executed || int64(k) > r.first.Load() {
				break
			}
			c.start(k)
			for c.advance(r.turn()) {
			}
			r.ended(c)
		}
		r.collect(c)
	}
	if workers == 1 {
		work()
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
}

// chosen is the number of the k-th cluster that is executed. A sample is spread evenly
// over each axis of the grid by itself: programs often differ along one of them alone.
func (r *launch) chosen(k int) int {
	if r.executed == r.total {
		return k
	}
	number, stride := 0, 1
	for i := range 3 {
		n := r.grid[i] / r.cluster[i]
		at := (float64(k) + 0.5) / float64(r.executed)
		if i > 0 {
			at = radicalInverse(k+1, i+1)
		}
		number += int(at*float64(n)) * stride
		stride *= n
	}
	return number
}

// radicalInverse mirrors the digits of k in a base at the point: numbers of [0, 1) that
// are spread evenly, however many are taken (van der Corput).
func radicalInverse(k, base int) (x float64) {
	for unit := 1 / float64(base); k > 0; unit /= float64(base) {
		x += float64(k%base) * unit
		k /= base
	}
	return x
}

// turn is the number of instructions in a warp's turn.
func (r *launch) turn() int {
	if r.cfg.Random {
		return 64
	}
	return quantum
}

// runResident runs the clusters that the device would hold together in rotation,
// each for a turn, and admits the next one when a cluster ends.
func (r *launch) runResident() {
	limit := max(r.resident()/r.clusterSize, 1)
	var running, idle []*cluster
	next := 0
	const rounds = 64 // turns of all its warps before the next cluster's turn
	for !r.stopped() {
		for len(running) < limit && next < r.executed {
			var c *cluster
			if n := len(idle); n > 0 {
				c, idle = idle[n-1], idle[:n-1]
			} else {
				c = newCluster(r)
			}
			c.start(next)
			next++
			// A cluster that ends within its first turn frees its place at once.
			if r.rounds(c, rounds) {
				running = append(running, c)
			} else {
				idle = append(idle, c)
			}
		}
		if len(running) == 0 {
			break
		}
		kept := running[:0]
		for _, c := range running {
			if r.rounds(c, rounds) {
				kept = append(kept, c)
			} else {
				idle = append(idle, c)
			}
		}
		running = kept
	}
	for _, c := range idle {
		r.collect(c)
	}
	for _, c := range running {
		r.collect(c)
	}
}

func (r *launch) rounds(c *cluster, n int) bool {
	c.waits = false
	for range n {
		if r.stopped() || !c.advance(r.turn()) {
			return false
		}
		if c.waits {
			break
		}
	}
	return true
}

// resident is how many blocks the device holds at a time.
func (r *launch) resident() int {
	warps := (r.threads + r.lanes - 1) / r.lanes
	n := min(r.cfg.MaxBlocks, r.cfg.MaxWarps/warps, r.sharedBlocks())
	return max(n, 1) * r.cfg.SMs
}

// sharedBlocks is how many blocks the shared memory of a multiprocessor has room for.
func (r *launch) sharedBlocks() int {
	if r.sharedBytes == 0 {
		return math.MaxInt
	}
	return r.cfg.SharedSM / r.sharedBytes
}

// finished counts a block that ended and takes its fault, if any.
func (r *launch) finished(c *cta) {
	if r.timing != nil {
		r.mu.Lock()
		r.report.cycles = append(r.report.cycles, c.elapsed())
		r.mu.Unlock()
	}
	if r.cfg.Progress != nil {
		r.mu.Lock()
		r.done++
		r.cfg.Progress(r.done, r.executed*r.clusterSize)
		r.mu.Unlock()
	}
	r.fault(c)
}

// collect adds the counters of a cluster's blocks to the report.
func (r *launch) collect(cl *cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range cl.ctas {
		r.report.collect(c)
	}
}
