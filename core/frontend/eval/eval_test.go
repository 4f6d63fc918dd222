package eval

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

func load(t *testing.T, src string) *Module {
	t.Helper()
	tree, err := syntax.Parse("test.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return (&Session{}).Module(NewFile(tree, "test.py", ""))
}

func lookup(t *testing.T, src, name string) string {
	t.Helper()
	m := load(t, src)
	var v any
	var ok bool
	if f := Try(func() { v, ok = m.Lookup(name) }); f != nil {
		return "error: " + f.Diagnostic().Error()
	}
	if !ok {
		return "unbound"
	}
	return Repr(v)
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"1 + 2 * 3", "7"},
		{"-7 // 2", "-4"},
		{"-7 % 3", "2"},
		{"7 / 2", "3.5"},
		{"2 ** 70", "1180591620717411303424"},
		{"(2 ** 70) >> 60", "1024"},
		{"9223372036854775807 + 1", "9223372036854775808"},
		{"0xFFFFFFFFFFFFFFFF & 0xFF", "255"},
		{"1e-5", "1e-05"},
		{"1e16", "1e+16"},
		{"float('-inf')", "-inf"},
		{"3 if 1 < 2 < 3 else 4", "3"},
		{"'a' 'b' + 'c' * 2", "'abcc'"},
		{"[x * x for x in range(5) if x % 2]", "[1, 9]"},
		{"{k: v for k, v in [('a', 1), ('b', 2)]}", "{'a': 1, 'b': 2}"},
		{"(1,) + (2, 3)", "(1, 2, 3)"},
		{"[1, 2, 3][-1], 'abc'[::-1]", "(3, 'cba')"},
		{"max([3, 1, 2]), min(4, 2)", "(3, 2)"},
		{"sorted([3, 1, 2], key=lambda x: -x)", "[3, 2, 1]"},
		{"f'{3.14159:.2f}|{42:>5}|{255:#x}|{\"q\"!r}'", "\"3.14|   42|0xff|'q'\""},
		{"'%d-%s' % (3, 'x')", "'3-x'"},
		{"'a,b'.split(',')", "['a', 'b']"},
		{"True & False, 1 | 2, not 0", "(False, 3, True)"},
		{"len({'a': 1} | {'b': 2})", "2"},
		{"isinstance(3, int), isinstance('x', (int, str))", "(True, True)"},
		{"bool(re.search(r'(git|dev)', '2.10.0')), re.search('z', 'a')", "(False, None)"},
		{"re.match(r'(\\d+)\\.(\\d+)\\.(\\d+)', '2.10.0+cu126').groups()", "('2', '10', '0')"},
		{"re.fullmatch('ab', 'abc'), re.compile('B', re.I).match('bc').group()", "(None, 'b')"},
		{"re.match('(?P<n>a)(b)?', 'ac')['n'], re.match('(a)(b)?', 'ac').groups()", "('a', ('a', None))"},
		{"re.sub('[.]', '-', 'a.b'), re.split(',', 'a,b'), re.findall('a(.)', 'abac')", "('a-b', ['a', 'b'], ['b', 'c'])"},
		{"importlib.util.find_spec('a.b'), importlib.util.module_from_spec(importlib.util.find_spec('math')).gcd(4, 6)", "(None, 2)"},
		{"importlib.util.find_spec('math').loader.exec_module(math)", "None"},
		{"1 // 0", "error: test.py:1:5: error: integer division or modulo by zero"},
		{"nope", "error: test.py:1:5: error: name 'nope' is not defined"},
		{"1 + 'a'", "error: test.py:1:5: error: unsupported operand type(s) for +: 'int' and 'str'"},
	} {
		if got := lookup(t, "x = "+c.expr+"\nimport re, math, importlib.util", "x"); got != c.want {
			t.Errorf("%s = %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestModules(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"lazy", "y = undefined_thing\nx = 3\n", "3"},
		{"branches", "import math\nif math.pi > 3:\n    x = 1\nelse:\n    x = 2\n", "1"},
		{"mutated", "x = []\nfor i in range(3):\n    x.append(i)\nx.append(9)\n", "[0, 1, 2, 9]"},
		{"function", "def f(a, b=2, *c, d=4, **e):\n    return a, b, c, d, e\nx = f(1, 5, 6, d=7, z=8)\n", "(1, 5, (6,), 7, {'z': 8})"},
		{"changed later", "import os\nM = os.environ.get('A', '1')\nif M != '2':\n    os.environ['B'] = M\nx = M, os.environ['B']\n", "('1', '1')"},
		{"bound again by what it reads", "a = 1\nb = a + 1\na = b * 10\nx = a, b\n", "(20, 2)"},
		{"closure", "def f(n):\n    def g(k):\n        return n + k\n    return g\nx = f(3)(4)\n", "7"},
		{"try import", "try:\n    import nowhere\n    x = 1\nexcept ImportError:\n    x = 2\n", "2"},
		{"missing unused", "import torch\nT = torch.float32\nx = 3\n", "3"},
		{"missing used", "import torch\nx = torch.foo + 1\n", "error: test.py:2:5: error: 'torch.foo' is needed here, but module 'torch' is not available to the compiler (imported at test.py:1:8)"},
		{"budget", "x = 0\nwhile True:\n    x += 1\n", "error: test.py:3:5: error: compile-time evaluation takes more than 2000000 steps"},
		{"recursion", "def f(n):\n    return f(n + 1)\nx = f(0)\n", "error: test.py:2:12: error: maximum recursion depth exceeded"},
		{"named tuple", "from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n    b: int = 2\nx = P(1)\n", "P(a=1, b=2)"},
		{"class", "class C:\n    def __init__(self, v):\n        self.v = v\n    def get(self):\n        return self.v + 1\nx = C(3).get()\n", "4"},
		{"methods of classes", "class C:\n    n = 2\n    @classmethod\n    def a(cls, k):\n        return cls.n + k\n    @staticmethod\n    def b(k):\n        return k\n    @property\n    def c(self):\n        return 7\nx = C.a(1), C.b(5), C().b(6), C().c\n", "(3, 5, 6, 7)"},
		{"enumeration", "from enum import Enum\nclass E(Enum):\n    A = 1\n    B = 2\nx = [e.name for e in E], E.B.value\n", "(['A', 'B'], 2)"},
		{"condition on what is missing", "import torch\nif torch.cuda.is_available() and 1:\n    x = 1\nelif not torch.foo:\n    x = 2\n", "2"},
		{"environment", "import os\nx = os.environ.get('A', 1), os.getenv('B'), 'C' in os.environ\n", "(1, None, False)"},
		{"environment missing", "import os\nx = os.environ['A']\n", "error: test.py:2:5: error: 'A'"},
		{"rest of os", "import os\nx = os.getcwd() + 'a'\n", "error: test.py:2:5: error: 'os.getcwd()' is needed here, but module 'os' is not available to the compiler"},
		{"unwrapped constexpr", "def f(o):\n    return o.value if isinstance(o, (int, float)) else o\nx = f(3), f('a'), f(None)\n", "(3, 'a', None)"},
		{"failed before", "def f():\n    return nope\ntry:\n    y = f()\nfinally:\n    pass\nx = [hasattr(y, 'a') for i in range(2)]\n", "error: test.py:2:12: error: name 'nope' is not defined"},
		{"versions", "import operator\nfrom packaging.version import Version\nx = operator.ge(Version('3.10.1+x'), Version('3.9'))\n", "True"},
		{"walrus and unpacking", "a, *b = [1, 2, 3]\nx = (c := a + 1), b, c\n", "(2, [2, 3], 2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lookup(t, c.src, "x"); got != c.want {
				t.Errorf("x = %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestForeignDecorator(t *testing.T) {
	m := load(t, "import foreign\n@foreign.thing()\ndef k(a):\n    return a\n")
	v, _ := m.Lookup("k")
	if _, ok := v.(*Function); !ok {
		t.Fatalf("k is %s", Repr(v))
	}
	if n := m.Session.Notes; len(n) != 1 || !strings.Contains(n[0].Message, "@foreign.thing() of 'k' is skipped") {
		t.Errorf("notes: %v", n)
	}
}
