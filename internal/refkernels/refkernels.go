// Package refkernels has the reference kernels of core/frontend/testdata for tests: each
// with its file, its signature and its options, as jobs.txt lists them.
//
// It imports nothing of ours.
package refkernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Job is one reference kernel with its arguments and options.
type Job struct {
	// Name of the job, of which several may be of one Kernel; File is a name in the folder.
	Name, File, Kernel, Signature string
	Options                       map[string]any
}

// Jobs reads jobs.txt of a folder.
func Jobs(t testing.TB, dir string) []Job {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(dir, "jobs.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []Job
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
		j := Job{Name: f[0], File: f[1], Kernel: f[2], Signature: strings.Join(args, ", "), Options: map[string]any{}}
		if len(f) > 4 {
			for _, o := range strings.Fields(f[4]) {
				name, value, _ := strings.Cut(o, "=")
				j.Options[name] = value
			}
		}
		out = append(out, j)
	}
	return out
}
