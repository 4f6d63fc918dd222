package amd

import (
	"regexp"
	"strings"
	"testing"
)

// turns is a kernel whose upper warps are a barrier late in body, which reads what %b has.
func turns(warps, opening, body, closing string) string {
	return `#x = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [` + warps + `], order = [0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = ` + warps + ` : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func private @f() attributes {noinline = true} {
    gpu.barrier
    tt.return
  }
  tt.func public @k(%n: i32) {
    %v = arith.constant dense<1.0> : tensor<512xf32, #x>
    %zero = arith.constant 0 : i32
    %half = arith.constant 256 : i32
    %b = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #s, #smem, mutable>
    %thread = rocdl.workitem.id.x : i32
    %group = arith.divsi %thread, %half : i32
    %low = arith.cmpi eq, %group, %zero : i32
    %high = arith.cmpi ne, %group, %zero : i32
    ` + strings.Join([]string{opening, body, closing}, "\n    ") + `
    tt.return
  }
}
`
}

const (
	putTurns   = "ttg.local_store %v, %b : tensor<512xf32, #x> -> !ttg.memdesc<512xf32, #s, #smem, mutable>\n"
	addTurns   = "%a = ttg.local_load %b : !ttg.memdesc<512xf32, #s, #smem, mutable> -> tensor<512xf32, #x>\nttg.local_store %a, %b : tensor<512xf32, #x> -> !ttg.memdesc<512xf32, #s, #smem, mutable>\n"
	openTurns  = "amdg.cond_barrier %high"
	closeTurns = "amdg.cond_barrier %low"
)

// traced are the instructions of interest in LLVM IR: a branch by a condition, a barrier, a
// store to LDS, a load from there.
var traced = regexp.MustCompile(`br i1|call void @llvm.amdgcn.s.barrier|store \w+ .*addrspace\(3\)|load \w+, .*addrspace\(3\)`)

// TestTurnsLowered: where halves of the program are a barrier apart, a barrier of the module is
// one instruction, and one that is due is two; a conditional one is in a branch.
func TestTurnsLowered(t *testing.T) {
	for name, c := range map[string]struct{ warps, open, body, close, want string }{
		"due":          {"8", openTurns, putTurns + addTurns, closeTurns, "?b w bbr bbw ?b"},
		"one":          {"8", openTurns, putTurns + "gpu.barrier\n" + addTurns, closeTurns, "?b w b bbr bbw ?b"},
		"two":          {"8", openTurns, putTurns + "rocdl.s.barrier\ngpu.barrier\n" + putTurns, closeTurns, "?b w b b w ?b"},
		"never apart":  {"8", "", putTurns + "rocdl.s.barrier\n" + addTurns, "", "w b r bw"},
		"four warps":   {"4", openTurns, putTurns + "gpu.barrier\n" + putTurns, closeTurns, "?b ww b ww ?b"},
		"after a pair": {"8", openTurns, putTurns + "gpu.barrier\n", closeTurns + "\n" + addTurns, "?b w b ?b r bw"},
	} {
		resp, err := runFrom(t, "gfx942", stageLLIR, stageLLIR, "k.ttgir", turns(c.warps, c.open, c.body, c.close))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := string(resp.Artifacts[0].Data)
		got := ""
		for _, s := range traced.FindAllString(text[strings.Index(text, "@k("):], -1) {
			got += map[string]string{"br": "?", "ca": "b", "st": "w", "lo": "r"}[s[:2]]
		}
		if want := strings.ReplaceAll(c.want, " ", ""); got != want {
			t.Errorf("%s: %q, want %q\n%s", name, got, want, text)
		}
	}
}

// TestTurnsRefused: what would never end, or whose barriers are not known, is a diagnostic.
func TestTurnsRefused(t *testing.T) {
	for _, c := range []struct{ open, body, close, want string }{
		{openTurns, putTurns, "", "no later one in its block"},
		{openTurns, putTurns, openTurns, "must be the opposite"},
		{openTurns, "tt.call @f() : () -> ()", closeTurns, "tt.call has barriers of its own"},
		{openTurns, "scf.for %i = %zero to %n step %half : i32 {\n" + closeTurns + "\n}", "", "no later one in its block"},
		{"amdg.memory_counter_wait ds(-1)", "", "", "not negative"},
	} {
		_, err := runFrom(t, "gfx942", stageLLIR, stageLLIR, "k.ttgir", turns("8", c.open, c.body, c.close))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "k.ttgir:") {
			t.Errorf("%s\n%s\n%s\ngot %v, want %q", c.open, c.body, c.close, err, c.want)
		}
	}
}

// TestCounterWait: what llc makes of waits for accesses, which some chips count together.
func TestCounterWait(t *testing.T) {
	needTools(t)
	for chip, cases := range map[string]map[string]string{
		"gfx942":  {"ds(2)": "s_waitcnt lgkmcnt(2)", "load(3)": "s_waitcnt vmcnt(3)", "load(40) store(17) ds(0)": "s_waitcnt vmcnt(17) lgkmcnt(0)", "store(99)": "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)"},
		"gfx1100": {"ds(2)": "s_waitcnt lgkmcnt(2)", "load(3)": "s_waitcnt vmcnt(3)", "load(40) ds(0)": "s_waitcnt vmcnt(40) lgkmcnt(0)", "store(4)": "s_waitcnt_vscnt null, 0x4"},
		"gfx1200": {"ds(2)": "s_wait_dscnt 0x2", "load(3)": "s_wait_loadcnt 0x3", "store(4)": "s_wait_storecnt 0x4"},
	} {
		for what, want := range cases {
			text := strings.ReplaceAll(turns("4", "amdg.memory_counter_wait "+what, "", ""), "gfx942", chip)
			if chip != "gfx942" {
				text = strings.ReplaceAll(text, "[64]", "[32]")
				text = strings.ReplaceAll(text, "threads-per-warp\" = 64", "threads-per-warp\" = 32")
			}
			resp, err := runFrom(t, chip, stageLLIR, stageAMDGCN, "k.ttgir", text)
			if err != nil {
				t.Errorf("%s, %s: %v", chip, what, err)
				continue
			}
			code := string(resp.Artifacts[0].Data)
			if got := regexp.MustCompile(`s_wait\w+ .*`).FindAllString(code[strings.Index(code, ".loc\t1 18"):], -1); strings.TrimSpace(strings.Join(got, ";")) != want {
				t.Errorf("%s, %s: %q, want %q", chip, what, got, want)
			}
		}
	}
}
