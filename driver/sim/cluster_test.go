package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// clusterSnippet is a kernel for clusters of n blocks: %r1 is the thread, %r2 the rank of
// its block, %r3 that of the next one, %r4 where the thread's word is in shared memory
// and %r5 where it is in the next block's. p is an array of words, of which %rd2 is
// the address of the thread's own.
func clusterSnippet(n, body string) string {
	return `.version 8.4
.target sm_90a
.address_size 64
.shared .align 16 .b8 words[512];
.visible .entry k(.param .u64 p)
.reqntid 64
.explicitcluster
.reqnctapercluster ` + n + `
{
	.reg .pred %p<5>;
	.reg .b16 %h<2>;
	.reg .b32 %r<20>;
	.reg .b64 %rd<9>;
	.loc 1 7 3
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %cluster_ctarank;
	mov.u32 %r6, %cluster_nctarank;
	add.s32 %r3, %r2, 1;
	rem.u32 %r3, %r3, %r6;
	mov.u32 %r4, words;
	shl.b32 %r7, %r1, 2;
	add.s32 %r4, %r4, %r7;
	mapa.shared::cluster.u32 %r5, %r4, %r3;
	mov.u32 %r8, %ctaid.x;
	mad.lo.s32 %r9, %r8, 64, %r1;
	mul.wide.u32 %rd2, %r9, 4;
	add.s64 %rd2, %rd1, %rd2;
` + body + `
	ret;
}
.file 1 "kernel.py"
`
}

const meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"

// runCluster runs a snippet on a grid of six blocks, and returns the words.
func runCluster(t *testing.T, opt Options, n, body string) ([]uint32, error) {
	t.Helper()
	m, err := Load("snippet.ptx", []byte(clusterSnippet(n, body)))
	if err != nil {
		t.Fatal(err)
	}
	if opt.Chip.Lanes == 0 {
		opt.Chip = H200
	}
	d := New(opt)
	p := Upload(d, "p", make([]uint32, 6*64))
	_, err = d.Launch(m, "k", Dim(6), Dim(64), 0, p)
	return Download[uint32](p), err
}

// Each block writes its threads' numbers and its rank, and reads those of the next.
const exchange = "shl.b32 %r10, %r2, 8; add.s32 %r10, %r10, %r1; st.shared.u32 [%r4], %r10;\n" + meet +
	"ld.shared::cluster.u32 %r11, [%r5]; st.global.u32 [%rd2], %r11;\n" + meet

func TestClusterExchange(t *testing.T) {
	for _, opt := range []Options{{}, {NoChecks: true}, {Random: true, Seed: 1}, {Random: true, Seed: 2, Workers: 1}} {
		for n, size := range map[string]int{"2": 2, "3": 3, "6, 1, 1": 6, "1": 1} {
			got, err := runCluster(t, opt, n, exchange)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if want := uint32((i/64%size+1)%size<<8 + i%64); v != want {
					t.Fatalf("clusters of %s: word %d is %#x, want %#x", n, i, v, want)
				}
			}
		}
	}
}

func TestClusterRegisters(t *testing.T) {
	got, err := runCluster(t, Options{}, "2", `
	mov.u32 %r10, %clusterid.x; mov.u32 %r11, %nclusterid.x; mov.u32 %r12, %cluster_ctaid.x; mov.u32 %r13, %cluster_nctaid.x;
	getctarank.shared::cluster.u32 %r14, %r5;
	mul.lo.s32 %r10, %r10, 10; add.s32 %r10, %r10, %r11; mul.lo.s32 %r10, %r10, 10; add.s32 %r10, %r10, %r12;
	mul.lo.s32 %r10, %r10, 10; add.s32 %r10, %r10, %r13; mul.lo.s32 %r10, %r10, 10; add.s32 %r10, %r10, %r14;
	st.global.u32 [%rd2], %r10;`)
	if err != nil {
		t.Fatal(err)
	}
	for b, want := range []uint32{3021, 3120, 13021, 13120, 23021, 23120} {
		if got[64*b] != want {
			t.Errorf("block %d: cluster, clusters, block in it, blocks of it, next: %d, want %d", b, got[64*b], want)
		}
	}
}

