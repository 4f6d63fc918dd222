// Package ascendstandin lets tests use the driver of Ascend NPUs on a machine that has none,
// by package standin: testdata/libruntime.c takes the place of libruntime.so and of
// libascendcl.so.
package ascendstandin

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/internal/standin"
)

//go:embed testdata/libruntime.c
var source string

// Library builds the library for the time of the test and returns a folder for
// ASCEND_HOME_PATH. Where that is impossible for lack of a C compiler, the reason is
// returned instead.
func Library(t testing.TB) (home, missing string) {
	t.Helper()
	home, missing = standin.Library(t, map[string]string{"lib64/libruntime.so": source})
	if missing != "" {
		return "", missing
	}
	// One file by two names is opened once, so that both have one state.
	if err := os.Link(filepath.Join(home, "lib64", "libruntime.so"), filepath.Join(home, "lib64", "libascendcl.so")); err != nil {
		t.Fatal(err)
	}
	return home, ""
}

// Plugin builds the driver, as make build does, and returns its folder. root is that of
// the repository.
func Plugin(t testing.TB, root string) string {
	t.Helper()
	return standin.Plugin(t, root, "driver/ascend/cmd/tritonc-device-ascend", "driver/ascend", "driver/native", "backends/npu/chip")
}
