//go:build unix && !linux

package process

func closeRangeOnExec() bool { return false }

// isStopped cannot be asked here: a stopped process is found out as one that does
// not answer.
func isStopped(int) bool { return false }
