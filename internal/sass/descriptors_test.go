package sass

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// chained is a dot of x and y, and one of registers and z, whose descriptors are given
// by what is added to the start of shared memory.
func chained(x, y, z int64) string {
	var sums, zeros, stores []string
	for i := range 16 {
		sums = append(sums, fmt.Sprintf("%%f%d", i))
		zeros = append(zeros, fmt.Sprintf("\tmov.f32 %%f%d, 0f00000000;\n", i))
		stores = append(stores, fmt.Sprintf("\tst.global.f32 [%%rd2+%d], %%f%d;\n", 4*i, i))
	}
	return fmt.Sprintf(`.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 global_smem[];
.visible .entry k(.param .u64 p) .reqntid 128 {
	.reg .b32 %%r<8>;
	.reg .b64 %%rd<12>;
	.reg .f32 %%f<16>;
	ld.param.u64 %%rd1, [p];
	mov.u32 %%r1, %%tid.x;
	mad.wide.u32 %%rd2, %%r1, 64, %%rd1;
	ld.global.v4.b32 {%%r2, %%r3, %%r4, %%r5}, [%%rd2];
	mov.u32 %%r6, global_smem;
	bfe.u32 %%r7, %%r6, 4, 14;
	cvt.u64.u32 %%rd3, %%r7;
	or.b64 %%rd4, %%rd3, %[1]d;
	add.s64 %%rd5, %%rd3, %[2]d;
%[4]s	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 { %[5]s }, %%rd4, %%rd5, 1, 1, 1, 0, 1;
	or.b64 %%rd6, %%rd3, %[3]d;
	wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 { %[5]s }, { %%r2, %%r3, %%r4, %%r5 }, %%rd6, 1, 1, 1, 1;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
%[6]s	ret;
}
`, x, y, z, strings.Join(zeros, ""), strings.Join(sums, ", "), strings.Join(stores, ""))
}

var gdesc = regexp.MustCompile(`gdesc\[(UR\d+)\]`)

// TestConfused: what ptxas makes of a dot whose B is A of another.
func TestConfused(t *testing.T) {
	const (
		swizzled = -0x7fffffe000000000 // a descriptor of rows of 64 bytes, eight of them 512 apart
		leading  = 1 << 16
	)
	nvdisasm, missing := Nvdisasm()
	ptxas := filepath.Join(filepath.Dir(nvdisasm), "ptxas")
	if _, err := os.Stat(ptxas); missing == nil {
		missing = err
	}
	for _, tt := range []struct {
		name    string
		x, y, z int64
		fault   bool
	}{
		{"B of the second is A of the first", swizzled, swizzled + 0x100, swizzled, true},
		{"with another leading stride", swizzled, swizzled + 0x100, swizzled + leading, false},
		{"B of both the same", swizzled, swizzled + 0x100, swizzled + 0x100, false},
		{"all different", swizzled, swizzled + 0x100, swizzled + 0x200, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := chained(tt.x, tt.y, tt.z)
			faults := Confused(text)
			if (len(faults) > 0) != tt.fault {
				t.Errorf("faults of the PTX: %q", faults)
			}
			if missing != nil {
				t.Skip("the machine code is not looked at: ", missing)
			}
			dir := t.TempDir()
			in, out := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
			if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if said, err := exec.Command(ptxas, "-arch=sm_90a", "-o", out, in).CombinedOutput(); err != nil {
				t.Fatalf("ptxas: %v: %s", err, said)
			}
			if version, err := exec.Command(ptxas, "--version").Output(); err != nil || !strings.Contains(string(version), "release 12.4") {
				t.Skipf("ptxas is not 12.4, whose fault this is: %s, %v", version, err)
			}
			disassembled, err := exec.Command(nvdisasm, "-c", out).Output()
			if err != nil {
				t.Fatal(err)
			}
			dots := gdesc.FindAllStringSubmatch(string(disassembled), -1)
			if len(dots) != 2 {
				t.Fatalf("%d dots:\n%s", len(dots), disassembled)
			}
			// Both take their descriptors from the same registers. Those of B are what they
			// were, unless something writes them in between.
			same := dots[0][1] == dots[1][1]
			if same && tt.z != tt.y && !tt.fault {
				between := strings.Split(string(disassembled), "GMMA")[1]
				same = !strings.Contains(between, "UIADD3") && !strings.Contains(between, "UMOV")
			}
			if same != (tt.fault || tt.z == tt.y) {
				t.Errorf("the dots take the same descriptors: %v\n%s", same, disassembled)
			}
		})
	}
}

