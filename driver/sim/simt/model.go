package simt

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Rates are what a chip does in a cycle, and how many cycles things take: all that
// the model of a launch's time knows of the chip. docs/simulator.md gives the source
// of each number.
type Rates struct {
	// Clock is in cycles a second, Issue the instructions that a multiprocessor issues
	// in a cycle.
	Clock float64
	Issue float64
	// Pipes are the warp instructions of a class that a multiprocessor begins in a
	// cycle; 0: as many as it issues.
	Pipes [NumClasses]float64
	// Dots are the operations of the matrix units of a multiprocessor in a cycle with
	// elements of 16 bits; twice as many with 8 bits, half with 32. SyncDots is the part
	// of it that mma.sync reaches, DoubleDots the operations on f64.
	Dots, SyncDots, DoubleDots float64
	// DRAM and L2 are bytes a second; FromL2 is bytes a cycle of a multiprocessor.
	// PeakDRAM is what the data sheet says of the memory.
	DRAM, PeakDRAM, L2, FromL2 float64
	// Wavefronts of shared memory that a multiprocessor does in a cycle.
	Wavefronts float64
	// Cycles until a result can be used: of arithmetic, of special functions, of shared
	// memory, of global memory, of a dot.
	ALU, Special, Shared, Global, Matrix uint64
	// Branch is how many cycles a warp issues nothing after a branch, Barrier how many
	// pass between the last arrival at a barrier and the next instruction.
	Branch, Barrier uint64
	// Registers of a multiprocessor, and the most of a thread.
	Registers, MaxRegisters int
	// Launch is the time of a launch that does nothing.
	Launch time.Duration
}

// Estimate is how long a launch would take on the chip, and why, by the model that
// docs/simulator.md describes.
type Estimate struct {
	Time time.Duration
	// Registers of a thread that the code needs, and how many of them do not fit;
	// Exact where the assembler said so.
	Registers, Spilled int
	Exact              bool
	// Resident is how many blocks a multiprocessor holds; 0 where not even one fits.
	Resident int
	// Occupancy is the part of the warps that a multiprocessor can hold which these
	// blocks have, and Limit what keeps more blocks away.
	Occupancy float64
	Limit     string
	// Latency is how long a block takes alone, in cycles.
	Latency float64
	// Issue, Pipe, Dots, Shared and FromL2 are the cycles for which a block keeps the
	// multiprocessor's issue slots, its busiest pipe, matrix units, shared memory and
	// port to the second-level cache.
	Issue, Pipe, Dots, Shared, FromL2 float64
	// L2 and DRAM are how long the launch's traffic takes there.
	L2, DRAM time.Duration
	// Bound names what the launch takes longest for.
	Bound string
}

// matrixCycles is how long a dot keeps the matrix unit of the part of a
// multiprocessor that its warp runs on: a quarter.
func (r *Rates) matrixCycles(in *Inst) float64 {
	m := in.Mma
	rate := r.Dots
	switch m.AType.Bits() {
	case 64:
		rate = r.DoubleDots
	case 32:
		rate /= 2
	default:
		rate *= 16 / float64(max(m.AType.Bits(), 1))
	}
	if in.Op == OpMma && m.AType.Bits() != 64 {
		rate *= r.SyncDots
	}
	if rate == 0 {
		return 0
	}
	return float64(m.flops()) / (rate / 4)
}

// wgmmaBytes are the bytes of shared memory that a warp's share of a dot reads. The
// four warps of a group read B together.
func wgmmaBytes(in *Inst) float64 {
	m := in.Mma
	n := float64(m.N*m.K*m.BType.Bits()/8) / warpsOfGroup
	if in.Wgmma.ADesc != 0 {
		n += float64(m.M * m.K * m.AType.Bits() / 8)
	}
	return n
}

// Weights of the model. Parts that go on side by side hinder one another a little, so
// that together they take longer than the longest: the sum of their powers counts.
const (
	powerOfUnits = 4 // units of a multiprocessor
	// hindrance is the part of a block's work for which one beside it waits.
	hindrance = 0.3
	// ptxas needs fewer registers than hold values in the PTX at a time, since it
	// computes addresses anew and joins them: a part of them, and some more.
	regsOfValues, regsBeside = 0.65, 12
	regUnit                  = 8 // of which registers are handed out
)

func power(p float64, parts ...float64) float64 {
	most, sum := 0.0, 0.0
	for _, x := range parts {
		most = max(most, x)
	}
	if most == 0 {
		return 0
	}
	for _, x := range parts {
		sum += math.Pow(x/most, p)
	}
	return most * math.Pow(sum, 1/p)
}

