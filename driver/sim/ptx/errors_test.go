package ptx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
)

const head = ".version 8.0\n.target sm_80\n.address_size 64\n"

// kernel wraps statements, which begin on line 7, in a kernel.
func kernel(body string) string {
	return head + ".visible .entry k(.param .u64 p, .param .u32 n)\n{ .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<4>;\n.local .b32 loc;\n" + body + "\nret;\n}\n"
}

func load(text string) error {
	m, err := Parse("t.ptx", []byte(text))
	if err != nil {
		return err
	}
	_, err = Decode(m)
	return err
}

func TestErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "t.ptx:1:1: error: a PTX file begins with .version, found the end of the file"},
		{".version 10.0\n", "1:10: error: PTX version 10.0 is newer than this simulator knows"},
		{".version eight\n", "1:10: error: expected a version"},
		{".version 8.0\n", "2:1: error: the file has no .target directive"},
		{".version 8.0\n.target sm_80\n.address_size 32\n", "address size 32 is not supported"},
		{head + ".frobnicate 3;", "4:1: error: unknown directive \".frobnicate\""},
		{head + ".visible .entry k(\n", "5:1: error: expected a parameter, found the end of the file"},
		{head + ".visible .entry k()\n{\n\tadd.s32 %r1, %r2", "6:18: error: expected \";\", found the end of the file"},
		{head + ".visible .entry k()\n{\n\tret;\n", "5:1: error: function body is not closed: the file ends first"},
		{head + "/* never", "4:1: error: comment is not closed"},
		{head + ".file 1 \"x", "4:9: error: string is not closed"},
		{kernel("add.s32 %r1 %r2, 3;"), "7:13: error: expected \";\", found \"%r2\""},
		{kernel("add.s32 %r1, %r2;"), "7:1: error: add.s32 takes 3 operands, given 2"},
		{kernel("frob.s32 %r1, %r2;"), "7:1: error: unknown instruction frob.s32"},
		{kernel("add.s32.fast %r1, %r2, %r3;"), "7:1: error: modifier .fast of add.s32.fast is not supported"},
		{kernel("add %r1, %r2, %r3;"), "7:1: error: add has no type"},
		{kernel("add.s32 %r1, %r2, %r9;"), "7:19: error: %r9 is not declared"},
		{kernel("add.s32 %q1, %r2, %r3;"), "7:9: error: register %q1 is not declared"},
		{kernel("add.s32 %rd1, %r2, %r3;"), "7:9: error: register %rd1 has 64 bits, add.s32 writes 32"},
		{kernel("add.s32 %r1, %rd2, %r3;"), "7:14: error: register %rd2 has 64 bits, add.s32 takes 32"},
		{kernel("add.s32 3, %r2, %r3;"), "7:9: error: the destination of add.s32 must be a register"},
		{kernel("add.f16x4 %r1, %r2, %r3;"), "add.f16x4 has no type"},
		{kernel("@%r1 ret;"), "7:2: error: %r1 is not a predicate register"},
		{kernel("@%p9 ret;"), "7:2: error: predicate %p9 is not declared"},
		{kernel("bra NOWHERE;"), "7:5: error: label NOWHERE is not defined"},
		{kernel("A: A: ret;"), "7:4: error: label A is defined twice"},
		{kernel("{ B: ret; } bra B;"), "7:17: error: label B is not defined"},
		{kernel("ld.global.b32 %r1, [q];"), "7:20: error: q is not declared"},
		{kernel("ld.global.b32 %r1, [loc];"), "7:20: error: loc is in local memory, ld.global.b32 accesses global"},
		{kernel("ld.global.v4.b32 {%r1, %r2}, [%rd1];"), "7:18: error: ld.global.v4.b32 takes 4 registers here, given 2"},
		{kernel("ld.global.b32 %h1, [%rd1];"), "7:15: error: register %h1 has 16 bits, ld.global.b32 writes 32"},
		{kernel("st.global.b32 [%p1], %r1;"), "7:15: error: register %p1 has 1 bit: an address has 32 or 64"},
		{kernel("mov.b64 {%r1, %r2, %r3}, %rd1;"), "7:9: error: mov.b64 cannot split its operand in 3 parts"},
		{kernel("setp.lt.and.s32 %p1, %r1, %r2;"), "setp.lt.and.s32 takes 4 operands, given 3"},
		{kernel("setp.ltu.s32 %p1, %r1, %r2;"), "this comparison is for floating-point types"},
		{kernel("setp.s32 %p1, %r1, %r2;"), "setp.s32 names no comparison"},
		{kernel("shfl.idx.b32 %r1, %r2, 0, 31;"), "without .sync does not exist"},
		{kernel("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r1,%r2,%r3,%r4};"), "only .row.col is supported"},
		{kernel("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%r1}, %rd1, %rd2, 1, 1, 1, 0, 0;"), "has no shape that the simulator knows"},
		{kernel("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];"), "takes a tensor map and 2 coordinates"},
		{kernel("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16;"), "the simulator reduces tensors alone"},
		{kernel("cp.reduce.async.bulk.tensor.1d.global.shared::cta.exch.bulk_group [%rd1, {%r2}], [%r1];"), "names no operation"},
		{kernel("cp.reduce.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.add [%r1], [%rd1, {%r2}], [%r3];"), "no reductions to shared memory"},
		{kernel("mbarrier.init.shared.b64 [%rd1];"), "has too few operands"},
		{kernel("tensormap.replace.tile.colour.shared::cta.b1024.b32 [%rd1], 1;"), "names no field"},
		{kernel("tcgen05.alloc.b32 [%r1], 128;"), "does not execute tensor memory"},
		{kernel("tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f3}, [q, {%r1,%r2}];"), "does not execute textures"},
		{kernel("call.uni nobody, (n);"), "function nobody is not defined in this file"},
		{kernel("call.uni %rd1, (n), proto;"), "indirect calls are not supported"},
		{kernel("cvt.sat.s64.s32 %rd1, %r1;"), ".sat is for conversions that can leave the range"},
		{kernel("lop3.b32 %r1, %r2, %r3, %r4, 300;"), "takes a constant from 0 to 255"},
		{kernel("cp.async.ca.shared.global [%r1], [%rd1], 12;"), "copies 4, 8 or 16 bytes"},
		{kernel("mov.b128 %rd1, %rd2;"), "error: "},
		{head + ".extern .global .b32 x;\n", "global variable x is not defined in this file"},
		{head + ".global .b32 x[2] = {1, 2, 3};\n", "more initial values than elements"},
		{head + ".global .b8 x[1000000][1000000];\n", "variable x is too large"},
		{head + ".global .b8 x[4294967296][8589934592];\n", "variable x is too large"},
		{head + ".func f() { call.uni f; ret; }\n", "function f calls itself"},
	}
	for _, c := range tests {
		err := load(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\nerror is %v\nwant %s", c.text[strings.LastIndex(c.text, "loc;\n")+1:], err, c.want)
			continue
		}
		var d *diag.Diagnostic
		if !errors.As(err, &d) || d.Pos.Line == 0 || d.Pos.Col == 0 {
			t.Errorf("%v is not a diagnostic with a place", err)
		}
	}
}

