package work

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// The compiles of a process share its memory, and Go does not tell what each of
// them holds. So their limits add up, and when the process has grown by more than
// the sum since the first of them started, the compile that has visited most is
// taken for the cause. What the process held before, such as the arguments of a
// kernel that is to run, counts for none.

// share is one compile's part of the process's memory.
type share struct {
	limit  int64
	visits atomic.Int64
}

var shares struct {
	sync.Mutex
	running map[*share]bool
	before  int64 // the collector's limit without compiles
	base    int64 // bytes held when the first of those that run started
}

func join(limit int64) *share {
	s := &share{limit: limit}
	shares.Lock()
	defer shares.Unlock()
	if shares.running == nil {
		shares.running = map[*share]bool{}
	}
	if len(shares.running) == 0 {
		shares.before, shares.base = debug.SetMemoryLimit(-1), heldBytes()
		target.compile(true)
	}
	shares.running[s] = true
	collectBelow()
	return s
}

func (s *share) leave() {
	shares.Lock()
	defer shares.Unlock()
	delete(shares.running, s)
	collectBelow()
	if len(shares.running) == 0 {
		target.compile(false)
	}
}

// collectBelow has the garbage collector keep the process under three quarters of
// what its compiles may take, so that what counts against their limits is in use.
func collectBelow() {
	total := allowed()
	if total == 0 {
		debug.SetMemoryLimit(shares.before)
		return
	}
	debug.SetMemoryLimit(min(shares.base+total/4*3, shares.before))
}

// allowed is what all compiles together may take.
func allowed() int64 {
	total := int64(0)
	for s := range shares.running {
		total += s.limit
	}
	return total
}

// over reports whether the process has grown too much, and s is to end for it. It
// says so at seven eighths of the limit, for the sake of what is allocated
// between two looks.
func (s *share) over() bool {
	if !nearLimit() {
		return false
	}
	debug.FreeOSMemory() // for the collector keeps its own limit roughly
	if !nearLimit() {
		return false
	}
	shares.Lock()
	defer shares.Unlock()
	for other := range shares.running {
		if other.visits.Load() > s.visits.Load() {
			return false
		}
	}
	return true
}

// nearLimit reports whether the process has grown by seven eighths of what all
// compiles may take.
func nearLimit() bool {
	held := heldBytes()
	shares.Lock()
	defer shares.Unlock()
	return max(0, held-shares.base) >= allowed()/8*7
}

// heldBytes is what the Go runtime has of the system and not given back.
func heldBytes() int64 {
	samples := [2]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples[:])
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
