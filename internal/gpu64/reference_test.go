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
)

// kernelDir holds the reference kernels and the list of jobs.
const kernelDir = "../../core/frontend/testdata"

// A job is one reference kernel with its arguments and options.
type job struct {
	name, file, kernel, signature string
	options                       map[string]any
}

func jobs(t *testing.T) []job {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(kernelDir, "jobs.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []job
	for line := range strings.Lines(string(list)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		args := strings.Split(f[3], ", ")
		for i, a := range args {
			if name, typ, ok := strings.Cut(a, ":"); ok && !strings.Contains(name, "=") {
				args[i] = name + "=" + typ
			}
			if prec, ok := strings.CutPrefix(a, "PREC="); ok && prec != "None" {
				args[i] = "PREC='" + prec + "'"
			}
		}
		j := job{name: f[0], file: f[1], kernel: f[2], signature: strings.Join(args, ", "), options: map[string]any{}}
		for _, o := range strings.Fields(f[4]) {
			name, value, _ := strings.Cut(o, "=")
			j.options[name] = value
		}
		out = append(out, j)
	}
	return out
}

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
	list := jobs(t)
	var accepted, large atomic.Int32
	t.Run("kernels", func(t *testing.T) {
		for _, j := range list {
			t.Run(j.name, func(t *testing.T) {
				t.Parallel()
				fits, ok := j.accepted(t)
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
		if !slices.ContainsFunc(list, func(j job) bool { return j.name == name }) {
			t.Errorf("the list of refused kernels has %s, which is not a job", name)
		}
	}
}

// accepted reports whether llc takes the job, and whether the kernel fits on the
// device.
func (j *job) accepted(t *testing.T) (fits, ok bool) {
	path := filepath.Join(kernelDir, j.file)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if j.name == "dot_scaled" { // the greedy allocator takes minutes for it, the basic one for matmuls
		j.options["allocator"] = "basic"
	}
	k, _, err := compile(t, path, src, j.kernel, j.signature, StageAssembly, j.options)
	if x, known := refused[j.name]; known {
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
