package triton

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttir"
)

// kernelDir holds the kernels and the list of jobs.
const kernelDir = "../../core/frontend/testdata"

// A job is one kernel with its arguments and options.
type job struct {
	name, file, kernel, signature, options string
}

func jobs(t testing.TB) []job {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(kernelDir, "jobs.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []job
	for line := range strings.Lines(string(list)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		args := strings.Split(f[3], ", ")
		for i, a := range args {
			if name, typ, ok := strings.Cut(a, ":"); ok && !strings.Contains(name, "=") {
				args[i] = name + "=" + typ
			}
			if prec, ok := strings.CutPrefix(a, "PREC="); ok && prec != "None" {
				args[i] = "PREC='" + prec + "'"
			}
		}
		j := job{name: f[0], file: f[1], kernel: f[2], signature: strings.Join(args, ", ")}
		if len(f) > 4 {
			j.options = f[4]
		}
		out = append(out, j)
	}
	return out
}

// ttirRows is the stage for a target without descriptors in hardware.
var ttirRows = []pass.Row{
	{Pass: std.Inline},
	{Pass: ttir.RewriteTensorPointer},
	{Pass: ttir.RewriteTensorDescriptor},
	{Pass: std.Canonicalize},
	{Pass: ttir.Combine},
	{Pass: ttir.ReorderBroadcast},
	{Pass: std.CSE},
	{Pass: std.SymbolDCE},
	{Pass: ttir.LoopUnroll},
}

// facts are those of a device of compute capability 8.0.
func facts(t testing.TB) *frontend.Facts {
	sources, aliases := modules(t)
	return &frontend.Facts{
		Backend: "cuda", Arch: "80", WarpSize: 32,
		FP8:           []string{"fp8e4b15", "fp8e5"},
		DotPrecisions: []string{"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"}, DefaultDotPrecision: "tf32",
		MinDot:  []frontend.MinDot{{Bits: 8, M: 1, N: 1, K: 32}, {M: 1, N: 1, K: 16}},
		Modules: sources, Aliases: aliases,
	}
}

// environment is that of a file that imports nothing, for a target.
func environment(facts *frontend.Facts) frontend.Environment {
	return frontend.Environment{Facts: func(context.Context) (*frontend.Facts, error) { return facts, nil }}
}

// ttirOf is what the front end makes of a kernel for a signature.
func ttirOf(p *frontend.Program, kernel, signature string, opts *frontend.Options) (*ir.Operation, error) {
	if signature == "" {
		signature = " " // else it is that of a comment
	}
	variants, err := p.Variants(context.Background(), &frontend.Request{Kernel: kernel, Signature: signature})
	if err != nil {
		return nil, err
	}
	return p.Build(context.Background(), dialect.NewContext(), variants[0], opts)
}

// TestTTIR compiles every job to ttir and compares it, in the normal form of
// package diff, with what Triton 3.6.0 makes of the same kernel for cuda:80.
// With TRITONC_TRITON_IR naming a folder of Triton's .ttir files it compares
// with those and, under TRITONC_UPDATE=1, rewrites testdata from them.
func TestTTIR(t *testing.T) {
	files := make(map[string]*frontend.File)
	for _, j := range jobs(t) {
		want, ok := expected(t, j.name)
		if !ok {
			continue // Triton itself does not compile this job for cuda:80
		}
		t.Run(j.name, func(t *testing.T) {
			got := diff.Normal(build(t, files, j))
			if got == want {
				return
			}
			if why := exceptions[j.name]; why != "" {
				t.Logf("differs, as known: %s", why)
				return
			}
			t.Errorf("differs from Triton's:\n%s", diff.Texts("ours", got, "triton", want))
		})
	}
}

// exceptions are jobs whose ttir differs, with the reason why ours is as good.
var exceptions = map[string]string{}

func expected(t *testing.T, name string) (string, bool) {
	t.Helper()
	golden := filepath.Join("testdata", "sm80", name+".txt")
	if dir := os.Getenv("TRITONC_TRITON_IR"); dir != "" {
		src, err := os.ReadFile(filepath.Join(dir, name+".ttir"))
		if err != nil {
			return "", false
		}
		m, err := text.Parse(dialect.NewContext(), name+".ttir", src)
		if err != nil {
			t.Fatal(err)
		}
		normal := diff.Normal(m)
		if os.Getenv("TRITONC_UPDATE") == "1" {
			if err := os.WriteFile(golden, []byte(normal), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return normal, true
	}
	src, err := os.ReadFile(golden)
	return string(src), err == nil
}

func build(t *testing.T, files map[string]*frontend.File, j job) *ir.Operation {
	t.Helper()
	m := parsed(t, files, j, facts(t), 0)
	if _, err := (&pass.Runner{VerifyEach: true}).Run(m, ttirRows, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// parsed is what the front end makes of a job for a target.
func parsed(t *testing.T, files map[string]*frontend.File, j job, target *frontend.Facts, impreciseAcc int64) *ir.Operation {
	t.Helper()
	if files[j.file] == nil {
		src, err := os.ReadFile(filepath.Join(kernelDir, j.file))
		if err != nil {
			t.Fatal(err)
		}
		f, err := frontend.Parse(j.file, j.file, src)
		if err != nil {
			t.Fatal(err)
		}
		files[j.file] = f
	}
	m, err := ttirOf(files[j.file].In(environment(target)), j.kernel, j.signature, &frontend.Options{
		NumWarps: 4, NumStages: 3, NumCTAs: 1, SanitizeOverflow: true, Debug: strings.Contains(j.options, "debug=True"),
		MaxNumImpreciseAcc: impreciseAcc,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// modules are those that the backend for CUDA brings.
func modules(t testing.TB) (sources []frontend.ModuleSource, aliases []frontend.Alias) {
	t.Helper()
	list, err := nvidia.New().GetModuleMap(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		src := frontend.ModuleSource{Module: m.Name, Name: m.Name, Text: m.Source}
		for _, e := range m.Externs {
			src.Externs = append(src.Externs, lang.Extern(e))
		}
		sources = append(sources, src)
		for _, a := range m.Aliases {
			aliases = append(aliases, frontend.Alias{From: a, To: m.Name})
		}
	}
	return sources, aliases
}

// BenchmarkFlash takes the kernel of flash attention from its source to the end
// of the ttir stage.
func BenchmarkFlash(b *testing.B) {
	facts := facts(b)
	for _, j := range jobs(b) {
		if j.name != "flash_fwd_causal" {
			continue
		}
		src, err := os.ReadFile(filepath.Join(kernelDir, j.file))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			f, err := frontend.Parse(j.file, j.file, src)
			if err != nil {
				b.Fatal(err)
			}
			m, err := ttirOf(f.In(environment(facts)), j.kernel, j.signature, &frontend.Options{NumWarps: 4, NumStages: 3, NumCTAs: 1})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := (&pass.Runner{}).Run(m, ttirRows, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}
