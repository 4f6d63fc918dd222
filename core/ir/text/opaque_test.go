package text_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

// An attribute of a dialect that is not loaded is kept as text, in which an alias
// of its file would mean nothing.
func TestOpaqueAliases(t *testing.T) {
	const in = `#inner = #x.inner<on = true>
#middle = #x.middle<[#inner, 1 : i32], #x.y>
#outer = #x.outer<licm = #inner, and = #middle, #inner>
module attributes {a = #outer, b = #inner} {}
`
	m, err := text.Parse(dialect.NewContext(), "k.mlir", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	const inner = "#x.inner<on = true>"
	const want = "module attributes {a = #x.outer<licm = " + inner + ", and = #x.middle<[" + inner + ", 1 : i32], #x.y>, " + inner + ">, b = " + inner + "} {\n}\n"
	var got strings.Builder
	if err := text.Print(&got, m, text.Options{Local: true}); err != nil || got.String() != want {
		t.Errorf("got  %swant %s(error %v)", got.String(), want, err)
	}
}

// What has an angle right after its name is an attribute of that dialect, also where an alias
// has the same name, and inside of another attribute.
func TestOpaqueNamedAsAlias(t *testing.T) {
	const in = `#blocked = #x.y<1>
module attributes {a = #blocked<on = true>, b = #blocked, c = #x.z<#blocked<on = true>, #blocked>} {}
`
	m, err := text.Parse(dialect.NewContext(), "k.mlir", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	const want = "module attributes {a = #blocked<on = true>, b = #x.y<1>, c = #x.z<#blocked<on = true>, #x.y<1>>} {\n}\n"
	var got strings.Builder
	if err := text.Print(&got, m, text.Options{Local: true}); err != nil || got.String() != want {
		t.Errorf("got  %swant %s(error %v)", got.String(), want, err)
	}
}

// Aliases in what an alias stands for are written out, too.
func TestOpaqueAliasesOfKnownAttributes(t *testing.T) {
	const in = `#lines = [#one, 2 : i32]
#one = #x.one
module attributes {a = #x.y<#lines, #one>} {}
`
	m, err := text.Parse(dialect.NewContext(), "k.mlir", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	const want = "module attributes {a = #x.y<[#x.one, 2 : i32], #x.one>} {\n}\n"
	if got := string(text.Append(nil, m, text.Options{})); got != want {
		t.Errorf("got %swant %s", got, want)
	}
}

// Aliases that double the text with each line end in a diagnostic.
func TestOpaqueAliasesGrow(t *testing.T) {
	for _, brackets := range []string{"#x.y<>", "[]"} {
		var in strings.Builder
		open, end := brackets[:len(brackets)-1], brackets[len(brackets)-1:]
		in.WriteString("#a = " + open + "1" + end + "\n")
		for i := range 60 {
			name := "#" + strings.Repeat("a", i+1)
			in.WriteString(name + "a = " + open + name + ", " + name + end + "\n")
		}
		in.WriteString("module attributes {a = #x.y<#" + strings.Repeat("a", 61) + ">} {}\n")
		_, err := text.Parse(dialect.NewContext(), "k.mlir", []byte(in.String()))
		if err == nil || !strings.Contains(err.Error(), "an attribute of more than 65536 bytes") {
			t.Errorf("%s: error is %v", brackets, err)
		}
	}
}

// A type of a dialect that is not loaded is kept in one line, without comments.
func TestOpaqueComments(t *testing.T) {
	const in = `tt.func public @f(%x: !x.struct<(f32,
  f32, // two
  "//", f32)>) {
  tt.return
}
`
	m, err := text.Parse(dialect.NewContext(), "k.mlir", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	once := text.String(m)
	if !strings.Contains(once, `!x.struct<(f32, f32, "//", f32)>`) {
		t.Errorf("got %s", once)
	}
	again, err := text.Parse(dialect.NewContext(), "k.mlir", []byte(once))
	if err != nil || text.String(again) != once {
		t.Errorf("it reads back as %v, error %v", again, err)
	}
}
