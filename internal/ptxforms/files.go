package ptxforms

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// device is the GPU that the list is of.
const device = "NVIDIA H200"

// AddRun adds the forms in a file that a run of the tests on a device wrote to the
// list in another, and returns how many it added, and how many that one has then.
// A comment of the run's file names the device.
func AddRun(list, run string) (added, total int, err error) {
	text, err := os.ReadFile(run)
	if err != nil {
		return 0, 0, err
	}
	named := false
	for line := range strings.Lines(string(text)) {
		named = named || line[0] == '#' && strings.Contains(line, device)
	}
	if !named {
		return 0, 0, fmt.Errorf("%s does not say that it is of an %s", run, device)
	}
	old, err := os.ReadFile(list)
	if err != nil {
		return 0, 0, err
	}
	known, err := Parse(list, old)
	if err != nil {
		return 0, 0, err
	}
	ran := List{}
	number := 0
	for line := range strings.Lines(string(text)) { // suites append, each its own
		number++
		if line[0] == '#' {
			continue
		}
		one, err := Parse(fmt.Sprintf("%s: line %d", run, number), []byte(line))
		if err != nil {
			return 0, 0, err
		}
		for _, rows := range one {
			for _, r := range rows {
				ran.Add(r)
			}
		}
	}
	for _, rows := range ran {
		for _, r := range rows {
			if known.Add(r) {
				added++
			}
		}
	}
	for _, rows := range known {
		total += len(rows)
	}
	return added, total, os.WriteFile(list, known.Format(), 0o644)
}

// MissingIn are the forms of PTX files, and of those anywhere in folders, that
// neither list of this package has, each with a file that has it, sorted.
func MissingIn(paths ...string) (rows []Row, files int, err error) {
	ran, unrun, err := Known()
	if err != nil {
		return nil, 0, err
	}
	missing := List{}
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path != root && filepath.Ext(path) != ".ptx" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			all, err := Missing(path, text, ran, unrun)
			for _, r := range all {
				missing.Add(r)
			}
			return err
		})
		if err != nil {
			return nil, 0, err
		}
	}
	if files == 0 {
		return nil, 0, errors.New("no PTX files in " + strings.Join(paths, ", "))
	}
	for _, forms := range missing {
		for _, r := range forms {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, compare)
	return rows, files, nil
}
