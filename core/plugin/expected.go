package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/trust"
)

// expected is the program with what it must be when it is started: as the lock says,
// the manifest that lies beside it, and the choices that pin a sum.
func (b *Backend) expected() (process.Found, error) {
	found := b.found
	refuse := func(err error) (process.Found, error) {
		return found, &process.UnexpectedError{Err: fmt.Errorf("backend %s (%s): %w", found.Name, found.Path, err)}
	}
	opts := &b.host.opts
	if opts.Lock != nil {
		sums := opts.Lock.Sums(found.Name)
		if len(sums) == 0 {
			return refuse(fmt.Errorf("%s does not list it for %s; allow it with: tritonc backend lock %s", opts.LockFile, manifest.System, found.Name))
		}
		found.Expected = append(found.Expected, process.Expected{By: opts.LockFile, Sums: sums})
	}
	listed, err := Listed(found)
	if err != nil {
		return refuse(err)
	}
	found.Expected = append(found.Expected, listed...)
	found.Expected = append(found.Expected, b.pinned()...)
	return found, nil
}

// Listed is what a manifest beside a program says of it. One of other programs says
// nothing.
func Listed(found process.Found) ([]process.Expected, error) {
	at := filepath.Join(filepath.Dir(found.Path), manifest.FileName)
	text, err := trust.ReadShared(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(at, text)
	if err != nil {
		return nil, err
	}
	file, ok := m.File(filepath.Base(found.Path))
	if !ok {
		return nil, nil
	}
	return []process.Expected{{By: at, Sums: []string{file.SHA256}}}, nil
}

// pinned is what choices of the backend pin, unless one takes it with any sum.
func (b *Backend) pinned() []process.Expected {
	var sums []string
	from := ""
	for i := range b.host.opts.Choices {
		c := &b.host.opts.Choices[i]
		if c.Ref.Name != b.found.Name {
			continue
		}
		if c.Ref.SHA256 == "" {
			return nil
		}
		sums, from = append(sums, c.Ref.SHA256), c.From
	}
	if sums == nil {
		return nil
	}
	return []process.Expected{{By: from, Sums: sums}}
}
