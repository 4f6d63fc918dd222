package amd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

const assembly = "\t.text\n\t.amdgpu_metadata\n---\namdhsa.kernels:\n  - .agpr_count:     0\n    .args:\n      - .name:           x\n        .size:           8\n" +
	"    .group_segment_fixed_size: 0\n    .max_flat_workgroup_size: 256\n    .name:           k\n    .sgpr_count:     22\n    .vgpr_count:     12\n    .vgpr_spill_count: 3\n" +
	"amdhsa.target:   amdgcn-amd-amdhsa--gfx942\n...\n\n\t.end_amdgpu_metadata\n"

// TestReadAMDGCN reads the kernel, and not its arguments.
func TestReadAMDGCN(t *testing.T) {
	k, err := readAMDGCN(assembly)
	if err != nil {
		t.Fatal(err)
	}
	want := kernelFacts{name: "k", threads: 256, usage: usage{Registers: 12, ScalarRegisters: 22, VectorSpills: 3}}
	if k != want {
		t.Errorf("got %+v, want %+v", k, want)
	}
	for text, want := range map[string]string{
		"\t.text\n": "no kernel here",
		strings.Replace(assembly, "    .name:", "    .nam:", 1):                                       "no kernel here",
		strings.Replace(assembly, "    .sgpr_count:     22", "    .name:   l\n    .sgpr_count: 1", 1): "two kernels",
		strings.Replace(assembly, "22", "many", 1):                                                    "not a number",
	} {
		if _, err := readAMDGCN(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

const source = `@triton.jit
def k(x, y, n):
    i = tl.arange(0, 256)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
`

// TestEnterAssembly: assembly that was printed gives the same code object, and a wrong
// instruction has its place.
func TestEnterAssembly(t *testing.T) {
	needTools(t)
	k, err := compile(t, "gfx942", "k.py", []byte("import triton\nimport triton.language as tl\n\n"+source), "k", "*fp32, *fp32, i32", stageAMDGCN, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(k.Artifact(stageAMDGCN).Data)
	for _, want := range []string{".max_flat_workgroup_size: 256", ".wavefront_size: 64"} {
		if !strings.Contains(text, want) {
			t.Errorf("the assembly has no %s", want)
		}
	}
	enter := func(text string) error {
		_, err := runFrom(t, "gfx942", stageHSACO, stageHSACO, "k.amdgcn", text)
		return err
	}
	if err := enter(text); err != nil {
		t.Error(err)
	}
	if err := enter(strings.Replace(text, "s_endpgm", "s_end_program", 1)); err == nil || !strings.Contains(err.Error(), "invalid instruction") {
		t.Errorf("a wrong instruction: %v", err)
	}
}

// TestInputs: a kernel has the hidden arguments that it reads, and no others.
func TestInputs(t *testing.T) {
	needTools(t)
	const text = `import triton
import triton.language as tl

@triton.jit
def k(x):
    tl.store(x + tl.program_id(1), PROGRAMS)
`
	for expr, want := range map[string]bool{"tl.num_programs(0)": true, "5": false} {
		k, err := compile(t, "gfx942", "k.py", []byte(strings.Replace(text, "PROGRAMS", expr, 1)), "k", "*i32", stageAMDGCN, nil)
		if err != nil {
			t.Fatal(err)
		}
		asm := string(k.Artifact(stageAMDGCN).Data)
		if got := strings.Contains(asm, "hidden_block_count_x"); got != want {
			t.Errorf("%s: hidden arguments %v, want %v", expr, got, want)
		}
		const id = ".amdhsa_system_sgpr_workgroup_id_"
		if !strings.Contains(asm, id+"y 1") || strings.Contains(asm, id+"z 1") {
			t.Errorf("%s: of the work-group's numbers y alone is read, and the assembly says another thing", expr)
		}
	}
}

// TestBelowStack: of accesses to the stack those with a negative offset and no register
// are wrong. The kernel, for which llc makes one, gets another code.
func TestBelowStack(t *testing.T) {
	for text, want := range map[string]bool{
		"\tscratch_store_b64 off, v[86:87], off offset:-4096\n": true,
		"\tscratch_store_b64 off, v[86:87], off offset:4080\n":  false,
		"\tscratch_load_b32 v1, off, s32 offset:-8\n":           false,
		"\tglobal_load_b32 v1, v[2:3], off offset:-8\n":         false,
	} {
		if got := belowStack([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	needTools(t)
	const spills = `import triton
import triton.language as tl

@triton.jit
def k(p0, p1, p2, p3, p4, p5, o0, o1, o2, o3, o4):
    i, j, k = tl.arange(0, 64)[:, None], tl.arange(0, 32)[None, :], tl.arange(0, 32)[:, None]
    n = tl.arange(0, 128)[None, :]
    a, c = tl.load(p0 + (i + j * 64)), tl.load(p2 + (i + j * 64))
    b, d = tl.load(p1 + (k + n * 32)), tl.load(p3 + (k + n * 32))
    e = tl.load(p4 + (i + n * 64))
    f = tl.load(p5 + (tl.arange(0, 128)[:, None] + j * 128))
    out = i * 128 + n
    tl.store(o0 + out, tl.dot(a, b))
    tl.store(o1 + out, tl.dot(c, d))
    tl.store(o2 + out, tl.dot(a, b, acc=e))
    tl.store(o3 + out, tl.dot(c, d) + e)
    tl.store(o4 + out, tl.dot(a, tl.permute(f, (1, 0))))
`
	kernel, err := compile(t, "gfx1100", "k.py", []byte(spills), "k", strings.Repeat("*bf16:16, ", 4)+"*fp32:16, *bf16:16"+strings.Repeat(", *fp32:16", 5), stageAMDGCN,
		map[string]any{"num_warps": 1})
	if err != nil {
		t.Fatal(err)
	}
	if belowStack(kernel.Artifact(stageAMDGCN).Data) {
		t.Error("the code accesses memory below the stack")
	}
}

// TestAccumulators: an accumulator that a loop carries stays in the registers that the
// instruction updates.
func TestAccumulators(t *testing.T) {
	needTools(t)
	const text = `import triton
import triton.language as tl

@triton.jit
def k(a, b, c, n):
    i, j, k = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :], tl.arange(0, 32)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for s in range(n):
        acc = tl.dot(tl.load(a + i * 32 + k[None, :]), tl.load(b + k[:, None] * 64 + j), acc)
        a += 64 * 32
        b += 64 * 32
    tl.store(c + i * 64 + j, acc)
`
	for _, chip := range []string{"gfx90a", "gfx942", "gfx950"} {
		k, err := compile(t, chip, "k.py", []byte(text), "k", "*fp16:16, *fp16:16, *fp32:16, i32", stageAMDGCN, nil)
		if err != nil {
			t.Fatal(err)
		}
		asm := string(k.Artifact(stageAMDGCN).Data)
		if !strings.Contains(asm, "\tv_mfma_") {
			t.Errorf("%s: there is no MFMA", chip)
		}
		if strings.Contains(asm, "\tv_accvgpr_") {
			t.Errorf("%s: accumulators are copied", chip)
		}
	}
}

// TestBarrierWaits: stores at the end of an iteration are waited for at the barrier that
// begins the next one, where warps do not see each other's in order.
func TestBarrierWaits(t *testing.T) {
	needTools(t)
	const text = `import triton
import triton.language as tl

@triton.jit
def k(p, q, n):
    c = tl.arange(0, 1024)
    for i in range(n):
        tl.debug_barrier()
        v = tl.load(q + (c ^ 64))
        tl.store(p + c, v + i)
`
	for chip, want := range map[string]string{
		"gfx1100": "\ts_waitcnt_vscnt null, 0x0\n",
		"gfx1200": "\ts_wait_storecnt 0x0\n",
	} {
		k, err := compile(t, chip, "k.py", []byte(text), "k", "*i32, *i32, i32", stageAMDGCN, nil)
		if err != nil {
			t.Fatal(err)
		}
		code := string(k.Artifact(stageAMDGCN).Data)
		_, loop, _ := strings.Cut(code, "Inner Loop Header")
		before, _, found := strings.Cut(loop, "\ts_barrier")
		if !found || !strings.Contains(before, want) || strings.Contains(code, asmStart) {
			t.Errorf("%s: no %q before the barrier, or marks of inline assembly:\n%s", chip, want, code)
		}
	}
}

// TestForeignFiles: LLVM IR for other targets and files without a kernel are refused where
// they say so, and assembly with line ends of Windows is taken.
func TestForeignFiles(t *testing.T) {
	needTools(t)
	text := func(chip, stage string) string {
		k, err := compile(t, chip, "k.py", []byte("import triton\nimport triton.language as tl\n\n"+source), "k", "*fp32, *fp32, i32", stage, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(k.Artifact(stage).Data)
	}
	llvmIR, assembly := text("gfx1100", stageLLIR), text("gfx942", stageAMDGCN)
	if _, err := runFrom(t, "gfx942", stageHSACO, stageHSACO, "k.amdgcn", strings.ReplaceAll(assembly, "\n", "\r\n")); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct{ first, text, says string }{
		{stageAMDGCN, llvmIR, "the LLVM IR is for gfx1100, and this compile for gfx942"},
		{stageAMDGCN, strings.Replace(llvmIR, `"amdgcn-amd-amdhsa"`, `"nvptx64-nvidia-cuda"`, 1), "the LLVM IR is for nvptx64-nvidia-cuda"},
		{stageHSACO, "", "there is no kernel here"},
		{stageHSACO, assembly[:len(assembly)/2], "there is no kernel here"},
	} {
		_, err := runFrom(t, "gfx942", tt.first, stageHSACO, "given", tt.text)
		var d *sdk.Diagnostic
		if !errors.As(err, &d) || d.File != "given" || d.Help == "" || !strings.Contains(d.Message, tt.says) || tt.first == stageAMDGCN && (d.Line == 0 || d.Column == 0) {
			t.Errorf("%q: %+v, want %s", tt.says, d, tt.says)
		}
	}
	override := filepath.Join(t.TempDir(), "other.amdgcn")
	for content, says := range map[string]string{"": "there is no kernel here", strings.ReplaceAll(assembly, ".name:           k\n", ".name:           l\n"): "kernel l, and the compile of k"} {
		if err := os.WriteFile(override, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := compile(t, "gfx942", "k.py", []byte("import triton\nimport triton.language as tl\n\n"+source), "k", "*fp32, *fp32, i32", stageHSACO, map[string]any{"ir_override": override})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("an override: %v, want %s", err, says)
		}
	}
}
