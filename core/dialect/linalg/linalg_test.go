package linalg_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir/text"
)

// sample has every operation of the tables, in the text that MLIR 22 prints.
const sample = "testdata/all.mlir"

// TestRoundTrip reads the sample and prints it again, the same to the byte.
func TestRoundTrip(t *testing.T) {
	src, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	f, err := text.ParseFile(dialect.NewContext(), sample, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	got := string(text.Append(nil, f.Op, text.Options{}))
	if got != string(src) {
		t.Errorf("printed:\n%s", got)
	}
	for _, d := range linalg.Dialects() {
		for _, op := range d.Ops {
			if !strings.Contains(got, op.Name) {
				t.Errorf("the sample lacks %s", op.Name)
			}
		}
	}
}

// TestMLIR has MLIR's own tool read and print the sample: the operations and their
// types are the same, where it names values otherwise.
func TestMLIR(t *testing.T) {
	tool, err := exec.LookPath("mlir-opt-22")
	if err != nil {
		t.Skip("skipped: mlir-opt-22 is not installed (LLVM's package mlir-22-tools)")
	}
	out, err := exec.Command(tool, sample).CombinedOutput()
	if err != nil {
		t.Fatalf("mlir-opt-22: %v\n%s", err, out)
	}
	// MLIR leaves out the dialect where a region has a default one.
	out = []byte(strings.NewReplacer("\n    return\n", "\n    func.return\n", "\n    call @", "\n    func.call @").Replace(string(out)))
	f, err := text.ParseFile(dialect.NewContext(), "mlir-opt-22", out)
	if err != nil {
		t.Fatalf("what mlir-opt-22 printed: %v\n%s", err, out)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
}

func TestMemRef(t *testing.T) {
	c := dialect.NewContext()
	for _, src := range []string{
		"memref<f32>", "memref<?xf16>", "memref<4x?xi8>", "memref<64x32xbf16, strided<[?, 1], offset: ?>>", "memref<8xi64, strided<[1], offset: 3>>", "memref<8xi1, strided<[-1]>>",
		"memref<8xf32, #npuir.space<ub>>", "memref<4x?xf16, strided<[8, 1], offset: ?>, #npuir.space<l1>>",
	} {
		typ, err := text.ParseType(c, src)
		if err != nil {
			t.Fatal(err)
		}
		m := linalg.MemRefOf(c, typ)
		if m == nil {
			t.Errorf("linalg.MemRefOf(%s) = nil", src)
		} else if m.Type(c) != typ {
			t.Errorf("%s became %s", src, text.TypeString(c, m.Type(c)))
		}
	}
}

// TestMLIR19: what MLIR 19 writes in another way is read in both, and printed as asked.
func TestMLIR19(t *testing.T) {
	src, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	f, err := text.ParseFile(dialect.NewContext(), sample, src)
	if err != nil {
		t.Fatal(err)
	}
	old := string(text.Append(nil, f.Op, text.Options{MLIR: 19}))
	lines := strings.Split(old, "\n")
	changed := 0
	for i, line := range strings.Split(string(src), "\n") {
		if line == lines[i] {
			continue
		}
		changed++
		if want, _, _ := strings.Cut(line, " to tensor<"); !strings.Contains(line, "bufferization.to_tensor") || lines[i] != want {
			t.Errorf("%s\nis printed as\n%s", line, lines[i])
		}
	}
	if changed == 0 {
		t.Error("nothing is printed in another way")
	}
	again, err := text.ParseFile(dialect.NewContext(), sample, []byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, again.Op, text.Options{})); got != string(src) {
		t.Errorf("read again:\n%s", got)
	}
}
