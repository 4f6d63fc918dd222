package manifest

import (
	"encoding/json"
	"runtime"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
)

// LockName is the name of a Lock's file, beside tritonc.toml.
const LockName = "tritonc.lock"

// Lock lists the programs that a project allows. A backend of one version has an
// entry for each system.
type Lock struct {
	Backends []LockedBackend `json:"backends"`
}

// LockedBackend is one program that may run.
type LockedBackend struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // for people
	System  string `json:"system,omitempty"`  // GOOS/GOARCH; empty: any
	File    string `json:"file"`              // the program's name
	SHA256  string `json:"sha256"`            // of the program's file, in hex
}

// System is the one that this program runs on.
const System = runtime.GOOS + "/" + runtime.GOARCH

// isHere reports whether the entry is for this system.
func (b *LockedBackend) isHere() bool { return b.System == "" || b.System == System }

// ParseLock reads a lock file. at names it in diagnostics.
func ParseLock(at string, text []byte) (*Lock, error) {
	var l Lock
	if err := decode(at, text, &l); err != nil {
		return nil, err
	}
	for _, b := range l.Backends {
		if !nameForm().MatchString(b.Name) || !sumForm().MatchString(b.SHA256) {
			return nil, diag.Errorf(diag.Pos{File: at}, "the entry %q with the SHA-256 %q is not one of a name and a sum in lower-case hex", b.Name, b.SHA256)
		}
	}
	return &l, nil
}

// Encode is the lock's text.
func (l *Lock) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(l, "", "  ")
	return append(text, '\n'), err
}

// Sums lists the SHA-256 sums of the programs of that name that may run on this
// system.
func (l *Lock) Sums(name string) []string {
	var sums []string
	for i := range l.Backends {
		if b := &l.Backends[i]; b.Name == name && b.isHere() {
			sums = append(sums, b.SHA256)
		}
	}
	return sums
}

// Replace puts entries for this system in the place of those that it has of the same
// names. What there is for other systems stays.
func (l *Lock) Replace(entries []LockedBackend) {
	l.Backends = slices.DeleteFunc(l.Backends, func(old LockedBackend) bool {
		return old.isHere() && slices.ContainsFunc(entries, func(b LockedBackend) bool { return b.Name == old.Name })
	})
	l.Backends = append(l.Backends, entries...)
}
