package sass

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// function is the text of nvdisasm for instructions from address 0 on.
func function(insts ...string) string {
	var s strings.Builder
	for i, in := range insts {
		fmt.Fprintf(&s, "        /*%04x*/  %s ;\n", i*16, in)
	}
	return s.String()
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   []string
		device bool // no entry
		faults []string
	}{
		{name: "a copy with a policy", code: []string{
			"ULDC.64 UR14, c[0x0][0x208]", "LDGSTS.E.BYPASS.128 [R19+UR0], desc[UR1][R2.64], P0", "EXIT",
		}, faults: []string{"UR1 is not a first half", "nothing writes UR0, UR1, UR2 before"}},
		{name: "a copy", code: []string{
			"ULDC.64 UR14, c[0x0][0x208]", "LDGSTS.E.BYPASS.128 [R19+0x800], desc[UR14][R2.64+0x40], P0", "EXIT",
		}},
		{name: "undefined elements of a vector", code: []string{
			"UPRMT UR5, UR5, 0x3340, UR5", "PRMT R2, R3, 0x5410, UR5", "EXIT",
		}},
		{name: "bytes in reverse", code: []string{
			"UPRMT UR5, UR5, 0x123, UR5", "EXIT",
		}, faults: []string{"nothing writes UR5 before"}},
		{name: "an address of bytes", code: []string{
			"UMOV UR4, 0x400", "UPRMT UR4, UR6, 0x654, UR4", "EXIT",
		}, faults: []string{"nothing writes UR6 before"}},
		{name: "half of a descriptor", code: []string{
			"UMOV UR4, 0x0", "LDG.E R2, desc[UR4][R2.64]", "EXIT",
		}, faults: []string{"nothing writes UR5 before"}},
		{name: "descriptors of B alone", code: []string{
			"ULDC.64 UR6, c[0x0][0x208]", "HGMMA.64x16x16.F32.BF16 R24, R44, gdesc[UR4].tnspB, R24, gsb0",
			"QGMMA.64x16x32.F32.E4M3.E4M3 R24, R44, gdesc[UR8], R24, gsb0", "EXIT",
		}, faults: []string{"nothing writes UR10, UR11 before"}},
		{name: "matrices", code: []string{
			"ULDC.64 UR4, c[0x0][0x208]", "HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0", "EXIT",
		}, faults: []string{"nothing writes UR6, UR7 before"}},
		{name: "on one path", code: []string{ // 0x30 is reached from 0x10 too
			"UISETP.GE.AND UP0, UPT, URZ, 0x1, UPT", "@P0 BRA 0x30", "UMOV UR4, 0x1", "IADD3 R2, R2, UR4, RZ", "EXIT",
		}},
		{name: "under a predicate", code: []string{"@P0 S2UR UR4, SR_CTAID.X", "IADD3 R2, R2, UR4, RZ", "EXIT"}},
		{name: "after a jump over it", code: []string{
			"BRA 0x20", "UMOV UR4, 0x1", "IADD3 R2, R2, UR4, RZ", "EXIT",
		}, faults: []string{"nothing writes UR4 before"}},
		{name: "in a later iteration", code: []string{
			"IADD3 R2, R2, UR4, RZ", "R2UR UR4, R2", "@P0 BRA 0x0", "EXIT",
		}},
		{name: "the elected lane", code: []string{
			"ELECT P0, UR62, ~URZ", "MOV R11, UR62", "ELECT P1, UR4, UR5", "EXIT",
		}, faults: []string{"nothing writes UR5 before"}},
		{name: "lane by lane", code: []string{
			"@P1 R2UR P0, UR4, R4", "@P1 R2UR.OR P0, UR5, R5", "UTMACCTL.IV [UR4]", "@P1 R2UR P0, UR6, UR7", "EXIT",
		}, faults: []string{"nothing writes UR7 before"}},
		{name: "never reached", code: []string{"EXIT", "IADD3 R2, R2, UR4, RZ"}},
		{name: "predicates", code: []string{
			"UISETP.GE.AND UP0, UPT, URZ, 0x1, UPT", "PLOP3.LUT P0, PT, PT, PT, UP1, 0x80, 0x0", "@!UP2 UMOV UR4, URZ", "@UP0 UMOV UR5, URZ", "EXIT",
		}, faults: []string{"nothing writes UP1 before", "nothing writes UP2 before"}},
		{name: "a carry", code: []string{
			"ULDC.64 UR4, c[0x0][0x208]", "UIADD3 UR6, UP0, UR4, UR5, URZ", "UIADD3.X UR7, URZ, UR5, URZ, UP0, !UPT", "UIADD3.X UR8, UR7, UR6, URZ, UP1, !UPT", "EXIT",
		}, faults: []string{"nothing writes UP1 before"}},
		{name: "a source after a predicate", code: []string{
			"ULOP3.LUT UP0, URZ, UR4, 0x1, URZ, 0xc0, !UPT", "USEL UR5, UR6, URZ, UP0", "UPLOP3.LUT UP1, UPT, UP3, UPT, UPT, 0x80, 0x0", "EXIT",
		}, faults: []string{"nothing writes UR4 before", "nothing writes UR6 before", "nothing writes UP3 before"}},
		{name: "registers that may be there", code: []string{
			"USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xe8", "PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0", "USETMAXREG.DEALLOC.CTAPOOL UR4", "EXIT",
		}, faults: []string{"nothing writes UR4 before"}},
		{name: "what only reads", code: []string{
			"ULDC.64 UR4, c[0x0][0x208]", "UTMALDG.2D [UR8], [UR4], desc[UR10]", "USETMAXREG.DEALLOC.CTAPOOL 0x18", "EXIT",
		}, faults: []string{"nothing writes UR8, UR10, UR11 before"}},
		{name: "a function here", code: []string{
			"CALL.REL.NOINC 0x30", "IADD3 R2, R2, UR4, RZ", "EXIT", "UMOV UR4, 0x1", "RET.REL.NODEC R2 0x0",
		}},
		{name: "a function elsewhere", code: []string{"CALL.REL.NOINC 0x7000", "IADD3 R2, R2, UR4, RZ", "EXIT"}},
		{name: "a device function", code: []string{"IADD3 R2, R2, UR4, RZ", "RET.REL.NODEC R2 0x0"}, device: true},
		{name: "a table of branches", code: []string{
			"UMOV UR4, URZ", "BRX R2 -0x20", "IADD3 R2, R2, UR4, RZ", "@P1 BRA 0x20", "EXIT",
		}},
		{name: "where lanes meet", code: []string{
			"BSSY B0, 0x40", "@P0 BRA 0x50", "BSYNC B0", "EXIT", "IADD3 R2, R2, UR4, RZ", "EXIT",
		}, faults: []string{"nothing writes UR4 before"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, err := parse(function(tt.code...))
			if err != nil || len(code) != len(tt.code) {
				t.Fatalf("%d of %d instructions: %v", len(code), len(tt.code), err)
			}
			got := check(code, !tt.device)
			if !slices.EqualFunc(got, tt.faults, strings.Contains) {
				t.Errorf("faults are\n%s\nmust be\n%s", strings.Join(got, "\n"), strings.Join(tt.faults, "\n"))
			}
		})
	}
}

