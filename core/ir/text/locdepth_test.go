package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Locations nest as deep as loops carry variables: the name of each is around
// the location of the loop.
func TestDeepLocations(t *testing.T) {
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("module {\n} loc(#loc" + fmt.Sprint(n) + ")\n#loc0 = loc(\"k.py\":1:0)\n")
		for i := range n {
			fmt.Fprintf(&b, "#loc%d = loc(\"a%d\"(#loc%d))\n", i+1, i, i)
		}
		return b.String()
	}
	m, err := text.Parse(dialect.NewContext(), "k.ttir", []byte(chain(text.MaxLocDepth/2-10)))
	if err != nil {
		t.Fatal(err)
	}
	printed := text.String(m)
	if n := strings.Count(printed, "loc(\"a"); n != text.MaxLocDepth/2-10 {
		t.Errorf("%d locations came back", n)
	}
	if _, err := text.Parse(dialect.NewContext(), "k.ttir", []byte(printed)); err != nil {
		t.Error(err)
	}
	inline := strings.Repeat(`"a"(`, 2*text.MaxLocDepth) + "unknown" + strings.Repeat(")", 2*text.MaxLocDepth)
	for name, src := range map[string]string{
		"aliases": chain(text.MaxLocDepth/2 + 10), "inline": "module {\n} loc(" + inline + ")\n",
	} {
		if _, err := text.Parse(dialect.NewContext(), "k.ttir", []byte(src)); err == nil || !strings.Contains(err.Error(), "nested deeper") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
