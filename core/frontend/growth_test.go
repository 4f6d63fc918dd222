package frontend

import (
	"fmt"
	"strings"
	"testing"

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
