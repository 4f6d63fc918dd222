package core

// Crash is a mistake of ours that a backend caught, with a file that shows it
// again.
type Crash struct {
	Err error // what the backend said of it
	// Reproducer is a first line "// COMMAND THIS-FILE.ENDING", in which
	// THIS-FILE.ENDING stands for the file wherever it will be, and the IR.
	Reproducer string
}

func (c *Crash) Error() string { return c.Err.Error() }

// Unwrap gives what the backend said.
func (c *Crash) Unwrap() error { return c.Err }
