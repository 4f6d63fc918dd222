package main

import (
	"fmt"
	"io"
	"time"

	"github.com/tritonc/tritonc/core"
)

// printTimings writes a line a stage and, with steps, one a pass and tool.
func printTimings(w io.Writer, k *core.Kernel, steps bool) {
	var total time.Duration
	for _, row := range k.Timings {
		switch {
		case row.Step == "":
			total += row.Time
			fmt.Fprintf(w, "%9s  %s\n", milliseconds(row.Time), row.Stage)
		case steps:
			fmt.Fprintf(w, "%9s    %s\n", milliseconds(row.Time), withDid(row.Step, row.Did))
		}
	}
	fmt.Fprintf(w, "%9s  %s\n", milliseconds(total), k.FileStem())
}

// withDid is a pass with what it says to have done, if anything.
func withDid(name, did string) string {
	if did == "" {
		return name
	}
	return name + ": " + did
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
