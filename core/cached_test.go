package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/core/cache"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// counting is the toy backend; it counts its compiles, has looked at a file, and
// warns of each compile.
type counting struct {
	upper
	countMu  sync.Mutex
	compiles int
	lookedAt []string
	tools    []sdk.ToolInfo
	refusing error
	as, sum  string // path and hash of the tool that it runs; "": /as and ab, and "-" for no hash
}

func (b *counting) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	b.countMu.Lock()
	defer b.countMu.Unlock()
	b.compiles++
	resp, err := b.upper.RunStages(ctx, req)
	resp.LookedAt = b.lookedAt
	tool := sdk.ToolInfo{Name: "as", Path: cmp.Or(b.as, "/as"), Version: "1", SHA256: strings.Trim(cmp.Or(b.sum, "ab"), "-")}
	resp.Tools = append([]sdk.ToolInfo{tool}, b.tools...)
	resp.Diagnostics = append(resp.Diagnostics, sdk.Diagnostic{
		Severity: sdk.Warning, File: "k.py", Line: 3, Column: 1, Message: "slow", Notes: []sdk.Diagnostic{{Severity: sdk.Note, Message: "why"}},
	})
	if b.refusing != nil {
		err = b.refusing
	}
	return resp, err
}

const cachedKernel = `import triton
import triton.language as tl
from consts import N

try:
    from absent import V
except ImportError:
    V = tl.constexpr(1.0)

@triton.jit
def k(x, B: tl.constexpr):
    tl.static_print("B is", B)
    tl.store(x + N.value, V)
`

// cacheTest is a compile that can be changed in one thing and done again.
type cacheTest struct {
	t        *testing.T
	backend  *counting
	cache    *Cache
	log      []string
	identity string
	path     string
	modules  map[string]string
	src      Source
	sig      string
	target   Target
	values   map[string]any
	stages   []string
	printed  string
	lookedAt []string
}

func newCacheTest(t *testing.T) *cacheTest {
	c := &cacheTest{
		t: t, backend: &counting{}, identity: "toy 1", target: toy, sig: "*fp32, 4", stages: []string{SourceStage, "asm", "obj"},
		modules: map[string]string{"consts": "import triton.language as tl\nN = tl.constexpr(3)\n"},
		src:     Source{Path: "k.py", Text: []byte(cachedKernel)},
		values:  map[string]any{"num_warps": 4},
	}
	c.cache = &Cache{
		Store: cache.Open(t.TempDir(), 1<<20), Compiler: "test",
		Identity: func(context.Context, Target) (string, string, error) { return c.identity, c.path, nil },
		Log:      func(message string) { c.log = append(c.log, message) },
	}
	return c
}

// compile does what a fresh process does.
func (c *cacheTest) compile() (*Kernel, error) {
	c.t.Helper()
	src := c.src
	src.Import = c.find
	c.printed = ""
	opts := &Options{
		Select: c.choose,
		Values: c.values, Stages: c.stages, Cache: c.cache, Print: func(s string) { c.printed += s },
		LookedAt: func(paths []string) { c.lookedAt = paths },
	}
	variants, err := Variants(c.t.Context(), &src, c.target, opts, Want{Signature: c.sig})
	if err != nil {
		c.t.Fatal(err)
	}
	return Compile(c.t.Context(), variants[0], c.target, opts)
}

func (c *cacheTest) find(module string) (*Source, error) {
	text, ok := c.modules[module]
	if !ok {
		return nil, nil
	}
	return &Source{Path: module + ".py", Text: []byte(text)}, nil
}

func (c *cacheTest) choose(_ context.Context, t Target) (Backend, Target, error) {
	t.WarpSize = 8
	return c.backend, t, nil
}

// want compiles and checks whether that was work for the backend.
func (c *cacheTest) want(what string, fresh bool) *Kernel {
	c.t.Helper()
	before := c.backend.compiles
	k, err := c.compile()
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	if is := c.backend.compiles > before; is != fresh {
		c.t.Errorf("%s: compiled: %v, want %v (%q)", what, is, fresh, c.log)
	}
	if cached := len(k.Timings) == 1 && k.Timings[0].Stage == "cache"; cached == fresh {
		c.t.Errorf("%s: timings %v", what, k.Timings)
	}
	return k
}

