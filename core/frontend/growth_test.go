package frontend

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/work"
)

// TestVariantsGrowth: finding the variants of a file visits as much more as the file
// has more configurations, whether their names tell them apart or a number has to, and
// kernels.
func TestVariantsGrowth(t *testing.T) {
	const head = "import triton\nimport triton.language as tl\n\n\n"
	kinds := []struct {
		name   string
		source func(n int) string
		req    Request
	}{
		{"configurations", func(n int) string {
			return fmt.Sprintf(head+"@triton.autotune(configs=[triton.Config({'B': 64, 'K': i}) for i in range(%d)], key=[])\n@triton.jit\ndef k(x, n, B: tl.constexpr, K: tl.constexpr):\n    tl.store(x + K, n)\n", n)
		}, Request{Signature: "*i32, i32", Config: AllConfigs}},
		{"equal configurations", func(n int) string {
			return fmt.Sprintf(head+"configs = [triton.Config({'K': 1}) for i in range(%d)]\n\n\n@triton.autotune(configs=configs, key=[])\n@triton.jit\ndef k(x, n, K: tl.constexpr):\n    tl.store(x + K, n)\n", n)
		}, Request{Signature: "*i32, i32", Config: AllConfigs}},
		{"kernels", func(n int) string {
			var s strings.Builder
			s.WriteString(head)
			for i := range n {
				fmt.Fprintf(&s, "# tritonc: k%[1]d(*i32, i32)\n@triton.jit\ndef k%[1]d(x, n):\n    tl.store(x + %[1]d, n)\n\n\n", i)
			}
			return s.String()
		}, Request{}},
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			visits := func(n int) int64 {
				f, err := Parse("k.py", "k.py", []byte(k.source(n)))
				if err != nil {
					t.Fatal(err)
				}
				m := work.Start(t.Context())
				defer m.End()
				list, err := (&setup{Facts: facts()}).in(f).variants(t.Context(), m, &k.req)
				if err != nil || len(list) != n {
					t.Fatalf("%d variants of %d: %v", len(list), n, err)
				}
				names := map[string]bool{}
				for _, v := range list {
					names[v.Kernel+" "+v.Name] = true
				}
				if len(names) != n {
					t.Errorf("%d variants have %d names", n, len(names))
				}
				return m.Visits()
			}
			few, many := visits(250), visits(1000)
			t.Logf("%d and %d visits", few, many)
			if few < 250 || many > 5*few {
				t.Errorf("250 take %d visits, 1,000 take %d: that is not linear", few, many)
			}
		})
	}
}

// TestBuildsGrowth: what building all variants of a file visits grows as they do,
// though the list of configurations is evaluated as the file is.
func TestBuildsGrowth(t *testing.T) {
	visits := func(n int) int64 {
		f, err := Parse("k.py", "k.py", fmt.Appendf(nil, `import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({'B': 64, 'K': i}) for i in range(%d)], key=[])
@triton.jit
def k(x, n, B: tl.constexpr, K: tl.constexpr):
    tl.store(x + K, n)
`, n))
		if err != nil {
			t.Fatal(err)
		}
		s := &setup{Facts: facts()}
		p := s.in(f)
		list, err := p.Variants(t.Context(), &Request{Signature: "*i32, i32", Config: AllConfigs})
		if err != nil || len(list) != n {
			t.Fatalf("%d variants of %d: %v", len(list), n, err)
		}
		var sum int64
		for _, v := range list {
			m := work.Start(t.Context())
			if _, err := p.Build(t.Context(), dialect.NewContext(), v, &Options{Meter: m}); err != nil {
				t.Fatal(err)
			}
			sum += m.Visits()
			m.End()
		}
		return sum
	}
	few, many := visits(100), visits(400)
	t.Logf("%d and %d visits", few, many)
	if few < 100 || many > 5*few {
		t.Errorf("100 variants take %d visits, 400 take %d: that is not linear", few, many)
	}
}

