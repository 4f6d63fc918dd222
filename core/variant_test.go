package core

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/core/diag"
)

const kernels = `import triton
import triton.language as tl

@triton.jit
def one(x_ptr, n, BLOCK: tl.constexpr):
    pass

@triton.jit
def two(x_ptr):
    pass
`

func TestVariantNames(t *testing.T) {
	tests := []struct {
		comments string
		want     []string
	}{
		{"one(*fp32, i32, 64)", []string{""}},
		{"one(*fp32, i32, 64)|two(*fp32)", []string{"", ""}},
		{"one(*fp32, i32, 64)|one(*fp32, i32, 128)", []string{"BLOCK64", "BLOCK128"}},
		{"one(*fp32, i32, BLOCK=64)|two(*fp32)|one(*fp32, i32, 128)", []string{"BLOCK64", "", "BLOCK128"}},
		{"one(*fp32, i32, 64)|one(*fp32, i64, 64)", []string{"i32", "i64"}},
		{"one(*fp32, i32, 64)|one(*fp32, i32:16, 64)", []string{"n-i32", "n-i32x16"}},
		{"one(*fp32, i32, 64) num_warps=2|one(*fp32, i32, 64) num_warps=4", []string{"num_warps2", "num_warps4"}},
		{"one(*fp32, i32, 64)|one(*fp32, i32, 64) num_warps=4", []string{"2", "num_warps4"}},
		{"two(*fp32)|two(*fp32)", []string{"2", "3"}},
		{"one(*fp32, i32, 'a/b')|one(*fp32, i32, '../c')", []string{"BLOCKab", "BLOCK..c"}},
	}
	for _, tt := range tests {
		t.Run(tt.comments, func(t *testing.T) {
			text := kernels
			for line := range strings.SplitSeq(tt.comments, "|") {
				text += "# tritonc: " + line + "\n"
			}
			variants, err := Variants(t.Context(), &Source{Path: "k.py", Text: []byte(text)}, toy, &Options{}, Want{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range variants {
				got = append(got, v.Variant)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNoSignature: a kernel of which a signature would say nothing needs none; another
// in the same file does.
func TestNoSignature(t *testing.T) {
	const nothing = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef nop():\n    pass\n\n\n" +
		"@triton.jit\ndef sized(N: tl.constexpr = 4):\n    pass\n"
	const one = "\n\n@triton.jit\ndef one(p):\n    pass\n"
	for _, tt := range []struct {
		text, kernel string
		want         []string // nil: an error
	}{
		{nothing, "", []string{"nop", "sized"}},
		{nothing, "sized", []string{"sized"}},
		{nothing + one, "nop", []string{"nop"}},
		{nothing + one, "one", nil},
		{nothing + one, "", nil},
	} {
		variants, err := Variants(t.Context(), &Source{Path: "k.py", Text: []byte(tt.text)}, toy, &Options{}, Want{Kernel: tt.kernel})
		var got []string
		for _, v := range variants {
			got = append(got, v.kernel())
		}
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.want != nil) {
			t.Errorf("%q of\n%s\n%q, %v", tt.kernel, tt.text, got, err)
		}
	}
}

func TestVariantsErrors(t *testing.T) {
	tests := []struct {
		text, kernel, signature string
		want                    string
	}{
		{"def f(:", "", "", "never closed"},
		{kernels, "", "", "types of the kernels' arguments are not known"},
		{kernels, "one", "", "types of the kernels' arguments are not known"},
		{kernels, "one", "*fp99", "unknown type"},
		{kernels + "# tritonc: one\n", "", "", "expected a kernel's name"},
		{kernels + "# tritonc: two(*fp32) num_warps=2 num_warps=4\n", "", "", "num_warps is given twice"},
	}
	for _, tt := range tests {
		_, err := Variants(t.Context(), &Source{Path: "k.py", Text: []byte(tt.text)}, toy, &Options{}, Want{Kernel: tt.kernel, Signature: tt.signature})
		if err == nil || diag.All(err) == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q %q: %v, want a diagnostic that says %q", tt.kernel, tt.signature, err, tt.want)
		}
	}
}

// TestAnotherKernel: an answer for another kernel than the one asked for is refused,
// whether that came as Python or as IR.
func TestAnotherKernel(t *testing.T) {
	b := &upper{another: "one"}
	for _, src := range []*Source{
		{Path: "k.py", Text: []byte(kernels + "# tritonc: two(*fp32)\n")},
		{Path: "k.ttir", Text: []byte("module {\n  tt.func public @two() {\n    tt.return\n  }\n}\n")},
	} {
		_, err := Compile(t.Context(), src, toy, &Options{Select: b.choose, Stages: []string{"obj"}})
		if err == nil || !strings.Contains(err.Error(), "the backend toy for toy:1:8: it answered for the kernel one, but was asked for two") {
			t.Errorf("%s: got %v", src.Path, err)
		}
	}
}

// TestWrongMetadata: metadata that are not an object are the backend's mistake; what they
// lack the host has itself.
func TestWrongMetadata(t *testing.T) {
	for metadata, want := range map[string]string{
		"null":       "BUG in the backend toy for toy:1:8: the metadata of the kernel two: null is not an object",
		"[]":         "BUG in the backend toy for toy:1:8: the metadata of the kernel two: json: ",
		`{"name":7}`: "the metadata of the kernel two: name: json: ",
		"{}":         "",
	} {
		b := &upper{metadata: metadata}
		src := &Source{Path: "k.py", Text: []byte(kernels + "# tritonc: two(*fp32)\n")}
		k, err := Compile(t.Context(), src, toy, &Options{Select: b.choose, Stages: []string{"obj"}})
		if want == "" {
			if err != nil || k.Name != "two" {
				t.Errorf("%s: %v", metadata, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", metadata, err, want)
		}
	}
}

// The trip of a Python file: options of the comment and of the caller, the
// front end's ttir as input, its name in the locations.
func TestCompilePython(t *testing.T) {
	b := &upper{}
	text := kernels + "# tritonc: two(*fp32) num_warps=2 good=1\n"
	src := &Source{Path: "/home/me/k.py", Name: "pkg/k.py", Text: []byte(text)}
	k, err := Compile(t.Context(), src, toy, &Options{
		Select: b.choose, Values: map[string]any{"num_warps": 8}, Stages: []string{SourceStage, "obj"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.options != `{"good":1,"num_warps":8}` {
		t.Errorf("options %s", b.options)
	}
	source := string(k.Artifact(SourceStage).Data)
	if !strings.Contains(source, "tt.func public @two(%x_ptr: !tt.ptr<f32>") || !strings.Contains(source, `loc("pkg/k.py":`) {
		t.Errorf("source:\n%s", source)
	}
	if strings.Contains(source, "/home/me") {
		t.Errorf("the folder is in the output:\n%s", source)
	}
	if got := string(k.Artifact("obj").Data); got != source+">ttir>asm>obj" {
		t.Errorf("obj is %q", got)
	}
	var steps []string
	for _, row := range k.Timings {
		steps = append(steps, row.Stage)
	}
	if diff := cmp.Diff([]string{"backend start", "parse", "front end", "ttir", "asm", "obj"}, steps); diff != "" {
		t.Error(diff)
	}

	k, err = Compile(t.Context(), src, toy, &Options{Select: b.choose, Stages: []string{SourceStage}})
	if err != nil || k.Name != "two" || string(k.Metadata) != `{"backend":{"name":"toy","version":"1","hash":"h"},"good":1,"name":"two"}` {
		t.Errorf("the source alone: %v, %+v", err, k)
	}

	src.Text = []byte(text + "# tritonc: two(*fp16)\n")
	if _, err := Compile(t.Context(), src, toy, &Options{Select: b.choose}); err == nil || !strings.Contains(err.Error(), "2 variants") {
		t.Errorf("a file of two variants: %v", err)
	}
}

// One broken import is told in its own file, whatever follows from it.
func TestCompileBrokenImport(t *testing.T) {
	src := &Source{
		Path: "k.py", Text: []byte("import triton\nfrom other import f\n\n# tritonc: k(*fp32)\n@triton.jit\ndef k(x):\n    f(x)\n"),
		Import: func(module string) (*Source, error) {
			if module != "other" {
				return nil, nil
			}
			return &Source{Path: "other.py", Text: []byte("def f(:\n")}, nil
		},
	}
	_, err := Compile(t.Context(), src, toy, &Options{Select: (&upper{}).choose})
	if err == nil || !strings.HasPrefix(err.Error(), "other.py:1:") {
		t.Errorf("%v", err)
	}
}

// TestVariantsParseOnce: another signature of a variant's file is not another
// file, unless its text is.
func TestVariantsParseOnce(t *testing.T) {
	const text = "import triton\n\n@triton.jit\ndef k(x):\n    pass\n"
	first, err := Variants(t.Context(), &Source{Path: "k.py", Text: []byte(text)}, toy, &Options{}, Want{Kernel: "k", Signature: "*fp32"})
	if err != nil {
		t.Fatal(err)
	}
	changed, moved, typed := *first[0], *first[0], *first[0]
	changed.Text = []byte(text + "\n")
	moved.Path = "dir/k.py"
	typed.Text = []byte(text)
	for _, tt := range []struct {
		src  *Source
		same bool
	}{{first[0], true}, {&typed, true}, {&changed, false}, {&moved, false}} {
		again, err := Variants(t.Context(), tt.src, toy, &Options{}, Want{Kernel: "k", Signature: "*fp16"})
		if err != nil {
			t.Fatal(err)
		}
		if is := again[0].python.file == first[0].python.file; is != tt.same || again[0].python == first[0].python {
			t.Errorf("%s: the same file: %v, want %v", tt.src.Path, is, tt.same)
		}
	}
}
