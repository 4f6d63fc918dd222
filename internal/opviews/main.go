package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// output is the generated file of a dialect's package.
const output = "views_gen.go"

// A table is a dialect with the package that has its views.
type table struct {
	dialect *ir.Dialect
	folder  string // from the module's root
	// declared: the operations are not variables of the package.
	declared bool
}

// tables returns every dialect that has views.
func tables() []table {
	var list []table
	mlir := &ir.Dialect{Name: "linalg"} // the dialects of one package
	for _, d := range linalg.Dialects() {
		mlir.Ops = append(mlir.Ops, d.Ops...)
	}
	for _, d := range dialect.All() {
		if !slices.Contains(linalg.Dialects(), d) {
			list = append(list, table{dialect: d, folder: "core/dialect/" + d.Name})
		}
	}
	list = append(list, table{dialect: mlir, folder: "core/dialect/linalg"}, table{dialect: npuir.Dialect, folder: "backends/npu/npuir"})
	return append(list, table{amdg.Dialect(), "backends/amd/amdg", true}, table{nvws.Dialect(), "backends/nvidia/nvws", true}, table{tti.Dialect(), "backends/nvidia/tti", true}, table{ttng.Dialect(), "backends/nvidia/ttng", true})
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: opviews DIALECT, in the folder of the dialect's package"))
	}
	all := tables()
	i := slices.IndexFunc(all, func(t table) bool { return t.dialect.Name == os.Args[1] })
	if i < 0 {
		fail(fmt.Errorf("there is no dialect %q", os.Args[1]))
	}
	text, err := generate(all[i], ".")
	if err == nil {
		err = os.WriteFile(filepath.Join(".", output), text, 0o644)
	}
	if err == nil && slices.Contains(compiled, all[i].dialect.Name) {
		if text, err = declare(all[i].dialect.Name, "."); err == nil {
			err = os.WriteFile(filepath.Join(".", declaration), text, 0o644)
		}
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "opviews:", err)
	os.Exit(1)
}
