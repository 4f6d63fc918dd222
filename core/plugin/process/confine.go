package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// Confine says under which limits a program runs. The zero value has none. The
// program gets them from a trampoline: the host starts itself again, that process
// gives up what the program must not have, and becomes the program.
type Confine struct {
	// Memory bounds the writable memory in bytes that the program may have, and
	// each process that it starts; 0: no bound.
	Memory int64
	// Sandbox says what the program and all that it starts may touch; nil:
	// whatever the user may.
	Sandbox *Sandbox
	// Try runs the program with a warning where the system has no means for a
	// part of this; else that is an error.
	Try bool
}

// Sandbox lists what may be touched besides what every program needs of the
// system: its own folder, libraries and programs in /usr and its like, and its
// temporary folder. What is not there is passed over. No other process can be
// reached, except through the socket that the program itself serves.
type Sandbox struct {
	// Read are files and folders to read and to run programs from.
	Read []string
	// Write are folders to read and write.
	Write []string
	// Devices are device files, and folders of such, to read, write and control.
	Devices []string `json:",omitempty"`
}

// Trampoline must be the first call of main in a program that confines plugins,
// in TestMain for tests: it does not return in a process that is to become one.
func Trampoline() {
	if len(os.Args) == 3 && os.Args[1] == trampolineArg {
		fmt.Fprintln(os.Stderr, "confine:", bounce(os.Args[2]))
		os.Exit(trampolineFailed)
	}
	trampolineReady.Store(true)
}

// trampolineReady says that our own program may be started as a trampoline; one
// whose main does not know of it would do its work once more instead.
var trampolineReady atomic.Bool

const (
	trampolineArg    = "--become-confined-plugin"
	trampolineFailed = 126 // a shell's code for what cannot be executed
)

// bounceSpec is what the trampoline is told, as JSON.
type bounceSpec struct {
	Path   string `json:"path"`
	Memory int64  `json:"memory,omitempty"`
	// Descriptor, when not 0, holds the program's file, which has been checked.
	Descriptor int `json:"descriptor,omitempty"`
	// Script says that an interpreter will open the descriptor.
	Script  bool     `json:"script,omitempty"`
	Sandbox *Sandbox `json:"sandbox,omitempty"`
}

// errNoTrampoline is told to the author of a program with a host in it.
var errNoTrampoline = errors.New("this program cannot confine plugins: its main must call process.Trampoline before all else")

// feasible returns what of c the system has the means for. What it lacks is an
// error, or with Try a warning.
func (c Confine) feasible(log hclog.Logger) (Confine, error) {
	if c.Memory == 0 && c.Sandbox == nil {
		return Confine{}, nil
	}
	if !trampolineReady.Load() {
		return Confine{}, errNoTrampoline
	}
	lacking := confineLacks(c.Sandbox != nil)
	if lacking == nil {
		return c, nil
	}
	if !c.Try {
		return Confine{}, fmt.Errorf("it cannot be confined: %w", lacking)
	}
	log.Warn("a plugin runs unconfined", "reason", lacking)
	return Confine{}, nil
}

// trampoline changes cmd, which would start the program, into one that starts it
// confined. file, if not nil, is the program's, to be executed as it is.
func (c Confine) trampoline(cmd *exec.Cmd, writable []string, file *checkedFile) error {
	spec := bounceSpec{Path: cmd.Path, Memory: c.Memory}
	if file != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, file.file)
		spec.Descriptor, spec.Script = 2+len(cmd.ExtraFiles), file.script
	}
	if c.Sandbox != nil {
		s := Sandbox{
			Read:  append([]string{filepath.Dir(cmd.Path)}, c.Sandbox.Read...),
			Write: append(slices.Clone(writable), c.Sandbox.Write...), Devices: c.Sandbox.Devices,
		}
		if real, err := filepath.EvalSymlinks(cmd.Path); err == nil {
			s.Read = append(s.Read, filepath.Dir(real))
		}
		for _, list := range [][]string{s.Read, s.Write} {
			for i, p := range list {
				if cmd.Dir != "" && !filepath.IsAbs(p) {
					p = filepath.Join(cmd.Dir, p)
				}
				abs, err := filepath.Abs(p)
				if err != nil {
					return err
				}
				list[i] = abs
			}
		}
		spec.Sandbox = &s
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	cmd.Path, cmd.Args = "/proc/self/exe", []string{os.Args[0], trampolineArg, string(text)}
	return nil
}

// ToolFolders lists what has to be read to use the programs in a folder bin: its
// own files, and the libraries that are installed beside it.
func ToolFolders(bin string) []string {
	list := []string{bin}
	if filepath.Base(bin) == "bin" {
		for _, sibling := range []string{"lib", "lib64", "libexec", "pyvenv.cfg"} {
			list = append(list, filepath.Join(filepath.Dir(bin), sibling))
		}
	}
	return list
}

// withTemp sets the variables that name the folder of temporary files.
func withTemp(env []string, dir string) []string {
	out := make([]string, 0, len(env)+3)
	for _, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		if key != "TMPDIR" && key != "TEMP" && key != "TMP" {
			out = append(out, kv)
		}
	}
	for _, key := range tempVars {
		out = append(out, key+"="+dir)
	}
	return out
}
