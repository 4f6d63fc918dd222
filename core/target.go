package core

import sdk "github.com/tritonc/tritonc/plugin-sdk"

// Target is a device to compile for: a backend's name for its family, the
// architecture, and the threads of a warp (0: what the backend says).
type Target = sdk.Target

// ParseTarget reads "backend:arch" or "backend:arch:warp_size".
func ParseTarget(s string) (Target, error) { return sdk.ParseTarget(s) }
