package gpu64

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/internal/refkernels"
)

// kernelDir holds the reference kernels and the list of jobs.
const kernelDir = "../../core/frontend/testdata"

// refused are the jobs that do not come to LLVM IR, with a part of the message
// and the reason.
var refused = map[string]struct{ message, why string }{
	"libdevices": {"no module 'libdevice'", "it calls CUDA's library by name"},
	"inline_asm": {"this target knows no operands of the kind", "its assembly is PTX"},
	"debugging":  {"this target cannot print", "the target has no Reports, and the kernel prints"},
}

// TestReference takes every reference kernel to LLVM IR that llc makes code of
// for a GPU of 64 lanes.
func TestReference(t *testing.T) {
	if _, err := exec.LookPath("llc-22"); err != nil {
		t.Skip("llc-22 is not installed: nothing to check the LLVM IR with")
	}
	list := refkernels.Jobs(t, kernelDir)
	var accepted, large atomic.Int32
	t.Run("kernels", func(t *testing.T) {
		for _, j := range list {
			t.Run(j.Name, func(t *testing.T) {
				t.Parallel()
				fits, ok := accept(t, &j)
				if ok {
					accepted.Add(1)
				}
				if ok && !fits {
					large.Add(1)
				}
			})
		}
	})
	t.Logf("llc accepts %d of %d reference kernels; %d have no form here", accepted.Load(), len(list), len(refused))
	t.Logf("%d of those accepted need more than the %d KiB of shared memory of a work-group", large.Load(), device.SharedMemory>>10)
	for name := range refused {
		if !slices.ContainsFunc(list, func(j refkernels.Job) bool { return j.Name == name }) {
			t.Errorf("the list of refused kernels has %s, which is not a job", name)
		}
	}
}

// accept reports whether llc takes the job, and whether the kernel fits on the
// device.
func accept(t *testing.T, j *refkernels.Job) (fits, ok bool) {
	path := filepath.Join(kernelDir, j.File)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if j.Name == "dot_scaled" { // the greedy allocator takes minutes for it, the basic one for matmuls
		j.Options["allocator"] = "basic"
	}
	k, _, err := compile(t, path, src, j.Kernel, j.Signature, StageAssembly, j.Options)
	if x, known := refused[j.Name]; known {
		switch {
		case err == nil:
			t.Error("compiles, though the list says that it does not")
		case !strings.Contains(err.Error(), x.message):
			t.Errorf("fails, but not with %q: %v", x.message, err)
		default:
			t.Logf("refused, as known: %s", x.why)
		}
		return false, false
	}
	if err != nil {
		t.Fatal(err)
	}
	assembly := string(k.Artifact(StageAssembly).Data)
	for _, mark := range []string{`.amdgcn_target "` + newTarget(false).Triple() + "--" + arch + `"`, ".amdhsa_kernel " + k.Name} {
		if !strings.Contains(assembly, mark) {
			t.Fatalf("the assembly has no %s", mark)
		}
	}
	return !slices.ContainsFunc(k.Warnings, func(d *diag.Diagnostic) bool { return d.Unlaunchable }), true
}