// TestApart: what decides who does the work of a whole warp.
func TestApart(t *testing.T) {
	const reduce = "@P0 REDUX.SUM UR4, R9"
	for _, tt := range []struct {
		name  string
		code  []string
		apart bool
	}{
		{"no predicate", []string{"S2R R0, SR_TID.X", "REDUX.SUM UR4, R0", "EXIT"}, false},
		{"an argument", []string{"LDC R0, c[0x0][0x24c]", "ISETP.GT.AND P0, PT, R0, 0x1, PT", reduce, "EXIT"}, false},
		{"the program's number", []string{"S2R R0, SR_CTAID.X", "IMAD R0, R0, UR4, RZ", "ISETP.GT.AND P0, PT, R0, 0x1, PT", reduce, "EXIT"}, false},
		{"the lane", []string{"S2R R0, SR_TID.X", "ISETP.GT.AND P0, PT, R0, 0x1, PT", reduce, "EXIT"}, true},
		{"made of the lane", []string{"S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x4, RZ", "LDC R4, c[0x0][0x210]", "IADD3 R5, P1, R3, R4, RZ", "ISETP.NE.AND P0, PT, R5, RZ, PT", reduce, "EXIT"}, true},
		{"a carry of the lane", []string{"S2R R0, SR_TID.X", "IADD3 R5, P0, R0, 0x7, RZ", reduce, "EXIT"}, true},
		{"loaded from one place", []string{"ULDC.64 UR4, c[0x0][0x208]", "LDC.64 R2, c[0x0][0x210]", "LDG.E R0, desc[UR4][R2.64]", "ISETP.GT.AND P0, PT, R0, 0x1, PT", reduce, "EXIT"}, false},
		{"loaded from places of the lanes", []string{"S2R R0, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R0, 0x4, R2", "LDG.E R0, desc[UR4][R2.64]", "ISETP.GT.AND P0, PT, R0, 0x1, PT", reduce, "EXIT"}, true},
		{"from another lane", []string{"LDC R0, c[0x0][0x210]", "SHFL.BFLY PT, R1, R0, 0x1, 0x1f", "ISETP.GT.AND P0, PT, R1, 0x1, PT", reduce, "EXIT"}, true},
		{"a vote", []string{"S2R R0, SR_TID.X", "ISETP.GT.AND P1, PT, R0, 0x1, PT", "VOTE.ANY P0, P1", reduce, "EXIT"}, false},
		{"written for some lanes", []string{"S2R R0, SR_TID.X", "ISETP.GT.AND P1, PT, R0, 0x1, PT", "LDC R2, c[0x0][0x210]", "@P1 MOV R2, 0x3", "ISETP.GT.AND P0, PT, R2, 0x1, PT", reduce, "EXIT"}, true},
		{"written anew", []string{"S2R R0, SR_TID.X", "MOV R0, 0x3", "ISETP.GT.AND P0, PT, R0, 0x1, PT", reduce, "EXIT"}, false},
		{"after a branch of some lanes", []string{"S2R R0, SR_TID.X", "ISETP.GT.AND P1, PT, R0, 0x1, PT", "MOV R2, 0x1", "@P1 BRA 0x50", "MOV R2, 0x2", "ISETP.GT.AND P0, PT, R2, 0x1, PT", reduce, "EXIT"}, true},
		{"in a loop", []string{"MOV R2, RZ", "LDC R4, c[0x0][0x210]", "S2R R0, SR_TID.X", "VIADD R2, R2, 0x1", "ISETP.GE.AND P0, PT, R2, R4, PT", reduce, "@!P0 BRA 0x30", "EXIT"}, false},
		{"in a loop that carries the lane", []string{"MOV R2, RZ", "S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R2, 0x1, PT", reduce, "VIADD R2, R0, 0x1", "LDC R4, c[0x0][0x210]", "ISETP.GE.AND P1, PT, R4, 0x2, PT", "@!P1 BRA 0x20", "EXIT"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, err := parse(function(tt.code...))
			if err != nil {
				t.Fatal(err)
			}
			if got := together(code, true, wholeWarp); (len(got) > 0) != tt.apart {
				t.Errorf("lanes apart: %q", got)
			}
		})
	}
}

