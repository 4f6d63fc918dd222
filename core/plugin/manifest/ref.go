package manifest

import (
	"fmt"
	"strings"
)

// Ref names a backend. Version and SHA256 are empty where any will do.
type Ref struct {
	Name    string
	Version string
	SHA256  string // of the program's file, in hex
}

// ParseRef reads NAME[@VERSION].
func ParseRef(s string) (Ref, error) {
	name, version, pinned := strings.Cut(s, "@")
	switch {
	case !nameForm().MatchString(name):
		return Ref{}, fmt.Errorf("%q is not of the form NAME[@VERSION]: a name has letters, digits, _ and -", s)
	case pinned && !versionForm().MatchString(version):
		return Ref{}, fmt.Errorf("%q is not of the form NAME[@VERSION]: a version has letters, digits, '.', _, + and -", s)
	}
	return Ref{Name: name, Version: version}, nil
}

// CheckSum refuses what is not a SHA-256.
func CheckSum(s string) error {
	if !sumForm().MatchString(s) {
		return fmt.Errorf("%q is not a SHA-256 in lower-case hex", s)
	}
	return nil
}

// String is NAME[@VERSION].
func (r Ref) String() string {
	if r.Version == "" {
		return r.Name
	}
	return r.Name + "@" + r.Version
}
