package work

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Targets of Go's collector, in percent of what is in use.
//
// While compiles run whose memory is bounded, the heap may grow to five times what is
// in use before it is collected: a compile holds a few MiB, and with Go's own target,
// twice that, it spends a third of its time on collecting. The limit still holds. A
// target that somebody else has set (GOGC) stays.
const (
	standardPercent = 100
	compilePercent  = 400
	seldomPercent   = 800
	// spareBytes is how much a process of CollectSeldom may allocate between two
	// collections whatever is in use, as far as seldomPercent of that has room for it.
	// Twice as much saves nothing that can be measured, and half costs a twentieth.
	spareBytes = 32 << 20
)

// idleTime is how long a process of CollectSeldom compiles nothing before it gives the
// memory that it does not use back to the system. A variable for tests.
var idleTime = 5 * time.Second

// collector is the target that this package has set.
type collector struct {
	mu        sync.Mutex
	percent   int         // in force, if nobody else has set one
	compiling bool        // compiles run whose memory is bounded
	seldom    bool        // CollectSeldom was called
	idle      *time.Timer // of CollectSeldom: frees memory once nothing was compiled for idleTime
}

var target = collector{percent: standardPercent}

// CollectSeldom is for the start of a program that compiles: a process that ends after
// one kernel, or serves one after the other, has a small heap that Go would collect
// several times a kernel, the first time at 4 MiB. The heap may have some 30 MiB of what
// is not in use from then on, until nothing has been compiled for some seconds. One in which
// more than that is in use is collected as ever.
func CollectSeldom() {
	target.mu.Lock()
	defer target.mu.Unlock()
	if target.seldom {
		return
	}
	target.seldom = true
	target.settle()
	target.idle = time.AfterFunc(idleTime, debug.FreeOSMemory)
	afterCollections(func() {
		target.mu.Lock()
		defer target.mu.Unlock()
		target.settle()
	})
}

// compile says whether compiles run.
func (c *collector) compile(running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compiling = running
	// The target of compiles stays in force from one to the next: with CollectSeldom the next
	// collection settles it.
	if running || !c.seldom {
		c.settle()
	}
	switch {
	case c.idle == nil:
	case running:
		c.idle.Stop()
	default:
		c.idle.Reset(idleTime)
	}
}

// settle puts the target into force. To set one stops the world, so one that is in
// force is not set again.
func (c *collector) settle() {
	want := standardPercent
	if c.seldom {
		want = spareFor(inUse())
	}
	if c.compiling {
		want = max(want, compilePercent)
	}
	if want == c.percent {
		return
	}
	if before := debug.SetGCPercent(want); before != c.percent {
		debug.SetGCPercent(before) // somebody else's
		return
	}
	c.percent = want
}

// spareFor is the target of a process of CollectSeldom with so many bytes in use.
func spareFor(inUse int64) int {
	return int(min(max(spareBytes*100/max(inUse, 1), standardPercent), seldomPercent))
}

// inUse is what the last collection has found in use.
func inUse() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// afterCollections calls f after each collection, as long as the process lives: of an
// object that nobody refers to the collector tells.
func afterCollections(f func()) {
	type object struct{ _ *object } // with a pointer it shares no block with others
	var again func(*object)
	again = func(*object) {
		f()
		runtime.SetFinalizer(&object{}, again)
	}
	runtime.SetFinalizer(&object{}, again)
}
