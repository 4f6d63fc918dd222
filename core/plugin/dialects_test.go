package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestDialect: of several backends that declare a dialect, that of the target
// goes first. Those that cannot be started do no harm, and once their
// declarations are known none is started.
func TestDialect(t *testing.T) {
	cache := t.TempDir()
	var dirs []string
	for _, mode := range []string{"exits", "test", "declares-a-x", "declares-b-x", "declares-c-y"} {
		dirs = append(dirs, testBackend(t, mode))
	}
	host := func() *Host {
		return newHost(t, Options{Dirs: dirs, LookupEnv: func(key string) (string, bool) { return cache, key == "XDG_CACHE_HOME" }})
	}
	for range 2 { // the second time with what the first one remembered
		h := host()
		for _, tt := range []struct{ dialect, target, want string }{
			{"x", "b:1", "declares-b-x by b"},
			{"x", "a:1", "declares-a-x by a"},
			{"x", "c:1", "declares-a-x by a"},
			{"y", "a:1", "declares-c-y by c"},
		} {
			target, err := sdk.ParseTarget(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			b, declaration, err := h.Dialect(t.Context(), tt.dialect, target)
			if err != nil || b == nil || b.Name()+" "+declaration != tt.want {
				t.Errorf("dialect %s for %s: %v, %q, %v; want %s", tt.dialect, tt.target, b, declaration, err, tt.want)
			}
		}
		if b, _, err := h.Dialect(t.Context(), "z", sdk.Target{}); b != nil || err == nil || !strings.Contains(err.Error(), "libfoo.so.3") {
			t.Errorf("dialect z: %v, %v", b, err)
		}
	}
	h := host()
	if _, _, err := h.Dialect(t.Context(), "y", sdk.Target{}); err != nil {
		t.Fatal(err)
	}
	for _, b := range h.Backends() {
		if b.proc != nil {
			t.Errorf("%s was started for declarations that are known", b.Name())
		}
	}
}

// TestDialectsRemembered: what a program declares is asked for once, and not again
// in another process while its hash stays.
func TestDialectsRemembered(t *testing.T) {
	cache := t.TempDir()
	env := func(key string) (string, bool) { return cache, key == "XDG_CACHE_HOME" }
	dir := testBackend(t, "declares-a-x")
	declared := func() string {
		t.Helper()
		_, text, err := newHost(t, Options{Dirs: []string{dir}, LookupEnv: env}).Dialect(t.Context(), "x", sdk.Target{})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := declared(); got != "by a" {
		t.Errorf("got %q", got)
	}
	files, err := filepath.Glob(filepath.Join(cache, "tritonc", "dialects", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("kept in %v, %v", files, err)
	}
	for _, tt := range []struct{ file, want string }{
		{`[{"name":"x","declaration":"from the file"}]`, "from the file"},
		{`[{"name":`, "by a"}, // broken, and written anew
	} {
		if err := os.WriteFile(files[0], []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := declared(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), "by a") {
		t.Errorf("%s, %v", text, err)
	}
}
