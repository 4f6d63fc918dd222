package frontend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/internal/golden"
)

// prelude comes before a case that imports nothing: the case is then the body
// of a kernel.
const prelude = `import triton
import triton.language as tl


@triton.jit
def k(x, y, n, B: tl.constexpr):
    o = tl.arange(0, 64)
`

const preludeSignature = "*fp32:16, *i32:16, i32, 64"

// TestErrors shows what a user sees of each mistake. An archive holds many
// cases, each after a line "#--- name"; a line "# -s signature" sets the
// signature, "# -n name" the kernel. A case without mistake fails the test.
func TestErrors(t *testing.T) {
	golden.Run(t, "testdata/errors", func(c *golden.Case) {
		var out strings.Builder
		for _, part := range strings.Split(c.Input("cases.py"), "#--- ")[1:] {
			name, src, _ := strings.Cut(part, "\n")
			fmt.Fprintf(&out, "%s\n", name)
			text := mistake(c.TB, strings.TrimRight(src, "\n")+"\n")
			if text == "" {
				c.Errorf("case %q: nothing is wrong", name)
			}
			for line := range strings.Lines(text) {
				out.WriteString("    " + line)
			}
			out.WriteString("\n")
		}
		c.Want("errors.txt", out.String())
	})
}

// mistake builds a case and returns what is printed of its errors.
func mistake(t testing.TB, src string) string {
	sig, kernel := preludeSignature, "k"
	for strings.HasPrefix(src, "# -") {
		line, rest, _ := strings.Cut(src, "\n")
		if v, ok := strings.CutPrefix(line, "# -s "); ok {
			sig = v
		} else if v, ok := strings.CutPrefix(line, "# -n "); ok {
			kernel = v
		}
		src = rest
	}
	if !strings.Contains(src, "import") {
		body := prelude
		for line := range strings.Lines(src) {
			body += "    " + line
		}
		src = body
	}
	var b strings.Builder
	print := func(err error) string {
		for _, d := range diag.All(err) {
			diag.Fprint(&b, d)
		}
		if err != nil && b.Len() == 0 {
			t.Errorf("not a diagnostic: %v", err)
		}
		return b.String()
	}
	f, err := Parse("k.py", "k.py", []byte(src))
	if err != nil {
		return print(err)
	}
	req := request(kernel, sig)
	if sig == "none" || sig == "comments" {
		req = &Request{}
	}
	_, err = (&setup{
		Facts: facts(),
		Warn:  func(d *diag.Diagnostic) { diag.Fprint(&b, d) },
	}).build(f, req)
	return print(err)
}
