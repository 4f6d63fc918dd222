package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core"
	farm "github.com/tritonc/tritonc/farm/work"
)

// Machine tells what compiles for a target depend on beside this program; it is
// plugin.Host's method SharedIdentity.
type Machine func(ctx context.Context, target core.Target) (*core.Machine, error)

// class is that of compiles for a target on this machine.
func (m Machine) class(ctx context.Context, compiler string, target core.Target) (*farm.Class, *core.Machine, error) {
	own, err := m(ctx, target)
	if err != nil {
		return nil, nil, err
	}
	if own.Unshared != "" {
		return nil, nil, errors.New(own.Unshared)
	}
	c := &farm.Class{Target: target.String(), Compiler: compiler, Programs: []string{}}
	backend := "backend"
	for line := range strings.Lines(own.Text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "backend "); ok {
			backend = "backend " + strings.Trim(name, `"`)
		}
		c.Programs = append(c.Programs, backend+": "+line)
	}
	return c, own, nil
}

// fileInput is a file that had a part in one kernel and not in all of its class, such as a
// library of functions.
type fileInput struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // "" where there is none
}

// inputs lists what a kernel depends on beside its class. It says why the kernel is for
// nobody else in refused; an error is about a machine that has changed.
func inputs(m *core.Machine, k *core.Kernel, lookedAt []string) (list []fileInput, refused string, err error) {
	for _, path := range lookedAt {
		if slices.Contains(m.LookedAt, path) || slices.ContainsFunc(list, func(f fileInput) bool { return f.Path == path }) {
			continue
		}
		sum, err := sumOf(path)
		if err != nil {
			return nil, err.Error(), nil //nolint:nilerr // the machine is not at fault
		}
		list = append(list, fileInput{path, sum})
	}
	for _, tool := range k.Tools {
		same, listed := false, false
		for _, t := range m.Tools {
			listed = listed || t.Path == tool.Path
			same = same || t.Path == tool.Path && t.SHA256 == tool.SHA256 && t.SHA256 != ""
		}
		file := slices.ContainsFunc(list, func(f fileInput) bool { return f.Path == tool.Path && f.SHA256 == tool.SHA256 && f.SHA256 != "" })
		switch {
		case same || file:
		case listed:
			return nil, "", fmt.Errorf("%s is not what it was when the worker began, which has to be started anew", tool.Path)
		default:
			return nil, fmt.Sprintf("%s has a part in it, which the backend does not list", tool.Name), nil
		}
	}
	return list, "", nil
}

// sumOf is the hash of a file, "" where there is none. What is not a file has none.
func sumOf(path string) (string, error) {
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil || !info.Mode().IsRegular() { // a folder, or a device that never ends
		return "", fmt.Errorf("%s has a part in it, and is not a file that can be read", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
