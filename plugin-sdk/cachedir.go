package sdk

import (
	"os"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// CacheDir is a folder that only plugins of this name write to and that stays between
// runs, or empty. A plugin has one in a sandbox, where the user's cache folder cannot be
// written.
func CacheDir() string { return os.Getenv(wire.EnvCacheDir) }
