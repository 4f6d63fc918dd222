package main

// The least limits that tritonc works under, its backend and their tools
// included. A lower one ends it at once with a message: else Go's runtime would
// do so at some later moment, with a trace of all its threads.
const (
	// minAddressSpace, in MiB (ulimit -v): Go's runtime alone reserves 1.3 GiB.
	minAddressSpace = 1536
	// minOpenFiles (ulimit -n): standard streams, pipes and sockets of a backend.
	minOpenFiles = 64
	// minProcesses (ulimit -u), threads included.
	minProcesses = 32
)
