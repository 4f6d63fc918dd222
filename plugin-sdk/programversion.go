package sdk

import (
	"runtime/debug"
	"sync"
)

// programVersion is stamped by a build that is told the version:
//
//	go build -ldflags '-X github.com/tritonc/tritonc/plugin-sdk.programVersion=v1.2.3'
var programVersion string

// ProgramVersion is the version of the running program: the one that its build stamped,
// else that of its main module, which "go install module@version" knows, or Go takes from
// the checkout. It is empty where neither knows. A backend has it as Facts.Version.
var ProgramVersion = sync.OnceValue(readProgramVersion)

func readProgramVersion() string {
	if programVersion != "" {
		return programVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}
