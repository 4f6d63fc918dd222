package frontend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"

	"github.com/tritonc/tritonc/core/ir/text"
)

// decorated is a file of kernels whose decorators ask for the target, for
// arguments, and for one another.
const decorated = `import torch
import triton
import triton.language as tl
from triton.runtime import driver


def is_test():
    return triton.runtime.driver.active.get_current_target().backend == "test"


@triton.autotune(configs=[triton.Config({"B": 64})] if is_test() else [triton.Config({"B": 32})], key=[])
@triton.jit
def by_target(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)


MAJOR = torch.cuda.get_device_capability()[0]
WARP = driver.active.get_current_target().warp_size


@triton.jit
def by_default(x, B: tl.constexpr = 16 * WARP if MAJOR == 8 else 8):
    tl.store(x + tl.arange(0, B), 1.0)


@triton.heuristics({"num_warps": lambda args: 8 if args["B"] >= 128 else 2, "num_stages": lambda args: args["num_warps"] + 1})
@triton.jit
def options(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def even(x, n, B: tl.constexpr, EVEN: tl.constexpr = False):
    tl.store(x + tl.arange(0, B), EVEN)


@triton.autotune(configs=[triton.Config({"B": b}, num_warps=b // 16) for b in (32, 64)], key=["n"])
@triton.heuristics({"num_warps": lambda args: args["num_warps"] * 2, "C": lambda args: args["B"] * 2})
@triton.jit
def inner(x, n, B: tl.constexpr, C: tl.constexpr):
    tl.store(x + tl.arange(0, C), n)


@triton.heuristics({"C": lambda args: 16 if args["n"] == 7 else 8})
@triton.autotune(configs=[triton.Config({"B": b}) for b in (32, 64)], key=["n"])
@triton.jit
def outer(x, n, B: tl.constexpr, C: tl.constexpr):
    tl.store(x + tl.arange(0, C), n)


@triton.heuristics({"C": lambda args: args["B"]})
@triton.autotune(configs=[triton.Config({"B": 32})], key=["n"])
@triton.jit
def too_early(x, n, B: tl.constexpr, C: tl.constexpr):
    tl.store(x + tl.arange(0, C), n)


@triton.heuristics({"num_warps": lambda args: 8})
@triton.autotune(configs=[triton.Config({"B": 32})], key=["n"])
@triton.jit
def both(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


@triton.heuristics({"A": lambda args: 4})
@triton.heuristics({"B": lambda args: args["A"] * 8})
@triton.jit
def chain(x, A: tl.constexpr, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)


@triton.heuristics({
    "HAS": lambda args: args["bias"] is not None,
    "HALF": lambda args: args["x"].dtype == torch.float16 and args["x"].element_size() == 2,
    "MANY": lambda args: args["x"].numel() > 100 or args["x"].stride(0) == 5,
})
@triton.jit
def tensors(x, bias, HAS: tl.constexpr, HALF: tl.constexpr, MANY: tl.constexpr):
    tl.store(x, 1.0)


@triton.heuristics({"F": lambda args: args["n"] > 4 or True})
@triton.jit
def unknown_or(x, n, F: tl.constexpr):
    tl.store(x, n)


def branch(args):
    if args["n"] > 4:
        return 1
    return 2


@triton.heuristics({"F": branch})
@triton.jit
def unknown_if(x, n, F: tl.constexpr):
    tl.store(x, n)


@triton.heuristics({"num_warps": lambda args: [4]})
@triton.jit
def no_option(x):
    tl.store(x, 1.0)


def keep(configs, named, **kwargs):
    return [c for c in configs if c.kwargs["B"] <= named["n"] and c.kwargs["B"] >= kwargs["LEAST"]]


@triton.autotune(configs=[triton.Config({"B": b}) for b in (16, 32, 64)], key=["n"], prune_configs_by={"early_config_prune": keep})
@triton.jit
def pruned(x, n, LEAST: tl.constexpr, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


@triton.autotune(configs=[triton.Config({"B": b}) for b in (16, 32, 64)], key=["n"],
                 prune_configs_by={"perf_model": lambda B, num_warps, **kwargs: abs(B - kwargs["n"]), "top_k": 2})
@triton.jit
def ranked(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


@triton.autotune(configs=[triton.Config({"B": b}) for b in (16, 32)], key=["n"],
                 prune_configs_by={"early_config_prune": lambda configs, named, **kwargs: [] if named["x"].data_ptr() else configs})
@triton.jit
def unknowable(x, n, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


@triton.autotune(configs=[triton.Config({}, num_warps=8)], key=["n"])
@triton.jit
def only_options(x, n):
    tl.store(x, n)


@triton.heuristics({"LEAST": lambda args: args["n"] // 2})
@triton.autotune(configs=[triton.Config({"B": b}) for b in (16, 32, 64)], key=["n"],
                 prune_configs_by={"early_config_prune": keep, "perf_model": lambda B, LEAST, **kwargs: -B - LEAST, "top_k": 1})
@triton.jit
def prunes_later(x, n, LEAST: tl.constexpr, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)


@triton.heuristics({"ALIGNED": lambda args: args["x"].data_ptr() % 64 == 0})
@triton.jit
def aligned(x, ALIGNED: tl.constexpr):
    tl.store(x, ALIGNED)


def invent(configs, named, **kwargs):
    mine = triton.Config({"B": named["n"], "C": 2}, num_warps=1)
    return [mine, configs[1], triton.Config(mine.kwargs, num_warps=1), triton.Config({"B": 8})]


@triton.autotune(configs=[triton.Config({"B": b}) for b in (8, 32)], key=["n"], prune_configs_by={"early_config_prune": invent})
@triton.jit
def invented(x, n, B: tl.constexpr, C: tl.constexpr = 1):
    tl.store(x + tl.arange(0, B), n)


def shrink(configs, named, **kwargs):
    configs[1].kwargs["B"] = 16
    configs[1].num_stages = 1
    return configs[kwargs["FROM"]:]


@triton.autotune(configs=[triton.Config({"B": b}) for b in (8, 32)], key=["n"], prune_configs_by={"early_config_prune": shrink})
@triton.jit
def changed(x, n, FROM: tl.constexpr, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), n)
`

