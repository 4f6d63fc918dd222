package core

import (
	"os"
	"path/filepath"
	"slices"
)

// samePrograms reports whether another search path finds the programs that went into an
// entry: those that were looked for are looked for again, by their names, in as many
// folders as then. What runs with a path that only begins or ends with other folders, as
// a shell with an environment of Python's does, need not compile anew.
func (e *cacheEntry) samePrograms(path string) bool {
	if path == e.Path {
		return true
	}
	before, after := filepath.SplitList(e.Path), filepath.SplitList(path)
	relative := func(dir string) bool { return !filepath.IsAbs(dir) }
	if slices.ContainsFunc(before, relative) || slices.ContainsFunc(after, relative) {
		return false // it depends on more
	}
	looked, used := map[string]bool{}, map[string]bool{}
	for _, f := range e.Files {
		looked[f.Path] = true
	}
	for _, t := range e.Tools {
		looked[t.Path], used[t.Path] = true, true
	}
	names := map[string]bool{}
	for file := range looked {
		names[filepath.Base(file)] = true
	}
	for name := range names {
		last := -1 // of the folders that were searched for it
		for i, dir := range before {
			if looked[filepath.Join(dir, name)] {
				last = i
			}
		}
		if last < 0 {
			continue
		}
		then, now := found(before[:last+1], name), found(after, name)
		if used[filepath.Join(before[last], name)] { // the search ended there
			now = now[:min(len(now), len(then))]
		}
		if !slices.Equal(then, now) {
			return false
		}
	}
	return true
}

// found lists the files of a name in folders.
func found(dirs []string, name string) (list []string) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}
