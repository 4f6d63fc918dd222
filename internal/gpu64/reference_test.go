package gpu64

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kernelDir holds the reference kernels and the list of jobs.
const kernelDir = "../../core/frontend/testdata"

// A job is one reference kernel with its arguments and options.
type job struct {
	name, file, kernel, signature string
	options                       Options
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
		j := job{name: f[0], file: f[1], kernel: f[2], signature: strings.Join(args, ", "), options: Options{Warps: 4, Stages: 3}}
		for _, o := range strings.Fields(f[4]) {
			name, value, _ := strings.Cut(o, "=")
			n, _ := strconv.Atoi(value)
			switch name {
			case "num_warps":
				j.options.Warps = n
			case "num_stages":
				j.options.Stages = n
			case "debug":
				j.options.Debug = value == "True"
			}
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
	llc, err := exec.LookPath("llc-22")
	if err != nil {
		t.Skip("llc-22 is not installed: nothing to check the LLVM IR with")
	}
	list, accepted := jobs(t), 0
	for _, j := range list {
		t.Run(j.name, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join(kernelDir, j.file))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Compile(t.Context(), j.file, src, j.kernel, j.signature, j.options)
			if x, ok := refused[j.name]; ok {
				switch {
				case err == nil:
					t.Error("compiles, though the list says that it does not")
				case !strings.Contains(err.Error(), x.message):
					t.Errorf("fails, but not with %q: %v", x.message, err)
				default:
					t.Logf("refused, as known: %s", x.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ll := r.LLVM.Print()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			args := []string{"-mtriple=" + Target{}.Triple(), "-mcpu=" + facts.Arch, "-filetype=null", "-o", os.DevNull, "-"}
			if j.name == "dot_scaled" { // the greedy allocator takes minutes for it, the basic one for matmuls
				args = append(args, "-vgpr-regalloc=basic")
			}
			cmd := exec.CommandContext(ctx, llc, args...)
			cmd.Stdin = strings.NewReader(string(ll))
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("llc: %v\n%.3000s", err, out)
			}
			accepted++
		})
	}
	t.Logf("llc accepts %d of %d reference kernels; %d have no form here", accepted, len(list), len(refused))
}
