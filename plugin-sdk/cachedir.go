package sdk

import "os"

// EnvCacheDir names a folder that only plugins of this name write to and that stays
// between runs. The host sets it in a sandbox, where the user's cache folder cannot
// be written.
const EnvCacheDir = "TRITONC_PLUGIN_CACHE"

// CacheDir is that folder, or empty.
func CacheDir() string { return os.Getenv(EnvCacheDir) }
