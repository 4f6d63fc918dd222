// Package passtest runs golden tests of passes: an archive names the passes in
// a line "passes: …", holds a module in the section in.mlir, and the module
// that comes out in out.mlir. What passes say of operations is in remarks.txt, if they
// say anything: a line in in.mlir, and the message.
package passtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/golden"
)

// Run runs every archive of dir/<pass>/ for each of the passes. Archives may use
// all of known. What comes out must verify, and print to text that parses again.
func Run(t *testing.T, dir string, known []*pass.Pass, passes ...*pass.Pass) {
	RunIn(t, dialect.All(), dir, known, passes...)
}

// RunIn is Run with these dialects.
func RunIn(t *testing.T, dialects []*ir.Dialect, dir string, known []*pass.Pass, passes ...*pass.Pass) {
	for _, p := range passes {
		t.Run(p.Name, func(t *testing.T) {
			golden.Run(t, filepath.Join(dir, p.Name), func(c *golden.Case) { one(c, dialects, known) })
		})
	}
}

// Pipelines runs every archive of dir, which may use all of known.
func Pipelines(t *testing.T, dir string, known []*pass.Pass) {
	golden.Run(t, dir, func(c *golden.Case) { one(c, dialect.All(), known) })
}

func one(c *golden.Case, dialects []*ir.Dialect, known []*pass.Pass) {
	rows, err := pass.Parse(known, c.Flag("passes"))
	if err != nil {
		c.Fatal(err)
	}
	ctx := ir.NewContext(dialects...)
	file := parse(c, ctx, c.Path, c.Input("in.mlir"))
	m := file.Op
	r := pass.Runner{VerifyEach: true, Place: file.Pos}
	timings, err := r.Run(m, rows, nil)
	if err != nil {
		c.Fatal(err)
	}
	var said strings.Builder
	for _, t := range timings {
		for _, d := range t.Said {
			fmt.Fprintf(&said, "%d: %s\n", d.Pos.Line, d.Message)
		}
	}
	if said.Len() > 0 {
		c.Want("remarks.txt", said.String())
	}
	out := string(text.Append(nil, m, text.Options{}))
	parse(c, ir.NewContext(dialects...), c.Path+": the output", out)
	c.Want("out.mlir", out)
}

func parse(c *golden.Case, ctx *ir.Context, name, src string) *text.File {
	file, err := text.ParseFile(ctx, name, []byte(src))
	if err != nil {
		c.Fatalf("%v", err)
	}
	if err := ir.Verify(file.Op); err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	return file
}
