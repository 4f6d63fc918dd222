package amdgcn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
)

// kernelText is a kernel of some instructions.
func kernelText(processor, body string) string {
	return ".amdgcn_target \"amdgcn-amd-amdhsa--" + processor + "\"\n.text\nk:\n" + body + "\ts_endpgm\n.amdhsa_kernel k\n.end_amdhsa_kernel\n"
}

// TestErrors: what is wrong is told with its line and column.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ body, says string }{
		{"\tv_frobnicate_b32 v0, v1\n", "k.s:4:2: error: unknown instruction v_frobnicate_b32 of gfx942"},
		{"\tv_add_f32_e32 v0, v1\n", "4:2: error: v_add_f32_e32 has too few operands: 2"},
		{"\tv_add_f32_e32 v0, v1, v2, v3\n", "4:2: error: v_add_f32_e32 takes 3 operands, given 4"},
		{"\tv_add_f32_e64 v0, v1, v2 frob:1\n", "4:27: error: v_add_f32_e64 has the modifier frob"},
		{"\tv_add_f64 v[0:1], v2, v[4:5]\n", "4:20: error: v_add_f64 takes 2 vector registers here, given 1"},
		{"\ts_branch .LBB9\n", "4:11: error: .LBB9 is not a label of the file"},
		{"\ts_waitcnt frobcnt(0)\n", "4:12: error: unknown counter frobcnt"},
		{"\tglobal_load_dword v0, v1, off\n", "4:24: error: global_load_dword takes an address of two registers here"},
		{"\tglobal_load_lds_dwordx4 v0, s[2:3]\n", "error: gfx942 cannot copy 16 bytes of each lane to LDS"},
		{"\tbuffer_load_dwordx2 v0, s[8:11], 0 offen lds\n", "error: gfx942 cannot copy 8 bytes of each lane to LDS"},
		{"\tv_mov_b32_e32 v600, 0\n", "4:16: error: registers 600 to 600: this file has 512"},
		{"\tv_mov_b32_dpp v0, v1 quad_perm:[0,1]\n", "4:23: error: quad_perm needs four lanes"},
		{"\tds_swizzle_b32 v0, v1 offset:swizzle(FROB,1)\n", "4:24: error: offset:swizzle(FROB,1) is not a swizzle"},
		{"\tv_mfma_f32_7x7x7_f16 v0, v1, v2, v3\n", "unknown instruction v_mfma_f32_7x7x7_f16"},
		{"\ts_mov_b32 s0, nowhere@rel32@lo+4\n", "4:16: error: nowhere is not defined in the file"},
		{"\ts_add_u32 s0, s0, (.L9-k)&4294967295\n", "4:20: error: .L9 is not a label of the file"},
		{"\ts_add_u32 s0, s0, (k-k)&1\n", "4:20: error: \"(k-k)&1\" is not an operand"},
		{"k:\n", "4:1: error: label k is defined twice"},
		{"\t?\n", "4:2: error: neither an instruction, nor a label, nor a directive"},
	} {
		m, err := Parse("k.s", []byte(kernelText("gfx942", tt.body)))
		if err == nil {
			_, err = Decode(m)
		}
		var d *diag.Diagnostic
		if !errors.As(err, &d) || !strings.Contains(fmt.Sprintf("%s: %v", d.Pos, d.Error()), tt.says) && !strings.Contains(d.Error(), tt.says) {
			t.Errorf("%q: %v", tt.body, err)
		}
	}
	if m, err := Parse("k.s", []byte(kernelText("gfx600", ""))); err != nil {
		t.Error(err)
	} else if _, err := Decode(m); err == nil || !strings.Contains(err.Error(), `processor "gfx600"`) {
		t.Errorf("got %v", err)
	}
}

// TestAssembler: what llvm-mc makes of the text and llvm-objdump shows are the same
// instructions, but for how symbols and branches look.
func TestAssembler(t *testing.T) {
	mc, err := exec.LookPath("llvm-mc-22")
	dump, err2 := exec.LookPath("llvm-objdump-22")
	if err = errors.Join(err, err2); err != nil {
		t.Skip(err)
	}
	files, err := filepath.Glob("../testdata/gfx*/*.amdgcn")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, no files", err)
	}
	if dir := os.Getenv("SIM_AMDGCN"); dir != "" {
		more, err := filepath.Glob(dir + "/gfx*/*.amdgcn")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		object := filepath.Join(t.TempDir(), "k.o")
		if out, err := exec.Command(mc, "-triple=amdgcn-amd-amdhsa", "-mcpu="+m.Processor, "-filetype=obj", "-o", object, file).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, out)
		}
		shown, err := exec.Command(dump, "-d", "--no-addresses", "--no-show-raw-insn", object).Output()
		if err != nil {
			t.Fatal(err)
		}
		same(t, file, m, string(shown))
	}
}

// same compares a module with what a disassembler shows, without the padding between
// functions.
func same(t *testing.T, file string, m *Module, shown string) {
	t.Helper()
	var text strings.Builder
	text.WriteString(".text\n")
	for _, line := range strings.Split(shown, "\n") {
		if strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "\ts_code_end") {
			text.WriteString(line + "\n")
		}
	}
	back, err := Parse(file+" shown", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for i := range m.Insts {
		in := &m.Insts[i]
		for k < len(back.Insts) && back.Insts[k].Op == "s_nop" && in.Op != "s_nop" {
			k++ // what an alignment inserts
		}
		if k == len(back.Insts) {
			t.Fatalf("%s has %d instructions, the disassembly fewer", file, len(m.Insts))
		}
		if a, b := normal(in), normal(&back.Insts[k]); a != b {
			t.Errorf("%s: %s\nshown as %s", in.Pos, a, b)
			return
		}
		k++
	}
}

// normal is an instruction in one form, without symbols and branches' targets.
func normal(in *Inst) string {
	var b strings.Builder
	b.WriteString(in.Op)
	halves := false
	for i := range in.Operands {
		o := in.Operands[i]
		o.Col = 0
		halves = halves || o.Half != 0
		if o.Half == 'l' {
			o.Half = 0 // a whole register shows as its lower half where half is used
		}
		switch {
		case in.Op == "s_delay_alu", strings.HasPrefix(in.Op, "s_cbranch"), in.Op == "s_branch",
			o.Kind == KindSymbol, i == 2 && (in.Op == "s_add_u32" || in.Op == "s_addc_u32") && o.Kind != KindReg:
			continue
		case strings.HasPrefix(in.Op, "s_load_") && o.Kind == KindReg && o.Index == regNull:
			o = Operand{Kind: KindInt} // no offset
		case o.Kind == KindInt:
			o.Value &= 1<<32 - 1
		case o.Kind == KindFloat:
			o.Kind, o.Value, o.Float = KindInt, o.bits(32), 0
		}
		fmt.Fprintf(&b, " %+v", o)
	}
	for _, m := range in.Mods {
		if m.Name == "op_sel" && halves {
			continue // which the halves say already
		}
		m.Col = 0
		fmt.Fprintf(&b, " %+v", m)
	}
	if in.Second != nil {
		b.WriteString(" :: " + normal(in.Second))
	}
	return b.String()
}
