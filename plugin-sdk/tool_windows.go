package sdk

import (
	"os"
	"os/exec"
)

func setGroup(*exec.Cmd) {}

func killGroup(p *os.Process) error { return p.Kill() }

func signalName(*os.ProcessState) string { return "" }

func closeOnExec(int) {}

func limitMemory(int, int64) error { return nil }

func ownMemoryLimit() int64 { return 0 }
