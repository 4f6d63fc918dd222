package nvidia

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/backends/nvidia/instrument"
	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/backends/nvidia/tasks"
	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// Users order passes as they like. Each pass about tensor memory, partitions and checks takes the
// modules of the tests of all, or says at which operation it cannot and what to do.
func TestPassesByNameAnywhere(t *testing.T) {
	paths, err := filepath.Glob("*/testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	rows := []pass.Row{{Pass: tmem.HoistTMEMAlloc, With: []pass.Setting{{Name: "hoist-out-of-if", Value: true}}}}
	for _, p := range slices.Concat(tmem.Passes(), partition.Passes(), tasks.Passes(), instrument.Passes()) {
		row := pass.Row{Pass: p}
		for _, o := range p.Options {
			if o.Name == "num-warp-groups" {
				row.With = []pass.Setting{{Name: o.Name, Value: 3}}
			}
		}
		rows = append(rows, row)
	}
	taken, refused := 0, 0
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name != "in.mlir" && f.Name != "out.mlir" {
				continue
			}
			for _, row := range rows {
				m, err := text.Parse(dialect.NewContext(ttng.Dialect(), nvws.Dialect(), tti.Dialect()), path, f.Data)
				if err != nil {
					t.Fatal(err)
				}
				_, err = (&pass.Runner{VerifyEach: true}).Run(m, []pass.Row{row}, nil)
				var d *diag.Diagnostic
				switch {
				case err == nil:
					taken++
				case !errors.As(err, &d):
					t.Errorf("%s of %s: %s: %v", f.Name, path, row, err)
				case d.Help == "":
					t.Errorf("%s of %s: %s: %v has no next step", f.Name, path, row, err)
				default:
					refused++
				}
			}
		}
	}
	if taken == 0 || refused == 0 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
	t.Logf("%d taken, %d refused", taken, refused)
}
