package frontend

import (
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/golden"
)

// TestGolden shows the module that each kernel of an archive becomes. The
// signatures stand in the file's comments; "locations: yes" prints places too.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/golden", func(c *golden.Case) {
		f, err := Parse("k.py", "k.py", []byte(c.Input("k.py")))
		if err != nil {
			c.Fatal(explain(err))
		}
		specs, err := f.Signatures()
		if err != nil {
			c.Fatal(explain(err))
		}
		var out strings.Builder
		for _, spec := range specs {
			opts := &Options{Facts: facts(), NumWarps: 4, SanitizeOverflow: true, Print: func(s string) { out.WriteString("// prints: " + s) }}
			for _, o := range spec.Options {
				if o.Name == "debug" {
					opts.Debug = o.Value == true
				}
			}
			m, err := Build(dialect.NewContext(), f, spec, opts)
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

// TestConcurrentBuilds builds one parsed file many times at once: files and the
// library are shared, contexts are not.
func TestConcurrentBuilds(t *testing.T) {
	f := parseFile(t, "features.py")
	var wg sync.WaitGroup
	texts := make([]string, 8)
	for i := range texts {
		wg.Go(func() {
			spec, err := signature.Parse("-s", "x_ptr=*fp32:16, o_ptr=*fp32:16, h_ptr=*i32:16, B=64")
			if err != nil {
				t.Error(err)
				return
			}
			spec.Kernel = "sorts"
			m, err := Build(dialect.NewContext(), f, spec, &Options{Facts: facts()})
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
	infos, err := Kernels(parseFile(t, "features.py"), nil)
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
	spec, err := signature.Parse("-s", "*fp32, i32")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Build(dialect.NewContext(), f, spec, nil); err == nil || !strings.Contains(explain(err), "autotuned") {
		t.Errorf("without a configuration: %v", err)
	}
	specs, err := Configs(f, spec, nil)
	if err != nil || len(specs) != 5 {
		t.Fatalf("%d configurations, %v", len(specs), err)
	}
	for i, want := range []string{"64", "64", "128", "128", "256"} {
		m, err := Build(dialect.NewContext(), f, specs[i], nil)
		if err != nil {
			t.Fatal(explain(err))
		}
		if !strings.Contains(text.String(m), "tensor<"+want+"x!tt.ptr<f32>>") {
			t.Errorf("configuration %d is not of block %s", i, want)
		}
	}
	if o := specs[1].Options; o[0].Name != "num_warps" || o[0].Value != int64(8) {
		t.Errorf("options of the second configuration: %v", o)
	}
}
