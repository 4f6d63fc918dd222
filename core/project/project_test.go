package project

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/manifest"
)

var sum = strings.Repeat("0a", 32)

// pins is a file's pins as text.
func pins(f *File) string {
	var out []string
	for _, p := range f.Pins {
		s := fmt.Sprintf("%d %s=%s", p.Line, p.Target, p.Ref)
		if p.Ref.SHA256 != "" {
			s += " " + p.Ref.SHA256[:4]
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// TestForms: a table can be written in many ways, which mean the same.
func TestForms(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"# nothing\n":     "",
		"[backends]\n":    "",
		"backends = {}\n": "",
		"[backends]\n# first\n\"cuda:*\" = \"nvidia@1.2\" # comment\n'hip:gfx9*' = 'amd'\n":        "3 cuda:*=nvidia@1.2, 4 hip:gfx9*=amd",
		"backends.\"cuda:*\" = \"nvidia\"\n":                                                       "1 cuda:*=nvidia",
		"backends = { \"cuda:*\" = \"nvidia\", \"a:b\" = { name = \"acme\" } }":                    "1 cuda:*=nvidia, 1 a:b=acme",
		"[backends.\"cuda:90\"]\nname = \"nvidia\"\nversion = \"1.2\"\nsha256 = \"" + sum + "\"\n": "1 cuda:90=nvidia@1.2 0a0a",
		"[backends]\n\"cuda:90\".name = \"nvidia\"\n\"cuda:90\".version = \"2\"\n":                 "2 cuda:90=nvidia@2",
	} {
		f, err := Parse("t.toml", []byte(text))
		if err != nil || pins(f) != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestMistakes: what is wrong is told with its place, the line and a caret.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"x = 1\n", `t.toml:1:1: error: unknown key "x"`},
		{"[backend]\n", `t.toml:1:2: error: unknown key "backend"`},
		{"\n[backends]\n\"cuda:90\" = 7\n", "t.toml:3:13: error: this is not a string"},
		{"[backends]\n\"cuda:90\" = \"a b\"\n", `t.toml:2:13: error: "a b" is not of the form NAME[@VERSION]`},
		{"[backends]\n\"cuda:[\" = \"a\"\n", `t.toml:2:1: error: "cuda:[" is not a pattern`},
		{"[backends]\n\"\" = \"a\"\n", `t.toml:2:1: error: "" is not a pattern`},
		{"[backends]\n\"cuda:90\" = { nam = \"a\" }\n", `t.toml:2:15: error: unknown key "nam"`},
		{"[backends]\n\"cuda:90\" = { version = \"1\" }\n", "t.toml:2:1: error: the pin of cuda:90 has no name"},
		{"[backends]\n\"cuda:90\" = {}\n", "t.toml:2:1: error: the pin of cuda:90 has no name"},
		{"[backends.\"cuda:90\"]\n", "t.toml:1:11: error: the pin of cuda:90 has no name"},
		{"[backends]\n\"cuda:90\" = { name = \"a/b\" }\n", `t.toml:2:22: error: "a/b" is not the name of a backend`},
		{"[backends]\n\"cuda:90\" = { name = \"a\", version = \"/\" }\n", `t.toml:2:37: error: "/" is not a version`},
		{"[backends]\n\"cuda:90\" = { name = \"a\", sha256 = \"00\" }\n", `t.toml:2:36: error: "00" is not a SHA-256`},
		{"[backends]\n\"cuda:90\" = { name = { a = \"b\" } }\n", `t.toml:2:24: error: unknown key "a"`},
		{"[[backends]]\n", "t.toml:1:3: error: [backends] is one table of pins"},
		{"backends = 1\n", "t.toml:1:1: error: [backends] is one table of pins"},
		{"[backends\n", "t.toml:1:"},
		{"[backends]\n\"a:b\" = \"x\"\n\"a:b\" = \"y\"\n", "t.toml:3:"},
	} {
		_, err := Parse("t.toml", []byte(tt.text))
		l := diag.All(err)
		if len(l) != 1 || !strings.HasPrefix(err.Error(), tt.want) || l[0].Line != diag.LineAt(tt.text, l[0].Pos.Line) {
			t.Errorf("%q: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestEdit: one value changes, and the rest stays.
func TestEdit(t *testing.T) {
	ref := manifest.Ref{Name: "nvidia", Version: "1.2"}
	summed := manifest.Ref{Name: "nvidia", Version: "1.2", SHA256: sum}
	const line = `"cuda:90" = "nvidia@1.2"` + "\n"
	for _, tt := range []struct {
		ref        manifest.Ref
		text, want string
	}{
		{ref, "", "[backends]\n" + line},
		{ref, "# mine", "# mine\n\n[backends]\n" + line},
		{ref, "[backends]\n# none\n", "[backends]\n" + line + "# none\n"},
		{ref, "[backends] # all", "[backends] # all\n" + line},
		{ref, "[backends]\n\"a:b\" = \"c\"  # why\n\n# end\n", "[backends]\n\"a:b\" = \"c\"  # why\n" + line + "\n# end\n"},
		{ref, "[backends]\n\"a:b\" = \"c\"\n[backends.x]\nname = \"c\"\n", "[backends]\n\"a:b\" = \"c\"\n" + line + "[backends.x]\nname = \"c\"\n"},
		{ref, "[backends]\n'cuda:90'='old@1'#why\n\"a:b\"=\"c\"\n", "[backends]\n'cuda:90'=\"nvidia@1.2\"#why\n\"a:b\"=\"c\"\n"},
		{ref, "[backends]\n\"cuda:90\" = { name = \"old\" } # why\n", "[backends]\n\"cuda:90\" = \"nvidia@1.2\" # why\n"},
		{ref, "backends = { \"cuda:90\" = 'old', \"a:b\" = \"c\" }\n", "backends = { \"cuda:90\" = \"nvidia@1.2\", \"a:b\" = \"c\" }\n"},
		{ref, "[farm]\nreplicas = 3\n", "[farm]\nreplicas = 3\n\n[backends]\n" + line},
		{ref, "[farm]\nreplicas = 3\n[backends]\n\"a:b\" = \"c\"\n[farm.trusted]\n", "[farm]\nreplicas = 3\n[backends]\n\"a:b\" = \"c\"\n" + line + "[farm.trusted]\n"},
		{summed, "", "[backends]\n\"cuda:90\" = { name = \"nvidia\", version = \"1.2\", sha256 = \"" + sum + "\" }\n"},
		{manifest.Ref{Name: "nvidia", SHA256: sum}, "", "[backends]\n\"cuda:90\" = { name = \"nvidia\", sha256 = \"" + sum + "\" }\n"},
	} {
		f, err := Parse("t.toml", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.WithPin("cuda:90", tt.ref)
		if err != nil || string(got) != tt.want {
			t.Errorf("%q: got %v\n%s\nwant\n%s", tt.text, err, got, tt.want)
		}
	}
	for _, text := range []string{
		"[backends.\"cuda:90\"]\nname = \"old\"\n", "[backends]\n\"cuda:90\".name = \"old\"\n",
		"backends = {}\n", "backends.\"a:b\" = \"c\"\n",
	} {
		f, err := Parse("t.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WithPin("cuda:90", ref)
		if l := diag.All(err); len(l) != 1 || !strings.Contains(l[0].Help, `"cuda:90" = "nvidia@1.2"`) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, FileName)
	if err := os.WriteFile(file, []byte("[backends]\n\"cuda:*\" = \"nvidia\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, below} {
		got, err := Find(from)
		if err != nil || got != file {
			t.Errorf("from %s: %s, %v", from, got, err)
		}
	}
	f, err := Load(file, file)
	if err != nil || pins(f) != "2 cuda:*=nvidia" {
		t.Errorf("got %v, %v", f, err)
	}
	if f, err := Load("", ""); f != nil || err != nil {
		t.Errorf("no file: %v, %v", f, err)
	}
	if _, err := Load(filepath.Join(dir, "none"), "none"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
}

// FuzzEdit: whatever is read, an edit gives a file with the pins that there were and
// the one that is new.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"", "[backends]\n\"a:b\" = \"c\"\n", "backends = { \"a:b\" = {name=\"c\"} }", "backends.x.name='''c'''\r\n[backends.y]\nname='d'"} {
		f.Add(s)
	}
	ref := manifest.Ref{Name: "nvidia", Version: "1.2"}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("t.toml", []byte(text))
		if err != nil {
			return
		}
		out, err := file.WithPin("cuda:90", ref)
		if err != nil {
			return
		}
		now, err := Parse("t.toml", out)
		if err != nil {
			t.Fatal(err)
		}
		refs := func(f *File) map[string]manifest.Ref {
			m := map[string]manifest.Ref{}
			for _, p := range f.Pins {
				m[p.Target] = p.Ref
			}
			return m
		}
		want := refs(file)
		want["cuda:90"] = ref
		if !reflect.DeepEqual(refs(now), want) {
			t.Errorf("%q became %q", text, out)
		}
	})
}
