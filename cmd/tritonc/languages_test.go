package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/plugin"
)

// pythons are the interpreters that may have grpcio: a user's, and the one whose
// modules are the system's packages.
var pythons = []string{os.Getenv("PYTHON"), "python3", "/usr/bin/python3"}

// TestPythonBackend builds examples/backends/python in a folder of its own, compiles
// and runs a kernel with it.
func TestPythonBackend(t *testing.T) {
	at := slices.IndexFunc(pythons, func(python string) bool {
		return python != "" && exec.Command(python, "-c", "import grpc, google.protobuf, numpy").Run() == nil
	})
	if at < 0 {
		t.Skipf("none of %q has grpcio, protobuf and numpy (Debian: python3-grpcio python3-protobuf python3-numpy)", pythons)
	}
	_, noPlugin := exec.LookPath("grpc_python_plugin")
	_, noProtoc := exec.LookPath("protoc")
	if (noPlugin != nil || noProtoc != nil) && exec.Command(pythons[at], "-c", "import grpc_tools.protoc").Run() != nil {
		t.Skipf("%s has no grpc_tools, and protoc or grpc_python_plugin is not there (Debian: protobuf-compiler protobuf-compiler-grpc)", pythons[at])
	}
	backends := t.TempDir()
	build := exec.CommandContext(t.Context(), "sh", "build.sh", backends)
	build.Env = append(os.Environ(), "PYTHON="+pythons[at])
	buildLanguage(t, "python", build)
	checkLanguage(t, "pyvm", backends)
	t.Run("TLS", func(t *testing.T) {
		if _, err := exec.LookPath("openssl"); err != nil {
			t.Skip(err)
		}
		if err := describeByTLS(t, "pyvm", backends); err != nil {
			t.Error(err)
		}
		t.Setenv("PATH", t.TempDir())
		if err := describeByTLS(t, "pyvm", backends); err == nil || !strings.Contains(err.Error(), "openssl") {
			t.Errorf("without openssl: %v", err)
		}
	})
}

// TestLanguagesAreShort: each is a whole backend with a driver in 300 lines at most, for
// the whole of it is to be read in one go.
func TestLanguagesAreShort(t *testing.T) {
	for example, endings := range map[string][]string{"python": {".py"}, "cpp": {".cc", ".h"}} {
		lines := 0
		for _, ending := range endings {
			files, err := filepath.Glob(filepath.Join("..", "..", "examples", "backends", example, "*"+ending))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v, %v", example, files, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		if lines > 300 {
			t.Errorf("%s has %d lines", example, lines)
		}
	}
}

// buildLanguage runs a command in the folder of an example outside of the tree: of the
// tree, it has the protos and itself.
func buildLanguage(t *testing.T, example string, build *exec.Cmd) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	copied := copyOf(t, root, "examples/backends/"+example+"/*", "plugin-sdk/proto/tritonc/*/v1/*.proto")
	build.Dir = filepath.Join(copied, "examples", "backends", example)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// checkLanguage holds a backend for elementwise kernels that serves devices, too, to
