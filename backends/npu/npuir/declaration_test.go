package npuir

import (
	"os"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
)

// TestDeclaration: by the declaration, a host reads a program with all instructions and
// prints it again, the same to the byte.
func TestDeclaration(t *testing.T) {
	declared, err := decl.Load([]byte(Declaration()), dialect.All()...)
	if err != nil {
		t.Fatal(err)
	}
	if len(declared.Ops) != len(Dialect.Ops) {
		t.Errorf("it has %d of %d instructions", len(declared.Ops), len(Dialect.Ops))
	}
	const sample = "testdata/all.npuir"
	src, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	f, err := text.ParseFile(dialect.NewContext(declared), sample, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, f.Op, text.Options{})); got != string(src) {
		t.Errorf("printed:\n%s", got)
	}
	for i, op := range declared.Ops {
		got, want := op.Effects, Dialect.Ops[i].Effects
		if got.Read != want.Read || got.Write != want.Write || got.Alloc != want.Alloc || got.Unknown != want.Unknown {
			t.Errorf("%s has the effects %+v, want %+v", op.Name, got, want)
		}
	}
}
