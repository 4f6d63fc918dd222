package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// backend is that of the targets whose code these devices run.
const backend = "cuda"

// Devices lists the GPUs, number 0 first, as Open has them. Where there are none, it is
// an error that says why.
func Devices() ([]driver.Properties, error) {
	n, err := count()
	if err != nil {
		return nil, err
	}
	all := make([]driver.Properties, n)
	for i := range all {
		g, err := look(i)
		if err != nil {
			return nil, err
		}
		all[i] = g.properties
	}
	return all, nil
}

// Version is that of the installed driver's CUDA, such as "12.4", or "".
func Version() string {
	v := cu.Version()
	if v <= 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", v/1000, v%1000/10)
}

// Options of a Device.
type Options struct {
	// Target is what the code to be loaded was compiled for; zero: the GPU's own compute
	// capability. Code for that is loaded as a cubin, code for a lower one as PTX, which
	// CUDA compiles, and code for a higher one is refused.
	Target sdk.Target
	// Guard has memory lie between guard zones, which are looked at after every launch
	// that is waited for, and begin as 0xFF bytes, a NaN in all floating-point types. It
	// costs copies for each buffer and launch.
	Guard bool
}

// Device is a GPU of this machine in this process. It implements driver.Device and
// driver.Timer. Unlike other devices it may be used by several goroutines, though not
// while one of them captures a Stream.
type Device struct {
	gpu        *gpu
	properties driver.Properties
	guard      bool
	queue      *Stream // of launches that are waited for: CUDA's stream 0

	pair events // of launches that are waited for, made by the first; gpu.waiting guards it

	mu        sync.Mutex // guards what follows
	closed    bool
	made      int            // objects, ever
	owned     map[closer]int // objects that are open, by when they were made
	flush     cu.DevicePtr   // memory that measurements overwrite to empty the L2 cache
	flushSize int64          // 0: none yet
}

// closer is what a Device made. Its end gives back what CUDA holds for it.
type closer interface{ end() error }

var (
	_ driver.Device = (*Device)(nil)
	_ driver.Timer  = (*Device)(nil)
)

// Open makes the GPU of a number ready for code of its own compute capability.
func Open(number int) (*Device, error) { return OpenWith(number, Options{}) }

// OpenWith is Open with options.
func OpenWith(number int, opts Options) (*Device, error) {
	g, err := gpuNumber(number)
	if err != nil {
		return nil, err
	}
	if g.lost.Load() {
		return nil, g.errLost()
	}
	d := &Device{gpu: g, properties: g.properties, guard: opts.Guard, owned: map[closer]int{}}
	if opts.Target != (sdk.Target{}) {
		d.properties.Target = opts.Target
		if d.properties.Stage, err = g.stage(opts.Target); err != nil {
			return nil, err
		}
	}
	d.queue = &Stream{dev: d}
	g.mu.Lock()
	g.streams[d.queue] = true
	g.mu.Unlock()
	return d, nil
}

// Properties implements driver.Device.
func (d *Device) Properties() driver.Properties { return d.properties }

// Lost reports whether a kernel's fault made the GPU useless in this process.
func (d *Device) Lost() bool { return d.gpu.lost.Load() }

// stage names the stage whose artifact to load of code for a target.
func (g *gpu) stage(t sdk.Target) (string, error) {
	cc, err := strconv.Atoi(strings.TrimRight(t.Arch, "af")) // of one architecture, of a family
	switch {
	case t.Backend != backend || err != nil:
		return "", diag.Errorf(diag.Pos{}, "the %s runs no code for %s", g.properties.Name, t).WithHelp("compile for it with --target %s:%d", backend, g.cc)
	case cc == g.cc:
		return stageCubin, nil
	case cc < g.cc:
		return stagePTX, nil
	}
	return "", diag.Errorf(diag.Pos{}, "the %s has compute capability %d.%d and runs no code for %s", g.properties.Name, g.cc/10, g.cc%10, t).
		WithHelp("compile for it with --target %s:%d", backend, g.cc)
}

// errClosed is what a closed device returns.
var errClosed = errors.New("the device was closed")

// own has Close end c, which was just made.
func (d *Device) own(c closer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.Join(errClosed, c.end())
	}
	d.made++
	d.owned[c] = d.made
	return nil
}

// disown reports whether c is still there to be ended, by the caller.
func (d *Device) disown(c closer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, there := d.owned[c]
	delete(d.owned, c)
	return there
}

// giveBack ends what the device made. A second time, or of a lost device, it does
// nothing.
func (d *Device) giveBack(c closer) error {
	if !d.disown(c) || d.gpu.lost.Load() {
		return nil
	}
	return d.gpu.enter(c.end)
}

// Close waits for the device's launches, and gives back all that it made. The GPU's
// context stays for the process. Of a lost device nothing is left to give back.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	all := slices.SortedFunc(maps.Keys(d.owned), func(a, b closer) int { return cmp.Compare(d.owned[b], d.owned[a]) }) // the last first
	clear(d.owned)
	flush, size := d.flush, d.flushSize
	d.mu.Unlock()
	g := d.gpu
	g.mu.Lock()
	delete(g.streams, d.queue)
	g.mu.Unlock()
	if g.lost.Load() {
		return nil
	}
	g.waiting.Lock()
	defer g.waiting.Unlock()
	return g.enter(func() error {
		errs := []error{d.pair.destroy(false)}
		for _, c := range all {
			errs = append(errs, c.end())
		}
		errs = append(errs, d.queue.scratch.free())
		if size > 0 {
			errs = append(errs, explain("freeing memory for the flush of the cache", cu.MemFree(flush)))
		}
		return errors.Join(errs...)
	})
}
