package image

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module has the forms of heads that occur: of compilers, of hands, with
// comments and strings that look like code.
const module = `//
// Generated; .entry comment(
.version 8.4
.target sm_80
.address_size 64
/* .entry also_comment( .param .u64 x ) { */
.file 1 "dir//.entry string(.param .u8 x){"
.extern .shared .align 16 .b8 global_smem[];
.visible .func (.param .b32 r) helper(.param .b64 a, .param .b32 b)
{
	.param .b64 param0;
	ret;
}
.visible .entry two$_kernel(
	.param .u64 .ptr .global .align 16 two$_kernel_param_0, // the first
	.param .u8 two$_kernel_param_1,
	.param .align 64 .b8 two$_kernel_param_2[128],
	.param .f32 two$_kernel_param_3,
	.param .b16 two$_kernel_param_4,
	.param .u64 two$_kernel_param_5
)
.maxnreg 64
.reqntid 128, 2
{
	.reg .b32 %r<2>;
	mov.u32 %r1, %tid.x;
	ret;
}
	// .globl	none
.entry none { ret; }
.weak .entry empty()
.maxntid 64, 1, 1
{
	ret;
}
`

func describe(f *File) string {
	var b strings.Builder
	for _, k := range f.Kernels {
		if k.Params == nil {
			b.WriteString("unknown: ")
		}
		fmt.Fprintf(&b, "%s %v %v\n", k.Name, k.Params, k.Block)
	}
	return b.String()
}

func TestPTX(t *testing.T) {
	f, err := Parse([]byte(module))
	if err != nil {
		t.Fatal(err)
	}
	const want = "two$_kernel [{8} {1} {128} {4} {2} {8}] [128 2 1]\nnone [] [0 0 0]\nempty [] [0 0 0]\n"
	if got := describe(f); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if k, err := f.Kernel("none"); err != nil || k.Name != "none" {
		t.Error(k, err)
	}
	if _, err := f.Kernel(""); err == nil || !strings.Contains(err.Error(), `["two$_kernel" "none" "empty"]`) {
		t.Error(err)
	}
	end := strings.Index(module, "\t.reg .b32")
	for cut := strings.Index(module, "two$_kernel("); cut < end; cut++ {
		if f, err := Parse([]byte(module[:cut])); err == nil && cut > strings.Index(module, "two$_kernel(")+3 && cut < strings.LastIndex(module[:end], "{") {
			t.Fatalf("the first %d bytes give %q", cut, describe(f))
		}
	}
	for text, want := range map[string]string{
		"":      "neither a cubin, nor a code object, nor PTX",
		"hello": "neither a cubin, nor a code object, nor PTX",
		".version 8.0\n.entry a(.param .what x) {":  "parameter 0 has no type",
		".version 8.0\n.entry a(.param .b8 x[y]) {": "size cannot be read",
		".version 8.0\n.entry a .reqntid x {":       ".reqntid",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCubin: what ptxas makes of a module says the same as the module.
func TestCubin(t *testing.T) {
	out, _ := exec.Command("sh", filepath.Join("..", "..", "scripts", "toolchain.sh"), "--check").Output()
	ptxas := ""
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "ptxas" {
			ptxas = f[1]
		}
	}
	if ptxas == "" {
		t.Skip("there is no ptxas here")
	}
	dir := t.TempDir()
	text := strings.Replace(module, `.file 1 "dir//.entry string(.param .u8 x){"`, "", 1)
	if err := os.WriteFile(filepath.Join(dir, "m.ptx"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"sm_80", "sm_90a"} {
		cubin := filepath.Join(dir, arch)
		if out, err := exec.Command(ptxas, "-arch", arch, "-o", cubin, filepath.Join(dir, "m.ptx")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		code, err := os.ReadFile(cubin)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(code)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*File{got, want} {
			slices.SortFunc(f.Kernels, func(a, b Kernel) int { return strings.Compare(a.Name, b.Name) })
		}
		if describe(got) != describe(want) {
			t.Errorf("%s: got\n%swant\n%s", arch, describe(got), describe(want))
		}
		for _, k := range got.Kernels {
			if k.Registers < 1 || k.Registers > 255 {
				t.Errorf("%s: %s takes %d registers", arch, k.Name, k.Registers)
			}
		}
		for cut := 4; cut < len(code); cut += 7 {
			Parse(code[:cut]) // whatever it says, it ends
		}
	}
}

// TestAttributes: what a cubin may say of a kernel, and what it may not.
func TestAttributes(t *testing.T) {
	params := "\x04\x0a\x08\x00\x02\x00\x00\x00\x60\x01\x10\x00"
	param := "\x04\x17\x0c\x00\x00\x00\x00\x00%c\x00\x08\x00\x00\xf0\x21\x00"
	for _, tt := range []struct{ name, data, want string }{
		{"all", "\x03\x1b\xff\x00" + params + fmt.Sprintf(param, 1) + fmt.Sprintf(param, 0), "[{8} {8}]"},
		{"none", "\x01\x35\x00\x00", "[]"},
		{"in another form", params, "unknown"},
		{"a gap", fmt.Sprintf(param, 1), "it has no parameter 0 of 1"},
		{"cut off", params[:9], "it is cut off"},
		{"an odd end", params + "\x04", "it is cut off"},
		{"another form", "\x07\x00\x00\x00", "unknown form 7"},
	} {
		k := Kernel{}
		err := k.attributes([]byte(tt.data))
		got := fmt.Sprint(k.Params)
		switch {
		case err != nil:
			got = err.Error()
		case k.Params == nil:
			got = "unknown"
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(module))
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(_ *testing.T, code []byte) { Parse(code) })
}
