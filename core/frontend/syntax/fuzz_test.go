package syntax

import (
	"errors"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
)

func addSeeds(f *testing.F) {
	f.Helper()
	for _, path := range []string{"testdata/constructs.txt", "testdata/errors.txt"} {
		for _, c := range readCases(f, path) {
			f.Add([]byte(c.text))
		}
	}
}

// FuzzLex checks that tokens follow one another and lie where they say.
func FuzzLex(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		src, d := decodeSource("t.py", data)
		if d != nil {
			return
		}
		var l lexer
		l.init("t.py", src, nil)
		at := int32(0)
		for {
			l.fill()
			if len(l.toks) == 0 {
				t.Fatal("an empty line of tokens")
			}
			for _, tok := range l.toks {
				if tok.off < at || tok.end < tok.off || int(tok.end) > len(src) {
					t.Fatalf("token %v at %d..%d after %d", tok.kind, tok.off, tok.end, at)
				}
				if tok.kind != tError && tok.Line == tok.EndLine && tok.EndCol-tok.Col != tok.end-tok.off {
					t.Fatalf("token %v: columns %d..%d, offsets %d..%d", tok.kind, tok.Col, tok.EndCol, tok.off, tok.end)
				}
				at = tok.end
			}
			switch l.toks[len(l.toks)-1].kind {
			case tError:
				if l.err == nil {
					t.Fatal("an error token without a diagnostic")
				}
				return
			case tEOF:
				return
			case tNewline:
			default:
				t.Fatalf("a line ends in %v", l.toks[len(l.toks)-1].kind)
			}
		}
	})
}

// FuzzParse checks that there is a tree, which holds together, or a diagnostic.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse("t.py", data)
		if err != nil {
			var d *diag.Diagnostic
			if !errors.As(err, &d) || d.Message == "" || d.Pos.File != "t.py" {
				t.Fatalf("not a diagnostic: %#v", err)
			}
			return
		}
		Dump(m)
		Inspect(m, func(n Node) bool {
			sp := n.Loc()
			if sp.Line < 1 || sp.EndLine < sp.Line || sp.EndLine == sp.Line && sp.EndCol < sp.Col {
				t.Fatalf("%T spans %v", n, sp)
			}
			if e, ok := n.(Expr); ok {
				if text := Unparse(e, 100); text == "" || len(text) > 100 {
					t.Fatalf("%T prints as %q", e, text)
				}
			}
			return true
		})
	})
}
