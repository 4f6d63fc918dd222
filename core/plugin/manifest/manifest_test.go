package manifest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
)

var sum = strings.Repeat("0a", 32)

func whole() *Manifest {
	return &Manifest{
		Name: "acme", Version: "1.2.0-rc.1+x", Protocol: []int{1}, Targets: []string{"acme:*"},
		Files: []File{
			{Path: "tritonc-backend-acme", Size: 3, SHA256: sum, Executable: true},
			{Path: "lib/tables.bin", Size: 5, SHA256: sum},
		},
	}
}

func TestManifest(t *testing.T) {
	text, err := whole().Encode()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse("m.json", text)
	if err != nil || !reflect.DeepEqual(m, whole()) {
		t.Fatalf("got %+v, %v", m, err)
	}
	if f, ok := m.File("lib/tables.bin"); !ok || f.Size != 5 || m.Program() != "tritonc-backend-acme" || !m.RunsHere() {
		t.Errorf("got %+v", m)
	}
	if m.System = "plan9/vax"; m.RunsHere() {
		t.Error("a program for another system runs here")
	}
}

// TestRefused: what would leave the folder, or contradicts itself, is refused.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		want string
		do   func(m *Manifest)
	}{
		{"the name", func(m *Manifest) { m.Name = "../x" }},
		{"the name", func(m *Manifest) { m.Name = "" }},
		{"the version", func(m *Manifest) { m.Version = ".." }},
		{"the version", func(m *Manifest) { m.Version = "1/2" }},
		{"no version of the protocol", func(m *Manifest) { m.Protocol = nil }},
		{"no targets", func(m *Manifest) { m.Targets = nil }},
		{"not a pattern", func(m *Manifest) { m.Targets = []string{"acme:["} }},
		{"no files", func(m *Manifest) { m.Files = nil }},
		{"not a plain relative one", func(m *Manifest) { m.Files[1].Path = "../x" }},
		{"not a plain relative one", func(m *Manifest) { m.Files[1].Path = "/etc/x" }},
		{"not a plain relative one", func(m *Manifest) { m.Files[1].Path = "lib/../x" }},
		{"not a plain relative one", func(m *Manifest) { m.Files[1].Path = `lib\x` }},
		{"not a plain relative one", func(m *Manifest) { m.Files[1].Path = "C:x" }},
		{"folders deep", func(m *Manifest) { m.Files[1].Path = strings.Repeat("d/", MaxDepth) + "x" }},
		{"listed twice", func(m *Manifest) { m.Files[1].Path = "Tritonc-Backend-Acme" }},
		{"lists itself", func(m *Manifest) { m.Files[1].Path = FileName }},
		{"not a SHA-256", func(m *Manifest) { m.Files[1].SHA256 = strings.ToUpper(sum) }},
		{"larger than", func(m *Manifest) { m.Files[1].Size = MaxTotalSize }},
		{"larger than", func(m *Manifest) { m.Files[1].Size = -1 }},
		{"is not among the files", func(m *Manifest) { m.Files = m.Files[1:] }},
		{"not marked as executable", func(m *Manifest) { m.Files[0].Executable = false }},
		{"more than", func(m *Manifest) { m.Files = make([]File, MaxFiles+1) }},
	} {
		m := whole()
		tt.do(m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("m.json", text); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "m.json: ") {
			t.Errorf("got %v, want %s", err, tt.want)
		}
		if _, err := m.Encode(); err == nil {
			t.Errorf("%s: it can be written", tt.want)
		}
	}
}

// TestPlaces: what is not JSON of the right form is an error with its place.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"name\": \"a\",,\n}":   "m.json:2:15: ",
		"{\n  \"name\": 7\n}":         "m.json:2:11: ",
		"{\n  \"names\": \"a\"\n}":    "m.json:",
		"{\n":                         "m.json:2:1: ",
		"{\"name\":\"a\"} {}":         "m.json:1:",
		`{"backends":[{"name":"a"}]}`: "m.json:1:",
	} {
		_, err := Parse("m.json", []byte(text))
		l := diag.All(err)
		if len(l) != 1 || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestRef(t *testing.T) {
	for _, s := range []string{"acme", "acme@1.2.0-rc.1+x", "a_b-c@1"} {
		if r, err := ParseRef(s); err != nil || r.String() != s {
			t.Errorf("%s: got %v, %v", s, r, err)
		}
	}
	for _, s := range []string{"", "@1", "acme@", "a b", "acme@1 2", "a/b", "acme@../x", "acme@1@2"} {
		if r, err := ParseRef(s); err == nil {
			t.Errorf("%q was taken as %+v", s, r)
		}
	}
	if CheckSum(sum) != nil || CheckSum("0a") == nil {
		t.Error("sums are not told from other texts")
	}
}

func TestLock(t *testing.T) {
	other := strings.Repeat("0b", 32)
	l := &Lock{Backends: []LockedBackend{
		{Name: "acme", Version: "1", File: "tritonc-backend-acme", SHA256: sum},
		{Name: "acme", System: "plan9/mips", File: "tritonc-backend-acme", SHA256: other},
		{Name: "else", System: System, File: "tritonc-backend-else", SHA256: other},
	}}
	text, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseLock(LockName, text)
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for name, want := range map[string][]string{"acme": {sum}, "else": {other}, "none": nil} {
		if sums := got.Sums(name); !reflect.DeepEqual(sums, want) {
			t.Errorf("%s: got %v, want %v", name, sums, want)
		}
	}
	third := strings.Repeat("0c", 32)
	got.Replace([]LockedBackend{{Name: "acme", System: System, SHA256: third}, {Name: "acme", System: System, SHA256: sum}})
	if sums := got.Sums("acme"); !reflect.DeepEqual(sums, []string{third, sum}) || len(got.Backends) != 4 || len(got.Sums("else")) != 1 {
		t.Errorf("after a replacement: %+v", got)
	}
	for _, bad := range []string{`{"backends":[{"name":"a"}]}`, `{"programs":[]}`, `[]`} {
		if _, err := ParseLock(LockName, []byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