// An option that only a launch would tell is the default in a compile, with a
// warning; what the caller gives counts without one.
func TestOptionOfLaunch(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(`import triton
import triton.language as tl

@triton.heuristics({"num_warps": lambda args: 8 if args["n"] > 1024 else 4, "num_stages": lambda args: 2})
@triton.jit
def k(x, n):
    tl.store(x, n)
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		req            Request
		options, warns string
	}{
		{
			Request{Kernel: "k", Signature: "*fp32, i32"},
			"num_stages:2",
			"k.py:4:47: warning: @triton.heuristics computes 'num_warps' from 'n', which is known at launch only: the default is taken",
		},
		{Request{Kernel: "k", Signature: "*fp32, i32", Options: map[string]any{"num_warps": 8}}, "num_stages:2", ""},
		{Request{Kernel: "k", Signature: "*fp32, 4096"}, "n=4096 num_warps:8 num_stages:2", ""},
		{Request{Kernel: "k", Signature: "*fp32, i32", Launch: &Launch{Values: map[string]any{"n": int64(7)}}}, "num_warps:4 num_stages:2", ""},
	} {
		var warned []string
		s := setup{NumWarps: 4, Warn: func(d *diag.Diagnostic) { warned = append(warned, d.Error()) }}
		p := s.in(f)
		variants, err := p.Variants(t.Context(), &tt.req)
		if err != nil {
			t.Fatal(err)
		}
		if got := described(variants[0]); got != tt.options {
			t.Errorf("%v: %q, want %q", tt.req, got, tt.options)
		}
		if _, err := s.buildVariant(p, variants[0]); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(warned, "\n"); got != tt.warns {
			t.Errorf("%v warns %q, want %q", tt.req, got, tt.warns)
		}
	}
}

// described is a variant in a line.
func described(v *Variant) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v.Constants)) {
		fmt.Fprintf(&b, "%s=%v ", name, v.Constants[name])
	}
	for _, o := range v.Options {
		fmt.Fprintf(&b, "%s:%v ", o.Name, o.Value)
	}
	return strings.TrimSpace(b.String())
}

// TestDecorators completes signatures with what decorators say, as Triton does
// with launches.
func TestDecorators(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(decorated))
	if err != nil {
		t.Fatal(err)
	}
	half := Tensor{Type: "fp16", Shape: []int64{5, 5}}
	at := func(addr uint64) Tensor {
		return Tensor{Type: "fp32", Shape: []int64{8}, Address: func() (uint64, bool) { return addr, true }}
	}
	launch := func(values map[string]any) *Launch { return &Launch{Values: values, Arg: "--arg", Config: "--config"} }
	n := func(n int64) *Launch { return launch(map[string]any{"x": half, "n": n}) }
	for _, tt := range []struct {
		name string
		req  Request
		want string // the variants, or parts of the error, a line each
	}{
		{"the target in a decorator", Request{Kernel: "by_target", Signature: "*fp32", Config: "0"}, "B=64 num_warps:4 num_stages:3 num_ctas:1"},
		{"the only configuration", Request{Kernel: "by_target", Signature: "*fp32"}, "B=64 num_warps:4 num_stages:3 num_ctas:1"},
		{"unless the signature says all", Request{Kernel: "by_target", Signature: "*fp32, 16"}, "B=16"},
		{"the target in a default", Request{Kernel: "by_default", Signature: "*fp32"}, "B=64"},

		{"options", Request{Kernel: "options", Signature: "*fp32, i32, 64"}, "B=64 num_warps:2 num_stages:3"},
		{"options", Request{Kernel: "options", Signature: "*fp32, i32, 128"}, "B=128 num_warps:8 num_stages:9"},
		{"the caller's options stay", Request{Kernel: "options", Signature: "*fp32, i32, 128", Options: map[string]any{"num_warps": 4}}, "B=128 num_stages:5"},
		{"and are numbers", Request{Kernel: "options", Signature: "*fp32, i32, 128", Options: map[string]any{"num_warps": "16"}}, "B=128 num_stages:17"},

		{"before a default", Request{Kernel: "even", Signature: "*fp32, i32:1, 1"}, "B=1 EVEN=true n=1"},
		{"after the signature", Request{Kernel: "even", Signature: "*fp32, i32, 64, True"}, "B=64 EVEN=true"},
		{"of an argument", Request{Kernel: "even", Signature: "*fp32, i32, 64"}, "'EVEN' is computed by @triton.heuristics: 'n' is needed here, but its value is known at launch only\nhelp: give EVEN=… in the signature\nk.py:32:42: note: it is computed here"},
		{"of an argument in a launch", Request{Kernel: "even", Signature: "*fp32, i32, 64", Launch: n(128)}, "B=64 EVEN=true"},
		{"of an argument in a launch", Request{Kernel: "even", Signature: "*fp32, i32, 64", Launch: n(129)}, "B=64 EVEN=false"},

		{"below a configuration", Request{Kernel: "inner", Signature: "*fp32, i32", Config: "1"}, "B=64 C=128 num_warps:8 num_stages:3 num_ctas:1"},
		{"each", Request{Kernel: "inner", Signature: "*fp32, i32", Config: "all"}, "B=32 C=64 num_warps:4 num_stages:3 num_ctas:1\nB=64 C=128 num_warps:8 num_stages:3 num_ctas:1"},
		{"the caller's over both", Request{Kernel: "inner", Signature: "*fp32, i32", Config: "1", Options: map[string]any{"num_warps": 1}}, "B=64 C=128 num_stages:3 num_ctas:1"},
		{"without a configuration", Request{Kernel: "inner", Signature: "*fp32, i32"}, "an argument is missing: 'B'\nchoose one of its configurations with --config"},
		{"above a configuration", Request{Kernel: "outer", Signature: "*fp32, i32", Config: "1", Launch: n(7)}, "B=64 C=16 num_warps:4 num_stages:3 num_ctas:1"},
		{"which it does not see", Request{Kernel: "too_early", Signature: "*fp32, i32"}, "'C' is computed by @triton.heuristics: 'B'\nput @triton.autotune above @triton.heuristics"},
		{"nor may it set the same", Request{Kernel: "both", Signature: "*fp32, i32"}, "k.py:59:2: error: 'num_warps' is given by @triton.heuristics and by the configurations of 'both'\nput @triton.autotune above"},
		{"one after the other", Request{Kernel: "chain", Signature: "*fp32"}, "A=4 B=32"},

		{"tensors", Request{Kernel: "tensors", Signature: "*fp16, *fp32", Launch: launch(map[string]any{"x": half, "bias": half})}, "HALF=true HAS=true MANY=true"},
		{"tensors by type", Request{Kernel: "tensors", Signature: "*fp16, None, MANY=False"}, "HALF=true HAS=false MANY=false bias=<nil>"},
		{"tensors by type", Request{Kernel: "tensors", Signature: "*fp32, *fp32, MANY=False"}, "HALF=false HAS=true MANY=false"},
		{"sizes by type", Request{Kernel: "tensors", Signature: "*fp32, *fp32"}, "'MANY' is computed by @triton.heuristics: 'x.numel' is needed here, but its value is known at launch only"},
		{"of an argument that the launch lacks", Request{Kernel: "even", Signature: "*fp32, i32, 64", Launch: launch(map[string]any{})}, "'EVEN' is computed by @triton.heuristics: \nhelp: give --arg EVEN=…"},
		{"no guess in or", Request{Kernel: "unknown_or", Signature: "*fp32, i32"}, "'n' is needed here, but its value is known at launch only"},
		{"no guess in if", Request{Kernel: "unknown_if", Signature: "*fp32, i32"}, "'n' is needed here, but its value is known at launch only"},
		{"no option", Request{Kernel: "no_option", Signature: "*fp32"}, "'num_warps' is computed by @triton.heuristics: the kernel has no such parameter, and [4] is not a value of an option\n--option num_warps=…"},

		{"the first that is left", Request{Kernel: "pruned", Signature: "*fp32, i32, LEAST=20", Launch: n(50)}, "B=32 LEAST=20 num_warps:4 num_stages:3 num_ctas:1"},
		{"none is left", Request{Kernel: "pruned", Signature: "*fp32, i32, LEAST=20", Launch: n(7)}, "k.py:111:2: error: prune_configs_by of 'pruned' cannot choose a configuration: No valid autotuner configs after pruning. `early_config_prune` should return at least one config.\n1  B=32, num_warps=4"},
		{"none is left, one is asked for", Request{Kernel: "pruned", Signature: "*fp32, i32, LEAST=20", Config: "2", Launch: n(7)}, "B=64 LEAST=20 num_warps:4 num_stages:3 num_ctas:1"},
		{"the fastest", Request{Kernel: "ranked", Signature: "*fp32, i32", Launch: n(40)}, "B=32 num_warps:4 num_stages:3 num_ctas:1"},
		{"what nobody knows", Request{Kernel: "unknowable", Signature: "*fp32, i32", Launch: n(40)}, "'x.data_ptr()' is needed here, but it is not known before the launch\nchoose a configuration with --config:\n1  B=32"},
		{"the values say all", Request{Kernel: "pruned", Signature: "*fp32, i32, 20, 8", Launch: n(50)}, "B=8 LEAST=20"},
		{"after the heuristics above", Request{Kernel: "prunes_later", Signature: "*fp32, i32", Launch: n(65)}, "B=64 LEAST=32 num_warps:4 num_stages:3 num_ctas:1"},
		{"without flags", Request{Kernel: "unknowable", Signature: "*fp32, i32", Launch: &Launch{Values: map[string]any{"x": half, "n": int64(40)}}}, "k.py:125:91: error: prune_configs_by of 'unknowable' cannot choose a configuration: 'x.data_ptr()' is needed here, but it is not known before the launch"},
		{"a configuration's constant, given", Request{Kernel: "pruned", Signature: "*fp32, i32, LEAST=20, B=8", Config: "1", Launch: n(50)}, "k.py:111:2: error: configuration 1 of 'pruned' gives B=32, and the arguments B=8\nhelp: leave --arg B out"},
		{"and the same", Request{Kernel: "pruned", Signature: "*fp32, i32, LEAST=20, B=32", Config: "1", Launch: n(50)}, "B=32 LEAST=20 num_warps:4 num_stages:3 num_ctas:1"},
		{"in a compile", Request{Kernel: "inner", Signature: "*fp32, i32, B=16", Config: "1"}, "B=16 C=32 num_warps:8 num_stages:3 num_ctas:1"},
		{"an address", Request{Kernel: "aligned", Signature: "*fp32", Launch: launch(map[string]any{"x": at(1<<63 + 64)})}, "ALIGNED=true"},
		{"an address", Request{Kernel: "aligned", Signature: "*fp32", Launch: launch(map[string]any{"x": at(96)})}, "ALIGNED=false"},
		{"an address that nobody knows", Request{Kernel: "aligned", Signature: "*fp32", Launch: launch(map[string]any{"x": half})}, "'ALIGNED' is computed by @triton.heuristics: 'x.data_ptr()' is needed here, but it is not known before the launch"},
		{"an address in a compile", Request{Kernel: "aligned", Signature: "*fp32"}, "'x.data_ptr()' is needed here, but its value is known at launch only\ngive ALIGNED=… in the signature"},
		{"a configuration is changed", Request{Kernel: "changed", Signature: "*fp32, i32, FROM=1", Launch: n(7)}, "B=16 FROM=1 num_warps:4 num_stages:1 num_ctas:1"},
		{"nor is one that stays", Request{Kernel: "changed", Signature: "*fp32, i32, FROM=0", Launch: n(7)}, "B=8 FROM=0 num_warps:4 num_stages:3 num_ctas:1"},
		{"the changed one, by number", Request{Kernel: "changed", Signature: "*fp32, i32, FROM=0", Config: "2", Launch: n(7)}, "B=16 FROM=0 num_warps:4 num_stages:1 num_ctas:1"},
		{"as it was before", Request{Kernel: "changed", Signature: "*fp32, i32, FROM=0", Config: "1", Launch: n(7)}, "B=32 FROM=0 num_warps:4 num_stages:3 num_ctas:1"},
		{"a configuration of the function's own", Request{Kernel: "invented", Signature: "*fp32, i32", Launch: n(64)}, "B=64 C=2 num_warps:1 num_stages:3 num_ctas:1"},
		{"and by number", Request{Kernel: "invented", Signature: "*fp32, i32", Config: "2", Launch: n(64)}, "B=64 C=2 num_warps:1 num_stages:3 num_ctas:1"},
		{"of which there is one", Request{Kernel: "invented", Signature: "*fp32, i32", Config: "3", Launch: n(64)}, "k.py: error: 'invented' has no configuration \"3\"\nit has 3: give a number from 0 to 2"},
		{"no launch, no pruning", Request{Kernel: "invented", Signature: "*fp32, i32", Config: "2"}, "'invented' has no configuration \"2\"\nit has 2: give a number from 0 to 1, or all"},
		{"options alone, in a launch", Request{Kernel: "only_options", Signature: "*fp32, i32", Launch: n(50)}, "num_warps:8 num_stages:3 num_ctas:1"},
		{"options alone", Request{Kernel: "only_options", Signature: "*fp32, i32"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &setup{Facts: facts()}
			p := s.in(f)
			variants, err := p.Variants(t.Context(), &tt.req)
			if err != nil {
				got := explain(err)
				for want := range strings.SplitSeq(tt.want, "\n") {
					if !strings.Contains(got, want) {
						t.Errorf("the error does not say %q:\n%s", want, got)
					}
				}
				return
			}
			var lines []string
			for _, v := range variants {
				lines = append(lines, described(v))
				m, err := s.buildVariant(p, v)
				if err != nil {
					t.Fatal(explain(err))
				}
				for name, c := range v.Constants {
					if name == "B" && tt.req.Kernel == "by_target" && !strings.Contains(text.String(m), fmt.Sprintf("tensor<%vx", c)) {
						t.Errorf("the kernel is not of block %v:\n%s", c, text.String(m))
					}
				}
			}
			if got := strings.Join(lines, "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestLeft: what pruning leaves is numbered as Request.Config has it, each once: what it
// makes comes after the kernel's own, in whatever order it returns them.
func TestLeft(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(decorated))
	if err != nil {
		t.Fatal(err)
	}
	p := (&setup{Facts: facts()}).in(f)
	half := Tensor{Type: "fp16", Shape: []int64{5, 5}}
	for kernel, want := range map[string]string{
		"invented": "2: B=64, C=2, num_warps=1, num_stages=3, num_ctas=1; 1: B=32, num_warps=4, num_stages=3, num_ctas=1; 0: B=8, num_warps=4, num_stages=3, num_ctas=1; ",
		"ranked":   "2: B=64, num_warps=4, num_stages=3, num_ctas=1; 1: B=32, num_warps=4, num_stages=3, num_ctas=1; ",
	} {
		list, err := p.Variants(t.Context(), &Request{Kernel: kernel, Signature: "*fp32, i32", Launch: &Launch{Values: map[string]any{"x": half, "n": int64(64)}}})
		if err != nil {
			t.Fatal(explain(err))
		}
		got := ""
		for _, c := range list[0].Left {
			got += fmt.Sprintf("%d: %s; ", c.Number, c.Text)
		}
		if got != want || list[0].Config != list[0].Left[0].Number || list[0].Configs != len(list[0].Left)-1 && kernel == "invented" {
			t.Errorf("%s: configuration %d of %d, left %s", kernel, list[0].Config, list[0].Configs, got)
		}
	}
}

// TestOneEnvironment: whoever asks about a file, its code sees the same facts,
// which are asked for once, and only if the code wants to know the target.
func TestOneEnvironment(t *testing.T) {
	asked := 0
	program := func(source string) *Program {
		f, err := Parse("k.py", "k.py", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		return f.In(Environment{Facts: func(context.Context) (*Facts, error) { asked++; return facts(), nil }})
	}
	p := program(decorated)
	infos, err := p.Kernels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(infos, func(k KernelInfo) bool { return k.Name == "by_target" })
	if i < 0 || len(infos[i].Configs) != 1 || infos[i].Configs[0].Constants["B"] != int64(64) {
		t.Errorf("the list of kernels has other facts: %+v", infos)
	}
	for range 2 {
		v, err := p.Variants(t.Context(), request("by_target", "*fp32"))
		if err != nil {
			t.Fatal(explain(err))
		}
		if _, err := (&setup{}).buildVariant(p, v[0]); err != nil {
			t.Fatal(explain(err))
		}
	}
	if asked != 1 {
		t.Errorf("the facts were asked for %d times", asked)
	}

	asked = 0
	p = program("import math\nimport torch\nimport triton\nimport triton.language as tl\n\n" +
		"@triton.autotune(configs=[triton.Config({'B': int(math.sqrt(256))})], key=[])\n@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.store(x, B)\n")
	if _, err := p.Variants(t.Context(), request("k", "*fp32")); err != nil {
		t.Fatal(explain(err))
	}
	if asked != 0 {
		t.Error("nothing wanted to know the target, and it was asked for")
	}
}

// TestKeys: variants that are compiled to something else have other keys.
func TestKeys(t *testing.T) {
	const source = `import triton
import triton.language as tl


@triton.jit
def f(x):
    return x


@triton.jit
def g(x):
    return x + 1


def make(n):
    @triton.jit
    def h(x):
        return x + n
    return h


configs = [{"A": 1}, {"A": 1.0}, {"A": True}, {"A": "1"}, {"A": (1, 2)}, {"A": ("1, 2",)}, {"A": f}, {"A": g}, {"A": tl.float16}, {"A": None}]


@triton.autotune(configs=[triton.Config(c) for c in configs], key=[])
@triton.jit
def k(x, A: tl.constexpr):
    tl.store(x, 1.0)


@triton.autotune(configs=[triton.Config({"A": make(n)}) for n in (1, 2)], key=[])
@triton.jit
def untold(x, A: tl.constexpr):
    tl.store(x, A(1.0))
`
	file, err := Parse("k.py", "k.py", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	p := file.In(Environment{})
	req := request("k", "*fp32")
	req.Config = AllConfigs
	list, err := p.Variants(t.Context(), req)
	if err != nil {
		t.Fatal(explain(err))
	}
	seen := map[string]string{}
	for _, v := range list {
		if other, ok := seen[v.Key()]; ok || v.Key() == "" {
			t.Errorf("%s has the key of %s: %s", described(v), other, v.Key())
		}
		seen[v.Key()] = described(v)
	}
	req.Kernel = "untold"
	if list, err = p.Variants(t.Context(), req); err != nil {
		t.Fatal(explain(err))
	}
	for _, v := range list {
		if v.Key() != "" {
			t.Errorf("a function that was made has the key %s", v.Key())
		}
	}
}
