//go:build unix && !linux

package process

func closeRangeOnExec() bool { return false }

// stateOf cannot be asked here: a stopped process is found out as one that does not
// answer.
func stateOf(int) state { return running }