// nextWord has %rd3 be the address of the next block's word of global memory.
const nextWord = "sub.s32 %r12, %r8, %r2; add.s32 %r12, %r12, %r3; mad.lo.s32 %r12, %r12, 64, %r1; mul.wide.u32 %rd3, %r12, 4; add.s64 %rd3, %rd1, %rd3;\n"

// TestClusterMemory: what blocks of a cluster may do to one another's global memory.
func TestClusterMemory(t *testing.T) {
	write, read := "add.s32 %r10, %r1, 1; st.global.u32 [%rd2], %r10;\n", nextWord+"ld.global.u32 %r11, [%rd3];\n"
	count := "ld.param.u64 %rd4, [p]; add.s64 %rd4, %rd4, 1532;\n" // the last word
	for name, body := range map[string]string{
		"a barrier":          write + meet + read,
		"barriers again":     write + meet + read + meet + write + meet + read,
		"arrival and wait":   write + "barrier.cluster.arrive.aligned;\n" + nextWord + "barrier.cluster.wait.aligned; ld.global.u32 %r11, [%rd3];\n",
		"one value":          "sub.s32 %r12, %r8, %r2; mul.wide.u32 %rd3, %r12, 4; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], 7;\n",
		"halves of one word": "mul.wide.u32 %rd3, %r2, 2; add.s64 %rd3, %rd1, %rd3; cvt.u16.u32 %h1, %r2; setp.ne.u32 %p1, %r1, 0; @%p1 ret; st.global.u16 [%rd3], %h1;\n",
		"reads":              nextWord + "ld.global.u32 %r11, [%rd3]; ld.global.u32 %r11, [%rd2];\n",
		"one writes what all load, and does not use": "sub.s32 %r12, %r8, %r2; mul.wide.u32 %rd3, %r12, 4; add.s64 %rd3, %rd1, %rd3; ld.global.u32 %r11, [%rd3];\n" +
			"add.s32 %r11, %r11, 5; or.b32 %r12, %r1, %r2; setp.eq.u32 %p1, %r12, 0; @%p1 st.global.u32 [%rd3], %r11;\n",
		"a relaxed one, later": write + "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;\n" + meet + read,
		"release and acquire": count + "setp.ne.u32 %p1, %r1, 0; @%p1 ret; setp.ne.u32 %p2, %r2, 0; @%p2 bra wait;\n" +
			"st.global.u32 [%rd2], 5; atom.release.gpu.global.exch.b32 %r10, [%rd4], 1; ret;\n" +
			"wait: atom.acquire.gpu.global.add.u32 %r10, [%rd4], 0; setp.eq.u32 %p2, %r10, 0; @%p2 bra wait;\n" +
			nextWord + "ld.global.u32 %r11, [%rd3];\n",
	} {
		for _, opt := range []Options{{}, {Random: true, Seed: 3}} {
			if _, err := runCluster(t, opt, "2", body); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestClusterMistakes: what the simulator says of wrong clusters, with the source's line.
func TestClusterMistakes(t *testing.T) {
	write := "st.shared.u32 [%r4], %r1;\n"
	read := "ld.shared::cluster.u32 %r11, [%r5]; st.global.u32 [%rd2], %r11;\n"
	// %rd3 is the first byte of the cluster's own words: clusters run at the same time, and
	// which of their conflicts is found first is not defined.
	own := "sub.s32 %r12, %r8, %r2; mul.wide.u32 %rd3, %r12, 256; add.s64 %rd3, %rd1, %rd3;\n"
	for name, c := range map[string]struct {
		n, body, says string
		kind          simt.FindingKind
	}{
		"no barrier before": {"2", write + read + meet, "no cluster barrier lies between", simt.FindRace},
		"block barrier":     {"2", write + "bar.sync 0;\n" + read + meet, "no cluster barrier lies between", simt.FindRace},
		"relaxed":           {"2", write + "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;\n" + read + meet, "no cluster barrier lies between", simt.FindRace},
		"global memory":     {"2", nextWord + "st.global.u32 [%rd2], 5; ld.global.u32 %r11, [%rd3];\n", "of the cluster: no cluster barrier lies between", simt.FindConflict},
		"both write":        {"2", own + "add.s32 %r10, %r2, 1; st.global.u32 [%rd3], %r10;\n", "of buffer p is also accessed by block 0 of the cluster", simt.FindConflict},
		"halves":            {"2", own + "mul.wide.u32 %rd4, %r1, 2; add.s64 %rd3, %rd3, %rd4; cvt.u16.u32 %h1, %r2; st.global.u16 [%rd3], %h1;\n", "also accessed by block 0 of the cluster", simt.FindConflict},
		"memory, used": {
			"2", own + "ld.global.u32 %r11, [%rd3];\n" +
				"add.s32 %r11, %r11, 5; setp.ne.u32 %p2, %r1, 0; @%p2 ret; st.global.u32 [%rd2], %r11;\n",
			"of buffer p, loaded at kernel.py:7, is written by block 0 of the cluster", simt.FindUndefined,
		},
		"memory, relaxed":  {"2", nextWord + "st.global.u32 [%rd2], 5; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned; ld.global.u32 %r11, [%rd3];\n", "of the cluster: no cluster barrier lies between", simt.FindConflict},
		"memory, between":  {"2", nextWord + "barrier.cluster.arrive.aligned; st.global.u32 [%rd2], 5; barrier.cluster.wait.aligned; ld.global.u32 %r11, [%rd3];\n", "of the cluster: no cluster barrier lies between", simt.FindConflict},
		"memory, blocks":   {"2", nextWord + "st.global.u32 [%rd2], 5; bar.sync 0; ld.global.u32 %r11, [%rd3];\n", "of the cluster: no cluster barrier lies between", simt.FindConflict},
		"never written":    {"2", meet + read + meet, "never written", simt.FindUndefined},
		"written again":    {"2", write + meet + read + write + meet, "which block 1 of the cluster reads", simt.FindRace},
		"remote write":     {"2", meet + "st.shared::cluster.u32 [%r5], %r1;\nld.shared.u32 %r11, [%r4]; st.global.u32 [%rd2], %r11;\n" + meet, "writes: no cluster barrier lies between", simt.FindRace},
		"no barrier after": {"2", write + meet + "setp.eq.u32 %p1, %r2, 0; @%p1 ret;\n" + read, "whose threads have all ended", simt.FindBounds},
		"beyond":           {"2", meet + "ld.shared::cluster.u32 %r11, [%r5+4096]; st.global.u32 [%rd2], %r11;\n" + meet, "shared memory", simt.FindBounds},
		"rank":             {"2", "mapa.shared::cluster.u32 %r5, %r4, 2; st.global.u32 [%rd2], %r5;\n", "block 2 of a cluster that has 2 blocks", simt.FindBounds},
		"plain load":       {"2", write + meet + "ld.shared.u32 %r11, [%r5]; st.global.u32 [%rd2], %r11;\n" + meet, "the block has 512", simt.FindBounds},
		"deadlock":         {"2", "setp.eq.u32 %p1, %r2, 0; @%p1 bra skip;\n" + meet + "skip: @!%p1 ret;\nwait: bar.sync 1, 96;\n", "barrier of the cluster", simt.FindDeadlock},
		"twice":            {"2", "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n", "for the second time", simt.FindBarrier},
		"no arrival":       {"2", "barrier.cluster.wait.aligned;\n", "without having arrived", simt.FindBarrier},
		"divergent":        {"2", "setp.eq.u32 %p1, %r1, 0; @%p1 barrier.cluster.arrive.aligned;\n", "all must execute it together", simt.FindSync},
	} {
		_, err := runCluster(t, Options{}, c.n, c.body)
		var e *simt.FindingsError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := false
		for _, f := range e.Findings {
			found = found || f.Kind == c.kind && strings.Contains(f.Message, c.says) && len(f.Where) > 0 && f.Where[0].File == "kernel.py" && f.Where[0].Line == 7
		}
		if !found {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClusterWaits: blocks of a cluster that wait at mbarriers in vain are reported as one
// block is, each with who waits, for which phase, and the line; blocks that wait long are not.
func TestClusterWaits(t *testing.T) {
	const begin = `setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0;
	@%p1 mbarrier.init.shared::cta.b64 [words], 1;
	@%p1 mbarrier.init.shared::cta.b64 [words+8], 64;
	bar.sync 0;
`
	wait := func(label, mbar, line string) string {
		return ".loc 1 " + line + " 3\n" + label + ": mbarrier.try_wait.parity.shared::cta.b64 %p4, [" + mbar + "], 0; @!%p4 bra " + label + ";\n"
	}
	for name, c := range map[string]struct {
		n, body string
		says    []string // nil: nothing is wrong
	}{
		"each at its own": {"2", begin + "@%p2 bra A;\n" + wait("B", "words", "9") + "ret;\nA:\n" + wait("C", "words+8", "8"), []string{
			"no lane of the cluster can go on:\n  in block 0 of the cluster\n  warp 0 waits for the phase of parity 0 of the mbarrier at 0x8, in which none of 64 arrivals came: kernel.py:8\n  warp 1 waits",
			"in block 1 of the cluster\n  warp 0 waits for the phase of parity 0 of the mbarrier at 0x0, in which none of 1 arrival came: kernel.py:9",
		}},
		"one at the cluster's barrier": {"2", begin + "@%p2 bra A;\n" + meet + "ret;\nA:\n" + wait("C", "words", "8") + meet, []string{
			"in block 0 of the cluster\n  warp 0 waits for the phase of parity 0 of the mbarrier at 0x0, in which none of 1 arrival came: kernel.py:8",
			"in block 1 of the cluster\n  warp 0 lanes 0xffffffff wait at the barrier of the cluster",
		}},
		"one has ended": {"2", begin + "@%p2 ret;\n" + wait("C", "words+8", "8"), []string{
			"in block 1 of the cluster\n  warp 0 waits for the phase of parity 0 of the mbarrier at 0x8, in which none of 64 arrivals came: kernel.py:8",
		}},
		"some arrivals": {"2", begin + "setp.lt.u32 %p3, %r1, 24; @%p3 mbarrier.arrive.shared::cta.b64 _, [words+8], 1;\n" + wait("C", "words+8", "8") + meet, []string{
			"which lacks 40 of 64 arrivals and 0 bytes: kernel.py:8",
		}},
		"late": {"2", begin + `@!%p2 bra A;
	mov.u32 %r10, 0;
LOOP: add.s32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, 20000; @%p3 bra LOOP;
A: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
	@%p1 mbarrier.arrive.shared::cta.b64 _, [words], 1;
` + wait("C", "words", "8"), nil},
	} {
		_, err := runCluster(t, Options{}, c.n, c.body)
		if c.says == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *simt.FindingsError
		if !errors.As(err, &e) || len(e.Findings) != 1 || e.Findings[0].Kind != simt.FindDeadlock || e.Findings[0].Where[0].Line < 8 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(e.Findings[0].Message, says) {
				t.Errorf("%s: %q lacks %q", name, e.Findings[0].Message, says)
			}
		}
	}
}

// TestClusterLaunch: what a launch refuses.
func TestClusterLaunch(t *testing.T) {
	if _, err := runCluster(t, Options{Chip: A100}, "2", meet); err == nil || !strings.Contains(err.Error(), "clusters of 2 blocks, the device allows 1") {
		t.Errorf("an A100: %v", err)
	}
	if _, err := runCluster(t, Options{}, "4", meet); err == nil || !strings.Contains(err.Error(), "grid dimension x is 6: kernel k has clusters of 4 blocks there") {
		t.Errorf("a grid of 6: %v", err)
	}
}
