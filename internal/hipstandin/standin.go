// Package hipstandin lets tests use the driver of AMD GPUs on a machine that has none, by
// package standin: testdata/libamdhip64.c takes the place of libamdhip64.so.
package hipstandin

import (
	_ "embed"
	"testing"

	"github.com/tritonc/tritonc/internal/standin"
)

//go:embed testdata/libamdhip64.c
var source string

// Library builds the library for the time of the test and returns a folder for ROCM_PATH.
// Where that is impossible for lack of a C compiler, the reason is returned instead.
func Library(t testing.TB) (rocm, missing string) {
	t.Helper()
	return standin.Library(t, map[string]string{"lib/libamdhip64.so.6": source})
}

// Plugin builds the driver, as make build does, and returns its folder. root is that of
// the repository.
func Plugin(t testing.TB, root string) string {
	t.Helper()
	return standin.Plugin(t, root, "driver/hip/cmd/tritonc-device-hip", "driver/hip", "driver/image", "driver/native")
}
