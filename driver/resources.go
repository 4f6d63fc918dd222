package driver

import "fmt"

// OutOfResources is a kernel that needs more of something than a block of the
// device has. Smaller blocks of the kernel's tensors, or fewer stages, may help.
type OutOfResources struct {
	// Kernel and Device name them, for people.
	Kernel, Device string
	// Resource is what there is too little of: SharedMemory or Threads.
	Resource string
	// Required is what the kernel needs, and Limit what the device has: bytes of
	// shared memory, or threads.
	Required, Limit int64
	// Err has what the compiler said of it, with places in the source; it may be nil.
	Err error
}

// Resources, by Triton's names.
const (
	SharedMemory = "shared memory"
	Threads      = "threads"
)

// Error has Triton's text, by which callers of Triton know the error.
func (e *OutOfResources) Error() string {
	return fmt.Sprintf("kernel %s on the %s: out of resource: %s, Required: %d, Hardware limit: %d. Reducing block sizes or `num_stages` may help.",
		e.Kernel, e.Device, e.Resource, e.Required, e.Limit)
}

// Unwrap gives what the compiler said.
func (e *OutOfResources) Unwrap() error { return e.Err }

// Fits returns an *OutOfResources when blocks of a kernel need more than the device
// has, as far as the metadata tell.
func (p *Properties) Fits(m *Metadata) error {
	e := &OutOfResources{Kernel: m.Kernel, Device: p.Name}
	threads := m.NumWarps * p.WarpSize
	switch {
	case m.Shared > p.MaxShared:
		e.Resource, e.Required, e.Limit = SharedMemory, int64(m.Shared), int64(p.MaxShared)
	case threads > p.MaxThreads:
		e.Resource, e.Required, e.Limit = Threads, int64(threads), int64(p.MaxThreads)
	default:
		return nil
	}
	return e
}
