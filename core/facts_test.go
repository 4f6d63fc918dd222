package core

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// decided is a backend with options that only the caller may give, and warnings
// about what it made.
type decided struct {
	upper
	warnings []sdk.Diagnostic
	facts    int // how often they were asked for
}

func (b *decided) Facts(ctx context.Context) (*sdk.Facts, error) {
	b.facts++
	f, err := b.upper.Facts(ctx)
	f.Options = []sdk.OptionSpec{{Name: "good"}, {Name: "file", CallerOnly: true}, {Name: "args", CallerOnly: true}}
	return f, err
}

func (b *decided) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	resp, err := b.upper.RunStages(ctx, req)
	resp.Diagnostics = b.warnings
	return resp, err
}

func (b *decided) choose(_ context.Context, t Target) (Backend, Target, error) {
	t.WarpSize = 8
	return b, t, nil
}

// asking is a kernel whose decorators, defaults and constants ask for the target.
const asking = `import triton
import triton.language as tl
from triton.runtime import driver


def is_toy():
    return driver.active.get_current_target().backend == "toy"


WARP = driver.active.get_current_target().warp_size


@triton.autotune(configs=[triton.Config({"B": 64})] if is_toy() else [triton.Config({"B": 32})], key=[])
@triton.jit
def tuned(x, B: tl.constexpr, C: tl.constexpr = 2 * WARP):
    tl.store(x + tl.arange(0, B), C)


if is_toy():
    @triton.jit
    def other(x, ours: tl.constexpr):
        tl.store(x, 1)
else:
    @triton.jit
    def other(x, theirs: tl.constexpr):
        tl.store(x, 1)
`

// TestFactsEverywhere: a file's code sees the same target in every question.
func TestFactsEverywhere(t *testing.T) {
	b := &decided{}
	opts := &Options{Select: b.choose, Stages: []string{SourceStage}}
	src := &Source{Path: "k.py", Text: []byte(asking)}
	infos, err := Kernels(t.Context(), src, toy, opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := infos[0].Configs[0].Constants["B"]; got != int64(64) || infos[1].Params[1].Name != "ours" {
		t.Errorf("kernels: B=%v, %+v", got, infos[1])
	}
	for _, config := range []string{"", "0", AllConfigs} {
		src := *src
		src.Config = config
		variants, err := Variants(t.Context(), &src, toy, opts, Want{Kernel: "tuned", Signature: "*i32"})
		if err != nil {
			t.Fatal(err)
		}
		if c := variants[0].Known().Constants; len(variants) != 1 || c["B"] != int64(64) || c["C"] != int64(16) {
			t.Errorf("configuration %q: %d variants, %v", config, len(variants), c)
		}
		k, err := Compile(t.Context(), variants[0], toy, opts)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(k.Artifact(SourceStage).Data); !strings.Contains(text, "tensor<64x") || !strings.Contains(text, "dense<16>") {
			t.Errorf("configuration %q: the kernel has other facts:\n%s", config, text)
		}
	}
	if _, err := Variants(t.Context(), src, toy, opts, Want{Kernel: "other", Signature: "*i32, ours=1"}); err != nil {
		t.Error(err)
	}

	// A file that does not ask starts no backend, and one variant is of one target.
	b.facts = 0
	variants, err := Variants(t.Context(), &Source{Path: "k.py", Text: []byte(kernels)}, toy, opts, Want{Kernel: "two", Signature: "*i32"})
	if err != nil || b.facts != 0 {
		t.Errorf("asked %d times, %v", b.facts, err)
	}
	if _, err := Compile(t.Context(), variants[0], Target{Backend: "toy", Arch: "2"}, opts); err == nil || !strings.Contains(err.Error(), "was read for toy:1") {
		t.Errorf("another target: %v", err)
	}
}

// TestCallerOnly: options that name files or a tool's arguments come from the
// caller.
func TestCallerOnly(t *testing.T) {
	b := &decided{}
	opts := &Options{Select: b.choose}
	src := &Source{Path: "k.py", Text: []byte(kernels + "# tritonc: two(*fp32) good=1 file=x args=-oy\n")}
	_, err := Compile(t.Context(), src, toy, opts)
	got := fmt.Sprint(err)
	for _, want := range []string{
		"k.py:11:30: error: the option file cannot come from a comment of the file",
		"k.py:11:37: error: the option args cannot come from a comment of the file",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	if diags := diag.All(err); len(diags) != 2 || !strings.Contains(diags[0].Help, "only the command line") {
		t.Errorf("%d diagnostics", len(diags))
	}
	opts.Values = map[string]any{"file": "mine", "args": ""}
	if _, err := Compile(t.Context(), src, toy, opts); err != nil || !strings.Contains(b.options, `"file":"mine"`) {
		t.Errorf("the caller's own: %v, %s", err, b.options)
	}
}

// TestOptionPlaces: what a backend says of an option of the file has the option's place.
func TestOptionPlaces(t *testing.T) {
	b := &decided{}
	opts := &Options{Select: b.choose}
	src := &Source{Path: "k.py", Text: []byte(kernels + "# tritonc: two(*fp32) good=1 bad=2\n")}
	_, err := Compile(t.Context(), src, toy, opts)
	if d := diag.All(err); len(d) != 1 || d[0].Error() != "k.py:11:30: error: no option bad" || d[0].Help != "there is good" || d[0].Line == "" {
		t.Errorf("of a comment: %+v", err)
	}
	opts.Values = map[string]any{"bad": 1}
	if _, err := Compile(t.Context(), src, toy, opts); !strings.HasPrefix(fmt.Sprint(err), "error: no option bad") {
		t.Errorf("the caller's own: %v", err)
	}
}

// TestUnlaunchable: a kernel that cannot be launched is an error unless it is
// allowed, the first time and from the cache.
func TestUnlaunchable(t *testing.T) {
	b := &decided{warnings: []sdk.Diagnostic{
		{Severity: sdk.Warning, Message: "it is slow"},
		{Severity: sdk.Warning, Message: "it is too large", Unlaunchable: true},
	}}
	c := newCacheTest(t)
	opts := &Options{Select: b.choose, Cache: c.cache}
	src := &Source{Path: "k.py", Text: []byte(kernels + "# tritonc: two(*fp32)\n")}
	for range 2 {
		_, err := Compile(t.Context(), src, toy, opts)
		if got := fmt.Sprint(err); !strings.HasSuffix(got, "warning: it is slow\nerror: it is too large") {
			t.Errorf("got %s", got)
		}
		if !b.request.Launchable {
			t.Error("the backend is not told that the kernel will be refused")
		}
		allowed := *opts
		allowed.AllowUnlaunchable = true
		k, err := Compile(t.Context(), src, toy, &allowed)
		if err != nil || k.Warnings[len(k.Warnings)-1].Severity != diag.Warning || k.Artifact("obj") == nil {
			t.Errorf("allowed: %v", err)
		}
	}
	if len(c.log) != 0 || b.request.Last != "obj" {
		t.Errorf("the cache says %q", c.log)
	}
}
