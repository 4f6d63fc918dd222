package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/core/cache"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// shelf is a cache.Shared in memory. Everybody signs as "ci".
type shelf struct {
	mu      sync.Mutex
	index   map[cache.Key][]byte
	entries map[cache.Key][]byte
	claims  map[cache.Key]chan struct{}
	reads   bool // claims are given out to nobody
	waits   int
}

func newShelf() *shelf {
	return &shelf{index: map[cache.Key][]byte{}, entries: map[cache.Key][]byte{}, claims: map[cache.Key]chan struct{}{}}
}

func (s *shelf) Index(_ context.Context, k cache.Key) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index[k]
}

func (s *shelf) Entry(_ context.Context, k cache.Key) ([]byte, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[k], "ci"
}

func (s *shelf) Claim(_ context.Context, k cache.Key) (cache.Claim, bool) {
	s.mu.Lock()
	held, ok := s.claims[k]
	switch {
	case ok:
		s.waits++
		s.mu.Unlock()
		<-held
		return nil, true
	case s.reads:
		s.mu.Unlock()
		return nil, false
	}
	defer s.mu.Unlock()
	s.claims[k] = make(chan struct{})
	return &shelfClaim{s, k}, false
}

type shelfClaim struct {
	*shelf
	key cache.Key
}

func (c *shelfClaim) Keep(index []byte, entry cache.Key, data []byte) {
	c.mu.Lock()
	c.index[c.key], c.entries[entry] = index, data
	c.mu.Unlock()
	c.Drop()
}

func (c *shelfClaim) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.claims[c.key])
	delete(c.claims, c.key)
}

// sharing is a machine of several that share: its programs, its sources and its own cache
// lie where those of no other do.
type sharing struct {
	*cacheTest
	machine Machine
	home    string
}

func newSharing(t *testing.T, s *shelf) *sharing {
	m := &sharing{cacheTest: newCacheTest(t), home: t.TempDir()}
	m.identity = "toy 1 at " + m.home // which only this machine's own keys may have
	m.src.Path, m.src.Name, m.modules = filepath.Join(m.home, "k.py"), "lib/k.py", map[string]string{"consts": m.modules["consts"]}
	m.src.Text, m.sig = append([]byte("# tritonc: k(*fp32, B=4)\n"), m.src.Text...), "" // whose place is in the file
	as := filepath.Join(m.home, "as")
	m.file("as", "assembler 1")
	m.machine = Machine{
		Text:     "toy 1, as ab",
		Tools:    []sdk.ToolInfo{{Name: "as", Path: as, SHA256: "ab"}},
		LookedAt: []string{as, filepath.Join(m.home, "none")},
	}
	m.backend.as = as
	m.backend.lookedAt = []string{as}
	m.cache.Machine = func(context.Context, Target) (*Machine, error) { return &m.machine, nil }
	m.cache.Shared, m.cache.Trusts = s, func(signer string) bool { return signer == "ci" }
	return m
}

