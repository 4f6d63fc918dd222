package filememo

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMemo(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "sub", "memo.json")
	tool := filepath.Join(dir, "tool")
	stat := func(text string, at time.Time) os.FileInfo {
		t.Helper()
		if err := os.WriteFile(tool, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(tool, at, at); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(tool)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	now := time.Now()
	first := stat("one", now)
	m := New[string](store)
	if v, ok := m.Get(tool, first); ok {
		t.Errorf("an empty memo knows %q", v)
	}
	m.Put(tool, first, "1.0")
	m.Put(filepath.Join(dir, "gone"), first, "0.9")
	m.Put(dir, first, "2.0")
	for _, m := range []*Memo[string]{m, New[string](store)} {
		if v, ok := m.Get(tool, first); !ok || v != "1.0" {
			t.Errorf("got %q, %v", v, ok)
		}
		if _, ok := m.Get(tool, stat("longer", now)); ok {
			t.Error("it takes a file of another size for the same")
		}
		if _, ok := m.Get(tool, stat("two", now.Add(time.Second))); ok {
			t.Error("it takes a newer file for the same")
		}
	}
	m.Put(tool, first, "1.1")
	text, err := os.ReadFile(store)
	if err != nil || strings.Count(string(text), tool) != 1 || strings.Contains(string(text), "gone") || !strings.Contains(string(text), "2.0") {
		t.Errorf("the file has\n%s (%v)", text, err)
	}
	if err := os.WriteFile(store, []byte("[{broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	m = New[string](store)
	if _, ok := m.Get(tool, first); ok {
		t.Error("a broken file is known")
	}
	m.Put(tool, first, "1.2")
	if v, ok := New[string](store).Get(tool, first); !ok || v != "1.2" {
		t.Errorf("after a broken file: %q, %v", v, ok)
	}
	m = New[string]("")
	m.Put(tool, first, "1.3")
	if v, ok := m.Get(tool, first); !ok || v != "1.3" {
		t.Errorf("in memory: %q, %v", v, ok)
	}
	m = New[string](filepath.Join(store, "below-a-file"))
	m.Put(tool, first, "1.4")
	if v, ok := m.Get(tool, first); !ok || v != "1.4" {
		t.Errorf("without a place to write: %q, %v", v, ok)
	}
}

// TestOneFile: memos of one file share what was read of it, and see what others write.
func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "memo.json")
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	New[map[string]int](store).Put(dir, info, map[string]int{"a": 1})
	first, ok := New[map[string]int](store).Get(dir, info)
	if !ok || first["a"] != 1 {
		t.Fatalf("got %v, %v", first, ok)
	}
	again, ok := New[map[string]int](store).Get(dir, info)
	first["a"] = 2
	if !ok || again["a"] != 2 {
		t.Errorf("it is decoded again: %v, %v", again, ok)
	}
	if v, ok := New[string](store).Get(dir, info); ok {
		t.Errorf("as text it has %q", v)
	}
	New[map[string]int](store).Put(dir, info, map[string]int{"a": 3})
	if v, ok := New[map[string]int](store).Get(dir, info); !ok || v["a"] != 3 {
		t.Errorf("after another wrote: %v, %v", v, ok)
	}
}

// TestUntrusted: what others could have written is not believed.
func TestUntrusted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no such modes")
	}
	dir := t.TempDir()
	store := filepath.Join(dir, "memo.json")
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	New[string](store).Put(dir, info, "1.0")
	if v, ok := New[string](store).Get(dir, info); !ok || v != "1.0" {
		t.Fatalf("got %q, %v", v, ok)
	}
	for _, place := range []string{store, dir} {
		if err := os.Chmod(place, 0o777); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(store)
		if err != nil {
			t.Fatal(err)
		}
		m := New[string](store)
		if v, ok := m.Get(dir, info); ok {
			t.Errorf("with %s for all it knows %q", place, v)
		}
		m.Put(dir, info, "1.1")
		if v, ok := m.Get(dir, info); !ok || v != "1.1" {
			t.Errorf("in memory: %q, %v", v, ok)
		}
		if after, err := os.ReadFile(store); err != nil || string(after) != string(before) {
			t.Errorf("the file is written: %s, %v", after, err)
		}
		if err := os.Chmod(place, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShape: what a version of the program with other fields wrote is not known to this one.
func TestShape(t *testing.T) {
	type nested struct{ Names []string }
	type older struct {
		Version string
		Of      nested
	}
	type newer struct {
		Version string
		Of      map[string]*nested
	}
	store, tool := filepath.Join(t.TempDir(), "memo.json"), os.Args[0]
	info, err := os.Stat(tool)
	if err != nil {
		t.Fatal(err)
	}
	New[older](store).Put(tool, info, older{Version: "1"})
	if v, ok := New[newer](store).Get(tool, info); ok {
		t.Errorf("it knows %v", v)
	}
	if v, ok := New[older](store).Get(tool, info); !ok || v.Version != "1" {
		t.Errorf("got %v, %v", v, ok)
	}
	New[newer](store).Put(tool, info, newer{Version: "2"})
	if v, ok := New[newer](store).Get(tool, info); !ok || v.Version != "2" {
		t.Errorf("got %v, %v", v, ok)
	}
}
