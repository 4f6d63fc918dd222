package llvm

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFindRefusesOldLLVM(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tool is a shell script")
	}
	path := filepath.Join(t.TempDir(), "llc")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '  LLVM version 14.0.6'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	kind := *LLC
	kind.Places = func(map[string]string) (programs, folders []string) { return []string{path}, nil }
	_, err := kind.Find(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "is 14.0.6, version 22 is needed") {
		t.Errorf("got %v", err)
	}
}
