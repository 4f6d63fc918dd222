package triton

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// counted are the operations of ttgir of which ours must not be more, in the
// order of their numbers in testdata/sm80/NAME.layouts.
var counted = []string{"ttg.convert_layout", "ttg.local_alloc", "ttg.async_copy_global_to_local"}

// layouts are what is compared of a module: how many of counted there are, and
// the operations that move or combine values across threads or memory, with the
// types of their operands, sorted.
func layouts(m *ir.Operation) (counts []int, ops []string) {
	counts = make([]int, len(counted))
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if i := slices.Index(counted, op.Name()); i >= 0 {
			counts[i]++
		}
		if op.Name() == "tt.reduce" && op.Parent().Name() == "scf.if" && op.Block().Region() == op.Parent().Region(1) {
			return ir.Advance // what tritongpu-reduce-early did comes again where that does not hold
		}
		switch op.Name() {
		case "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.dot", "tt.reduce", "tt.scan",
			"ttng.warp_group_dot", "ttng.async_tma_copy_global_to_local", "ttng.async_tma_copy_local_to_global":
			line := op.Name()
			for _, v := range op.Operands() {
				line += " " + text.TypeString(m.Context(), v.Type())
			}
			ops = append(ops, line)
		}
		return ir.Advance
	})
	slices.Sort(ops)
	return counts, ops
}

// layoutText is the form of layouts in a file.
func layoutText(counts []int, ops []string) string {
	return strings.Trim(fmt.Sprint(counts), "[]") + "\n" + strings.Join(ops, "\n") + "\n"
}

// TestLayouts takes every job from Python to ttgir: what moves or combines values has
// the layouts that it has in Triton 3.6's ttgir, and there are no more conversions,
// buffers and asynchronous copies. With TRITONC_TRITON_IR naming the folder sm80 of
// Triton's files, TRITONC_UPDATE=1 rewrites testdata from them and sm90 beside them.
func TestLayouts(t *testing.T) {
	for _, arch := range []string{"80", "90"} {
		t.Run("sm"+arch, func(t *testing.T) { testLayouts(t, arch) })
	}
}

// parseTTGIR reads a module of NVIDIA's.
func parseTTGIR(t *testing.T, name string, src []byte) *ir.Operation {
	t.Helper()
	m, err := text.Parse(dialect.NewContext(ttng.Dialect()), name+".ttgir", src)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func testLayouts(t *testing.T, arch string) {
	for _, j := range jobs(t) {
		t.Run(j.name, func(t *testing.T) {
			golden := filepath.Join("testdata", "sm"+arch, j.name+".layouts")
			if dir := os.Getenv("TRITONC_TRITON_IR"); dir != "" && os.Getenv("TRITONC_UPDATE") == "1" {
				if src, err := os.ReadFile(filepath.Join(dir, "..", "sm"+arch, j.name+".ttgir")); err == nil {
					if err := os.WriteFile(golden, []byte(layoutText(layouts(parseTTGIR(t, j.name, src)))), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				return // Triton itself does not compile this job for the target
			}
			counts, ops := layouts(ttgirOf(t, j, arch))
			head, rest, _ := strings.Cut(string(want), "\n")
			if got := strings.Join(ops, "\n") + "\n"; got != rest {
				t.Errorf("got\n%s\nwant\n%s", got, rest)
			}
			for i, n := range strings.Fields(head) {
				if most, err := strconv.Atoi(n); err != nil || counts[i] > most {
					t.Errorf("%d %s, Triton has %s", counts[i], counted[i], n)
				}
			}
		})
	}
}

// ttgirOf takes a job from Python to ttgir. Triton copies through all descriptors by TMA;
// by default we do where it is faster.
func ttgirOf(t *testing.T, j job, arch string) *ir.Operation {
	t.Helper()
	backend := nvidia.New()
	target, options := sdk.Target{Backend: "cuda", Arch: arch}, optionsJSON(t, j)
	known, impreciseAcc := facts(t), int64(0)
	if arch == "90" {
		known, impreciseAcc = facts90(t), impreciseAcc90
		options = strings.Replace(strings.Replace(options, "}", `,"tma":"always"}`, 1), "{,", "{", 1)
	}
	opts, err := backend.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: options})
	if err != nil {
		t.Fatal(err)
	}
	ttir := text.Append(nil, parsed(t, make(map[string]*frontend.File), j, known, impreciseAcc), text.Options{Locations: true})
	resp, err := backend.RunStages(t.Context(), sdk.RunStagesRequest{
		Target: target, OptionsJSON: opts.OptionsJSON, First: "ttir", Last: "ttgir", Want: []string{"ttgir"},
		Input: ttir, InputName: j.file,
	})
	if err != nil {
		t.Fatal(err)
	}
	return parseTTGIR(t, j.name, resp.Artifact("ttgir"))
}
