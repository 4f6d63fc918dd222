package driver

// Peer is a Device whose kernels can access memory of other devices. Those of other
// types access their own alone.
type Peer interface {
	// Reaches reports whether buffers of another device may be arguments.
	Reaches(other Device) bool
}
