package sdk

import "github.com/tritonc/tritonc/plugin-sdk/target"

// Target is a device to compile for.
type Target = target.Target

// ParseTarget reads "cuda:90" or "cuda:90:32".
func ParseTarget(s string) (Target, error) { return target.Parse(s) }
