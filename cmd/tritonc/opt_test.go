package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestOptPrintsReferences: opt prints Triton's own files back, without a flag,
// whatever target they are for: those below TRITONC_LAW_DIR, or of core/ir/text.
func TestOptPrintsReferences(t *testing.T) {
	dir := os.Getenv("TRITONC_LAW_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "core", "ir", "text", "testdata", "law")
	}
	vars := map[string]string{backendPathVar: buildBackends(t), "HOME": t.TempDir(), "PATH": os.Getenv("PATH")}
	lookup := func(key string) (string, bool) { v, ok := vars[key]; return v, ok }
	printed := map[string]int{} // by the target's folder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ending := filepath.Ext(path); err != nil || ending != ".ttir" && ending != ".ttgir" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"opt", path}, &environment{stdout: &out, stderr: &errs, lookupEnv: lookup, passes: neutralPasses()})
		if code != exitOK || !bytes.Equal(out.Bytes(), src) {
			t.Errorf("%s: code %d, %d bytes of %d\n%s", path, code, out.Len(), len(src), errs.String())
		}
		printed[filepath.Base(filepath.Dir(path))]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(printed)
	for _, folder := range []string{"sm90", "sm100", "gfx942"} {
		if printed[folder] == 0 {
			t.Errorf("no file of %s", folder)
		}
	}
}
