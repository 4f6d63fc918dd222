package counts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// ttgirEnv names a folder with what Triton made of the jobs for gfx942 and gfx1100, as
// gfx942/NAME.ttgir: their encodings are written to testdata/triton_encodings.tsv.
const ttgirEnv = "TRITONC_TRITON_TTGIR"

const encodingsFile = "testdata/triton_encodings.tsv"

// encodings are the types of a module's loads, stores and dots, each once: the tensors
// that loads give and stores take, and the three of dots.
func encodings(file string, src []byte) ([]string, error) {
	ctx := dialect.NewContext(amdg.Dialect(), amdg.ROCDL())
	m, err := text.Parse(ctx, file, src)
	if err != nil {
		return nil, err
	}
	var out []string
	add := func(op string, values ...*ir.Value) {
		for _, v := range values {
			if _, tensor := v.Type().(*ir.TensorType); !tensor {
				return
			}
			op += "\t" + text.TypeString(ctx, v.Type())
		}
		out = append(out, op)
	}
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(tt.Load):
			add("load", op.Result(0))
		case op.Is(amdg.Dialect().Op("amdg.buffer_load")):
			add("load", op.Result(0))
		case op.Is(tt.Store):
			add("store", tt.AsStore(op).Value())
		case op.Is(amdg.Dialect().Op("amdg.buffer_store")):
			add("store", amdg.AsBufferStore(op).Value())
		case op.Is(tt.Dot):
			add("dot", op.Operand(0), op.Operand(1), op.Result(0))
		}
		return ir.Advance
	})
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ttgirOf compiles a job for an AMD chip.
func ttgirOf(t testing.TB, j job, chip string, lanes int) ([]byte, error) {
	addAMD()
	source, err := os.ReadFile(filepath.Join(kernelDir, j.File))
	if err != nil {
		t.Fatal(err)
	}
	to := core.Target{Backend: "hip", Arch: chip, WarpSize: lanes}
	opts := &core.Options{Select: kerneltest.Select, Values: j.Options, Stages: []string{"ttgir"}, AllowUnlaunchable: true}
	variants, err := core.Variants(t.Context(), &core.Source{Path: j.File, Text: source}, to, opts, core.Want{Kernel: j.Kernel, Signature: j.Signature})
	if err != nil {
		return nil, err
	}
	k, err := core.Compile(t.Context(), variants[0], to, opts)
	if err != nil {
		return nil, err
	}
	return k.Artifact("ttgir").Data, nil
}

// TestTritonEncodings writes the facts.
func TestTritonEncodings(t *testing.T) {
	dir := os.Getenv(ttgirEnv)
	if dir == "" {
		t.Skipf("%s names no folder of Triton's ttgir", ttgirEnv)
	}
	var b strings.Builder
	b.WriteString("# Encodings of Triton 3.6.0's ttgir: TestTritonEncodings writes this.\n# chip\tjob\top\ttypes\n")
	for _, chip := range []string{"gfx942", "gfx1100"} {
		for _, j := range jobs(t) {
			path := filepath.Join(dir, chip, j.Name+".ttgir")
			src, err := os.ReadFile(path)
			if err != nil {
				continue // Triton does not compile this one
			}
			list, err := encodings(path, src)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				fmt.Fprintf(&b, "%s\t%s\t%s\n", chip, j.Name, e)
			}
		}
	}
	if err := os.WriteFile(encodingsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tritonEncodings reads the facts, by chip and job.
func tritonEncodings(t testing.TB) map[[2]string][]string {
	t.Helper()
	data, err := os.ReadFile(encodingsFile)
	if err != nil {
		t.Fatal(err)
	}
	facts := map[[2]string][]string{}
	for line := range strings.Lines(string(data)) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3); len(f) == 3 && !strings.HasPrefix(line, "#") {
			facts[[2]string(f[:2])] = append(facts[[2]string(f[:2])], f[2])
		}
	}
	return facts
}

// TestEncodingsBesideTriton compiles every job for gfx942 and gfx1100 and compares the
// encodings of loads, stores and dots with those of Triton's ttgir.
func TestEncodingsBesideTriton(t *testing.T) {
	facts := tritonEncodings(t)
	for _, chip := range []struct {
		name  string
		lanes int
	}{{"gfx942", 64}, {"gfx1100", 32}} {
		t.Run(chip.name, func(t *testing.T) {
			all := 0
			for _, j := range jobs(t) {
				theirs, ok := facts[[2]string{chip.name, j.Name}]
				if !ok {
					continue
				}
				src, err := ttgirOf(t, j, chip.name, chip.lanes)
				if err != nil {
					t.Errorf("%s: %v", j.Name, kerneltest.Text(err))
					continue
				}
				ours, err := encodings(j.Name, src)
				if err != nil {
					t.Fatal(err)
				}
				all++
				if !slices.Equal(ours, theirs) {
					t.Errorf("%s differs:\n%s", j.Name, difference(ours, theirs))
				}
			}
			t.Logf("compared %d kernels", all)
		})
	}
}

// difference lists what only Triton has, and what only we have.
func difference(ours, theirs []string) string {
	var b strings.Builder
	for _, d := range []struct {
		sign      string
		of, other []string
	}{{"-", theirs, ours}, {"+", ours, theirs}} {
		for _, e := range d.of {
			if !slices.Contains(d.other, e) {
				fmt.Fprintf(&b, "  %s %s\n", d.sign, e)
			}
		}
	}
	return b.String()
}
