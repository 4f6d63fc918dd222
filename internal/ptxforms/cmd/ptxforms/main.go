// Command ptxforms keeps the list of forms of PTX instructions that have run on an
// H200 (package ptxforms):
//
//	ptxforms add FILE         adds what scripts/device-tests.sh wrote on a GPU
//	ptxforms missing FILE...  prints the forms of PTX files, and of those in folders,
//	                          that are in neither list; exit status 1 where there are any
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tritonc/tritonc/internal/ptxforms"
)

func main() { os.Exit(run(os.Args[1:], "internal/ptxforms/testdata/h200.tsv", os.Stdout, os.Stderr)) }

// run is the command; list is the file of forms, as from the module's root.
func run(args []string, list string, stdout, stderr io.Writer) int {
	fail := func(err error) int {
		fmt.Fprintln(stderr, "ptxforms:", err)
		return 2
	}
	switch {
	case len(args) == 2 && args[0] == "add":
		added, total, err := ptxforms.AddRun(list, args[1])
		if err != nil {
			return fail(err)
		}
		fmt.Fprintf(stdout, "%d forms added to %s, which has %d\n", added, list, total)
		return 0
	case len(args) >= 2 && args[0] == "missing":
		rows, files, err := ptxforms.MissingIn(args[1:]...)
		if err != nil {
			return fail(err)
		}
		for _, r := range rows {
			fmt.Fprintf(stdout, "%s\t%s\t%s\n", r.Code, r.Form, r.Test)
		}
		fmt.Fprintf(stderr, "%d files have %d forms that have not run on an H200\n", files, len(rows))
		if len(rows) > 0 {
			return 1
		}
		return 0
	}
	fmt.Fprintln(stderr, "usage: ptxforms add FILE | ptxforms missing FILE-OR-FOLDER...")
	return 2
}