// TestParseUnknown: a line that is not understood is an error, not passed over.
func TestParseUnknown(t *testing.T) {
	for _, text := range []string{"  /*0000*/  [B------] MOV R1, R2 ;\n", "  0000 MOV R1 ;\n"} {
		if code, err := parse(text); err == nil {
			t.Errorf("%q is %v", text, code)
		}
	}
}

const copying = `
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry k(.param .u64 p, .param .u64 o) .reqntid 128 {
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	.reg .pred %p<2>;
	mov.u32 %r1, %tid.x;
	shl.b32 %r7, %r1, 4;
	xor.b32 %r2, %r7, 48;
	mov.u32 %r3, global_smem;
	add.s32 %r4, %r3, %r2;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	mad.wide.u32 %rd3, %r1, 16, %rd2;
	setp.lt.u32 %p1, %r1, 100;
	selp.b32 %r6, 16, 0, %p1;
	POLICY
	cp.async.cg.shared.globalHINT [ %r4 + 0 ], [ %rd3 + 0 ], 0x10, %r6OPERAND;
	cp.async.commit_group;
	cp.async.wait_group 0;
	bar.sync 0;
	ld.shared.b32 %r5, [%r4];
	ld.param.u64 %rd5, [o];
	cvta.to.global.u64 %rd6, %rd5;
	st.global.b32 [%rd6], %r5;
	ret;
}
`

// TestCopies: what ptxas makes of asynchronous copies with a cache policy, at which
// an H200 traps, and of those without one.
func TestCopies(t *testing.T) {
	nvdisasm, err := Nvdisasm()
	if err != nil {
		t.Skip(err)
	}
	ptxas := filepath.Join(filepath.Dir(nvdisasm), "ptxas")
	if _, err := os.Stat(ptxas); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		name, policy, hint, operand string
		fault                       bool
	}{
		{"plain", "", "", "", false},
		{"hinted", "createpolicy.fractional.L2::evict_first.b64 %rd4, 1.0;", ".L2::cache_hint", ", %rd4", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
			text := strings.NewReplacer("POLICY", tt.policy, "HINT", tt.hint, "OPERAND", tt.operand).Replace(copying)
			if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if said, err := exec.Command(ptxas, "-arch=sm_90a", "-o", out, in).CombinedOutput(); err != nil {
				t.Fatalf("ptxas: %v: %s", err, said)
			}
			code, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			faults, err := Check(t.Context(), nvdisasm, "SM90a", []Cubin{{"k.cubin", code}})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", strings.Join(faults, "\n"))
			if (len(faults) > 0) != tt.fault {
				t.Errorf("%d faults", len(faults))
			}
		})
	}
}