// TestBuildsAlike: a build finds the same whether others of the file came before
// it or not.
func TestBuildsAlike(t *testing.T) {
	const stateful = `import triton
import triton.language as tl

seen = []


@triton.constexpr_function
def count(n):
    seen.append(n)
    return len(seen)


@triton.jit
def counted(x, B: tl.constexpr):
    tl.store(x, count(B))


SIZE = tl.constexpr(print("four") or 4)


@triton.jit
def talks(x, B: tl.constexpr):
    tl.store(x, SIZE)


@foreign
@triton.jit
def noted(x, B: tl.constexpr):
    tl.store(x, B)


@triton.jit
def plain(x, B: tl.constexpr):
    tl.store(x, B)
`
	f, err := Parse("k.py", "k.py", []byte(stateful))
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	s := &setup{
		Facts: facts(), Print: func(line string) { said.WriteString(line) },
		Warn: func(d *diag.Diagnostic) { said.WriteString(d.Message + "\n") },
	}
	built := func(p *Program, kernel string, n int) string {
		said.Reset()
		list, err := p.Variants(t.Context(), request(kernel, fmt.Sprintf("*i32, %d", n)))
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.buildVariant(p, list[0])
		if err != nil {
			t.Fatal(explain(err))
		}
		return text.String(m) + said.String()
	}
	for _, kernels := range [][]string{{"counted", "counted"}, {"talks", "talks"}, {"noted", "plain"}} {
		shared := s.in(f)
		for n, kernel := range kernels {
			alone := built(s.in(f), kernel, n)
			if n == 0 && (kernel == "talks") != strings.HasSuffix(alone, "four\n") || (kernel == "noted") != strings.Contains(alone, "foreign") {
				t.Errorf("%s: %s", kernel, alone)
			}
			if with := built(shared, kernel, n); with != alone {
				t.Errorf("%s, %d: alone\n%s\namong others\n%s", kernel, n, alone, with)
			}
		}
	}
	files := map[string]*Program{}
	for _, j := range jobs(t) {
		s := &setup{Facts: facts(), SanitizeOverflow: true}
		f := parseFile(t, j.file)
		if files[j.file] == nil {
			files[j.file] = s.in(f)
		}
		var texts [2]string
		for i, p := range []*Program{s.in(f), files[j.file]} {
			list, err := p.Variants(t.Context(), request(j.kernel, j.sig))
			if err != nil {
				t.Fatal(j.name, err)
			}
			m, err := s.buildVariant(p, list[0])
			if err != nil {
				texts[i] = err.Error()
			} else {
				texts[i] = text.String(m)
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: alone\n%s\namong others\n%s", j.name, texts[0], texts[1])
		}
	}
}

// TestBuildsAtOnce: builds that run at once, which take up each other's
// evaluations, give what each gives alone.
func TestBuildsAtOnce(t *testing.T) {
	const n = 60
	f, err := Parse("k.py", "k.py", []byte(`import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({'K': i}) for i in range(60)], key=[])
@triton.jit
def k(x, n, K: tl.constexpr):
    tl.store(x + tl.arange(0, 16) + K, tl.zeros((16,), tl.int32) + n)
`))
	if err != nil {
		t.Fatal(err)
	}
	s := &setup{Facts: facts()}
	p, alone := s.in(f), s.in(f)
	req := &Request{Signature: "*i32, i32", Config: AllConfigs}
	list, err := p.Variants(t.Context(), req)
	if err != nil || len(list) != n {
		t.Fatalf("%d variants: %v", len(list), err)
	}
	var texts [n]string
	var all sync.WaitGroup
	for i, v := range list {
		all.Go(func() {
			m, err := s.buildVariant(p, v)
			if err != nil {
				t.Error(err)
				return
			}
			texts[i] = text.String(m)
		})
	}
	all.Wait()
	for i, v := range list {
		m, err := s.buildVariant(alone, v)
		if err != nil {
			t.Fatal(err)
		}
		if want := text.String(m); texts[i] != want {
			t.Errorf("variant %d:\n%s\nalone\n%s", i, texts[i], want)
		}
	}
}
