package manifest

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
)

// FileName is the manifest's name, in the folder of the program.
const FileName = "tritonc-backend.json"

// ProgramPrefix starts the name of a backend's program.
const ProgramPrefix = "tritonc-backend-"

// Limits of what a manifest may list.
const (
	MaxFiles     = 10_000
	MaxTotalSize = 4 << 30 // bytes of all files
	MaxDepth     = 16      // folders of a path
)

// Manifest describes one version of a backend.
type Manifest struct {
	// Name is that of the program tritonc-backend-<name>.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Protocol lists the major versions of the protocol that the program speaks.
	Protocol []int `json:"protocol"`
	// Targets are patterns such as "cuda:80" or "hip:gfx9*".
	Targets []string `json:"targets"`
	// System is the GOOS/GOARCH that the program runs on, such as "linux/amd64";
	// empty: any.
	System string `json:"system,omitempty"`
	Files  []File `json:"files"`
}

// File is one file of a backend.
type File struct {
	Path       string `json:"path"` // relative, with slashes
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"` // in hex
	Executable bool   `json:"executable,omitempty"`
}

var (
	nameForm    = form(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	versionForm = form(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)
	sumForm     = form(`^[0-9a-f]{64}$`)
)

// form is a pattern that is compiled when it is used first, which few commands do.
func form(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Parse reads a manifest. at names the file in diagnostics.
func Parse(at string, text []byte) (*Manifest, error) {
	var m Manifest
	if err := decode(at, text, &m); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, diag.Errorf(diag.Pos{File: at}, "%v", err)
	}
	return &m, nil
}

// Encode is the manifest's text.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// Program is the path of the backend's program.
func (m *Manifest) Program() string {
	for i := range m.Files {
		if p := m.Files[i].Path; p == ProgramPrefix+m.Name || p == ProgramPrefix+m.Name+".exe" {
			return p
		}
	}
	return ""
}

// File returns the entry of a path.
func (m *Manifest) File(p string) (File, bool) {
	i := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == p })
	if i < 0 {
		return File{}, false
	}
	return m.Files[i], true
}

// RunsHere reports whether the program is for this system.
func (m *Manifest) RunsHere() bool {
	return m.System == "" || m.System == runtime.GOOS+"/"+runtime.GOARCH
}

func (m *Manifest) check() error {
	switch {
	case !nameForm().MatchString(m.Name):
		return fmt.Errorf("the name %q is not one of letters, digits, _ and -", m.Name)
	case !versionForm().MatchString(m.Version):
		return fmt.Errorf("the version %q is not one of letters, digits, '.', _, + and -", m.Version)
	case len(m.Protocol) == 0:
		return fmt.Errorf("no version of the protocol is given")
	case len(m.Targets) == 0:
		return fmt.Errorf("no targets are given")
	case len(m.Files) == 0:
		return fmt.Errorf("no files are listed")
	case len(m.Files) > MaxFiles:
		return fmt.Errorf("more than %s: %d", diag.Count(MaxFiles, "file"), len(m.Files))
	}
	for _, p := range m.Targets {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return fmt.Errorf("the target %q is not a pattern", p)
		}
	}
	return m.checkFiles()
}

func (m *Manifest) checkFiles() error {
	seen := map[string]bool{} // in lower case: not every file system tells case
	total := int64(0)
	for i := range m.Files {
		f := &m.Files[i]
		if err := CheckPath(f.Path); err != nil {
			return err
		}
		switch lower := strings.ToLower(f.Path); {
		case seen[lower]:
			return fmt.Errorf("the file %s is listed twice", f.Path)
		case lower == FileName:
			return fmt.Errorf("%s lists itself", FileName)
		default:
			seen[lower] = true
		}
		if !sumForm().MatchString(f.SHA256) {
			return fmt.Errorf("the file %s: %q is not a SHA-256 in lower-case hex", f.Path, f.SHA256)
		}
		if f.Size < 0 || f.Size > MaxTotalSize-total {
			return fmt.Errorf("the file %s: with its size, %d, the backend is larger than %d GiB", f.Path, f.Size, MaxTotalSize>>30)
		}
		total += f.Size
	}
	program, _ := m.File(m.Program())
	if program.Path == "" {
		return fmt.Errorf("the program %s%s is not among the files", ProgramPrefix, m.Name)
	}
	if !program.Executable {
		return fmt.Errorf("the program %s is not marked as executable", program.Path)
	}
	return nil
}

// CheckPath refuses a path that could leave the folder it is joined to, here or on
// another system.
func CheckPath(p string) error {
	switch {
	case p == "" || p == "." || path.Clean(p) != p || strings.ContainsAny(p, "\\:\x00"),
		!filepath.IsLocal(filepath.FromSlash(p)), strings.HasPrefix(p, "/"):
		return fmt.Errorf("the path %q is not a plain relative one", p)
	case strings.Count(p, "/") >= MaxDepth:
		return fmt.Errorf("the path %q is more than %d folders deep", p, MaxDepth)
	}
	return nil
}
