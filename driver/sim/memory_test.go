package sim

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
)

// atomicRef gives the new value in memory, from the old one and the operand.
func atomicRef(op, t string) func(old, v uint64) uint64 {
	n := ptxBits(t)
	if f := floatFormats[strings.TrimSuffix(t, "x2")]; f != nil {
		one := map[string]func([]uint64) uint64{
			"add": f.refAdd(fmods{mode: "rn"}, false), "min": f.refMinMax(false, false, false, fmods{}), "max": f.refMinMax(true, false, false, fmods{}),
			"exch": func(v []uint64) uint64 { return v[1] },
		}[op]
		if strings.HasSuffix(t, "x2") {
			return func(old, v uint64) uint64 {
				return one([]uint64{old & 0xffff, v & 0xffff}) | one([]uint64{old >> 16, v >> 16})<<16
			}
		}
		return func(old, v uint64) uint64 { return one([]uint64{old, v}) }
	}
	return func(old, v uint64) uint64 {
		a, b := bigOf(t, old), bigOf(t, v)
		r := new(big.Int)
		switch op {
		case "add":
			r.Add(a, b)
		case "min":
			r = a
			if b.Cmp(a) < 0 {
				r = b
			}
		case "max":
			r = a
			if b.Cmp(a) > 0 {
				r = b
			}
		case "and":
			r.And(a, b)
		case "or":
			r.Or(a, b)
		case "xor":
			r.Xor(a, b)
		case "exch":
			r = b
		case "inc":
			if a.Cmp(b) < 0 {
				r.Add(a, big.NewInt(1))
			}
		case "dec":
			r = b
			if a.Sign() != 0 && a.Cmp(b) <= 0 {
				r = new(big.Int).Sub(a, big.NewInt(1))
			}
		}
		return cutBig(r, n)
	}
}

// TestAtomicOperations runs every atomic on values of its own for every thread,
// in global and in shared memory.
func TestAtomicOperations(t *testing.T) {
	r := newRand(t)
	const n = 256
	forms := []struct {
		op, suffix, t string
	}{
		{"add", "", "u32"},
		{"add", "", "s32"},
		{"add", "", "u64"},
		{"add", "", "f32"},
		{"add", "", "f64"},
		{"add", ".noftz", "f16"},
		{"add", ".noftz", "f16x2"},
		{"add", ".noftz", "bf16"},
		{"add", ".noftz", "bf16x2"},
		{"min", "", "s32"},
		{"min", "", "u32"},
		{"min", "", "s64"},
		{"min", "", "u64"},
		{"max", "", "s32"},
		{"max", "", "u32"},
		{"max", "", "s64"},
		{"max", "", "u64"},
		{"inc", "", "u32"},
		{"dec", "", "u32"},
		{"and", "", "b32"},
		{"or", "", "b32"},
		{"xor", "", "b32"},
		{"and", "", "b64"},
		{"or", "", "b64"},
		{"xor", "", "b64"},
		{"exch", "", "b32"},
		{"exch", "", "b64"},
	}
	for _, f := range forms {
		bits := ptxBits(f.t)
		old, v := operands(r, f.t, n), operands(r, f.t, n)
		if fmtOf := floatFormats[strings.TrimSuffix(f.t, "x2")]; fmtOf != nil {
			// NaN payloads and the flushing of subnormals differ between memories.
			for i := range old {
				for fmtOf.isNaN(old[i]) || fmtOf.isNaN(old[i]>>16) || fmtOf.isNaN(v[i]) || fmtOf.isNaN(v[i]>>16) ||
					bits == 64 && (fmtOf.isInf(old[i]) || fmtOf.isInf(v[i])) {
					old[i], v[i] = operand(r, f.t), operand(r, f.t)
				}
			}
		}
		ref := atomicRef(f.op, f.t)
		for _, space := range []string{"global", "shared"} {
			if space == "shared" && strings.HasPrefix(f.t, "bf16") {
				continue
			}
			reg := regType(f.t)
			name := fmt.Sprintf("atom.%s.%s%s.%s", space, f.op, f.suffix, f.t)
			text := strings.Replace(conformHead, "8.0", "8.4", 1) + fmt.Sprintf(`
.visible .entry atom(.param .u64 mem, .param .u64 val, .param .u64 out, .param .u64 sum)
{
	.reg .b32 %%t<4>; .reg .b64 %%p<8>; .reg .%[1]s %%v; .reg .%[1]s %%o; .reg .%[1]s %%n;
	.shared .align 8 .b8 buf[2048];
	mov.u32 %%t0, %%tid.x;
	ld.param.u64 %%p1, [mem]; ld.param.u64 %%p2, [val]; ld.param.u64 %%p3, [out]; ld.param.u64 %%p4, [sum];
	mad.wide.u32 %%p1, %%t0, %[2]d, %%p1; mad.wide.u32 %%p2, %%t0, %[2]d, %%p2; mad.wide.u32 %%p3, %%t0, %[2]d, %%p3; mad.wide.u32 %%p4, %%t0, %[2]d, %%p4;
	ld.global.b%[3]d %%v, [%%p2];
	mov.u64 %%p5, buf; mad.wide.u32 %%p5, %%t0, %[2]d, %%p5;
	ld.global.b%[3]d %%n, [%%p1]; st.shared.b%[3]d [%%p5], %%n;
`, reg, bits/8, bits)
			addr := "%p1"
			if space == "shared" {
				addr = "%p5"
			}
			text += fmt.Sprintf("\t%s %%o, [%s], %%v;\n\tst.global.b%d [%%p3], %%o;\n\tld.%s.b%d %%n, [%s]; st.global.b%d [%%p4], %%n;\n\tret;\n}\n",
				name, addr, bits, space, bits, addr, bits)
			m, err := Load("atom.ptx", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			d := New(Options{Chip: H200})
			mem, val := Upload(d, "mem", pack(old, bits)), Upload(d, "val", pack(v, bits))
			out, sum := d.Alloc("out", n*bits/8), d.Alloc("sum", n*bits/8)
			launch(t, d, m, "atom", Dim(1), Dim(n), 0, mem, val, out, sum)
			gotOld, gotNew := unpack(out.Read(), bits), unpack(sum.Read(), bits)
			for i := range old {
				if gotOld[i] != old[i] {
					t.Fatalf("%s returns %x, memory had %x", name, gotOld[i], old[i])
				}
				if want := ref(old[i], v[i]); gotNew[i] != want {
					t.Fatalf("%s of %s and %s leaves %s, want %s", name, showValue(f.t, old[i]), showValue(f.t, v[i]), showValue(f.t, gotNew[i]), showValue(f.t, want))
				}
			}
		}
	}
}

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
	body := `and.b32 %r6, %r2, 3; mov.u32 %r7, 100; brx.idx %r6, T; T: .branchtargets A, B, C, B;
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
