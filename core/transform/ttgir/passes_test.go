package ttgir_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/internal/passtest"
)

// A pass is found by its name: one room has the file, the example and the archives
// of it, and no room has archives of a pass that Passes does not list.
func TestEachPassHasItsPlace(t *testing.T) {
	var names []string
	for _, p := range ttgir.Passes() {
		names = append(names, p.Name)
		file := strings.TrimPrefix(strings.TrimPrefix(p.Name, "tritongpu-"), "triton-")
		file = strings.ToLower(strings.ReplaceAll(file, "-", "_")) + ".go"
		rooms := roomsWith(t, file)
		if examples := roomsWith(t, filepath.Join("testdata", p.Name, "example.txtar")); len(rooms) != 1 || !slices.Equal(rooms, examples) {
			t.Errorf("%s: %s is in the rooms %q, the example in %q", p.Name, file, rooms, examples)
		}
	}
	archives, err := filepath.Glob("*/testdata/*")
	if err != nil || len(archives) < len(names) {
		t.Fatalf("%d folders of archives for %d passes, %v", len(archives), len(names), err)
	}
	for _, dir := range archives {
		if !slices.Contains(names, filepath.Base(dir)) {
			t.Errorf("%s has archives of a pass that Passes does not list", dir)
		}
	}
}

// Passes are those for a target without a matrix unit.
func TestWithoutMatrixUnit(t *testing.T) {
	passtest.Pipelines(t, "testdata/multiplyadd", ttgir.Passes())
}

// roomsWith lists the rooms that have the file.
func roomsWith(t *testing.T, file string) []string {
	paths, err := filepath.Glob(filepath.Join("*", file))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(p, string(filepath.Separator)+file)
	}
	return paths
}
