package kernels

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/backends/amd"
	"github.com/tritonc/tritonc/backends/npu"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// notRun are the golden kernels that cannot run here.
var notRun = map[string]string{
	"builtins.types": "it stores to the sum of two addresses; its casts are in TestCasts, its pointers in TestLanguagePointers",
	"extra.extra":    "it calls functions that only the backend of the golden tests has",
}

// notFor are the reference kernels that a target refuses.
var notFor = map[string][]string{
	"cuda:80":         {"casts_fp8"},
	"npu:ascend910b3": {"inline_asm", "debugging"}, // PTX, and tl.device_print
}

// TestMain checks, when all tests ran, that they leave out no operation of the
// language, no golden kernel, and no reference kernel on a target that Triton
// compiled it for or on an NPU. What only passes make (dialect ttg) is for the
// tests of the backend.
func TestMain(m *testing.M) {
	flag.Parse()
	kerneltest.AddBackend(amd.New(), nil)
	kerneltest.AddBackend(npu.New(), openNPU)
	if onAMD() {
		kerneltest.Everywhere(os.Getenv(kerneltest.TargetEnv), "num_ctas", "tma", "wgmma", "prefetch_operands", "launch_pdl")
	}
	code := m.Run()
	everything := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" && !testing.Short()
	operations, kernels := kerneltest.Covered()
	if code == 0 && everything && !kerneltest.OnDevice() /* where some are skipped */ && os.Getenv(kerneltest.TargetEnv) == "" && len(kernels) > 0 { // else there are no tools
		for _, s := range uncovered(operations, kernels) {
			fmt.Println("FAIL:", s)
			code = 1
		}
	}
	os.Exit(kerneltest.CheckForms(code, "Test"))
}

// onAMD reports whether all kernels are compiled for a GPU of AMD's.
func onAMD() bool { return strings.HasPrefix(os.Getenv(kerneltest.TargetEnv), "hip:") }

// forNVIDIA skips a test of what only NVIDIA's GPUs have, where others run all tests.
func forNVIDIA(t *testing.T, why string) {
	t.Helper()
	if onAMD() {
		t.Skip("on NVIDIA's GPUs alone: " + why)
	}
}

const noRun = "no test here runs the kernel "

func uncovered(operations, kernels map[string]bool) (missing []string) {
	for _, op := range tt.Dialect.Ops {
		if !operations[op.Name] {
			missing = append(missing, "no test here compiles and runs "+op.Name)
		}
	}
	jobs, err := os.ReadFile("../../core/frontend/testdata/jobs.txt")
	if err != nil {
		return append(missing, err.Error())
	}
	for line := range strings.Lines(string(jobs)) {
		f := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || len(f) < 3 {
			continue
		}
		for _, target := range []string{"cuda:80", "cuda:90", "npu:ascend910b3"} {
			name := strings.TrimSuffix(f[1], ".py") + "." + f[2] + "@" + target
			if !kernels[name] && !slices.Contains(notFor[target], f[2]) && !slices.Contains(missing, noRun+name) {
				missing = append(missing, noRun+name)
			}
		}
	}
	files, err := filepath.Glob("../../core/frontend/testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		return append(missing, fmt.Sprintf("no golden tests: %v", err))
	}
	for _, path := range files {
		a, err := txtar.ParseFile(path)
		if err != nil {
			return append(missing, err.Error())
		}
		for _, f := range a.Files {
			for line := range strings.Lines(string(f.Data)) {
				job, ok := strings.CutPrefix(line, "# tritonc: ")
				if f.Name != "k.py" || !ok {
					continue
				}
				kernel, _, _ := strings.Cut(job, "(")
				name := strings.TrimSuffix(filepath.Base(path), ".txtar") + "." + kernel
				switch why := notRun[name]; {
				case why == "" && !kernels[name]:
					missing = append(missing, noRun+name)
				case why != "" && kernels[name]:
					missing = append(missing, "the golden kernel "+name+" is said not to run, and does")
				}
			}
		}
	}
	return missing
}