// TestCached: what the cache has is found without compiling, and nothing else is.
func TestCached(t *testing.T) {
	c := newCacheTest(t)
	look := func() *Kernel {
		t.Helper()
		opts := &Options{Select: c.choose, Values: c.values, Stages: c.stages, Cache: c.cache}
		src := c.src
		src.Import = c.find
		variants, err := Variants(t.Context(), &src, c.target, opts, Want{Signature: c.sig})
		if err != nil {
			t.Fatal(err)
		}
		k, err := Cached(t.Context(), variants[0], c.target, opts)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	if k := look(); k != nil || c.backend.compiles != 0 {
		t.Errorf("an empty cache has %v, compiled %d times", k, c.backend.compiles)
	}
	want := c.want("first", true)
	got := look()
	if got == nil {
		t.Fatal("it is not found")
	}
	want.Timings, got.Timings = nil, nil
	if d := gocmp.Diff(want, got); d != "" || c.backend.compiles != 1 {
		t.Errorf("compiled %d times: %s", c.backend.compiles, d)
	}
	c.modules["consts"] += "\n"
	if k := look(); k != nil {
		t.Errorf("found with another module")
	}
}

// TestCacheSame: what comes out of the cache is what was compiled, all of it.
func TestCacheSame(t *testing.T) {
	c := newCacheTest(t)
	c.backend.lookedAt = []string{"/there", "/not there"}
	first := c.want("first", true)
	printed, looked := c.printed, c.lookedAt
	c.lookedAt = nil
	again := c.want("again", false)
	first.Timings, again.Timings = nil, nil
	if d := gocmp.Diff(first, again); d != "" {
		t.Error(d)
	}
	if !slices.Equal(looked, c.backend.lookedAt) || !slices.Equal(c.lookedAt, looked) {
		t.Errorf("looked at %q, and from the cache %q", looked, c.lookedAt)
	}
	if len(again.Warnings) != 2 || again.Warnings[1].Line == "" {
		t.Errorf("warnings %v", again.Warnings)
	}
	if !strings.Contains(printed, "B is 4") || c.printed != printed {
		t.Errorf("printed %q, and %q from the cache", printed, c.printed)
	}
	if again.Artifact("obj") == nil || !strings.Contains(string(again.Artifact(SourceStage).Data), "tt.func") {
		t.Errorf("artifacts %+v", again.Artifacts)
	}
	if len(c.log) > 0 {
		t.Errorf("log %q", c.log)
	}
}

// TestCacheMiss: each thing that goes into a kernel, changed alone, makes another
// one, and back again the first is still there.
func TestCacheMiss(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "as")
	if err := os.WriteFile(tool, []byte("tool"), 0o700); err != nil {
		t.Fatal(err)
	}
	setTime := func(at time.Time) {
		if err := os.Chtimes(tool, at, at); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-time.Hour)
	tests := []struct {
		what         string
		change, back func(c *cacheTest)
	}{
		{"the text", func(c *cacheTest) { c.src.Text = append(c.src.Text, '\n') }, nil},
		{"the path", func(c *cacheTest) { c.src.Path = "dir/k.py" }, nil},
		{"the name", func(c *cacheTest) { c.src.Name = "m/k.py" }, nil},
		{"the module", func(c *cacheTest) { c.src.Module = "m.k" }, nil},
		{"a definition", func(c *cacheTest) { c.src.Define = []Definition{{Name: "torch.x", Value: "1"}} }, nil},
		{"a constant", func(c *cacheTest) { c.sig = "*fp32, 8" }, nil},
		{"a type", func(c *cacheTest) { c.sig = "*fp16, 4" }, nil},
		{"a hint", func(c *cacheTest) { c.sig = "*fp32:16, 4" }, nil},
		{"an option", func(c *cacheTest) { c.values = map[string]any{"num_warps": 8} }, nil},
		{"the stages", func(c *cacheTest) { c.stages = []string{"asm"} }, nil},
		{"the target", func(c *cacheTest) { c.target.Arch = "2" }, nil},
		{"the backend", func(c *cacheTest) { c.identity = "toy 2" }, nil},
		{"the compiler", func(c *cacheTest) { c.cache.Compiler = "newer" }, nil},
		// These are not in the key: the entry is replaced.
		{"an imported file", func(c *cacheTest) { c.modules["consts"] += "# more\n" }, func(*cacheTest) {}},
		{"a file that was not there", func(c *cacheTest) { c.modules["absent"] = "import triton.language as tl\nV = tl.constexpr(2.0)\n" }, func(*cacheTest) {}},
		{"a tool", func(*cacheTest) { setTime(then.Add(time.Second)) }, func(*cacheTest) {}},
		{"a tool that was not there", func(c *cacheTest) {
			if err := os.WriteFile(tool+"2", nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}, func(*cacheTest) {}},
		{"a folder", func(c *cacheTest) {
			if err := os.WriteFile(filepath.Join(filepath.Dir(tool), "new"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, func(*cacheTest) {}},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			setTime(then)
			os.Remove(tool + "2")
			c := newCacheTest(t)
			c.backend.lookedAt = []string{tool, tool + "2", filepath.Dir(tool)}
			first := *c
			firstCache := *c.cache
			c.want("before", true)
			tt.change(c)
			c.want("changed", true)
			c.want("changed, again", false)
			if tt.back == nil {
				modules, backend := c.modules, c.backend
				*c = first
				c.modules, c.backend = modules, backend
				*c.cache = firstCache
				c.want("as before", false)
			} else if len(c.log) != 1 || !strings.Contains(c.log[0], "is not what it was") {
				t.Errorf("log %q", c.log)
			}
		})
	}
}

// TestCachePath: a search path that finds the same programs finds the same kernels.
func TestCachePath(t *testing.T) {
	root := t.TempDir()
	dir := func(name string, programs ...string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			if err := os.WriteFile(filepath.Join(path, p), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	none, old, as, other := dir("none", "ls"), dir("old", "as-1"), dir("as", "as", "ls"), dir("other", "as", "as-2")
	list := func(dirs ...string) string { return strings.Join(dirs, string(filepath.ListSeparator)) }
	// as-2 is looked for in all folders, then as until it is found; as-1 never.
	looked := func(dirs ...string) (paths []string) {
		for _, d := range dirs {
			paths = append(paths, filepath.Join(d, "as-2"))
		}
		for _, d := range dirs {
			if paths = append(paths, filepath.Join(d, "as")); d == as {
				break
			}
		}
		return paths
	}
	c := newCacheTest(t)
	c.path, c.backend.lookedAt = list(old, as), looked(old, as)
	c.backend.tools = []sdk.ToolInfo{{Name: "as", Path: filepath.Join(as, "as")}}
	c.want("first", true)
	for _, path := range []string{list(none, old, as), list(old, none, as), list(as), list(as, none), list(none, as, old, as)} {
		c.path = path
		c.want(path, false)
	}
	for _, path := range []string{list(old, as, other), list(other, as), list(old), "", list(old, as, "here")} {
		c.path = path
		c.want(path+", which may find others", true)
		c.want(path+", again", false)
	}
	c.path = list(none, as)
	c.want("the first again", false)
}

// TestCacheDamage: an entry that cannot be read is compiled anew, with a word for
// those who ask.
func TestCacheDamage(t *testing.T) {
	c := newCacheTest(t)
	want := c.want("first", true)
	filepath.WalkDir(c.cache.Store.Dir(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.WriteFile(path, []byte("tritonc cache 1 nonsense"), 0o600)
		}
		return err
	})
	got := c.want("damaged", true)
	if len(c.log) != 1 || !strings.Contains(c.log[0], "damaged") {
		t.Errorf("log %q", c.log)
	}
	want.Timings, got.Timings = nil, nil
	if d := gocmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	c.want("mended", false)
}

// TestCacheForm: an entry with a right checksum and another content is none.
func TestCacheForm(t *testing.T) {
	for _, data := range []string{
		"", "{}", "[]\n", "{\"artifacts\": 1}\n", `{"artifacts":[{"stage":"obj","size":5}]}` + "\nabc", `{"artifacts":[{"stage":"obj","size":-1}]}` + "\nabc",
	} {
		var e cacheEntry
		if k, err := e.decode([]byte(data)); err == nil {
			t.Errorf("%q: %+v", data, k)
		}
	}
}

func TestCacheKeepsNoErrors(t *testing.T) {
	c := newCacheTest(t)
	c.backend.refusing = errors.New("no memory")
	if _, err := c.compile(); err == nil {
		t.Fatal("it compiled")
	}
	c.backend.refusing = nil
	c.want("after an error", true)
}

// TestCacheUnusable: where nothing can be stored, compiling goes on.
func TestCacheUnusable(t *testing.T) {
	c := newCacheTest(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.cache.Store = cache.Open(filepath.Join(file, "below"), 1<<20)
	c.want("first", true)
	c.want("again", true)
	if len(c.log) == 0 {
		t.Error("nobody is told")
	}
	c.identity = "" // no backend answers: the trip says so
	c.want("no backend", true)
}

// TestCacheAtOnce: compiles of one kernel and of others share the cache.
func TestCacheAtOnce(t *testing.T) {
	c := newCacheTest(t)
	c.cache.Log = nil
	var wg sync.WaitGroup
	got := make([]string, 24)
	for i := range got {
		mine := *c
		mine.sig = fmt.Sprint("*fp32, ", i%3)
		wg.Go(func() {
			k, err := mine.compile()
			if err != nil {
				t.Error(err)
				return
			}
			k.Timings = nil
			text, err := json.Marshal(k)
			if err != nil {
				t.Error(err)
			}
			got[i] = string(text)
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] != got[i%3] {
			t.Errorf("compile %d gave\n%s\nand %d\n%s", i, got[i], i%3, got[i%3])
		}
	}
	if u, err := c.cache.Store.Usage(); err != nil || u.Entries != 3 {
		t.Errorf("usage %+v, %v", u, err)
	}
}
