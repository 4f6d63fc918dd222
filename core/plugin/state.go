package plugin

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/plugin/process"
)

// State tells in two texts all that decides which programs this Host runs, and how,
// except for variables of the environment (EnvNames): its options, and the programs
// that it found, as their files are now. A program that keeps Hosts for several commands
// takes one for the next whose State is that of a Host made for it.
func (h *Host) State() (options, programs string) {
	var b strings.Builder
	o := &h.opts
	fmt.Fprintf(&b, "%q %q %+v %v %s %v %v %v %s %s %d %v\n", o.Override, o.Dirs, o.Choices, o.Settings, o.Logger.GetLevel(),
		o.StartTimeout, o.AutoMTLS, o.CallTimeout, o.Dir, o.LockFile, o.MaxBytes, o.Afresh)
	fmt.Fprintf(&b, "%d %v %+v\n", o.Confine.Memory, o.Confine.Try, o.Confine.Sandbox)
	if o.Lock != nil {
		fmt.Fprintf(&b, "%+v\n", *o.Lock)
	}
	options = b.String()
	b.Reset()
	// What others found out of a program counts from the next command on.
	for _, path := range []string{o.Dir, o.memoFile()} {
		b.WriteString(fileState(path))
	}
	for _, p := range h.backends {
		fmt.Fprintf(&b, "%s %v %v %v ", p.found.Path, p.hidden, p.hides, p.found.Problem)
		b.WriteString(fileState(p.found.Path))
		found, err := p.expected()
		fmt.Fprintf(&b, "%+v %v\n", found.Expected, err)
	}
	return options, b.String()
}

// fileState tells a file from another one of its name.
func fileState(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "absent\n"
	}
	if info.IsDir() {
		return fmt.Sprintf("folder %s\n", identityOf(info))
	}
	return fmt.Sprintf("%d %d %s\n", info.Size(), info.ModTime().UnixNano(), identityOf(info))
}

// EnvNames lists the variables that what this Host does depends on, but for those that
// name folders of temporary files. It is complete once all of its backends that can be
// used have described themselves: until then one may depend on any variable.
func (h *Host) EnvNames() (names []string, complete bool) {
	for _, name := range passedEnv {
		if !slices.Contains(temporaryEnv, name) {
			names = append(names, name)
		}
	}
	complete = true
	for _, b := range h.backends {
		if b.found.Problem != nil {
			continue
		}
		r, ok := b.remembered()
		if !ok || r.Description == nil {
			complete = false
			continue
		}
		for i := range r.Facts.Settings {
			names = append(names, r.Facts.Settings[i].Env...)
		}
	}
	return names, complete
}

// Running is a backend's process.
type Running struct {
	Name string
	PID  int
}

// Running lists the processes that backends have now.
func (h *Host) Running() (list []Running) {
	for b, p := range h.processes() {
		list = append(list, Running{b.found.Name, p.PID()})
	}
	return list
}

// processes are those that backends have now, in their order. That of a backend that is
// starting is there once it has started.
func (h *Host) processes() iter.Seq2[*Backend, *process.Process] {
	return func(yield func(*Backend, *process.Process) bool) {
		for _, b := range h.backends {
			b.mu.Lock()
			p := b.proc
			b.mu.Unlock()
			if p != nil && !p.HasExited() && !yield(b, p) {
				return
			}
		}
	}
}

// DrainLog waits until what backends have written to their logs until now has been
// logged, but not for long: the answer of a call may be here before its warnings.
func (h *Host) DrainLog() {
	for _, p := range h.processes() {
		p.DrainLog()
	}
}

// EndUnused ends the processes that have described themselves and done nothing else.
func (h *Host) EndUnused() {
	for _, b := range h.backends {
		b.mu.Lock()
		p := b.proc
		if b.used {
			p = nil
		} else {
			b.proc = nil
		}
		b.mu.Unlock()
		switch {
		case p == nil:
		case h.beginStop():
			go func() {
				defer h.stopping.Done()
				p.Stop()
			}()
		default:
			p.Stop()
		}
	}
}
