package text_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

func TestAliases(t *testing.T) {
	ctx := dialect.NewContext()
	f, err := text.ParseFile(ctx, "k.ttgir", []byte(`#z = #ttg.shared_memory
#loc = loc("k.py":1:0)
#a = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
module {
}
#late = #z
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range f.Aliases() {
		got = append(got, a.Name+" = "+text.AttrString(ctx, a.Attr))
	}
	want := []string{
		"z = #ttg.shared_memory",
		"a = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>",
		"late = #ttg.shared_memory",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("alias %d: got %s, want %s", i, got[i], want[i])
		}
	}
}
