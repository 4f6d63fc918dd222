package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// groupKernel is a kernel of 8 warps, two warpgroups, that starts with a directive, such as
// .maxnreg, before its body, and has mbarriers at smem, for one arrival,
// and smem+8, for 128. %p1 holds in the first warpgroup, %p2 in its first thread.
func groupKernel(directive, body string) string {
	return `.version 8.0
.target sm_90a
.address_size 64
.file 1 "kernel.py"
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u64 p)
.reqntid 256
` + directive + `
{
	.reg .pred %p<8>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %laneid;
	setp.lt.u32 %p1, %r2, 128;
	setp.eq.u32 %p2, %r2, 0;
	setp.eq.u32 %p3, %r3, 0;
	@%p2 mbarrier.init.shared::cta.b64 [smem], 1;
	@%p2 mbarrier.init.shared::cta.b64 [smem+8], 128;
	bar.sync 0;
	@%p1 bra FIRST;
	bra SECOND;
` + body + `
	ret;
}
`
}

// A wait loop for a phase, at a line of the source.
func waitFor(label, mbar, parity, line string) string {
	return ".loc 1 " + line + " 3\n" + label + ": mbarrier.try_wait.parity.shared::cta.b64 %p4, [" + mbar + "], " + parity + "; @!%p4 bra " + label + ";\n"
}

// TestGroupMistakes: what the simulator says of groups of warps that wait for one another
// in vain, or share registers wrongly, with the places in the source.
func TestGroupMistakes(t *testing.T) {
	const give = "setmaxnreg.dec.sync.aligned.u32 24;\n"
	const take = "setmaxnreg.inc.sync.aligned.u32 232;\n"
	for name, c := range map[string]struct {
		directive, body string
		kind            simt.FindingKind
		says            []string // nil: nothing is wrong
	}{
		"in order": {
			".maxnreg 128", "FIRST: .loc 1 5 3\n" + give + "@%p2 mbarrier.arrive.shared::cta.b64 _, [smem], 1;\n" + waitFor("W", "smem+8", "0", "6") + "ret;\n" +
				"SECOND: .loc 1 8 3\n" + take + waitFor("V", "smem", "0", "9") + "@%p3 mbarrier.arrive.shared::cta.b64 _, [smem+8], 32;\n", 0, nil,
		},
		"a missing arrival": {
			"", "FIRST:\n" + waitFor("W", "smem+8", "0", "6") + "ret;\nSECOND:\n" + waitFor("V", "smem", "0", "9") + "@%p3 mbarrier.arrive.shared::cta.b64 _, [smem+8], 32;\n",
			simt.FindDeadlock,
			[]string{
				"no lane of the block can go on",
				"warp 0 waits for the phase of parity 0 of the mbarrier at 0x8, in which none of 128 arrivals came: kernel.py:6",
				"warp 4 waits for the phase of parity 0 of the mbarrier at 0x0, in which none of 1 arrival came: kernel.py:9",
			},
		},
		"some arrivals": {
			"", "FIRST:\n" + waitFor("W", "smem+8", "0", "6") + "ret;\nSECOND:\nsetp.eq.u32 %p5, %r2, 128; @%p5 mbarrier.arrive.shared::cta.b64 _, [smem+8], 32;\n",
			simt.FindDeadlock,
			[]string{"warp 3 waits for the phase of parity 0 of the mbarrier at 0x8, which lacks 96 of 128 arrivals and 0 bytes: kernel.py:6"},
		},
		"the other phase": {
			"", "FIRST: @%p2 mbarrier.arrive.shared::cta.b64 _, [smem], 1;\n bar.sync 1;\nret;\nSECOND:\n" + waitFor("V", "smem", "0", "9") + waitFor("U", "smem", "1", "10") + "bar.sync 1;\n",
			simt.FindDeadlock,
			[]string{"wait at barrier 1", "warp 7 waits for the phase of parity 1 of the mbarrier at 0x0, in which none of 1 arrival came: kernel.py:10"},
		},
		"too many arrivals": {
			"", "FIRST: .loc 1 5 3\n @%p3 mbarrier.arrive.shared::cta.b64 _, [smem+8], 100;\nret;\nSECOND:\n",
			simt.FindBarrier,
			[]string{"more than 128 arrivals at the mbarrier at 0x8"},
		},
		"no registers": {
			".maxnreg 128", "FIRST: bar.sync 1;\nret;\nSECOND: .loc 1 8 3\n" + take + "bar.sync 1;\n",
			simt.FindDeadlock,
			[]string{"waits for 232 registers per thread, of which 0 are free: kernel.py:8"},
		},
		"no start":     {"", "FIRST: .loc 1 5 3\n" + give + "ret;\nSECOND:\n", simt.FindRegisters, []string{"does not say how many registers its threads start with"}},
		"more is less": {".maxnreg 128", "FIRST: .loc 1 5 3\nsetmaxnreg.dec.sync.aligned.u32 136;\nret;\nSECOND:\n", simt.FindRegisters, []string{"to 136 registers, and a thread has 128"}},
		"half a group": {".maxnreg 128", "FIRST: setp.lt.u32 %p5, %r2, 64; @%p5 bra A;\n.loc 1 5 3\nsetmaxnreg.dec.sync.aligned.u32 32;\nret;\nA: " + give + "ret;\nSECOND:\n", simt.FindRegisters, []string{"where another warp of its warpgroup sets"}},
		"lanes":        {".maxnreg 128", "FIRST: setp.lt.u32 %p5, %r3, 16;\n.loc 1 5 3\n@%p5 " + give + "ret;\nSECOND:\n", simt.FindSync, []string{"all must execute it together"}},
	} {
		for _, random := range []bool{false, true} {
			m, err := Load("kernel.ptx", []byte(groupKernel(c.directive, c.body)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			d := New(Options{Chip: H200, Random: random, Seed: 3})
			_, err = d.Launch(m, "k", Dim(1), Dim(256), 64, d.Alloc("p", 64))
			if c.kind == 0 && c.says == nil {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			var e *simt.FindingsError
			if !errors.As(err, &e) || e.Findings[0].Kind != c.kind || len(e.Findings[0].Where) == 0 {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, s := range c.says {
				if !strings.Contains(e.Findings[0].Message, s) {
					t.Errorf("%s: %v\nlacks %q", name, err, s)
				}
			}
		}
	}
}

// Numbers that setmaxnreg does not take are refused.
func TestSetMaxNReg(t *testing.T) {
	for _, n := range []string{"16", "30", "264"} {
		_, err := Load("kernel.ptx", []byte(groupKernel(".maxnreg 128", "FIRST: setmaxnreg.dec.sync.aligned.u32 "+n+";\nSECOND:\n")))
		if err == nil || !strings.Contains(err.Error(), "takes a multiple of 8 from 24 to 256, not "+n) {
			t.Errorf("%s: %v", n, err)
		}
	}
}
