package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackendInit runs the commands that init prints, as they are: what it writes builds,
// and passes its own test and the checks.
func TestBackendInit(t *testing.T) {
	for _, args := range []string{"mine", "lux --kit --target lux:gfx90a --module example.com/lux --dir kit"} {
		t.Run(args, func(t *testing.T) {
			if strings.Contains(args, "--kit") && !haveToolchain() {
				t.Skip("llc is not there")
			}
			t.Parallel()
			dir := t.TempDir()
			sh := func(command string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOPROXY=off", "CGO_ENABLED=0")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", command, err, out)
				}
				return string(out)
			}
			_, commands, ok := strings.Cut(sh("tritonc backend init "+args), "build, test and check it:\n")
			if !ok || strings.Count(commands, "\n") != 3 {
				t.Fatalf("init prints:\n%s", commands)
			}
			for command := range strings.Lines(commands) {
				sh(strings.TrimSpace(command))
			}
			if written, err := filepath.Glob(filepath.Join(dir, "*", "go.mod")); err != nil || len(written) != 1 {
				t.Errorf("modules in %s: %v %v", dir, written, err)
			}
		})
	}
}
