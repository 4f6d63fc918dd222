package frontend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// pen is a host that notes what is launched.
type pen struct{ lines []string }

func (p *pen) Import(name string, _ func(string) any) any {
	if name == "torch" {
		return &eval.Package{Name: "torch", Parts: map[string]any{
			"x": &vector{3}, "Function": applier{},
		}}
	}
	return nil
}

func (p *pen) Kernel(fn *eval.Function) any { return &penned{p, fn} }

// penned is a kernel as host code sees it.
type penned struct {
	pen *pen
	fn  *eval.Function
}

func (k *penned) Index(grid any) any {
	return &eval.Native{Name: "launcher", Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
		k.pen.lines = append(k.pen.lines, fmt.Sprintf("%s%s %s %v", k.fn.Name(), eval.Repr(grid), eval.Repr(eval.NewTuple(args...)), kw))
		return nil
	}}
}

func (k *penned) Attr(name string) (any, bool) { return "warm", name == "warmup" }

// vector is a value with arithmetic and an attribute.
type vector struct{ n int64 }

func (v *vector) Binary(op syntax.Operator, other any, reflected bool) (any, bool) {
	n, ok := eval.AsInt(other)
	if op == syntax.Sub && reflected {
		return &vector{n - v.n}, ok
	}
	return &vector{v.n + n}, ok
}

func (v *vector) SetAttr(name string, x any) bool {
	v.n, _ = eval.AsInt(x)
	return name == "n"
}

func (v *vector) Repr() string { return fmt.Sprintf("<%d>", v.n) }

// applier is a base class with an attribute made for each class.
type applier struct{}

func (applier) ClassAttr(c *eval.Class, name string) (any, bool) {
	return &eval.Native{Name: name, Fn: func(s *eval.Session, args []any, kw []eval.Keyword) any {
		return s.Apply(c.Method("forward"), args, kw)
	}}, name == "apply"
}

const hosted = `
import torch, triton, elsewhere
import triton.language as tl

@triton.jit
def k(x, n):
    pass

class Add(torch.Function):
    def forward(x, n=1):
        k[(n,)](x + n, n=n)
        x.n = 9
        return 10 - x

def main():
    return Add.apply(torch.x, n=4), k.warmup, k.__name__

def known():
    if elsewhere.FAST:
        return 1
    return 0

def worse():
    return k[1](torch.x + "a")
`

func TestHost(t *testing.T) {
	file, err := Parse("k.py", "", []byte(hosted))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ fn, says string }{
		{"main", "(<1>, 'warm', 'k')"},
		{"known", "k.py:19:5: error: 'elsewhere.FAST' is needed here, but module 'elsewhere' is not available"},
		{"worse", "k.py:24:17: error: unsupported operand"},
	} {
		host := &pen{}
		got := ""
		err := file.In(Environment{}).Host(t.Context(), host, nil, func(m *eval.Module) error {
			v, _ := m.Lookup(tt.fn)
			got = eval.Repr(m.Session.Apply(v, nil, nil))
			return nil
		})
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s, want %s", tt.fn, got, tt.says)
		}
		if want := "k(4,) (<7>,) [{n 4}]"; tt.fn == "main" && strings.Join(host.lines, "\n") != want {
			t.Errorf("launched %q, want %q", host.lines, want)
		}
	}
}
