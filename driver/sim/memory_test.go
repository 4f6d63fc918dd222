package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestAtomicContention: all threads of several blocks update a few places.
func TestAtomicContention(t *testing.T) {
	body := `and.b32 %r6, %r2, 3; mul.wide.u32 %rd3, %r6, 4; add.s64 %rd3, %rd1, %rd3;
		red.global.add.u32 [%rd3], 1; atom.global.max.u32 %r7, [%rd3+16], %r2;
		atom.global.cas.b32 %r8, [%rd3+32], 0, %r3; red.relaxed.gpu.global.add.f32 [%rd3+48], 0f3f000000;`
	m, err := Load("snippet.ptx", []byte(snippet(body)))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{})
	p := Upload(d, "p", make([]uint32, 16))
	launch(t, d, m, "k", Dim(5), Dim(96), 0, p, nil, int32(0))
	got := Download[uint32](p)
	for i := range 4 {
		if got[i] != 120 || got[4+i] != uint32(92+i) || got[8+i] > 4 || math.Float32frombits(got[12+i]) != 60 {
			t.Errorf("place %d has %d, %d, %d, %v", i, got[i], got[4+i], got[8+i], math.Float32frombits(got[12+i]))
		}
	}
}

// TestLoadsAndStores moves bytes through every width, vector and space.
func TestLoadsAndStores(t *testing.T) {
	r := newRand(t)
	for _, space := range []string{"global", "shared", "local", "generic"} {
		for _, width := range []int{8, 16, 32, 64} {
			for _, vec := range []int{1, 2, 4} {
				if width*vec > 128 {
					continue
				}
				reg := fmt.Sprintf("b%d", max(width, 16))
				regs := func(c string) string {
					var p []string
					for i := range vec {
						p = append(p, fmt.Sprintf("%%%s%d", c, i))
					}
					if vec == 1 {
						return p[0]
					}
					return "{" + strings.Join(p, ", ") + "}"
				}
				v := ""
				if vec > 1 {
					v = fmt.Sprintf(".v%d", vec)
				}
				bytes := width / 8 * vec
				sp, addr := "."+space, "%p3"
				if space == "generic" {
					sp = ""
				}
				setup := map[string]string{
					"global":  "mov.u64 %p3, %p2;",
					"shared":  fmt.Sprintf("mov.u64 %%p3, buf; mad.wide.u32 %%p3, %%t0, %d, %%p3;", bytes),
					"local":   "mov.u64 %p3, frame;",
					"generic": fmt.Sprintf("mov.u64 %%p3, buf; cvta.shared.u64 %%p3, %%p3; mad.wide.u32 %%p3, %%t0, %d, %%p3;", bytes),
				}[space]
				text := conformHead + fmt.Sprintf(`
.visible .entry move(.param .u64 in, .param .u64 out)
{
	.reg .b32 %%t<4>; .reg .b64 %%p<8>; .reg .%[1]s %%a<4>; .reg .%[1]s %%c<4>;
	.shared .align 16 .b8 buf[2048]; .local .align 16 .b8 frame[16];
	mov.u32 %%t0, %%tid.x;
	ld.param.u64 %%p1, [in]; ld.param.u64 %%p2, [out];
	mad.wide.u32 %%p1, %%t0, %[2]d, %%p1; mad.wide.u32 %%p2, %%t0, %[2]d, %%p2;
	%[3]s
	ld.global%[4]s.b%[5]d %[6]s, [%%p1];
	st%[7]s%[4]s.b%[5]d [%[8]s], %[6]s;
	ld%[7]s%[4]s.b%[5]d %[9]s, [%[8]s];
	st.global%[4]s.b%[5]d [%%p2], %[9]s;
	ret;
}
`, reg, bytes, setup, v, width, regs("a"), sp, addr, regs("c"))
				m, err := Load("move.ptx", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				const n = 100 // not a multiple of a warp
				in := make([]byte, n*bytes)
				for i := range in {
					in[i] = byte(r.Uint32())
				}
				d := New(Options{})
				out := d.Alloc("out", len(in))
				launch(t, d, m, "move", Dim(1), Dim(n), 0, Upload(d, "in", in), out)
				if string(out.Read()) != string(in) {
					t.Errorf("%s%s.b%d moves other bytes", space, v, width)
				}
			}
		}
	}
}

// TestExtension checks what loads and conversions do above a narrow value.
func TestExtension(t *testing.T) {
	body := `ld.global.s8 %r6, [%rd1]; ld.global.u8 %r7, [%rd1]; ld.global.s16 %r8, [%rd1]; ld.global.u16 %r9, [%rd1];
		ld.global.s8 %rd3, [%rd1]; ld.global.s32 %rd4, [%rd1]; ld.global.u32 %rd5, [%rd1]; ld.global.s8 %h1, [%rd1]; mov.b32 %r10, {%h1, %h1};
		st.global.v4.b32 [%rd2], {%r6, %r7, %r8, %r9}; st.global.v2.b64 [%rd2+16], {%rd3, %rd4}; st.global.b64 [%rd2+32], %rd5;
		cvt.s32.s8 %r11, %r7; cvt.u32.u16 %r12, %h1; st.global.b32 [%rd2+40], %r10; st.global.b32 [%rd2+44], %r11; st.global.b32 [%rd2+48], %r12;`
	m, err := Load("snippet.ptx", []byte(snippet(body)))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{})
	q := d.Alloc("q", 52)
	launch(t, d, m, "k", Dim(1), Dim(1), 0, Upload(d, "p", []uint32{0xfedc8a9b}), q, int32(0))
	want := []uint32{0xffffff9b, 0x9b, 0xffff8a9b, 0x8a9b, 0xffffff9b, 0xffffffff, 0xfedc8a9b, 0xffffffff, 0xfedc8a9b, 0, 0xff9bff9b, 0xffffff9b, 0xff9b}
	for i, v := range Download[uint32](q) {
		if v != want[i] {
			t.Errorf("word %d is %08x, want %08x", i, v, want[i])
		}
	}
}

