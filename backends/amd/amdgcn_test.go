package amd

import (
	"strings"
	"testing"
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
