// Package target says what a device to compile for is called. It is apart from plugin-sdk
// so that a program which only launches kernels links nothing of the wire. It imports the
// standard library only.
package target

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Target is a device to compile for.
type Target struct {
	Backend  string `json:"backend"`
	Arch     string `json:"arch"`
	WarpSize int    `json:"warp_size"` // threads of a warp; 0: the backend's own
}

// Parse reads "cuda:90" or "cuda:90:32".
func Parse(s string) (Target, error) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return Target{}, fmt.Errorf("target %q is not of the form backend:arch or backend:arch:warp_size", s)
	}
	t := Target{Backend: parts[0], Arch: parts[1]}
	if len(parts) == 3 {
		n, err := strconv.Atoi(parts[2])
		if err != nil || n < 1 {
			return Target{}, fmt.Errorf("target %q: the warp size %q is not a positive number", s, parts[2])
		}
		t.WarpSize = n
	}
	return t, nil
}

// Matches reports whether a path.Match pattern over "backend:arch", such as
// "hip:gfx9*", matches t. The warp size plays no part.
func (t Target) Matches(pattern string) bool {
	ok, err := path.Match(pattern, t.Backend+":"+t.Arch)
	return ok && err == nil
}

// String gives the form that Parse reads.
func (t Target) String() string {
	s := t.Backend + ":" + t.Arch
	if t.WarpSize != 0 {
		s += ":" + strconv.Itoa(t.WarpSize)
	}
	return s
}
