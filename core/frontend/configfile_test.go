package frontend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const tunedFile = `import triton
import triton.language as tl


@triton.autotune(configs=load_from_disk(), key=["n"])
@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr, KIND: tl.constexpr = "a"):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + o, 1.0, mask=o < n)


@triton.heuristics({"BLOCK": guess})
@triton.jit
def guided(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr, 1.0)


@triton.jit
def plain(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, 1.0)
`

// describe writes the constants and options of variants.
func describe(variants []*Variant) string {
	var b strings.Builder
	for _, v := range variants {
		for _, s := range v.settings {
			if s.typ != "" {
				continue
			}
			i := slices.IndexFunc(v.Options, func(o Option) bool { return o.Name == s.name })
			if i < 0 {
				fmt.Fprintf(&b, "%s=%s ", s.name, s.value)
			} else {
				fmt.Fprintf(&b, "%s:%v ", s.name, v.Options[i].Value)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestConfigFile(t *testing.T) {
	file, err := Parse("k.py", "", []byte(tunedFile))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, kernel, sig, text string
		want                    string // the signatures, or parts of the error, a line each
	}{
		{
			"kwargs", "scale", "*fp32, i32",
			`[{"kwargs": {"BLOCK": 128}, "num_warps": 4, "num_stages": 2, "num_ctas": 1, "maxnreg": null, "pre_hook": null, "ir_override": null},
			  {"kwargs": {"BLOCK": 256, "KIND": "b"}, "num_warps": 8, "maxnreg": 64}]`,
			"BLOCK=128 num_warps:4 num_stages:2 num_ctas:1 \nBLOCK=256 KIND='b' num_warps:8 maxnreg:64 \n",
		},
		{"flat", "scale", "*fp32, i32", `[{"num_warps": 2, "BLOCK": 64, "enable_x": true}]`, "BLOCK=64 num_warps:2 enable_x:true \n"},
		{"option in kwargs", "scale", "*fp32, i32", `[{"kwargs": {"BLOCK": 64, "waves_per_eu": 2}}]`, "BLOCK=64 waves_per_eu:2 \n"},
		{
			"values", "plain", "*fp32", `[{"BLOCK": 1.5}, {"BLOCK": true}, {"BLOCK": null}, {"BLOCK": [1, [2, "x"]]}, {"BLOCK": 18446744073709551616}]`,
			"BLOCK=1.5 \nBLOCK=True \nBLOCK=None \nBLOCK=(1, (2, 'x')) \nBLOCK=18446744073709551616 \n",
		},
		{"the signature's own goes before", "scale", "*fp32, i32, BLOCK=32", `[{"BLOCK": 64, "num_warps": 2}]`, "BLOCK=32 num_warps:2 \n"},

		{"empty file", "scale", "*fp32, i32", "", "c.json:1:1: error\nthe file ends too early"},
		{"not JSON", "scale", "*fp32, i32", "[\n  {\"BLOCK\": 64},\n  {BLOCK: 64}\n]", "c.json:3:4: error\nthis is not JSON\ninvalid character 'B'"},
		{"cut off", "scale", "*fp32, i32", "[\n  {\"BLOCK\": 64", "c.json:2:15: error\nthe file ends too early"},
		{"an object", "scale", "*fp32, i32", "\n {\"BLOCK\": 64}", "c.json:2:2: error\nexpected a list of configurations"},
		{"a number", "scale", "*fp32, i32", "[\n {}, 5]", "c.json:2:6: error\nexpected a configuration"},
		{"nothing", "scale", "*fp32, i32", "[ ]", "the list has no configuration"},
		{"more after it", "scale", "*fp32, i32", "[{}]\n[]", "c.json:2:1: error\nsomething follows the list"},
		{"kwargs that are none", "scale", "*fp32, i32", "[{\"kwargs\": 3}]", "c.json:1:13: error\nkwargs are an object"},
		{"twice", "scale", "*fp32, i32", "[{\"kwargs\": {\"BLOCK\": 1},\n  \"BLOCK\": 2}]", "c.json:2:3: error\n'BLOCK' is given twice"},
		{"object in a value", "scale", "*fp32, i32", "[{\"BLOCK\": {}}]", "c.json:1:12: error\nan object is not a value"},
		{"slip", "scale", "*fp32, i32", "[{},\n {\"BLOK\": 1}]", "c.json:2:3: error\n'scale' has no parameter 'BLOK'\ndid you mean 'BLOCK'?"},
		{"list for an option", "scale", "*fp32, i32", "[{\"num_warps\": [4]}]", "c.json:1:3: error\nthe option 'num_warps' cannot be a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := ParseConfigs("c.json", []byte(tt.text))
			var variants []*Variant
			if err == nil {
				req := request(tt.kernel, tt.sig)
				req.Config = AllConfigs
				variants, err = file.In(Environment{Configs: list}).Variants(t.Context(), req)
			}
			if err == nil {
				if got := describe(variants); got != tt.want {
					t.Errorf("got\n%swant\n%s", got, tt.want)
				}
				return
			}
			got := explain(err)
			for _, want := range strings.Split(tt.want, "\n") {
				if !strings.Contains(got, want) {
					t.Errorf("the error does not say %q:\n%s", want, got)
				}
			}
		})
	}
}

// TestUntoldConfigs: a list that cannot be evaluated is not taken for none.
func TestUntoldConfigs(t *testing.T) {
	file, err := Parse("k.py", "", []byte(tunedFile))
	if err != nil {
		t.Fatal(err)
	}
	for kernel, want := range map[string][]string{
		"scale": {"k.py:5:", "the configurations of 'scale' cannot be evaluated: name 'load_from_disk' is not defined", "--configs FILE"},
		"plain": {"'plain' is not autotuned"},
	} {
		req := request(kernel, "*fp32")
		req.Config = map[string]string{"scale": AllConfigs, "plain": "0"}[kernel]
		_, err := file.In(Environment{}).Variants(t.Context(), req)
		if err == nil {
			t.Fatalf("%s has configurations", kernel)
		}
		for _, w := range want {
			if got := explain(err); !strings.Contains(got, w) {
				t.Errorf("%s: the error does not say %q:\n%s", kernel, w, got)
			}
		}
	}
	for kernel, want := range map[string]string{
		"scale":  "its configurations cannot be evaluated (name 'load_from_disk' is not defined); --configs FILE",
		"guided": "the kernel has heuristics, but they cannot be evaluated (name 'guess' is not defined); give the values",
	} {
		_, err = (&setup{}).build(file, request(kernel, "*fp32, i32"))
		if err == nil || !strings.Contains(explain(err), want) {
			t.Errorf("%s: got %v", kernel, err)
		}
	}
}