// what it should do with kernels that it can run, cannot compile, and that fail.
func checkLanguage(t *testing.T, name, backends string) {
	file := filepath.Join(t.TempDir(), "kernels.py")
	const source = `import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, y_ptr, out_ptr, a, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=-1.5)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.maximum(a * x, y) / 3.0 - y, mask=inside)


@triton.jit
def root(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.sqrt(tl.load(x_ptr + offsets)))
`
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.ttir")
	if err := os.WriteFile(empty, []byte("module {\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	scaled := func(n string, more ...string) []string {
		return append([]string{
			"run", "--target", name + ":v1", "-n", "scaled", "--grid", "(8, 1)", "--arg", "n=" + n, "--arg", "a=0.75", "--arg", "BLOCK=128",
			"--arg", "x_ptr=randn:fp32[1000]", "--arg", "y_ptr=randn:fp32[1000]", "--arg", "out_ptr=zeros:fp32[1000]", file,
		}, more...)
	}
	tests := []struct {
		name     string
		args     []string
		exit     int
		stdout   string // is part of it; with "" it is empty
		contains string // of standard error
	}{
		{"run", scaled("1000", "--expect", "out_ptr=maximum(a * x_ptr, y_ptr) / 3 - y_ptr"), 0, "all 1000 elements are as expected", ""},
		{"masked", scaled("0", "--expect", "out_ptr=0"), 0, "all 1000 elements are as expected", ""},
		{"devices", []string{"devices"}, 0, name + ":v1", ""},
		{"compile", []string{"compile", "-v", "-t", name + ":v1", "-n", "scaled", "-s", "*fp32, *fp32, *fp32, fp32, i32, BLOCK=64", "--emit", "json", "-o", "-", file}, 0, `"name":"scaled"`, ""},
		{"refused", []string{"compile", "-t", name + ":v1", "-n", "root", "-s", "*fp32, BLOCK=64", "-o", t.TempDir(), file}, 1, "", "kernels.py:17:39: note: it comes from here"},
		{"no kernel", []string{"compile", "-t", name + ":v1", "-o", t.TempDir(), empty}, 1, "", "the text has no kernel"},
		{"fault", scaled("1024"), 1, "", "there is no memory at 0x"},
		{"check", []string{"backend", "check", filepath.Join(backends, "tritonc-backend-"+name)}, 0, "ok       launches         vector_add blend", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "tritonc", test.args...)
			cmd.Env = append(os.Environ(), backendPathVar+"="+backends, cacheDirVar+"="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != test.exit {
				t.Fatalf("%v, not exit code %d\n%s%s", err, test.exit, &stdout, &stderr)
			}
			if (test.stdout == "" && stdout.Len() > 0) || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.contains) {
				t.Errorf("got:\n%s%s", &stdout, &stderr)
			}
		})
	}
	if runtime.GOOS != "windows" {
		t.Run("ending", func(t *testing.T) { checkEnding(t, filepath.Join(backends, "tritonc-backend-"+name)) })
	}
}

// describeByTLS asks a backend for its facts over a connection that is encrypted.
func describeByTLS(t *testing.T, name, backends string) error {
	h := plugin.New(plugin.Options{Dirs: []string{backends}, LookupEnv: os.LookupEnv, AutoMTLS: true, Afresh: true})
	defer h.Close()
	b, err := h.Backend(name)
	if err != nil {
		return err
	}
	f, err := b.Facts(t.Context())
	if err == nil && f.Name != name {
		err = fmt.Errorf("the facts are %+v", f)
	}
	return err
}

// checkEnding starts a program as a host does that dies at once.
func checkEnding(t *testing.T, program string) {
	sockets, err := os.MkdirTemp("", "") // t's would be too long a path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sockets)
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "TRITONC_BACKEND=b1f0c1d4-tritonc-backend", "PLUGIN_PROTOCOL_VERSIONS=1",
		"PLUGIN_UNIX_SOCKET_DIR=" + sockets, "TRITONC_LIFELINE=3",
	}
	cmd.ExtraFiles = []*os.File{theirs}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, _ := stdout.Read(line)
	if !strings.HasPrefix(string(line[:n]), "1|1|unix|"+sockets) || !strings.HasSuffix(string(line[:n]), "|grpc|\n") {
		t.Errorf("the line of the handshake is %q", line[:n])
	}
	ours.Close()
	if n, _ := stdout.Read(line); n > 0 {
		t.Errorf("standard output has %q after the handshake", line[:n])
	}
	cmd.Wait() // the program has no say in its exit code
	if left, _ := os.ReadDir(sockets); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestCppBackend does so with examples/backends/cpp, whose build takes half a minute, so
// it waits to be asked by TRITONC_TEST_CPP=1.
func TestCppBackend(t *testing.T) {
	if os.Getenv("TRITONC_TEST_CPP") == "" {
		t.Skip("TRITONC_TEST_CPP=1 builds and tests it")
	}
	for _, tool := range []string{"cmake", "make", "c++", "protoc", "grpc_cpp_plugin"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v (Debian: cmake make g++ libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc)", err)
		}
	}
	folder := t.TempDir()
	buildLanguage(t, "cpp", exec.CommandContext(t.Context(), "sh", "-c", `cmake -S . -B "$1" -G "Unix Makefiles" && cmake --build "$1" -j2`, "sh", folder))
	checkLanguage(t, "cppvm", folder)
	if err := describeByTLS(t, "cppvm", folder); err == nil || !strings.Contains(err.Error(), "this backend has no TLS") {
		t.Errorf("by TLS: %v", err)
	}
}
