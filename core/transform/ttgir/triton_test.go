package ttgir_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/passtest"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
)

// The archives of testdata/triton and testdata/kernels come from Triton and are
// never rewritten.

// archives reads the txtar files of a folder: sections by name, and the flags
// of the comment.
func archives(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives in %s: %v", dir, err)
	}
	all := map[string]map[string]string{}
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		for _, f := range a.Files {
			sections[f.Name] = string(f.Data)
		}
		for line := range strings.Lines(string(a.Comment)) {
			if k, v, ok := strings.Cut(line, ": "); ok {
				sections[k] = strings.TrimSpace(v)
			}
		}
		all[strings.TrimSuffix(filepath.Base(p), ".txtar")] = sections
	}
	return all
}

func names(all map[string]map[string]string) []string {
	var list []string
	for name := range all {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func convertFor(t *testing.T, sections map[string]string) pass.Row {
	warps, err := strconv.Atoi(sections["num-warps"])
	if err != nil {
		t.Fatal(err)
	}
	return pass.Row{Pass: layouts.Convert, With: []pass.Setting{
		{Name: "target", Value: "cuda:80"}, {Name: "num-warps", Value: warps}, {Name: "threads-per-warp", Value: 32},
	}}
}

var canonicalize = std.NewCanonicalize(layouts.ConvertPatterns())

// Each pass makes of Triton's input what Triton makes of it, apart from what
// canonicalize and cse remove.
func TestPassesAgainstTriton(t *testing.T) {
	all := archives(t, "testdata/triton")
	for _, name := range names(all) {
		s := all[name]
		for _, step := range []struct {
			from, to string
			row      pass.Row
			tidy     bool // compare after canonicalize and cse of both
		}{
			{"ttir", "convert", convertFor(t, s), false},
			{"convert", "coalesce", pass.Row{Pass: layouts.Coalesce}, true},
			{"coalesce", "remove", pass.Row{Pass: layouts.RemoveConversions}, true},
			// Once dots have become matrix instructions.
			{"accelerated", "settled", pass.Row{Pass: layouts.RemoveConversions}, true},
		} {
			if s[step.from+".mlir"] == "" {
				continue
			}
			t.Run(name+"/"+step.to, func(t *testing.T) {
				ours, theirs := passtest.Module(t, name, s[step.from+".mlir"]), passtest.Module(t, name, s[step.to+".mlir"])
				passtest.Apply(t, ours, step.row)
				if step.tidy {
					for _, m := range []*ir.Operation{ours, theirs} {
						passtest.Apply(t, m, pass.Row{Pass: canonicalize}, pass.Row{Pass: std.CSE}, pass.Row{Pass: canonicalize}, pass.Row{Pass: std.CSE})
					}
				}
				if d := diff.Modules("tritonc", ours, "triton", theirs); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// From Triton's ttir of a kernel, the loads, stores, atomics, reductions and
// scans get the layouts of Triton's final ttgir, and there are no more
// conversions between them.
func TestKernelsAgainstTriton(t *testing.T) {
	all := archives(t, "testdata/kernels")
	var table strings.Builder
	fmt.Fprintf(&table, "%-20s %8s %8s %12s\n", "kernel", "accesses", "as there", "conversions")
	for _, name := range names(all) {
		t.Run(name, func(t *testing.T) {
			s := all[name]
			m := passtest.Module(t, name, s["ttir.mlir"])
			tidy := []pass.Row{{Pass: canonicalize}, {Pass: std.CSE}}
			passtest.Apply(t, m, slices.Concat(
				[]pass.Row{convertFor(t, s), {Pass: layouts.Coalesce}, {Pass: layouts.RemoveConversions}, {Pass: layouts.OptimizeThreadLocality}}, tidy,
				[]pass.Row{{Pass: layouts.RemoveConversions}}, tidy)...)
			got, conversions := accesses(m)
			want := strings.Split(strings.TrimSuffix(s["accesses.txt"], "\n"), "\n")
			limit, err := strconv.Atoi(s["conversions"])
			if err != nil {
				t.Fatal(err)
			}
			same := 0
			for i := range want {
				if i < len(got) && got[i] == want[i] {
					same++
				}
			}
			fmt.Fprintf(&table, "%-20s %8d %8d %5d of %3d\n", name, len(want), same, conversions, limit)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if conversions > limit {
				t.Errorf("%d conversions, Triton has %d", conversions, limit)
			}
		})
	}
	t.Log("\n" + table.String())
}

// accesses lists what moves or combines values across threads or memory, with
// the types of the operands, and counts the layout conversions.
func accesses(m *ir.Operation) (list []string, conversions int) {
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		switch op.Name() {
		case "ttg.convert_layout":
			conversions++
		case "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.reduce", "tt.scan":
			types := make([]string, 0, 4)
			for _, v := range op.Operands() {
				types = append(types, text.TypeString(m.Context(), v.Type()))
			}
			list = append(list, op.Name()+" "+strings.Join(types, "; "))
		}
		return ir.Advance
	})
	return list, conversions
}
