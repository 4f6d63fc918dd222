package sdk

import (
	"os"

	"github.com/tritonc/tritonc/plugin-sdk/internal/tempdir"
)

// TempDir makes a new folder for the files of a tool, in the system's folder for
// such; its name begins with tritonc-. It goes with remove, or with the plugin
// where that ends before. What a plugin that was killed has left, the next one's
// first TempDir removes (on Unix).
func TempDir(pattern string) (dir string, remove func(), err error) {
	return tempdir.Make(os.TempDir(), pattern)
}
