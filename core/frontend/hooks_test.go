package frontend

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const hookedText = `
import torch
import triton
import triton.language as tl

def blocks(nargs):
    nargs["d"].block_shape = [nargs["B"], 8 * nargs["num_warps"]]
    nargs["x"].fill_(nargs["n"])
    nargs["n"] = 0

def worse(nargs):
    nargs["x"].zero_()
    nargs["x"].normal_()

def elsewhere(nargs):
    torch.cuda.synchronize()

def told(args, reset_only=False):
    print("told", args["n"], reset_only)
    args["x"].copy_(args["d"].base.clone())

def done(args, exception):
    print("done", exception)

configs = [triton.Config({"B": 16}, pre_hook=blocks), triton.Config({"B": 32}, num_warps=8)]

@triton.autotune(configs, key=["n", "m"], reset_to_zero=["x"], restore_value=["y"], warmup=5, rep=10.5, use_cuda_graph=True)
@triton.jit
def names(x, y, d, n, B: tl.constexpr):
    pass

@triton.autotune(configs, key=[], reset_to_zero=["x"], pre_hook=told, post_hook=done)
@triton.jit
def functions(x, y, d, n, B: tl.constexpr):
    pass

@triton.autotune([triton.Config({"B": 16}, pre_hook=worse), triton.Config({"B": 16}, pre_hook=elsewhere),
                  triton.Config({"B": 16}, pre_hook=lambda a: a["x"].cumsum(0))], key=[])
@triton.jit
def cannot(x, y, d, n, B: tl.constexpr):
    pass

@triton.autotune(configs, key=[], reset_to_zero=["z"])
@triton.jit
def unknown(x, y, d, n, B: tl.constexpr):
    pass

@triton.autotune(configs=[], key=[])
@triton.jit
def none(x, y, d, n, B: tl.constexpr = 64):
    pass
`

// slate is memory that notes what is done to it.
type slate struct {
	name string
	log  *[]string
}

func (s *slate) note(format string, args ...any) {
	*s.log = append(*s.log, s.name+" "+fmt.Sprintf(format, args...))
}

func (s *slate) Fill(v float64) { s.note("= %v", v) }

func (s *slate) Copy(from Memory) error {
	s.note("= %s", from.(*slate).name)
	if s.name == "n" {
		return errors.New("no place")
	}
	return nil
}

func (s *slate) Clone() Memory { return &slate{s.name + "'", s.log} }

func TestHooks(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(hookedText))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ kernel, config, says string }{
		{"names", "0", "config: x = 3; before: x = 0, x = 0; after: y = y'; reset: x = 0; blocks [16 32]"},
		{"names", "1", "config: ; before: x = 0; after: y = y'; reset: x = 0; blocks [8 8]"},
		{"functions", "1", "config: ; before: told 3 False, x = d'; after: done None; reset: told 3 True, x = d'; blocks [8 8]"},
		{"cannot", "0", "config: x = 0, k.py:13:5: error: a hook of 'cannot' cannot be called: 'x.normal_()' is needed here, but a hook can call zero_, fill_, copy_ and clone"},
		{"cannot", "1", "config: k.py:16:5: error: a hook of 'cannot' cannot be called: 'torch.cuda.synchronize()' is needed here"},
		{"cannot", "2", "config: k.py:"},
	} {
		var log []string
		on := func(name string) Tensor {
			return Tensor{Type: "fp16", Shape: []int64{8, 8}, Memory: &slate{name, &log}}
		}
		p := f.In(Environment{})
		variants, err := p.Variants(t.Context(), &Request{
			Kernel: tt.kernel, Signature: "*fp16, *fp16, tensordesc<fp16[8, 8]>, i32", Config: tt.config,
			Launch: &Launch{Values: map[string]any{"x": on("x"), "y": on("y"), "d": Descriptor{on("d"), []int64{8, 8}}, "n": int64(3)}},
		})
		if err != nil {
			t.Errorf("%s: %v", tt.kernel, explain(err))
			continue
		}
		h, err := p.Hooks(t.Context(), variants[0])
		if err != nil {
			t.Fatal(err)
		}
		print := func(s string) { log = append(log, strings.TrimSpace(s)) }
		var got []string
		for _, step := range []struct {
			name string
			do   func() error
		}{
			{"config", func() error { return h.Config(t.Context(), print) }},
			{"before", func() error { return h.Before(t.Context(), print) }},
			{"after", func() error { return h.After(t.Context(), print) }},
			{"reset", func() error { return h.Reset(t.Context(), print) }},
		} {
			log = nil
			if err := step.do(); err != nil {
				log = append(log, err.Error())
			}
			got = append(got, step.name+": "+strings.Join(log, ", "))
		}
		got = append(got, fmt.Sprint("blocks ", h.Blocks()["d"]))
		if all := strings.Join(got, "; "); !strings.HasPrefix(all, tt.says) {
			t.Errorf("%s, configuration %s:\n%s\nwant\n%s", tt.kernel, tt.config, all, tt.says)
		}
	}
}

// TestTuning: what the decorator says beside its configurations.
func TestTuning(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(hookedText))
	if err != nil {
		t.Fatal(err)
	}
	variant := func(kernel string) (*Variant, error) {
		list, err := f.In(Environment{}).Variants(t.Context(), &Request{
			Kernel: kernel, Signature: "*fp16, *fp16, tensordesc<fp16[8, 8]>, i32", Launch: &Launch{Values: map[string]any{"n": int64(3)}},
		})
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	v, err := variant("names")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", *v.Tuning); got != "{Key:[n] ResetToZero:[x] RestoreValue:[y] Hooked:true Warmup:5 Rep:10.5 Graph:true OwnBench:false}" {
		t.Error(got)
	}
	if len(v.Left) != 2 || v.Left[0].Number != 0 || v.Left[1].Number != 1 {
		t.Errorf("left are %v", v.Left)
	}
	if _, err := variant("unknown"); err == nil || !strings.Contains(err.Error(), "k.py:43:2: error: 'z' in reset_to_zero of @triton.autotune is not a parameter of 'unknown'") {
		t.Error(err)
	}
	// An empty list stands for triton.Config({}).
	if v, err = variant("none"); err != nil || described(v) != "B=64 num_warps:4 num_stages:3 num_ctas:1" {
		t.Errorf("%v, %v", v, err)
	}
}