// estimate applies the model to what was counted.
func (r *Report) estimate(l *launch) *Estimate {
	rates := l.cfg.Rates
	blocks := float64(r.Blocks)
	executed := float64(max(r.Ran, 1))
	e := &Estimate{Registers: l.usage.Registers, Spilled: l.usage.spilled(), Exact: l.usage.Registers > 0}
	if !e.Exact {
		e.Registers = int(regsOfValues*float64(pressure(l.prog, l.kernel))) + regsBeside
	}
	e.fit(l)
	if e.Resident == 0 {
		e.Time, e.Bound = math.MaxInt64, "registers"
		return e
	}
	latency, tail := spreadOf(r.cycles)
	e.Latency = latency
	spill := 1 + float64(e.Spilled)/float64(e.Registers)
	pipes := [NumClasses]float64{}
	wgmma := 0.0
	for pc := range r.perPC {
		in, n := &r.prog.Code[pc], float64(r.perPC[pc].warps)/executed
		if n == 0 {
			continue
		}
		class := classOf(in)
		switch {
		case class == ClassMove:
			continue
		case class == ClassMatrix:
			e.Dots += n * rates.matrixCycles(in) / 4
			if in.Op == OpWgmma {
				wgmma += n * wgmmaBytes(in)
			}
		case class == ClassInteger && in.Type.Bits() == 64:
			n *= 2
		}
		e.Issue += n / rates.Issue * spill
		if p := rates.Pipes[class]; p > 0 {
			pipes[class] += n / p
		}
	}
	for _, n := range pipes {
		e.Pipe = max(e.Pipe, n)
	}
	k := &r.Counters
	sectors := float64(k.GlobalSectors) / executed
	// Loads and stores of global memory pass through the memory that shared memory is a
	// part of; what cp.async brings is counted where it is written.
	const wide = numBanks * bankBytes
	loads := max(float64(k.GlobalSectors)*(1<<sectorShift)/wide-float64(k.SharedWavefrontsCopied), 0)
	e.Shared = ((float64(k.SharedWavefronts)+loads)/executed + wgmma/wide) / rates.Wavefronts
	e.FromL2 = sectors * (1 << sectorShift) / rates.FromL2
	// A multiprocessor has so many blocks to do, as many as fit at a time.
	use := power(powerOfUnits, e.Issue, e.Pipe, e.Dots, e.Shared, e.FromL2)
	mine := math.Ceil(blocks / float64(l.cfg.SMs))
	busy, left := 0.0, mine
	for left > 0 {
		rounds := max(math.Floor(left/float64(e.Resident)), 1)
		n := min(left, float64(e.Resident))
		busy += rounds * max(latency*spill+hindrance*(n-1)*use, n*use)
		left -= rounds * n
	}
	busy += tail
	seconds := busy / rates.Clock
	bytes := float64(k.GlobalSectors) / executed * blocks * (1 << sectorShift)
	l2 := bytes / rates.L2
	dram := r.compulsory(l, blocks/executed) / rates.DRAM
	e.L2, e.DRAM = duration(l2), duration(dram)
	e.Time = rates.Launch + duration(power(powerOfUnits, seconds, l2, dram))
	e.Bound = e.bound(latency, seconds, l2, dram)
	return e
}

// fit finds how many blocks a multiprocessor holds, by what a block takes of it.
func (e *Estimate) fit(l *launch) {
	rates := l.cfg.Rates
	warps := (l.threads + l.lanes - 1) / l.lanes
	most := rates.MaxRegisters
	if n := rates.Registers / (warps * l.lanes) / regUnit * regUnit; n < most {
		most = n
	}
	if n := l.kernel.MaxRegs; n > 0 {
		most = min(most, n)
	}
	if most <= 0 {
		return
	}
	if !e.Exact {
		e.Spilled = max(e.Registers-most, 0)
	}
	used := (min(e.Registers, most) + regUnit - 1) / regUnit * regUnit
	e.Resident, e.Limit = max(rates.Registers/(used*warps*l.lanes), 1), "registers"
	for _, by := range []struct {
		limit  string
		blocks int
	}{{"warps", l.cfg.MaxWarps / warps}, {"blocks", l.cfg.MaxBlocks}, {"shared memory", l.sharedBlocks()}} {
		if by.blocks <= e.Resident {
			e.Resident, e.Limit = max(by.blocks, 1), by.limit
		}
	}
	e.Occupancy = float64(e.Resident*warps) / float64(l.cfg.MaxWarps)
}

// Usage is what machine code takes of a thread, where it is known: registers, and the
// bytes that it stores to memory and loads again for lack of them. The zero Usage is
// that of code of which nobody made machine code.
type Usage struct {
	Registers, SpillStores, SpillLoads int
}

// spilled is how many registers that is.
func (u *Usage) spilled() int { return max(u.SpillStores, u.SpillLoads) / 4 }

// spreadOf is how long a block takes, and how much longer the longest.
func spreadOf(cycles []uint64) (mean, tail float64) {
	if len(cycles) == 0 {
		return 0, 0
	}
	longest := 0.0
	for _, n := range cycles {
		mean += float64(n)
		longest = max(longest, float64(n))
	}
	mean /= float64(len(cycles))
	return mean, longest - mean
}

// compulsory is the traffic of the launch with the device's memory in bytes: what
// the second-level cache misses, where waves were counted; or each byte of the
// buffers once, if so much is asked for at all. part is how many times more blocks the
// launch has than were executed.
func (r *Report) compulsory(l *launch, part float64) float64 {
	k := &r.Counters
	if l.waves != nil && part == 1 {
		return float64(k.L2Misses) * (1 << sectorShift)
	}
	sum := 0.0
	slices.SortFunc(r.stats.touched, func(a, b touched) int { return cmp.Compare(a.buf.addr, b.buf.addr) })
	for _, t := range r.stats.touched {
		for _, n := range t.bytes {
			sum += min(part*float64(n), float64(len(t.buf.Data)))
		}
	}
	return sum
}

// bound names the part that takes longest.
func (e *Estimate) bound(latency, busy, l2, dram float64) string {
	if dram >= busy && dram >= l2 {
		return "DRAM"
	}
	if l2 >= busy {
		return "L2"
	}
	n := float64(e.Resident)
	name, most := "latency", latency
	for _, part := range []struct {
		name   string
		cycles float64
	}{{"issue slots", e.Issue}, {"arithmetic", e.Pipe}, {"dots", e.Dots}, {"shared memory", e.Shared}, {"port to L2", e.FromL2}} {
		if n*part.cycles > most {
			name, most = part.name, n*part.cycles
		}
	}
	return name
}

func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
