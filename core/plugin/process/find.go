package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tritonc/tritonc/core/trust"
)

// Found is a plugin's program on disk. Problem says why it cannot be used.
type Found struct {
	Name    string
	Path    string
	Problem error
	// Expected is what the file must be when it is started.
	Expected []Expected
}

// Find lists the programs in dirs whose file's name is prefix and a name, in the
// order of dirs and then of names. Of two with one name the first holds.
// Folders that are not there are passed over.
func Find(dirs []string, prefix string) []Found {
	var found []Found
	seen := map[string]bool{}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		entries, err := os.ReadDir(dir) // sorted by name
		if err != nil {
			continue
		}
		dirProblem := checkDir(dir)
		for _, e := range entries {
			name, ok := nameOf(e.Name(), prefix)
			if !ok || seen[name] {
				continue
			}
			f := Found{Name: name, Path: filepath.Join(dir, e.Name()), Problem: dirProblem}
			if f.Problem == nil {
				f.Problem = checkFile(f.Path)
			}
			seen[name] = true
			found = append(found, f)
		}
	}
	return found
}

// nameOf takes what follows prefix; a manifest or a log beside a program has a
// dot in its name and is none.
func nameOf(file, prefix string) (string, bool) {
	if runtime.GOOS == "windows" {
		file = strings.TrimSuffix(file, ".exe")
	}
	name, ok := strings.CutPrefix(file, prefix)
	return name, ok && name != "" && !strings.Contains(name, ".")
}

// checkDir refuses a folder into which others may put a program that we would
// then run.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if trust.WritableByOthers(info) {
		return fmt.Errorf("its folder %s may be written by others (mode %#o); make it safe with: chmod go-w %s", dir, info.Mode().Perm(), dir)
	}
	return nil
}

func checkFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("it is not executable; allow it with: chmod +x %s", path)
	case trust.WritableByOthers(info):
		return fmt.Errorf("it may be written by others (mode %#o); make it safe with: chmod go-w %s", info.Mode().Perm(), path)
	}
	return nil
}
