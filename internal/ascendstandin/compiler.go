package ascendstandin

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

//go:embed testdata/bishengir-compile
var compiler string

// Compiler writes a stand-in for the vendor's compiler for the time of the test and returns
// its folder, for TRITON_NPU_COMPILER_PATH. Where it cannot run, the reason is returned
// instead. To the file log there it adds its arguments, a line for each run.
func Compiler(t testing.TB) (dir, missing string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return "", "the stand-in for the vendor's compiler is for Linux"
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return "", "the stand-in for the vendor's compiler needs a C compiler: " + err.Error()
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bishengir-compile"), []byte(compiler), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, ""
}