// TestTruncated cuts every kernel of the simulator's tests at many places: an
// error or a module must come out, never a panic.
func TestTruncated(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.ptx")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d kernels: %v", len(files), err)
	}
	newer, err := filepath.Glob("../testdata/sm90/*.ptx")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, newer...)
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := load(string(text)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		for n := i % 7; n < len(text); n += len(text)/12 + 1 {
			if err := load(string(text[:n])); err == nil && n < len(text)/2 {
				t.Errorf("%s: the first %d bytes are accepted", f, n)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(kernel("add.s32 %r1, %r2, %r3;"))
	f.Add(kernel("mov.b64 {%r1, %r2}, %rd1; ld.global.v2.b32 {%r1, %r2}, [%rd1+-4];"))
	f.Add(head + ".global .align 4 .b8 s[4] = {1, 2, 3, 4};\n.func (.param .b32 r) g(.param .b32 a) { ret; }\n")
	text, err := os.ReadFile("../testdata/calls.ptx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		if err := load(text); err != nil {
			var d *diag.Diagnostic
			if !errors.As(err, &d) {
				t.Fatalf("%v is not a diagnostic", err)
			}
		}
	})
}

// TestForms reads constructs that no kernel of testdata has.
func TestForms(t *testing.T) {
	for _, text := range []string{
		".version 7.0\n.target sm_80, debug\n.address_size 64\n.file 1 \"a.py\", 12, 34\n.section .debug_info { .b8 1, 2\n .b32 L }\n",
		head + ".global .v2 .f32 v[2];\n.const .align 8 .b64 c[2] = {generic(g)+4, 5};\n.global .b32 g = -3;\n.shared .b32 s;\n",
		head + ".weak .func (.reg .b32 r) f(.reg .b32 a);\n",
		head + ".visible .entry k() .maxntid 128, 2 .minnctapersm 2 .maxnreg 64 { ret; }\n",
		kernel("brx.idx %r1, T; T: .branchtargets A, B; A: ret; B: ret;"),
		kernel("mov.u32 %r1, 0x1F; mov.u32 %r2, 017; mov.u32 %r3, 0b101; mov.f32 %f1, 1.5; mov.f32 %f2, 1e-3; mov.f32 %f3, 0f3f800000; mov.b64 %rd1, 0d3ff0000000000000; mov.s32 %r4, -5;"),
		kernel("st.local.b32 [loc], %r1; mov.u64 %rd1, loc; cvta.local.u64 %rd2, %rd1; ld.b32 %r1, [%rd2+0];"),
		kernel("setp.eq.s32 %p1|%p2, %r1, 3; setp.eq.and.s32 %p1|_, %r1, 3, !%p2; and.pred %p1, %p2, !%p3;"),
		kernel(".reg .b32 a; { .reg .b64 a; mov.b64 a, 5; } mov.b32 a, 6;"),
		kernel("ld.param.u32 %r1, [n+0]; ld.global.nc.L1::no_allocate.L2::128B.v2.b32 {%r1, _}, [%rd1+-16];"),
		kernel("fence.proxy.async.shared::cta; fence.acq_rel.gpu; membar.gl; bar.warp.sync 0xffffffff; nanosleep.u32 20; prefetch.global.L2 [%rd1];"),
	} {
		if err := load(text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

func TestLabelsAreScoped(t *testing.T) {
	text := kernel("{ W: bra W; } { W: bra W; } W: bra W;")
	m, err := Parse("t.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if p.Code[i].Target != i {
			t.Errorf("branch %d goes to %d", i, p.Code[i].Target)
		}
	}
}
