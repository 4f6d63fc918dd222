package manifest

import (
	"encoding/json"
	"fmt"
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
	SHA256  string `json:"sha256"`            // of the program's file, in hex
}

// ParseLock reads a lock file. at names it in diagnostics.
func ParseLock(at string, text []byte) (*Lock, error) {
	var l Lock
	if err := decode(at, text, &l); err != nil {
		return nil, err
	}
	for _, b := range l.Backends {
		if !nameForm.MatchString(b.Name) || !sumForm.MatchString(b.SHA256) {
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

// Check refuses a program that is not listed.
func (l *Lock) Check(name, sha256 string) error {
	if slices.ContainsFunc(l.Backends, func(b LockedBackend) bool { return b.Name == name && b.SHA256 == sha256 }) {
		return nil
	}
	if slices.ContainsFunc(l.Backends, func(b LockedBackend) bool { return b.Name == name }) {
		return fmt.Errorf("its SHA-256 %s is not one that %s has for %s", sha256, LockName, name)
	}
	return fmt.Errorf("%s has no backend %s", LockName, name)
}
