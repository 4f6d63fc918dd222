// Command tritonc-plot draws a table of a benchmark for tritonc bench --plot: the table
// comes on standard input as package table encodes it, the picture goes to standard output.
//
// It is a program of its own, since the fonts and image libraries that drawing takes would
// make each start of tritonc two milliseconds longer.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/driver/bench/plot"
	"github.com/tritonc/tritonc/driver/bench/table"
)

func main() {
	if len(os.Args) != 2 || !slices.Contains(table.PictureFormats, os.Args[1]) {
		fmt.Fprintf(os.Stderr, "usage: %s %s <TABLE >PICTURE\n", table.PlotProgram, strings.Join(table.PictureFormats, "|"))
		os.Exit(2)
	}
	if err := plot.Filter(os.Stdin, os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", table.PlotProgram, err)
		os.Exit(1)
	}
}
