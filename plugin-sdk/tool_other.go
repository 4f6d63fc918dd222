//go:build unix && !linux

package sdk

import "syscall"

func setParentDeath(*syscall.SysProcAttr) {}

// limitMemory does nothing here: only Linux can bound a process that runs.
func limitMemory(int, int64) error { return nil }

// ownMemoryLimit is not asked for here: what it bounds cannot be bounded.
func ownMemoryLimit() int64 { return 0 }
