package triton

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// sequences are the jobs whose operations on memory and matrices are compared in order.
var sequences = regexp.MustCompile("^(matmul|dot|flash)")

// differing are those whose sequence is not Triton's, and why.
var differing = map[string]string{
	"dot_fp32_float32_tf32x3": "one fence before three dots of one buffer instead of three",
	"dot_scaled":              "a conversion stands elsewhere in its block",
}

// ordered are the operations of a sequence: what reads, writes and waits for memory,
// converts layouts, and multiplies.
func ordered(name string) bool {
	switch name {
	case "tt.load", "tt.store", "tt.dot", "tt.trans", "tt.reduce", "gpu.barrier",
		"ttg.convert_layout", "ttg.local_alloc", "ttg.local_load", "ttg.local_store", "ttg.local_dealloc",
		"ttg.async_copy_global_to_local", "ttg.async_commit_group", "ttg.async_wait", "ttg.memdesc_trans":
		return true
	}
	return strings.HasPrefix(name, "ttng.")
}

// sequence lists these operations of a module in order, each with what it says of dots
// and waits, and the types of its operands and results, which hold the encodings.
func sequence(m *ir.Operation) string {
	var s strings.Builder
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if !ordered(op.Name()) {
			return ir.Advance
		}
		if in := op.Parent(); op.Name() == "tt.reduce" && in.Is(scf.If) && op.Block().Region() == scf.AsIf(in).ElseRegion() {
			return ir.Advance // of tritongpu-reduce-early
		}
		s.WriteString(op.Name())
		for _, a := range op.Attrs() {
			switch a.Name {
			case "isAsync", "pendings", "inputPrecision", "maxNumImpreciseAcc", "num", "size", "count", "bCluster":
				s.WriteString(" " + a.Name + "=" + text.AttrString(m.Context(), a.Attr))
			}
		}
		for _, v := range op.Operands() {
			s.WriteString(" " + text.TypeString(m.Context(), v.Type()))
		}
		s.WriteString(" ->")
		for _, v := range op.Results() {
			s.WriteString(" " + text.TypeString(m.Context(), v.Type()))
		}
		s.WriteString("\n")
		return ir.Advance
	})
	return s.String()
}

// TestSequences: from Python to ttgir of cuda:90, kernels with dots do the same to memory
// and matrices as Triton 3.6's do, in the same order, with the same encodings, dots in
// flight, and waits, but for those of differing. With TRITONC_TRITON_IR as for TestLayouts,
// TRITONC_UPDATE=1 rewrites testdata/sm90 from Triton's files.
func TestSequences(t *testing.T) {
	for _, j := range jobs(t) {
		if !sequences.MatchString(j.name) {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			golden := filepath.Join("testdata", "sm90", j.name+".sequence")
			if dir := os.Getenv("TRITONC_TRITON_IR"); dir != "" && os.Getenv("TRITONC_UPDATE") == "1" {
				if src, err := os.ReadFile(filepath.Join(dir, "..", "sm90", j.name+".ttgir")); err == nil {
					if err := os.WriteFile(golden, []byte(sequence(parseTTGIR(t, j.name, src))), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Skip("Triton does not compile this job for cuda:90")
			}
			got := sequence(ttgirOf(t, j, "90"))
			why := differing[j.name]
			switch {
			case got == string(want) && why != "":
				t.Errorf("is Triton's, and yet among those that differ: %s", why)
			case got != string(want) && why == "":
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
