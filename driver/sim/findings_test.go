package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

const head80 = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"kernel.py\"\n"

// snippet wraps a body in kernel k(p, q, n) with common registers.
func snippet(body string) string {
	return head80 + `
.extern .shared .align 16 .b8 smem[];
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)
{
	.reg .pred %p<8>;
	.reg .b16 %h<8>;
	.reg .b32 %r<32>;
	.reg .f32 %f<8>;
	.reg .b64 %rd<16>;
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [q];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %laneid;
	mov.u32 %r5, smem;
	.loc 1 7 3
` + body + "\n\tret;\n}\n"
}

type findingTest struct {
	name   string
	body   string
	grid   int
	block  int
	shared int
	kind   simt.FindingKind
	want   string // in the report's text; empty: no finding
}

// TestFindings runs kernels that are wrong in one way each. Buffer p has 256
// bytes that are written, q 256 that nobody wrote; n is 40.
func TestFindings(t *testing.T) {
	tests := []findingTest{
		{
			name: "load beyond a buffer", kind: simt.FindBounds, want: "reads 4 bytes of global memory",
			body: "mul.wide.u32 %rd3, %r2, 16; add.s64 %rd3, %rd1, %rd3; ld.global.b32 %r6, [%rd3];",
		},
		{name: "store before a buffer", kind: simt.FindBounds, want: "4 bytes before buffer p", body: "st.global.b32 [%rd1+-4], %r1;"},
		{name: "null pointer", kind: simt.FindBounds, want: "in no buffer", body: "mov.b64 %rd3, 0; ld.global.b32 %r6, [%rd3];"},
		{name: "part of a vector beyond", kind: simt.FindBounds, want: "reads 16 bytes", body: "ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd1+256];"},
		{name: "misaligned global", kind: simt.FindAlign, want: "not a multiple of 4", body: "ld.global.b32 %r6, [%rd1+2];"},
		{name: "misaligned vector", kind: simt.FindAlign, want: "not a multiple of 16", body: "st.global.v4.b32 [%rd1+8], {%r1, %r1, %r1, %r1};"},
		{name: "shared beyond", kind: simt.FindBounds, want: "the block has 64 bytes", shared: 64, body: "st.shared.b32 [smem+64], %r1;"},
		{name: "misaligned shared", kind: simt.FindAlign, want: "not a multiple of 4", shared: 64, body: "ld.shared.b32 %r6, [smem+1];"},
		{name: "local beyond", kind: simt.FindBounds, want: "local memory", body: ".local .align 4 .b8 frame[16]; mov.u32 %r6, frame; st.local.b32 [%r6+16], %r1;"},
		{name: "local within", body: ".local .align 4 .b8 frame[16]; mov.u32 %r6, frame; st.local.b32 [%r6+12], %r1; ld.local.b32 %r7, [%r6+12];"},
		{name: "unwritten memory", kind: simt.FindUndefined, want: "byte 8 of buffer q, which was never written", body: "ld.global.b32 %r6, [%rd2+8];"},
		{name: "memory written before", body: "st.global.b32 [%rd2+8], %r1; ld.global.b32 %r6, [%rd2+8];", block: 1},
		{name: "undefined register stored", kind: simt.FindUndefined, want: "depends on %r9, which is not defined in lanes 0xffffffff", body: "add.s32 %r10, %r9, 1; st.global.b32 [%rd1], %r9;"},
		{
			name: "undefined in some lanes", kind: simt.FindUndefined, want: "in lanes 0xfffffff0",
			body: "setp.lt.u32 %p1, %r2, 4; @%p1 mov.u32 %r9, 1; setp.eq.u32 %p2, %r9, 1; @%p2 bra L; L:",
		},
		{name: "undefined address, overwritten", kind: simt.FindUndefined, want: "the address depends on %r9", shared: 64, body: "st.shared.b32 [smem], %r1; ld.shared.b32 %r9, [%r9];"},
		{
			name: "undefined through shared memory", kind: simt.FindUndefined, want: "%r8, which is not defined in lanes 0xfffffff0", shared: 256,
			body: `setp.lt.u32 %p1, %r2, 4; @%p1 mov.u32 %r9, 1; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r9;
				ld.shared.b32 %r8, [%r6]; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; st.global.b32 [%rd3], %r8;`,
		},
		{
			name: "undefined through shared memory, masked", shared: 256,
			body: `setp.lt.u32 %p1, %r2, 4; @%p1 mov.u32 %r9, 1; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r9;
				ld.shared.b32 %r8, [%r6]; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; @%p1 st.global.b32 [%rd3], %r8;`,
		},
		{name: "undefined but not used", body: "add.s32 %r10, %r9, 1;"},
		{name: "undefined byte stored", kind: simt.FindUndefined, want: "depends on bits 0xff00 of %r6, which are not defined in lanes 0xffffffff", body: "and.b32 %r6, %r9, 0xff00; st.global.b32 [%rd1], %r6;"},
		{name: "defined bytes stored", body: "and.b32 %r6, %r9, 0xff00; cvt.u16.u32 %h1, %r6; st.global.b8 [%rd1], %h1; shr.u32 %r7, %r6, 16; st.global.b32 [%rd1], %r7;"},
		{name: "defined half of a pair", body: "cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h7}; mov.b32 {%h2, %h3}, %r6; st.global.b16 [%rd1], %h2;"},
		{name: "undefined half of a pair", kind: simt.FindUndefined, want: "depends on bits 0xffff of %h3", body: "cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h7}; mov.b32 {%h2, %h3}, %r6; st.global.b16 [%rd1], %h3;"},
		{name: "bytes permuted", body: "mov.b32 %r6, {%h7, %h7}; prmt.b32 %r7, %r2, %r6, 0x7610; st.global.b16 [%rd1], %r7; shl.b32 %r7, %r7, 16; st.global.b32 [%rd1], %r7;"},
		{name: "bytes permuted wrongly", kind: simt.FindUndefined, want: "depends on bits 0xff00 of %r7", body: "prmt.b32 %r7, %r2, %r9, 0x0070; st.global.b16 [%rd1], %r7;"},
		{name: "one element of two converted", body: "cvt.rn.f32.u32 %f1, %r2; cvt.rn.f16x2.f32 %r6, %f7, %f1; add.f16x2 %r6, %r6, %r6; mov.b32 {%h2, %h3}, %r6; st.global.b16 [%rd1], %h2;"},
		{name: "the other element", kind: simt.FindUndefined, want: "of %h3", body: "cvt.rn.f32.u32 %f1, %r2; cvt.rn.f16x2.f32 %r6, %f7, %f1; add.f16x2 %r6, %r6, %r6; mov.b32 {%h2, %h3}, %r6; st.global.b16 [%rd1], %h3;"},
		{name: "defined field", body: "and.b32 %r6, %r9, 0xff; bfe.u32 %r7, %r6, 8, 8; bfi.b32 %r7, %r2, %r9, 0, 31; bfi.b32 %r7, 0, %r7, 31, 1; st.global.b32 [%rd1], %r7;"},
		{name: "undefined field", kind: simt.FindUndefined, want: "depends on bits 0x80000000 of %r7", body: "bfi.b32 %r7, %r2, %r9, 0, 31; st.global.b32 [%rd1], %r7;"},
		{name: "defined byte shuffled", body: "and.b32 %r6, %r9, 0xff00; shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1; st.global.b8 [%rd1], %r7;"},
		{name: "undefined byte shuffled", kind: simt.FindUndefined, want: "depends on bits 0xff00 of %r7", body: "and.b32 %r6, %r9, 0xff00; shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1; st.global.b16 [%rd1], %r7;"},
		{
			name: "bytes of shared memory", shared: 256,
			body: `and.b32 %r6, %r9, 0xff00; shl.b32 %r7, %r2, 2; add.u32 %r7, %r7, %r5; st.shared.b32 [%r7], %r6;
				ld.shared.b16 %h1, [%r7+2]; st.global.b16 [%rd1], %h1; ld.shared.b8 %h1, [%r7]; st.global.b8 [%rd1], %h1; ld.shared.b32 %r8, [%r7]; shr.u32 %r8, %r8, 16; st.global.b32 [%rd1], %r8;`,
		},
		{
			name: "undefined byte of shared memory", kind: simt.FindUndefined, want: "depends on bits 0xff00 of %r8", shared: 256,
			body: `and.b32 %r6, %r9, 0xff00; shl.b32 %r7, %r2, 2; add.u32 %r7, %r7, %r5; st.shared.b32 [%r7], %r6; ld.shared.b32 %r8, [%r7]; st.global.b32 [%rd1], %r8;`,
		},
		{
			name: "sign of an undefined byte", kind: simt.FindUndefined, want: "depends on bits 0x7f00 of %h1", shared: 256,
			body: `cvt.u16.u32 %h2, %r2; shl.b32 %r7, %r2, 2; add.u32 %r7, %r7, %r5; st.shared.b8 [%r7], %h2; ld.shared.s8 %h1, [%r7+1]; and.b16 %h1, %h1, 0x7f00; or.b16 %h1, %h1, 0; st.global.b16 [%rd1], %h1;`,
		},
		{
			name: "halves of matrices", shared: 1024,
			body: `cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h7}; shl.b32 %r7, %r2, 2; add.u32 %r7, %r7, %r5; st.shared.b32 [%r7], %r6; st.shared.b32 [%r7+128], %r6; bar.sync 0;
				and.b32 %r8, %r2, 7; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r5;
				ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r8]; mov.b32 {%h2, %h3}, %r10; st.global.b16 [%rd1], %h2;
				ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r11}, [%r8]; and.b32 %r12, %r2, 4; setp.eq.u32 %p1, %r12, 0; @%p1 st.global.b32 [%rd1], %r11;`,
		},
		{
			name: "other halves of matrices", kind: simt.FindUndefined, want: "of %h3", shared: 1024,
			body: `cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h7}; shl.b32 %r7, %r2, 2; add.u32 %r7, %r7, %r5; st.shared.b32 [%r7], %r6; bar.sync 0;
				and.b32 %r8, %r2, 7; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r5;
				ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r8]; mov.b32 {%h2, %h3}, %r10; st.global.b16 [%rd1], %h3;`,
		},
		{
			name: "other lines of a transposed matrix", kind: simt.FindUndefined, want: "%r11, which is not defined in lanes 0xf0f0f0f0", shared: 1024,
			body: `cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h7}; shl.b32 %r7, %r2, 2; add.u32 %r7, %r7, %r5; st.shared.b32 [%r7], %r6; bar.sync 0;
				and.b32 %r8, %r2, 7; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r5;
				ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r11}, [%r8]; st.global.b32 [%rd1], %r11;`,
		},
		{
			name: "undefined halves in a matrix stored", kind: simt.FindUndefined, want: "depends on bits 0xffff of %h3", shared: 1024,
			body: `cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h7}; and.b32 %r8, %r2, 7; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r5;
				stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r8], {%r6}; bar.sync 0; ld.shared.b32 %r10, [%r8+4];
				mov.b32 {%h2, %h3}, %r10; st.global.b16 [%rd1], %h2; st.global.b16 [%rd1], %h3;`,
		},
		{
			name: "undefined lines in a transposed matrix stored", kind: simt.FindUndefined, want: "%r10, which is not defined in lanes 0xaaaaaaaa", shared: 1024,
			body: `cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h7}; and.b32 %r8, %r2, 7; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r5;
				stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r8], {%r6}; bar.sync 0; ld.shared.b32 %r10, [%r8+4]; st.global.b32 [%rd1], %r10;`,
		},
		{name: "undefined and not selected", body: "setp.lt.u32 %p1, %r2, 64; selp.b32 %r6, %r2, %r9, %p1; st.global.b32 [%rd2], %r1; mul.wide.u32 %rd3, %r6, 4; add.s64 %rd3, %rd1, %rd3; st.global.b32 [%rd3], %r6;"},
		{
			name: "race of warps", kind: simt.FindRace, want: "no barrier lies between", block: 64, shared: 512,
			body: "shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2; xor.b32 %r7, %r6, 128; ld.shared.b32 %r8, [%r7];",
		},
		{
			name: "ordered by a barrier", block: 64, shared: 512,
			body: "shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2; bar.sync 0; xor.b32 %r7, %r6, 128; ld.shared.b32 %r8, [%r7];",
		},
		{
			name: "write after read", kind: simt.FindRace, want: "no barrier lies between", block: 64, shared: 512,
			body: `shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2; bar.sync 0;
				and.b32 %r7, %r6, 127; ld.shared.b32 %r8, [%r7]; setp.ge.u32 %p1, %r2, 32; @%p1 st.shared.b32 [%r7], %r2;`,
		},
		{
			name: "ordered by a named barrier", block: 64, shared: 512,
			body: `shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; setp.lt.u32 %p1, %r2, 32; @%p1 bra A;
				bar.sync 1, 64; xor.b32 %r7, %r6, 128; ld.shared.b32 %r8, [%r7]; bra D;
				A: st.shared.b32 [%r6], %r2; bar.arrive 1, 64; D:`,
		},
		{
			name: "bytes of one word", block: 64, shared: 64,
			body: `shr.u32 %r6, %r2, 5; add.u32 %r6, %r6, %r5; cvt.u16.u32 %h1, %r2; st.shared.b8 [%r6], %h1; ld.shared.b8 %h2, [%r6];
				bar.sync 0; ld.shared.b8 %h3, [smem]; ld.shared.b8 %h3, [smem+1]; bar.sync 0; st.shared.b8 [%r6], %h1; ld.shared.b8 %h2, [%r6];`,
		},
		{
			name: "same value from two warps", block: 64, shared: 512,
			body: "st.shared.b32 [smem], %r1;",
		},
		{
			name: "async copy not waited for", kind: simt.FindAsync, want: "still owns", shared: 512, block: 4,
			body: `shl.b32 %r6, %r2, 4; add.u32 %r6, %r6, %r5; mul.wide.u32 %rd3, %r2, 16; add.s64 %rd3, %rd1, %rd3;
				cp.async.cg.shared.global [%r6], [%rd3], 16; cp.async.commit_group; ld.shared.b32 %r7, [%r6];`,
		},
		{
			name: "async copy waited for", shared: 512, block: 4,
			body: `shl.b32 %r6, %r2, 4; add.u32 %r6, %r6, %r5; mul.wide.u32 %rd3, %r2, 16; add.s64 %rd3, %rd1, %rd3;
				cp.async.cg.shared.global [%r6], [%rd3], 16; cp.async.commit_group; cp.async.wait_group 0; ld.shared.b32 %r7, [%r6];
				st.global.b32 [%rd3], %r7;`,
		},
		{
			name: "later groups may stay open", kind: simt.FindAsync, want: "still owns", shared: 512, block: 4,
			body: `shl.b32 %r6, %r2, 4; add.u32 %r6, %r6, %r5; mul.wide.u32 %rd3, %r2, 16; add.s64 %rd3, %rd1, %rd3;
				cp.async.cg.shared.global [%r6], [%rd3], 16; cp.async.commit_group;
				cp.async.cg.shared.global [%r6+256], [%rd3], 16; cp.async.commit_group;
				cp.async.wait_group 1; ld.shared.b32 %r7, [%r6]; st.global.b32 [%rd3], %r7; ld.shared.b32 %r7, [%r6+256];`,
		},
		{
			name: "bulk copy waited for", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 1; fence.proxy.async.shared::cta; bar.sync 0;
				@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [smem+256], 128;
				@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 128, [smem+256];
				W: mbarrier.try_wait.parity.shared.b64 %p2, [smem+256], 0; @!%p2 bra W;
				ld.shared.b32 %r6, [smem+4]; st.global.b32 [%rd1], %r6;`,
		},
		{
			name: "bulk copy not waited for", kind: simt.FindAsync, want: "still owns", block: 32, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 1; fence.proxy.async.shared::cta; bar.sync 0;
				@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [smem+256], 128;
				@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 128, [smem+256];
				ld.shared.b32 %r6, [smem+4];`,
		},
		{
			name: "more bytes awaited than come", kind: simt.FindDeadlock, want: "which lacks 0 of 1 arrival and 128 bytes", block: 32, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 1; fence.proxy.async.shared::cta; bar.sync 0;
				@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [smem+256], 256;
				@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 128, [smem+256];
				W: mbarrier.try_wait.parity.shared.b64 %p2, [smem+256], 0; @!%p2 bra W;`,
		},
		{
			name: "an mbarrier that bulk copies may not know", kind: simt.FindAsync, want: "tells the mbarrier", block: 32, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 1; bar.sync 0;
				@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [smem+256], 128;
				@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 128, [smem+256];`,
		},
		{
			name: "bulk copy of what all threads fenced", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2;
				fence.proxy.async.shared::cta; bar.sync 0;
				@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 128; cp.async.bulk.commit_group;
				cp.async.bulk.wait_group.read 0; bar.sync 0; st.shared.b32 [%r6], %r1;`,
		},
		{
			name: "bulk copy of what its thread fenced after a barrier", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2;
				bar.sync 0; @%p1 fence.proxy.async.shared::cta;
				@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 128;`,
		},
		{
			name: "bulk copy of what was written after the fence", kind: simt.FindAsync, want: "which warp 1", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; setp.lt.u32 %p2, %r2, 32; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; @%p2 st.shared.b32 [%r6], %r2;
				fence.proxy.async.shared::cta; @!%p2 st.shared.b32 [%r6], %r2; bar.sync 0;
				@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 256;`,
		},
		{
			name: "bulk copy that is not waited for", kind: simt.FindAsync, want: "still reads", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2;
				fence.proxy.async.shared::cta; bar.sync 0;
				@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 128; cp.async.bulk.commit_group;
				cp.async.bulk.wait_group.read 1; bar.sync 0; st.shared.b32 [%r6], %r1;`,
		},
		{
			name: "bulk copy that only its thread waited for", kind: simt.FindRace, want: "while warp 0 reads it", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2;
				fence.proxy.async.shared::cta; bar.sync 0;
				@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 256; @%p1 cp.async.bulk.commit_group;
				bar.sync 0; cp.async.bulk.wait_group.read 0; st.shared.b32 [%r6], %r1;`,
		},
		{
			name: "the older of two bulk copies", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2;
				fence.proxy.async.shared::cta; bar.sync 0;
				@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 128; cp.async.bulk.commit_group;
				@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1+128], [smem+128], 128; cp.async.bulk.commit_group;
				cp.async.bulk.wait_group.read 1; bar.sync 0; setp.lt.u32 %p2, %r2, 32; @%p2 st.shared.b32 [%r6], %r1;`,
		},
		{
			name: "too many arrivals", kind: simt.FindBarrier, want: "more than 1 arrival", block: 32, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 1; @%p1 mbarrier.expect_tx.shared.b64 [smem+256], 8;
				@%p1 mbarrier.arrive.shared.b64 %rd3, [smem+256], 1; @%p1 mbarrier.arrive.shared.b64 %rd3, [smem+256], 1;`,
		},
		{
			name: "phases by state", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 64; bar.sync 0;
				shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, %r5; st.shared.b32 [%r6], %r2;
				mbarrier.arrive.shared.b64 %rd3, [smem+256]; W: mbarrier.test_wait.shared.b64 %p2, [smem+256], %rd3; @!%p2 bra W;
				xor.b32 %r7, %r6, 128; ld.shared.b32 %r8, [%r7]; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd4, %rd1, %rd4; st.global.b32 [%rd4], %r8;
				mbarrier.arrive.shared.b64 %rd3, [smem+256]; V: mbarrier.test_wait.shared.b64 %p2, [smem+256], %rd3; @!%p2 bra V;
				st.shared.b32 [%r7], %r1;`,
		},
		{
			name: "arrivals with copies", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 64; bar.sync 0;
				shl.b32 %r6, %r2, 2; cvt.u64.u32 %rd3, %r6; add.s64 %rd3, %rd1, %rd3; add.u32 %r6, %r6, %r5;
				cp.async.ca.shared.global [%r6], [%rd3], 4; cp.async.mbarrier.arrive.shared.b64 [smem+256]; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [smem+256];
				W: mbarrier.test_wait.parity.shared.b64 %p2, [smem+256], 0; @!%p2 bra W;
				xor.b32 %r6, %r6, 128; ld.shared.b32 %r7, [%r6]; st.global.b32 [%rd3], %r7;`,
		},
		{
			name: "arrivals with copies that nobody waits for", kind: simt.FindRace, want: "no barrier lies between", block: 64, shared: 512,
			body: `setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [smem+256], 64; bar.sync 0;
				shl.b32 %r6, %r2, 2; cvt.u64.u32 %rd3, %r6; add.s64 %rd3, %rd1, %rd3; add.u32 %r6, %r6, %r5;
				st.shared.b32 [%r6], %r2; bar.sync 0; cp.async.ca.shared.global [%r6], [%rd3], 4; cp.async.mbarrier.arrive.shared.b64 [smem+256]; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [smem+256];
				xor.b32 %r6, %r6, 128; ld.shared.b32 %r7, [%r6]; st.global.b32 [%rd3], %r7;`,
		},
		{
			name: "barrier under divergence", kind: simt.FindDivergentBarrier, want: "no lane of the block can go on",
			body: "setp.lt.u32 %p1, %r2, 7; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 1; M:",
		},
		{name: "guarded barrier", kind: simt.FindDivergentBarrier, body: "setp.lt.u32 %p1, %r2, 7; @%p1 bar.sync 0;"},
		{name: "barrier of warps that do not come", kind: simt.FindDeadlock, want: "wait at barrier 1", block: 64, body: "bar.sync 1, 96;"},
		{name: "barrier after some lanes left", body: "setp.lt.u32 %p1, %r2, 7; @%p1 ret; bar.sync 0;"},
		{name: "early exit inside a branch", body: "setp.lt.u32 %p1, %r2, 20; @!%p1 bra L; setp.lt.u32 %p2, %r2, 7; @%p2 ret; L: bar.sync 0;"},
		{name: "count of a barrier", kind: simt.FindBarrier, want: "not a positive multiple", body: "bar.sync 0, 40;"},
		{name: "number of a barrier", kind: simt.FindBarrier, want: "barrier 16 does not exist", body: "mov.u32 %r6, 16; bar.sync %r6;"},
		{name: "shuffle of lanes that do not come", kind: simt.FindDivergentBarrier, want: "wait for lanes", body: "setp.lt.u32 %p1, %r2, 7; @%p1 bra L; bar.sync 0; bra M; L: shfl.sync.idx.b32 %r6, %r2, 0, 31, -1; M:"},
		{name: "shuffle not in its mask", kind: simt.FindSync, want: "does not name it", body: "shfl.sync.idx.b32 %r6, %r2, 0, 31, 1;"},
		{name: "shuffle of a subset", body: "setp.lt.u32 %p1, %r2, 8; @%p1 bra L; bra M; L: shfl.sync.idx.b32 %r6, %r2, 0, 31, 255; M: bar.sync 0;"},
		{name: "lanes wait for each other", body: `mov.u32 %r6, 0; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;
			W: ld.volatile.global.b32 %r7, [%rd1]; setp.ne.u32 %p2, %r7, 77; @%p2 bra W; bra M;
			L: st.volatile.global.b32 [%rd1], 77; M:`},
		{name: "trap", kind: simt.FindTrap, want: "executed trap", body: "trap;"},
		{
			name: "two blocks write one word", kind: simt.FindConflict, want: "also accessed by block number", grid: 2, block: 1,
			body: "st.global.b32 [%rd1], %r3;",
		},
		{
			name: "a lock between blocks", grid: 5, block: 1,
			body: `W: atom.global.acquire.gpu.cas.b32 %r6, [%rd1], 0, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra W;
				ld.global.b32 %r7, [%rd1+64]; add.u32 %r7, %r7, 1; st.global.b32 [%rd1+64], %r7;
				atom.global.release.gpu.exch.b32 %r6, [%rd1], 0;`,
		},
		{
			name: "a lock that acquires nothing", kind: simt.FindConflict, want: "also accessed by block number", grid: 5, block: 1,
			body: `W: atom.global.relaxed.gpu.cas.b32 %r6, [%rd1], 0, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra W;
				ld.global.b32 %r7, [%rd1+64]; add.u32 %r7, %r7, 1; st.global.b32 [%rd1+64], %r7;
				atom.global.release.gpu.exch.b32 %r6, [%rd1], 0;`,
		},
		{
			name: "a lock of the block alone", kind: simt.FindConflict, want: "also accessed by block number", grid: 2, block: 1,
			body: `atom.global.acq_rel.cta.add.u32 %r6, [%rd1], 1; st.global.b32 [%rd1+64], %r6;
				atom.global.acq_rel.cta.add.u32 %r6, [%rd1], 1;`,
		},
		{
			name: "one block writes, and all others read what it released", grid: 70, block: 1,
			body: `setp.ne.u32 %p1, %r3, 0; @%p1 bra W; st.global.b32 [%rd1+64], %r3; red.global.release.gpu.add.u32 [%rd1], 1; bra M;
				W: atom.global.acquire.gpu.or.b32 %r6, [%rd1], 0; setp.eq.u32 %p2, %r6, 0; @%p2 bra W; ld.global.b32 %r7, [%rd1+64]; M:`,
		},
		{
			name: "one of them writes", kind: simt.FindConflict, want: "also accessed by block number", grid: 70, block: 1,
			body: `setp.ne.u32 %p1, %r3, 0; @%p1 bra W; st.global.b32 [%rd1+64], %r3; red.global.release.gpu.add.u32 [%rd1], 1; bra M;
				W: atom.global.acquire.gpu.or.b32 %r6, [%rd1], 0; setp.eq.u32 %p2, %r6, 0; @%p2 bra W; st.global.b32 [%rd1+64], %r3; M:`,
		},
		{name: "two blocks read one word", grid: 2, block: 1, body: "ld.global.b32 %r6, [%rd1];"},
		{
			name: "endless", kind: simt.FindEndless, want: "executed more than", block: 1,
			body: "L: add.u32 %r6, %r1, 1; bra L;",
		},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			m, err := Load("snippet.ptx", []byte(snippet(c.body)))
			if err != nil {
				t.Fatal(err)
			}
			d := New(Options{Workers: 1, MaxInstructions: 1 << 20})
			p := Upload(d, "p", make([]int32, 64))
			q := d.Alloc("q", 256)
			rep, err := d.Launch(m, "k", Dim(max(c.grid, 1)), Dim(orElse(c.block, 32)), c.shared, p, q, int32(40))
			if c.want == "" && c.kind == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var fe *simt.FindingsError
			if !errors.As(err, &fe) {
				t.Fatalf("error is %v, want a finding", err)
			}
			f := rep.Findings[0]
			if f.Kind != c.kind || !strings.Contains(f.String(), c.want) {
				t.Errorf("finding is %v, want %v with %q", f, c.kind, c.want)
			}
			if f.Line == 0 || len(f.Where) == 0 || f.Where[0] != (simt.Loc{File: "kernel.py", Line: 7, Col: 3}) {
				t.Errorf("finding is at line %d, %v", f.Line, f.Where)
			}
			for _, g := range rep.Findings[1:] {
				if g.Kind != c.kind {
					t.Errorf("another finding: %v", g)
				}
			}
		})
	}
}

func orElse(a, b int) int {
	if a == 0 {
		return b
	}
	return a
}

// TestInlinedPlaces checks that a finding names the call sites.
func TestInlinedPlaces(t *testing.T) {
	body := ".loc 2 30 5, function_name L0, inlined_at 1 9 2\n\ttrap;"
	text := strings.Replace(snippet(body), ".file 1", ".file 2 \"lib.py\"\n.file 1", 1)
	m, err := Load("snippet.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Options{}).Launch(m, "k", Dim(1), Dim(32), 0, nil, nil, int32(1))
	if err == nil || !strings.Contains(err.Error(), "lib.py:30:5: trap") || !strings.Contains(err.Error(), "called from kernel.py:9:2") {
		t.Errorf("error is %v", err)
	}
}

// TestSchedules runs a correct kernel under many random schedules, and a racy
// one, whose result depends on them.
func TestSchedules(t *testing.T) {
	m := load(t, "reductions")
	r := newRand(t)
	x := randn(r, 32*64, 1)
	var first []byte
	for seed := range uint64(8) {
		d := New(Options{Random: seed > 0, Seed: seed})
		o, idx := d.Alloc("o", 4*97), d.Alloc("i", 4*128)
		launch(t, d, m, "reductions", Dim(1), Dim(128), 8192, Upload(d, "x", x), o, idx)
		if first == nil {
			first = o.Read()
		} else if string(first) != string(o.Read()) {
			t.Errorf("seed %d gives another result", seed)
		}
	}
	racy, err := Load("racy.ptx", []byte(snippet("shr.u32 %r6, %r2, 5; st.global.b32 [%rd1], %r6;")))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for seed := range uint64(20) {
		d := New(Options{Random: true, Seed: seed, NoChecks: true})
		p := Upload(d, "p", make([]uint32, 1))
		launch(t, d, racy, "k", Dim(1), Dim(128), 0, p, nil, int32(0))
		seen[Download[uint32](p)[0]] = true
	}
	if len(seen) < 2 {
		t.Errorf("the schedules give only %v", seen)
	}
}

// TestSpinLocks: blocks that are resident together make progress for each other;
// a block that waits for one that cannot start yet is reported.
func TestSpinLocks(t *testing.T) {
	// Every block waits for its turn: block b goes on when the counter is n-1-b.
	body := `not.b32 %r6, %r3; mov.u32 %r7, %nctaid.x; add.u32 %r6, %r6, %r7;
		W: ld.acquire.gpu.global.b32 %r8, [%rd1]; setp.ne.u32 %p1, %r8, %r6; @%p1 bra W;
		atom.add.release.gpu.global.u32 %r9, [%rd1], 1;`
	m, err := Load("spin.ptx", []byte(snippet(body)))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{MaxInstructions: 1 << 22})
	p := Upload(d, "p", make([]uint32, 1))
	launch(t, d, m, "k", Dim(100), Dim(1), 0, p, nil, int32(0))
	if got := Download[uint32](p)[0]; got != 100 {
		t.Errorf("counter is %d", got)
	}
	small := A100
	small.SMs, small.MaxBlocks = 1, 4
	d = New(Options{Chip: small, MaxInstructions: 1 << 20})
	p = Upload(d, "p", make([]uint32, 1))
	if _, err := d.Launch(m, "k", Dim(100), Dim(1), 0, p, nil, int32(0)); err == nil {
		t.Error("four resident blocks cannot finish: block 0 waits for block 99")
	}
}

// TestCancel ends a kernel that never does.
func TestCancel(t *testing.T) {
	m, err := Load("endless.ptx", []byte(snippet("L: bra L;")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = New(Options{}).LaunchContext(ctx, m, "k", Dim(4), Dim(32), 0, nil, nil, int32(0))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("error is %v after %v", err, time.Since(start))
	}
}

// TestArguments gives launches what they cannot take.
func TestArguments(t *testing.T) {
	m, err := Load("k.ptx", []byte(strings.Replace(snippet(""), "u32 n)", "u32 n)\n.reqntid 64", 1)))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{})
	b := d.Alloc("p", 16)
	for _, c := range []struct {
		kernel      string
		grid, block [3]int
		shared      int
		args        []any
		want        string
	}{
		{"nope", Dim(1), Dim(64), 0, nil, `no kernel "nope"`},
		{"k", Dim(0), Dim(64), 0, []any{b, b, int32(1)}, "grid dimension x is 0"},
		{"k", Dim(1, 70000), Dim(64), 0, []any{b, b, int32(1)}, "grid dimension y is 70000"},
		{"k", Dim(1), Dim(32), 0, []any{b, b, int32(1)}, "requires blocks of [64 1 1]"},
		{"k", Dim(1), Dim(2048), 0, []any{b, b, int32(1)}, "block dimension x is 2048"},
		{"k", Dim(1), Dim(64), 200 << 10, []any{b, b, int32(1)}, "bytes of shared memory"},
		{"k", Dim(1), Dim(64), 0, []any{b, b}, "takes 3 arguments, given 2"},
		{"k", Dim(1), Dim(64), 0, []any{b, b, int32(1), int32(2)}, "takes 3 arguments, given 4"},
		{"k", Dim(1), Dim(64), 0, []any{b, b, int64(1)}, "has 8 bytes (int64), the parameter 4"},
		{"k", Dim(1), Dim(64), 0, []any{b, 3, int32(1)}, "a int cannot be passed"},
	} {
		_, err := d.Launch(m, c.kernel, c.grid, c.block, c.shared, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %q", err, c.want)
		}
	}
	if _, err := d.TryAlloc("huge", 41<<30); err == nil {
		t.Error("the device has 40 GiB")
	}
}

// TestMaxInstructions: a block may execute as many instructions as it is allowed,
// and none more.
func TestMaxInstructions(t *testing.T) {
	m, err := Load("snippet.ptx", []byte(snippet("add.u32 %r6, %r1, 1; st.global.b32 [%rd1], %r6;")))
	if err != nil {
		t.Fatal(err)
	}
	run := func(limit uint64) (*Report, error) {
		d := New(Options{MaxInstructions: limit})
		return d.Launch(m, "k", Dim(1), Dim(64), 0, d.Alloc("a", 512), nil, int32(1))
	}
	rep, err := run(0)
	if err != nil {
		t.Fatal(err)
	}
	n := rep.Counters.WarpInstructions
	if _, err := run(n); err != nil {
		t.Errorf("with %d instructions allowed: %v", n, err)
	}
	for limit := uint64(1); limit < n; limit++ {
		var found *simt.FindingsError
		if rep, err = run(limit); !errors.As(err, &found) || found.Findings[0].Kind != simt.FindEndless {
			t.Errorf("with %d of %d instructions allowed: %v", limit, n, err)
		} else if got := rep.Counters.WarpInstructions; got != limit {
			t.Errorf("with %d instructions allowed %d were executed", limit, got)
		}
	}
}
