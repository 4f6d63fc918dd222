package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// A trafficForm is one instruction that accesses memory, by lanes at places that a
// pattern gives. Its text finds the place in %a (32 bits wide in shared, 64 in
// global memory), may read %w0 to %w3, %l0, %l1, %h0 and %b (lane-contiguous
// places for the other side of a copy), and leaves what it reads in %r0 to %r3 or
// %m0, %m1.
type trafficForm struct {
	name   string
	text   string
	unit   int // bytes that lanes of a pattern are apart by, the access's alignment
	global bool
	// patterns that suit the form; nil is all of them.
	only []string
}

var trafficForms = []trafficForm{
	{name: "lds_u8", text: "ld.shared.u8 %r0, [%a];", unit: 1, only: few},
	{name: "lds_u16", text: "ld.shared.u16 %r0, [%a];", unit: 2, only: few},
	{name: "lds_b32", text: "ld.shared.b32 %r0, [%a];", unit: 4},
	{name: "lds_b64", text: "ld.shared.b64 %m0, [%a];", unit: 8, only: few},
	{name: "lds_v2", text: "ld.shared.v2.b32 {%r0, %r1}, [%a];", unit: 8},
	{name: "lds_v4", text: "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%a];", unit: 16},
	{name: "sts_u8", text: "st.shared.u8 [%a], %w0;", unit: 1, only: few},
	{name: "sts_u16", text: "st.shared.u16 [%a], %w0;", unit: 2, only: few},
	{name: "sts_b32", text: "st.shared.b32 [%a], %w0;", unit: 4},
	{name: "sts_v2", text: "st.shared.v2.b32 [%a], {%w0, %w1};", unit: 8},
	{name: "sts_v4", text: "st.shared.v4.b32 [%a], {%w0, %w1, %w2, %w3};", unit: 16},
	{name: "ldmatrix_x1", text: "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%a];", unit: 16, only: whole},
	{name: "ldmatrix_x2", text: "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%a];", unit: 16, only: whole},
	{name: "ldmatrix_x4", text: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%a];", unit: 16, only: whole},
	{name: "ldmatrix_x4t", text: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [%a];", unit: 16, only: whole},
	{name: "stmatrix_x4", text: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%a], {%w0, %w1, %w2, %w3};", unit: 16, only: whole},
	{name: "atoms_add", text: "atom.shared.add.u32 %r0, [%a], %w0;", unit: 4},
	{name: "reds_add", text: "red.shared.add.u32 [%a], %w0;", unit: 4},
	{name: "atoms_exch", text: "atom.shared.exch.b32 %r0, [%a], %w0;", unit: 4, only: few},
	{name: "atoms_cas", text: "atom.shared.cas.b32 %r0, [%a], %w0, %w1;", unit: 4},
	{name: "atoms_cas64", text: "atom.shared.cas.b64 %m0, [%a], %l0, %l1;", unit: 8, only: few},
	{name: "ldg_u8", text: "ld.global.u8 %r0, [%a];", unit: 1, global: true, only: few},
	{name: "ldg_b32", text: "ld.global.b32 %r0, [%a];", unit: 4, global: true, only: few},
	{name: "ldg_v2", text: "ld.global.v2.b32 {%r0, %r1}, [%a];", unit: 8, global: true, only: few},
	{name: "ldg_v4", text: "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%a];", unit: 16, global: true, only: few},
	{name: "stg_b32", text: "st.global.b32 [%a], %w0;", unit: 4, global: true, only: few},
	{name: "stg_v4", text: "st.global.v4.b32 [%a], {%w0, %w1, %w2, %w3};", unit: 16, global: true, only: few},
	{name: "atomg_add", text: "atom.global.add.u32 %r0, [%a], %w0;", unit: 4, global: true},
	{name: "redg_add", text: "red.global.add.u32 [%a], %w0;", unit: 4, global: true},
	{name: "redg_max", text: "red.global.max.s32 [%a], %w0;", unit: 4, global: true, only: few},
	{name: "atomg_add_f32", text: "atom.global.add.f32 %f0, [%a], %f1; mov.b32 %r0, %f0;", unit: 4, global: true},
	{name: "redg_add_f32", text: "red.global.add.f32 [%a], %f1;", unit: 4, global: true, only: few},
	{name: "atomg_exch", text: "atom.global.exch.b32 %r0, [%a], %w0;", unit: 4, global: true, only: few},
	{name: "atomg_cas", text: "atom.global.cas.b32 %r0, [%a], %w0, %w1;", unit: 4, global: true, only: few},
	{name: "atomg_cas64", text: "atom.global.cas.b64 %m0, [%a], %l0, %l1;", unit: 8, global: true, only: few},
	{name: "atomg_add64", text: "atom.global.add.u64 %m0, [%a], %l0;", unit: 8, global: true},
	{name: "redg_add64", text: "red.global.add.u64 [%a], %l0;", unit: 8, global: true},
	{name: "redg_f16x2", text: "red.global.add.noftz.f16x2 [%a], %w0;", unit: 4, global: true, only: few},
	{name: "redg_v2f32", text: "red.global.add.v2.f32 [%a], {%f1, %f1};", unit: 8, global: true, only: few},
	{name: "redg_v4f32", text: "red.global.add.v4.f32 [%a], {%f1, %f1, %f1, %f1};", unit: 16, global: true, only: few},
	// Copies: the place is of the shared side, then of the global one.
	{name: "cp4_shared", text: "cp.async.ca.shared.global [%a], [%b], 4;", unit: 4, only: few},
	{name: "cp8_shared", text: "cp.async.ca.shared.global [%a], [%b], 8;", unit: 8},
	{name: "cp16_shared", text: "cp.async.cg.shared.global [%a], [%b], 16;", unit: 16, only: neighbours},
	{name: "cp16ca_shared", text: "cp.async.ca.shared.global [%a], [%b], 16;", unit: 16, only: few},
	{name: "cp4_global", text: "cp.async.ca.shared.global [%s], [%a], 4;", unit: 4, global: true, only: few},
	{name: "cp8_global", text: "cp.async.ca.shared.global [%s], [%a], 8;", unit: 8, global: true, only: few},
	{name: "cp16_global", text: "cp.async.cg.shared.global [%s], [%a], 16;", unit: 16, global: true, only: neighbours},
	{name: "cp8_none", text: "cp.async.ca.shared.global [%s], [%a], 8, %z;", unit: 8, global: true, only: few},
	{name: "cp4_none", text: "cp.async.ca.shared.global [%s], [%a], 4, %z;", unit: 4, global: true, only: few},
	{name: "cp16_none", text: "cp.async.cg.shared.global [%s], [%a], 16, %z;", unit: 16, global: true, only: few},
	{name: "cp8_odd", text: "and.b32 %z, %w0, 1; shl.b32 %z, %z, 3; cp.async.ca.shared.global [%s], [%a], 8, %z;", unit: 8, global: true, only: few},
	{name: "cp16_odd", text: "and.b32 %z, %w0, 1; shl.b32 %z, %z, 4; cp.async.cg.shared.global [%s], [%a], 16, %z;", unit: 16, global: true, only: neighbours},
}

var (
	whole = []string{"line", "same", "pairs", "stride2", "stride8", "mod8", "random"}
	// Of copies that pass by the first-level cache ncu counts the pieces of 32 bytes of
	// shared memory, by lines of 128 bytes that they come from: sectors where neighbours
	// copy neighbouring bytes.
	neighbours = []string{"line", "half", "evens"}

	few = []string{"line", "same", "pairs", "fours", "mod8", "stride2", "stride8", "half", "evens", "unequal", "random", "shift"}
)

// A trafficPattern gives each lane a unit, or -1 where the lane is not active.
type trafficPattern struct {
	name string
	at   [32]int
}

// trafficUnits bounds the units of patterns.
const trafficUnits = 512

func trafficPatterns() []trafficPattern {
	r := rand.New(rand.NewPCG(3, 14))
	var out []trafficPattern
	add := func(name string, f func(l int) int) {
		p := trafficPattern{name: name}
		for l := range p.at {
			p.at[l] = f(l)
		}
		out = append(out, p)
	}
	var table [32]int
	fresh := func(n int) {
		for i := range table {
			table[i] = r.IntN(n)
		}
	}
	add("line", func(l int) int { return l })
	add("shift", func(l int) int { return l + 3 })
	add("same", func(int) int { return 5 })
	add("pairs", func(l int) int { return l / 2 })
	add("pairs2", func(l int) int { return l>>2<<1 | l&1 }) // lanes l and l^2
	add("pairs4", func(l int) int { return l>>3<<2 | l&3 }) // lanes l and l^4
	add("pairs8", func(l int) int { return l>>4<<3 | l&7 })
	add("fours", func(l int) int { return l / 4 })
	add("eights", func(l int) int { return l / 8 })
	add("halves", func(l int) int { return l / 16 })
	add("mod2", func(l int) int { return l % 2 })
	add("mod4", func(l int) int { return l % 4 })
	add("mod8", func(l int) int { return l % 8 })
	add("mod16", func(l int) int { return l % 16 })
	add("stride2", func(l int) int { return 2 * l })
	add("stride4", func(l int) int { return 4 * l })
	add("stride8", func(l int) int { return 8 * l })
	add("stride16", func(l int) int { return 16 * l })
	fresh(trafficUnits)
	add("random", func(l int) int { return table[l] })
	fresh(24)
	add("dense", func(l int) int { return table[l] })
	fresh(trafficUnits)
	add("randpairs", func(l int) int { return table[l/2] })
	fresh(trafficUnits)
	add("randpairs2", func(l int) int { return table[l>>2<<1|l&1] })
	fresh(trafficUnits)
	// The first half warp shares by neighbours, the second by lanes l and l^2.
	add("mixed", func(l int) int {
		if l < 16 {
			return table[l/2]
		}
		return table[l>>2<<1|l&1]
	})
	// Only the first half warp shares, then only the second quarter.
	add("onehalf", func(l int) int {
		if l < 16 {
			return l / 2
		}
		return l
	})
	add("onequarter", func(l int) int {
		if l >= 8 && l < 16 {
			return l / 2
		}
		return l
	})
	add("half", func(l int) int {
		if l >= 16 {
			return -1
		}
		return l
	})
	add("evens", func(l int) int {
		if l%2 != 0 {
			return -1
		}
		return l
	})
	add("fourth", func(l int) int {
		if l%4 != 0 {
			return -1
		}
		return l
	})
	add("spread", func(l int) int { // a lane of each quarter, in other banks
		if l%8 != l/8 {
			return -1
		}
		return l
	})
	add("one", func(l int) int {
		if l != 9 {
			return -1
		}
		return l
	})
	// Places that 1, 2, 3, … lanes share.
	add("unequal", func(l int) int {
		n := 0
		for k := 1; n+k <= l; k++ {
			n += k
		}
		k := 0
		for m := 0; m < n; k++ {
			m += k + 1
		}
		return 5 * k
	})
	add("twowords", func(l int) int { // two places far apart in one bank
		return l % 2 * 256
	})
	return out
}

// trafficShared is the block of shared memory that places lie in.
const trafficShared = 16 * trafficUnits

// kernelText is a kernel of one warp: each lane reads its place and executes the
// form there. What was read decides a store that never happens.
func (f *trafficForm) kernelText() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry %s(.param .u64 places, .param .u64 data, .param .u64 sink, .param .u32 zero)\n{\n", f.name)
	b.WriteString("\t.reg .b32 %t<4>, %r<4>, %w<4>, %s, %z;\n\t.reg .b64 %p<4>, %m<2>, %l<2>, %b;\n\t.reg .f32 %f<2>;\n\t.reg .pred %q, %k;\n")
	if f.global {
		b.WriteString("\t.reg .b64 %a;\n")
	} else {
		b.WriteString("\t.reg .b32 %a;\n")
	}
	b.WriteString("\tmov.u32 %t0, %tid.x;\n\tld.param.u64 %p0, [places];\n\tld.param.u64 %p1, [data];\n\tld.param.u64 %p2, [sink];\n\tld.param.u32 %z, [zero];\n")
	b.WriteString("\tmad.wide.u32 %p0, %t0, 4, %p0;\n\tld.global.b32 %t1, [%p0];\n\tsetp.ge.s32 %q, %t1, 0;\n")
	for i := range 4 {
		fmt.Fprintf(&b, "\tadd.u32 %%w%d, %%t0, %d;\n\tmov.b32 %%r%d, 0;\n", i, i, i)
	}
	b.WriteString("\tmov.b64 %m0, 0;\n\tmov.b64 %m1, 0;\n\tcvt.u64.u32 %l0, %w0;\n\tcvt.u64.u32 %l1, %w1;\n\tcvt.rn.f32.u32 %f1, %w0;\n")
	fmt.Fprintf(&b, "\tmov.u32 %%s, sm;\n\tmad.lo.u32 %%s, %%t0, 16, %%s;\n\tmad.wide.u32 %%b, %%t0, %d, %%p1;\n", f.unit)
	if f.global {
		fmt.Fprintf(&b, "\tmad.wide.s32 %%a, %%t1, %d, %%p1;\n", f.unit)
	} else {
		fmt.Fprintf(&b, "\tmov.u32 %%a, sm;\n\tmad.lo.s32 %%a, %%t1, %d, %%a;\n", f.unit)
	}
	parts := strings.SplitAfter(f.text, ";")
	for _, p := range parts {
		p = strings.TrimSpace(p)
		switch {
		case p == "":
		case strings.Contains(p, ".aligned"), strings.HasPrefix(p, "mov"), strings.HasPrefix(p, "and"), strings.HasPrefix(p, "shl"):
			fmt.Fprintf(&b, "\t%s\n", p)
		default:
			fmt.Fprintf(&b, "\t@%%q %s\n", p)
		}
	}
	if strings.HasPrefix(f.name, "cp") {
		b.WriteString("\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n")
	}
	b.WriteString("\tmov.b64 {%t2, %t3}, %m0;\n\txor.b32 %t2, %t2, %t3;\n\txor.b32 %t2, %t2, %r0;\n\txor.b32 %t2, %t2, %r1;\n\txor.b32 %t2, %t2, %r2;\n\txor.b32 %t2, %t2, %r3;\n")
	b.WriteString("\tsetp.eq.u32 %k, %t2, 0x3779a1b5;\n\t@%k st.global.b32 [%p2], %t2;\n\tret;\n}\n")
	return b.String()
}

// trafficCase names what is about to be launched, for what records launches.
var trafficCase string

// counted is the counter that a form is about.
func (f *trafficForm) counted(c *simt.Counters) uint64 {
	switch {
	case strings.HasPrefix(f.name, "cp") && !f.global:
		return c.SharedWavefrontsCopied
	case f.global && strings.HasPrefix(f.text, "st"):
		return c.GlobalSectors - c.GlobalSectorsRead
	case f.global && (strings.HasPrefix(f.text, "atom") || strings.HasPrefix(f.text, "red")):
		return c.GlobalSectorsAtomic
	case f.global:
		return c.GlobalSectorsRead
	}
	return c.SharedWavefronts
}

// unexplained is where the hardware counts 26 sectors: of the places of 8 bytes of
// several lanes some share a sector. Other patterns with such places are as counted.
var unexplained = map[string]string{"atomg_add64 mixed": "24", "redg_add64 mixed": "24"}

// TestTraffic holds the sectors and wavefronts of single accesses against what ncu
// counted for them on an H200: testdata/h200_traffic.txt has a line a form, with
// a number a pattern. Loads from global memory include that of the places.
func TestTraffic(t *testing.T) {
	text, err := os.ReadFile("testdata/h200_traffic.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // by form and pattern
	for line := range strings.Lines(string(text)) {
		form, list, _ := strings.Cut(line, ":")
		for _, item := range strings.Fields(list) {
			pattern, n, _ := strings.Cut(item, "=")
			want[form+" "+pattern] = n
		}
	}
	var src strings.Builder
	src.WriteString(strings.Replace(conformHead, "8.0", "8.4", 1))
	fmt.Fprintf(&src, ".shared .align 16 .b8 sm[%d];\n", trafficShared)
	for i := range trafficForms {
		src.WriteString(trafficForms[i].kernelText())
	}
	m, err := Load("traffic.ptx", []byte(src.String()))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{Chip: H200, NoChecks: true})
	data, sink := Upload(d, "data", make([]byte, 16*trafficUnits)), d.Alloc("sink", 4)
	for i := range trafficForms {
		f := &trafficForms[i]
		for _, p := range trafficPatterns() {
			if !f.suits(p.name) {
				continue
			}
			places := make([]int32, 32)
			for l, at := range p.at {
				places[l] = int32(at)
			}
			trafficCase = f.name + " " + p.name
			rep := launch(t, d, m, f.name, Dim(1), Dim(32), 0, Upload(d, "places", places), data, sink, uint32(0))
			w, ok := want[trafficCase]
			if odd := unexplained[trafficCase]; odd != "" {
				w = odd
			}
			if got := fmt.Sprint(f.counted(&rep.Counters)); ok && got != w {
				t.Errorf("%s: %s, the hardware's %s", trafficCase, got, w)
			}
			delete(want, trafficCase)
		}
	}
	trafficCase = ""
	for name := range want {
		t.Errorf("the suite has no %s", name)
	}
}

func (f *trafficForm) suits(pattern string) bool {
	return f.only == nil || slices.Contains(f.only, pattern)
}
