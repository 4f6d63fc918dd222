package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMain is the command itself where the program of a test is called.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "llc-22" {
		main()
	}
	os.Exit(m.Run())
}

// program is what once stands in for: it notes each run, repeats its input after its
// arguments, warns of some and fails for others.
const program = `#!/bin/sh
echo "$*" >>"$RUNS"
echo "args $*"
cat
case "$*" in
*warn*) echo careful >&2 ;;
*fail*) exit 3 ;;
esac
`

func TestOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are links and scripts of sh")
	}
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"once", "llvm"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stand, tool, runs := filepath.Join(dir, "once", "llc-22"), filepath.Join(dir, "llvm", "llc-22"), filepath.Join(dir, "runs")
	if err := os.Symlink(own, stand); err != nil {
		t.Fatal(err)
	}
	install := func(text string) {
		t.Helper()
		if err := os.WriteFile(tool, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install(program)
	t.Setenv("RUNS", runs)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("PATH", filepath.Join(dir, "once")+":"+filepath.Join(dir, "llvm")+":"+os.Getenv("PATH"))
	// call expects the program's own output, and that it ran so often.
	call := func(ran int, code int, messages, input string, args ...string) {
		t.Helper()
		if err := os.WriteFile(runs, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(stand, args...)
		cmd.Stdin = strings.NewReader(input)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, _ := cmd.Output()
		if want := "args " + strings.Join(args, " ") + "\n" + input; string(out) != want {
			t.Errorf("%v with %q printed %q, want %q", args, input, out, want)
		}
		if got := cmd.ProcessState.ExitCode(); got != code || stderr.String() != messages {
			t.Errorf("%v exited with %d and said %q, want %d and %q", args, got, stderr.String(), code, messages)
		}
		text, err := os.ReadFile(runs)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n != ran {
			t.Errorf("%v with %q ran the program %d times, want %d", args, input, n, ran)
		}
	}
	call(1, 0, "", "one\n", "-O3", "-")
	call(0, 0, "", "one\n", "-O3", "-")
	call(1, 0, "", "two\n", "-O3", "-")
	call(1, 0, "", "one\n", "-O2", "-")
	call(1, 0, "", "one\n", "-o", "/dev/null", "-")
	call(0, 0, "", "one\n", "-o", "/dev/null", "-")
	call(1, 0, "", "one\n", "--version")
	call(1, 0, "", "one\n", "--version")
	call(1, 0, "", "one\n", "-o", dir+"/o", "-")
	call(1, 0, "", "one\n", "-o", dir+"/o", "-")
	call(1, 0, "careful\n", "one\n", "-warn", "-")
	call(1, 0, "careful\n", "one\n", "-warn", "-")
	call(1, 3, "", "one\n", "-fail", "-")
	call(1, 3, "", "one\n", "-fail", "-")
	t.Setenv("TRITONC_ONCE", "no")
	call(1, 0, "", "one\n", "-O3", "-")
	t.Setenv("TRITONC_ONCE", "")
	install(program + "# another version\n")
	call(1, 0, "", "one\n", "-O3", "-")
	call(0, 0, "", "one\n", "-O3", "-")
}
