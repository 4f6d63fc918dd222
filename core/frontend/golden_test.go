package frontend

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/golden"
)

// TestGolden shows the module that each kernel of an archive becomes. The
// signatures are in the file's comments; "locations: yes" prints places too.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/golden", func(c *golden.Case) {
		f, err := Parse("k.py", "k.py", []byte(c.Input("k.py")))
		if err != nil {
			c.Fatal(explain(err))
		}
		var out strings.Builder
		p := (&setup{Facts: facts()}).in(f)
		variants, err := p.Variants(context.Background(), &Request{})
		if err != nil {
			c.Fatal(explain(err))
		}
		for _, v := range variants {
			opts := &setup{NumWarps: 4, SanitizeOverflow: true, Print: func(s string) { out.WriteString("// prints: " + s) }}
			for _, o := range v.Options {
				if o.Name == "debug" {
					opts.Debug = o.Value == true
				}
			}
			m, err := opts.buildVariant(p, v)
			if err != nil {
				c.Fatal(explain(err))
			}
			if err := ir.Verify(m); err != nil {
				c.Fatal(err)
			}
			out.Write(text.Append(nil, m, text.Options{Locations: c.Flag("locations") == "yes"}))
			out.WriteString("\n")
		}
		c.Want("ttir", out.String())
	})
}

// TestConcurrentBuilds builds one program many times at once: files, facts and the
// library are shared, contexts are not.
func TestConcurrentBuilds(t *testing.T) {
	p := (&setup{Facts: facts()}).in(parseFile(t, "features.py"))
	var wg sync.WaitGroup
	texts := make([]string, 8)
	for i := range texts {
		wg.Go(func() {
			v, err := p.Variants(context.Background(), request("sorts", "x_ptr=*fp32:16, o_ptr=*fp32:16, h_ptr=*i32:16, B=64"))
			if err != nil {
				t.Error(err)
				return
			}
			m, err := (&setup{}).buildVariant(p, v[0])
			if err != nil {
				t.Error(explain(err))
				return
			}
			texts[i] = text.String(m)
		})
	}
	wg.Wait()
	for _, s := range texts[1:] {
		if s != texts[0] {
			t.Fatal("two builds of one kernel differ")
		}
	}
}

func TestKernels(t *testing.T) {
	infos, err := parseFile(t, "features.py").In(Environment{}).Kernels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range infos {
		names = append(names, infos[i].Name)
	}
	want := "casts_fp8 casts promotions control_flow calls reductions reduce_tuple scans sorts shapes atomics block_ptrs descriptors " +
		"dots dot_chain maths libdevices randoms inline_asm debugging hints transpose2d dot_scaled"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("kernels:\n%s\nwant\n%s", got, want)
	}
	if got, want := infos[1].Signature(), "x_ptr=*fp32:16, h_ptr=*fp32:16, b_ptr=*fp32:16, i8_ptr=*fp32:16, u8_ptr=*fp32:16, i64_ptr=*fp32:16, B=1024"; got != want {
		t.Errorf("signature %s\nwant %s", got, want)
	}
}

func TestConfigs(t *testing.T) {
	src := `import triton
import triton.language as tl

configs = [triton.Config({"BLOCK": b, "T": tl.float16}, num_warps=w) for b in (64, 128) for w in (4, 8)]
configs.append(triton.Config({"BLOCK": 256, "T": tl.float32}, num_stages=5))

@triton.autotune(configs=configs, key=["n"])
@triton.jit
def k(p, n, BLOCK: tl.constexpr, T: tl.constexpr):
    tl.store(p + tl.arange(0, BLOCK), n.to(T))
`
	f, err := Parse("k.py", "k.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	s, req := &setup{}, request("k", "*fp32, i32")
	if _, err = s.build(f, req); err == nil || !strings.Contains(explain(err), "autotuned") {
		t.Errorf("without a configuration: %v", err)
	}
	p := s.in(f)
	req.Config = AllConfigs
	variants, err := p.Variants(t.Context(), req)
	if err != nil || len(variants) != 5 {
		t.Fatalf("%d configurations, %v", len(variants), err)
	}
	for i, want := range []string{"64", "64", "128", "128", "256"} {
		m, err := s.buildVariant(p, variants[i])
		if err != nil {
			t.Fatal(explain(err))
		}
		if !strings.Contains(text.String(m), "tensor<"+want+"x!tt.ptr<f32>>") {
			t.Errorf("configuration %d is not of block %s", i, want)
		}
		if n := fmt.Sprint(variants[i].Constants["BLOCK"]); n != want || variants[i].Config != i {
			t.Errorf("variant %d is configuration %d with BLOCK=%s", i, variants[i].Config, n)
		}
	}
	if o := variants[1].Options; o[0].Name != "num_warps" || o[0].Value != int64(8) {
		t.Errorf("options of the second configuration: %v", o)
	}
}