// TestSpaces checks generic addresses, constants and initialised variables.
func TestSpaces(t *testing.T) {
	text := head80 + `
.const .align 4 .b32 table[3] = {10, 20, 30};
.global .align 8 .b64 ptr[2] = {words+4, generic(words)};
.global .align 4 .b32 words[2] = {7, 9};
.visible .entry k(.param .u64 out, .param .align 4 .b8 blob[8])
{
	.reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>;
	.shared .align 4 .b32 s; .local .align 4 .b32 l;
	ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [blob+4]; st.global.b32 [%rd1], %r1;
	ld.const.u32 %r2, [table+8]; st.global.b32 [%rd1+4], %r2;
	ld.global.u64 %rd2, [ptr]; ld.global.u32 %r3, [%rd2]; st.global.b32 [%rd1+8], %r3;
	ld.global.u64 %rd3, [ptr+8]; ld.u32 %r4, [%rd3]; st.global.b32 [%rd1+12], %r4;
	mov.u64 %rd4, s; cvta.shared.u64 %rd5, %rd4; st.u32 [%rd5], 5; ld.shared.u32 %r5, [s]; st.global.b32 [%rd1+16], %r5;
	mov.u64 %rd6, l; cvta.local.u64 %rd7, %rd6; st.u32 [%rd7], 6; ld.local.u32 %r6, [l]; st.global.b32 [%rd1+20], %r6;
	mov.u64 %rd8, table; cvta.const.u64 %rd9, %rd8; ld.u32 %r7, [%rd9+4]; st.global.b32 [%rd1+24], %r7;
	cvta.to.shared.u64 %rd10, %rd5; sub.u64 %rd10, %rd10, %rd4; st.global.b32 [%rd1+28], %rd10;
	isspacep.shared %p1, %rd5; isspacep.local %p2, %rd5; isspacep.global %p3, %rd1; isspacep.local %p4, %rd7;
	selp.u32 %r8, 1, 0, %p1; selp.u32 %r9, 2, 0, %p2; selp.u32 %r10, 4, 0, %p3; selp.u32 %r11, 8, 0, %p4;
	or.b32 %r8, %r8, %r9; or.b32 %r8, %r8, %r10; or.b32 %r8, %r8, %r11; st.global.b32 [%rd1+32], %r8;
	ret;
}
`
	m, err := Load("spaces.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{})
	out := d.Alloc("out", 36)
	if _, err := d.Launch(m, "k", Dim(1), Dim(1), 0, out, Bytes([]uint32{1, 3})); err != nil {
		t.Fatal(err)
	}
	want := []uint32{3, 30, 9, 7, 5, 6, 20, 0, 13}
	for i, v := range Download[uint32](out) {
		if v != want[i] {
			t.Errorf("word %d is %d, want %d", i, v, want[i])
		}
	}
}

// TestIndexedBranch sends lanes to targets by a table.
func TestIndexedBranch(t *testing.T) {
	body := `and.b32 %r6, %r2, 3; mov.u32 %r7, 100; T: .branchtargets A, B, C, B; brx.idx %r6, T;
		A: add.u32 %r7, %r7, 1; bra E; B: add.u32 %r7, %r7, 2; bra E; C: add.u32 %r7, %r7, 3; bra E;
		E: mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; st.global.b32 [%rd3], %r7; bar.sync 0;`
	m, err := Load("snippet.ptx", []byte(snippet(body)))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{})
	p := d.Alloc("p", 4*50)
	launch(t, d, m, "k", Dim(1), Dim(50), 0, p, nil, int32(0))
	for i, v := range Download[uint32](p) {
		if want := []uint32{101, 102, 103, 102}[i%4]; v != want {
			t.Errorf("thread %d has %d, want %d", i, v, want)
		}
	}
}

// TestFreedBuffers: a device that allocates again and again does not grow, and
// still knows the buffers that were freed last.
func TestFreedBuffers(t *testing.T) {
	d := New(Options{})
	highest := uint64(0)
	for range 10_000 {
		b := d.Alloc("b", 16)
		highest = max(highest, b.Addr())
		b.Free()
	}
	if first := New(Options{}).Alloc("b", 16).Addr(); highest > first+1100<<36 {
		t.Errorf("10,000 buffers, one at a time, reach from %#x to %#x", first, highest)
	}
	freed := d.Alloc("freed", 16)
	addr := freed.Addr()
	freed.Free()
	for range 1000 {
		if b := d.Alloc("later", 16); b.Addr() == addr {
			t.Fatal("the address of a buffer that was just freed is taken again")
		} else {
			b.Free()
		}
	}
}
