package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackendInit runs the commands that init prints, as they are, and then those of the
// README that it writes: the module builds, passes its own test and the checks, and its
// kernel compiles and, where there is a device, runs.
func TestBackendInit(t *testing.T) {
	for args, skips := range map[string][]string{
		"mine": acmeLacks,
		"lux --kit --target lux:gfx90a --module example.com/lux --dir kit": gcnLacks,
	} {
		t.Run(args, func(t *testing.T) {
			if strings.Contains(args, "--kit") && !haveToolchain() {
				t.Skip("llc is not there")
			}
			t.Parallel()
			dir := t.TempDir()
			data := t.TempDir()
			sh := func(command string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false", "GOPROXY=off", "CGO_ENABLED=0",
					"XDG_DATA_HOME="+data, cacheDirVar+"="+filepath.Join(data, "kernels"))
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
			lines := strings.Split(strings.TrimSpace(commands), "\n")
			sh(lines[0])
			sh(lines[1])
			noneFails(t, sh(lines[2]+" --json"), skips...)
			readme, err := filepath.Glob(filepath.Join(dir, "*", "README.md"))
			if err != nil || len(readme) != 1 {
				t.Fatalf("modules in %s: %v %v", dir, readme, err)
			}
			text, err := os.ReadFile(readme[0])
			if err != nil {
				t.Fatal(err)
			}
			var script strings.Builder
			for line := range strings.Lines(string(text)) {
				if command, ok := strings.CutPrefix(line, "    "); ok {
					script.WriteString(command)
				}
			}
			dir = filepath.Dir(readme[0])
			out := sh(script.String())
			if !strings.Contains(args, "--kit") && !strings.Contains(out, "all 1000 elements are as expected") {
				t.Errorf("the README's commands print:\n%s", out)
			}
		})
	}
}