func (m *sharing) file(name, text string) string {
	m.t.Helper()
	path := filepath.Join(m.home, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// wantFrom compiles and checks where the kernel comes from: "compile", "shared cache" or
// "cache".
func (m *sharing) wantFrom(what, from string) *Kernel {
	m.t.Helper()
	before := m.backend.compiles
	k, err := m.compile()
	if err != nil {
		m.t.Fatalf("%s: %v", what, err)
	}
	got := "compile"
	if m.backend.compiles == before {
		got = k.Timings[0].Stage
	}
	if got != from {
		m.t.Errorf("%s: the kernel comes from the %s, want %s (%q)", what, got, from, m.log)
	}
	return k
}

// TestShared: what one machine compiles another takes, whose files lie elsewhere, and
// gets exactly what it would have compiled.
func TestShared(t *testing.T) {
	s := newShelf()
	a, b := newSharing(t, s), newSharing(t, s)
	a.wantFrom("the first machine", "compile")
	a.wantFrom("again", "cache")
	got := b.wantFrom("the second machine", "shared cache")
	printed := b.printed
	local := b.wantFrom("again", "cache")
	alone := newSharing(t, newShelf())
	alone.home, alone.src.Path, alone.machine, alone.backend.as, alone.backend.lookedAt = b.home, b.src.Path, b.machine, b.backend.as, b.backend.lookedAt
	want := alone.wantFrom("without the first", "compile")
	for _, k := range []*Kernel{got, local, want} {
		k.Timings = nil
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, local); d != "" {
		t.Error(d)
	}
	if got.Warnings[1].Pos.File != b.src.Path || got.Tools[0].Path != b.backend.as {
		t.Errorf("the warning is about %s, the tool is %s", got.Warnings[1].Pos.File, got.Tools[0].Path)
	}
	if !strings.Contains(printed, "B is 4") {
		t.Errorf("printed %q", printed)
	}
	// The kernel that came from there is this machine's only while its own files stay.
	b.file("as", "assembler 2, which is longer")
	b.machine.Text, b.machine.Tools = "toy 1, as cd", []sdk.ToolInfo{{Name: "as", Path: b.backend.as, SHA256: "cd"}}
	b.backend.sum = "cd"
	b.wantFrom("with another tool", "compile")
}

// TestSharedMany: of many kernels each machine gets the one that it asks for.
func TestSharedMany(t *testing.T) {
	s := newShelf()
	a, b := newSharing(t, s), newSharing(t, s)
	sigs := []string{"*fp32, 4", "*fp32, 8", "*fp16, 4", "*fp32:16, 4"}
	want := map[string]*Kernel{}
	for _, m := range []*sharing{a, b} {
		for _, sig := range sigs {
			for _, warps := range []int{4, 8} {
				m.sig, m.values = sig, map[string]any{"num_warps": warps}
				what := fmt.Sprintf("%s with %d warps", sig, warps)
				if m == a {
					want[what] = m.wantFrom(what, "compile")
					continue
				}
				got := m.wantFrom(what, "shared cache")
				if d := cmp.Diff(want[what].Artifacts, got.Artifacts); d != "" || string(got.Metadata) != string(want[what].Metadata) {
					t.Errorf("%s: another kernel came: %s\n%s", what, got.Metadata, d)
				}
			}
		}
	}
	// An entry under the key of another, as if somebody with a key had put it there.
	s = newShelf()
	newSharing(t, s).wantFrom("first", "compile")
	var own []byte
	for _, data := range s.entries {
		own = data
	}
	other := newSharing(t, s)
	other.values = map[string]any{"num_warps": 8}
	other.wantFrom("another", "compile")
	for k := range s.entries {
		s.entries[k] = own
	}
	third := newSharing(t, s)
	third.values = other.values
	third.wantFrom("another, with the first's entry", "compile")
}

// TestSharedNot: each thing that goes into a kernel, changed on one machine alone, keeps
// it from what another compiled.
func TestSharedNot(t *testing.T) {
	for _, tt := range []struct {
		what   string
		change func(m *sharing)
	}{
		{"the text", func(m *sharing) { m.src.Text = append(slices.Clone(m.src.Text), '\n') }},
		{"the name in locations", func(m *sharing) { m.src.Name = "other/k.py" }},
		{"the file's name", func(m *sharing) { m.src.Path = filepath.Join(m.home, "k2.py") }},
		{"a constant", func(m *sharing) { m.sig = "*fp32, 8" }},
		{"an option", func(m *sharing) { m.values = map[string]any{"num_warps": 8} }},
		{"the stages", func(m *sharing) { m.stages = []string{"asm"} }},
		{"the target", func(m *sharing) { m.target.Arch = "2" }},
		{"the compiler", func(m *sharing) { m.cache.Compiler = "newer" }},
		{"a tool or the backend", func(m *sharing) { m.machine.Text = "toy 1, as cd" }},
		{"an imported file", func(m *sharing) { m.modules["consts"] += "# more\n" }},
		{"a file that the other lacks", func(m *sharing) {
			m.modules["absent"] = "import triton.language as tl\nV = tl.constexpr(2.0)\n"
		}},
		{"a machine that shares nothing", func(m *sharing) { m.machine.Unshared = "because" }},
		{"a machine that cannot be described", func(m *sharing) {
			m.cache.Machine = func(context.Context, Target) (*Machine, error) { return nil, errors.New("broken") }
		}},
		{"a signer who is not trusted, later", func(m *sharing) {
			m.wantFrom("while trusted", "shared cache")
			m.cache.Trusts = func(string) bool { return false }
			m.cache.Shared = nil
		}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := newShelf()
			a, b := newSharing(t, s), newSharing(t, s)
			a.wantFrom("first", "compile")
			tt.change(b)
			b.wantFrom("changed", "compile")
			b.wantFrom("again", "cache")
		})
	}
}

// TestSharedInputs: files that the key does not have, with the same path on all machines,
// count by their bytes; both kernels stay.
func TestSharedInputs(t *testing.T) {
	s := newShelf()
	library := filepath.Join(t.TempDir(), "lib.bc")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(library, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	machine := func() *sharing {
		m := newSharing(t, s)
		m.backend.lookedAt = append(m.backend.lookedAt, library)
		m.backend.tools = []sdk.ToolInfo{{Name: "lib", Path: library, SHA256: "ef"}}
		return m
	}
	write("one")
	machine().wantFrom("first", "compile")
	machine().wantFrom("the same library", "shared cache")
	write("two")
	machine().wantFrom("another library", "compile")
	machine().wantFrom("the same other library", "shared cache")
	write("one")
	machine().wantFrom("the first library", "shared cache")
	// Another imported text may have other imports: a second set of inputs.
	more := func() *sharing {
		m := machine()
		m.modules["consts"], m.modules["deeper"] = "from deeper import N\n", m.modules["consts"]
		return m
	}
	more().wantFrom("more imports", "compile")
	more().wantFrom("more imports, again", "shared cache")
	machine().wantFrom("fewer imports", "shared cache")
}

// TestSharedWhenRun: a tool that does not run for every kernel counts for those that it had a
// part in: machines that differ in it share the others.
func TestSharedWhenRun(t *testing.T) {
	s := newShelf()
	machine := func(ran bool, tools ...sdk.ToolInfo) *sharing {
		m := newSharing(t, s)
		m.machine.WhenRun = []string{"llc"}
		for i := range tools {
			tools[i].Path = filepath.Join(m.home, tools[i].Name)
			m.machine.LookedAt = append(m.machine.LookedAt, tools[i].Path)
		}
		m.machine.Tools = append(m.machine.Tools, tools...)
		m.values = map[string]any{"num_warps": 4}
		if ran {
			m.values["num_warps"] = 8
			m.backend.tools = tools[:1]
		}
		return m
	}
	llc := func(hash string) []sdk.ToolInfo {
		return []sdk.ToolInfo{{Name: "llc", SHA256: "11"}, {Name: "llc/libLLVM.so", SHA256: hash}}
	}
	machine(false, llc("22")...).wantFrom("first, which llc has no part in", "compile")
	machine(false, llc("33")...).wantFrom("by another llc's side", "shared cache")
	machine(false, sdk.ToolInfo{Name: "llc"}).wantFrom("by no llc's side", "shared cache")
	machine(true, llc("22")...).wantFrom("by llc", "compile")
	machine(true, llc("22")...).wantFrom("by the same llc", "shared cache")
	machine(true, llc("33")...).wantFrom("by an llc that loads another library", "compile")
	machine(true, llc("22")...).wantFrom("by the first llc", "shared cache")
	unknown := machine(true, sdk.ToolInfo{Name: "llc"})
	unknown.wantFrom("by an llc of which it is not known what it loads", "compile")
	if !slices.ContainsFunc(unknown.log, func(line string) bool { return strings.Contains(line, "is not shared") }) {
		t.Errorf("log %q", unknown.log)
	}
}

// TestSharedKeeps: what another machine could not check, or should not see, stays here.
func TestSharedKeeps(t *testing.T) {
	for what, change := range map[string]func(m *sharing){
		"a tool that the backend does not list": func(m *sharing) {
			m.backend.tools = []sdk.ToolInfo{{Name: "ld", Path: "/ld", SHA256: "ef"}}
		},
		"a tool without a hash": func(m *sharing) { m.backend.sum = "-" },
		"a folder":              func(m *sharing) { m.backend.lookedAt = []string{m.home} },
		"a path in what was printed": func(m *sharing) {
			m.src.Text = []byte(strings.Replace(string(m.src.Text), `"B is"`, `"`+m.src.Path+`"`, 1))
		},
		"a tool's path in an artifact": func(m *sharing) {
			m.src.Text = []byte(strings.Replace(string(m.src.Text), `"B is"`, `"`+m.backend.as+`"`, 1))
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newShelf()
			m := newSharing(t, s)
			change(m)
			m.wantFrom("first", "compile")
			if len(s.entries) != 0 || len(s.claims) != 0 {
				t.Errorf("%d entries and %d claims are there", len(s.entries), len(s.claims))
			}
			if !slices.ContainsFunc(m.log, func(line string) bool { return strings.Contains(line, "is not shared") }) {
				t.Errorf("log %q", m.log)
			}
		})
	}
	s := newShelf()
	m := newSharing(t, s)
	m.backend.refusing = errors.New("no memory")
	if _, err := m.compile(); err == nil {
		t.Fatal("it compiled")
	}
	if len(s.claims) != 0 {
		t.Error("a compile that failed holds its claim")
	}
}

// TestSharedDamage: an index or entry that is not what a machine writes is none.
func TestSharedDamage(t *testing.T) {
	for what, damage := range map[string]func(s *shelf){
		"no JSON": func(s *shelf) { change(s.index, func([]byte) []byte { return []byte("x") }) },
		"a large index": func(s *shelf) {
			change(s.index, func(b []byte) []byte { return append(b, make([]byte, maxIndexSize)...) })
		},
		"a strange index": func(s *shelf) {
			change(s.index, func([]byte) []byte { return []byte(`{"sets":[{"modules":["../consts"],"files":["/dev/zero"]}]}`) })
		},
		"no entry":      func(s *shelf) { clear(s.entries) },
		"half an entry": func(s *shelf) { change(s.entries, func(b []byte) []byte { return b[:len(b)/2] }) },
		"another's file": func(s *shelf) {
			change(s.entries, func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), `\u0000source`, "/etc/passwd")) })
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newShelf()
			newSharing(t, s).wantFrom("first", "compile")
			damage(s)
			m := newSharing(t, s)
			m.wantFrom("damaged", "compile")
			newSharing(t, s).wantFrom("mended", "shared cache")
		})
	}
}

func change(m map[cache.Key][]byte, f func([]byte) []byte) {
	for k, v := range m {
		m[k] = f(slices.Clone(v))
	}
}

// TestSharedAtOnce: of machines that want one kernel at once, one compiles.
func TestSharedAtOnce(t *testing.T) {
	s := newShelf()
	var wg sync.WaitGroup
	machines := make([]*sharing, 16)
	for i := range machines {
		machines[i] = newSharing(t, s)
		wg.Go(func() {
			if _, err := machines[i].compile(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	compiles := 0
	for _, m := range machines {
		compiles += m.backend.compiles
	}
	if compiles != 1 || len(s.claims) != 0 {
		t.Errorf("%d compiles, %d claims are left", compiles, len(s.claims))
	}
	// Nobody waits for one who may not keep anything.
	s = newShelf()
	s.reads = true
	newSharing(t, s).wantFrom("a reader", "compile")
	newSharing(t, s).wantFrom("another reader", "compile")
}