// TestConfusedNames: values are followed through sums with constants, but not through
// what has several values; functions are apart.
func TestConfusedNames(t *testing.T) {
	dot := func(a, b string) string {
		return "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 { %f0, %f1, %f2, %f3 }, " + a + ", " + b + ", 1, 1, 1, 0, 0;\n"
	}
	const regs = "{ %r0, %r1, %r2, %r3 }"
	for _, tt := range []struct {
		name, code string
		faults     int
	}{
		{"one register", dot("%rd1", "%rd2") + dot(regs, "%rd1"), 1},
		{"two of one value", "add.s64 %rd1, %rd0, 64;\n\tor.b64 %rd2, %rd0, 64;\n" + dot("%rd1", "%rd0") + dot(regs, "%rd2"), 1},
		{"a sum of sums", "add.s64 %rd1, %rd0, 64;\nadd.s64 %rd2, %rd1, -64;\n" + dot("%rd0", "%rd5") + dot(regs, "%rd2"), 1},
		{"another constant", "add.s64 %rd1, %rd0, 64;\nadd.s64 %rd2, %rd0, 65;\n" + dot("%rd1", "%rd5") + dot(regs, "%rd2"), 0},
		{"written twice", "add.s64 %rd1, %rd0, 64;\nadd.s64 %rd2, %rd0, 64;\nadd.s64 %rd2, %rd0, 128;\n" + dot("%rd1", "%rd5") + dot(regs, "%rd2"), 0},
		{"both in shared memory", dot("%rd1", "%rd2") + dot("%rd2", "%rd1"), 0},
		{"two functions", dot("%rd1", "%rd2") + "\n.visible .entry l {\n" + dot(regs, "%rd1"), 0},
		{"no dots", "add.s64 %rd1, %rd0, 64;\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Confused(".visible .entry k {\n" + tt.code)
			if len(got) != tt.faults || slices.Contains(got, "") {
				t.Errorf("faults are %q, must be %d", got, tt.faults)
			}
		})
	}
}

// TestForgotten: what the descriptors of A and B are sums of.
func TestForgotten(t *testing.T) {
	dot := func(a, b string) string {
		return "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 { %f0, %f1, %f2, %f3 }, " + a + ", " + b + ", 1, 1, 1, 0, 0;\n"
	}
	const address = "cvt.u64.u32 %rd0, %r0;\nor.b64 %rd1, %rd0, 64;\nadd.s64 %rd2, %rd1, 128;\n"
	for _, tt := range []struct {
		name, code string
		faults     int
	}{
		{"B of the next is at A of the first", address + dot("%rd1", "%rd5") + dot("%rd6", "%rd2"), 1},
		{"A of the next is at B of the first", address + dot("%rd5", "%rd1") + dot("%rd2", "%rd6"), 0},
		{"of one dot", address + dot("%rd1", "%rd2"), 1},
		{"B of both", address + dot("%rd6", "%rd1") + dot("%rd7", "%rd2"), 0},
		{"B of both, of other buffers", address + "add.s64 %rd3, %rd0, 4611686018427387904;\n" + dot("%rd6", "%rd1") + dot("%rd7", "%rd3"), 1},
		{"words joined", "mov.b64 %rd1, {%r0, %r1};\nmov.b64 %rd2, {%r2, %r1};\n" + dot("%rd1", "%rd2"), 0},
		{"two functions", address + dot("%rd1", "%rd5") + "\n.visible .entry l {\n" + dot("%rd6", "%rd1"), 0},
		{"no dots", address, 0},
		{"a branch on", address + "@%p1 bra $L__BB0_2;\n" + dot("%rd1", "%rd2") + "$L__BB0_2:\n", 1},
		{"a loop", address + "$L__BB0_1:\n" + dot("%rd1", "%rd2") + "@%p1 bra $L__BB0_1;\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Forgotten(".visible .entry k {\n" + tt.code); len(got) != tt.faults {
				t.Errorf("faults are %q, must be %d", got, tt.faults)
			}
		})
	}
}
