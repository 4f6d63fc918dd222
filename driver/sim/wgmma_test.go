package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// A wgmmaForm is one dot of a warpgroup: 64 rows of A and n columns of B, k deep
// by the element type a, whose operands lie in shared memory by a swizzle mode, with
// rows of A and columns of B contiguous along k, or turned. With inRegs A is in
// registers.
type wgmmaForm struct {
	a, c    string
	n       int
	swizzle int // bytes that the pattern spans; 0 for none
	turned  bool
	inRegs  bool
}

func wgmmaForms() []wgmmaForm {
	out := []wgmmaForm{
		{a: "f16", c: "f32", n: 8},
		{a: "f16", c: "f32", n: 64},
		{a: "f16", c: "f32", n: 16, swizzle: 32},
		{a: "f16", c: "f32", n: 16, swizzle: 64},
		{a: "f16", c: "f32", n: 16, swizzle: 128},
		{a: "f16", c: "f32", n: 64, turned: true},
		{a: "f16", c: "f32", n: 64, swizzle: 128, turned: true},
		{a: "bf16", c: "f32", n: 64, swizzle: 64, turned: true},
		{a: "f16", c: "f32", n: 24, inRegs: true},
	}
	for _, t := range [][2]string{
		{"f16", "f16"},
		{"bf16", "f32"},
		{"tf32", "f32"},
		{"e4m3", "f32"},
		{"e5m2", "f32"},
		{"s8", "s32"},
		{"u8", "s32"},
	} {
		out = append(out, wgmmaForm{a: t[0], c: t[1], n: 16}, wgmmaForm{a: t[0], c: t[1], n: 16, swizzle: 128},
			wgmmaForm{a: t[0], c: t[1], n: 16, inRegs: true})
	}
	return out
}

func (f *wgmmaForm) k() int { return 256 / elemBits(f.a) }

// regs is how many 32-bit registers of a thread hold D.
func (f *wgmmaForm) regs() int { return f.n / 2 * elemBits(f.c) / 32 }

const (
	wgmmaImage = 12 << 10 // bytes of shared memory with A and B
	wgmmaB     = 8 << 10  // where B begins
)

// at is the byte of element k of a line (a row of A, a column of B) of a matrix of so
// many lines, from its beginning. The swizzle permutes 16-byte pieces by the address.
func (f *wgmmaForm) at(lines, line, k int) int {
	size := elemBits(f.a) / 8
	p := 0
	switch kb := k * size; {
	case f.swizzle == 0 && !f.turned: // 8 lines of 16 bytes are together
		p = line/8*256 + kb/16*128 + line%8*16 + kb%16
	case f.swizzle == 0:
		p = line/8*256 + k/8*128 + k%8*16 + line%8*2
	case !f.turned:
		p = line*f.swizzle + kb
	default:
		width := f.swizzle / 2
		p = line/width*f.swizzle*f.k() + k*f.swizzle + line%width*2
	}
	if f.swizzle > 0 {
		p ^= p >> 7 & (f.swizzle/16 - 1) << 4
	}
	return p
}

// descriptor is that of a matrix, but for its beginning.
func (f *wgmmaForm) descriptor() uint64 {
	leading, stride, mode := 128, 256, 0
	if f.swizzle > 0 {
		leading, stride = 16, 8*f.swizzle
		mode = map[int]int{32: 3, 64: 2, 128: 1}[f.swizzle]
		if f.turned {
			leading = f.swizzle * f.k()
		}
	} else if f.turned {
		// Without a pattern the manual's two strides change places.
		leading, stride = 128, 256
	}
	return uint64(leading>>4)<<16 | uint64(stride>>4)<<32 | uint64(mode)<<62
}

func (f *wgmmaForm) text() string {
	s := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s", f.n, f.k(), f.c, f.a, f.a)
	if f.swizzle > 0 {
		s += fmt.Sprintf(" swizzled by %d", f.swizzle)
	}
	if f.turned {
		s += " turned"
	}
	if f.inRegs {
		s += " from registers"
	}
	return s
}

// kernelText is the kernel k<i>: the image goes to shared memory, D starts as acc.
func (f *wgmmaForm) kernelText(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry k%d(.param .u64 image, .param .u64 acc, .param .u64 out)\n.reqntid 128\n{\n", i)
	fmt.Fprintf(&b, "\t.reg .b32 %%t<8>, %%a<4>, %%d<%d>, %%v<4>;\n\t.reg .b64 %%p<8>;\n\t.reg .pred %%q;\n", f.regs())
	b.WriteString("\tmov.u32 %t0, %tid.x;\n\tmov.u32 %t1, %ctaid.x;\n\tld.param.u64 %p0, [image];\n\tld.param.u64 %p1, [acc];\n\tld.param.u64 %p2, [out];\n")
	fmt.Fprintf(&b, "\tmad.wide.u32 %%p0, %%t1, %d, %%p0;\n\tmad.wide.u32 %%p0, %%t0, 16, %%p0;\n", wgmmaImage)
	b.WriteString("\tmov.u32 %t2, image_sm;\n\tmad.lo.u32 %t3, %t0, 16, %t2;\n\tmad.lo.u32 %t4, %t1, 128, %t0;\n")
	for c := range wgmmaImage / 2048 {
		fmt.Fprintf(&b, "\tld.global.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%p0+%d];\n\tst.shared.v4.b32 [%%t3+%d], {%%v0, %%v1, %%v2, %%v3};\n", 2048*c, 2048*c)
	}
	fmt.Fprintf(&b, "\tld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%p0];\n\tmad.wide.u32 %%p1, %%t4, %d, %%p1;\n\tmad.wide.u32 %%p2, %%t4, %d, %%p2;\n", 4*f.regs(), 4*f.regs())
	var d []string
	for r := range f.regs() {
		d = append(d, fmt.Sprintf("%%d%d", r))
		fmt.Fprintf(&b, "\tld.global.b32 %%d%d, [%%p1+%d];\n", r, 4*r)
	}
	b.WriteString("\tfence.proxy.async;\n\tbar.sync 0;\n\tshr.u32 %t2, %t2, 4;\n\tcvt.u64.u32 %p3, %t2;\n")
	fmt.Fprintf(&b, "\tor.b64 %%p3, %%p3, %d;\n\tadd.s64 %%p4, %%p3, %d;\n\tsetp.eq.u32 %%q, %%t0, %%t0;\n", int64(f.descriptor()), wgmmaB>>4)
	operand, tail := "%p3", ""
	if f.inRegs {
		operand = "{%a0, %a1, %a2, %a3}"
	}
	if f.c != "s32" {
		tail = ", 1, 1"
	}
	if elemBits(f.a) == 16 {
		turn := 0
		if f.turned {
			turn = 1
		}
		if !f.inRegs {
			tail += fmt.Sprintf(", %d", turn)
		}
		tail += fmt.Sprintf(", %d", turn)
	}
	fmt.Fprintf(&b, "\twgmma.fence.sync.aligned;\n\twgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {%s}, %s, %%p4, %%q%s;\n", f.n, f.k(), f.c, f.a, f.a, strings.Join(d, ", "), operand, tail)
	b.WriteString("\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n")
	for r := range f.regs() {
		fmt.Fprintf(&b, "\tst.global.b32 [%%p2+%d], %%d%d;\n", 4*r, r)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

const wgmmaHead = ".version 8.4\n.target sm_90a\n.address_size 64\n"

// run gives random operands to a form and returns what the simulator made of them,
// by block, row and column, with the products and the sums of their magnitudes.
func (f *wgmmaForm) run(t testing.TB, m *Module, i int, r *rand.Rand, trials int) (got, want, magnitude []float64, bits []uint32) {
	k, size := f.k(), elemBits(f.a)/8
	image := make([]byte, trials*wgmmaImage)
	acc := make([]uint32, trials*128*f.regs())
	for i := range acc {
		acc[i] = uint32(mmaOperand(r, f.c))
	}
	for trial := range trials {
		img := image[trial*wgmmaImage:][:wgmmaImage]
		fill := func(base, lines int, fragment bool) []float64 {
			out := make([]float64, lines*k)
			for line := range lines {
				for j := range k {
					v := mmaElement(r, f.a)
					at := base + f.at(lines, line, j)
					if fragment {
						// Thread by thread, as mma.sync has A.
						per := 4 / size
						thread := line/16*32 + line%8*4 + j/per%4
						reg := line/8%2 + j/per/4*2
						at = thread*16 + reg*4 + j%per*size
					}
					for b := range size {
						img[at+b] = byte(v >> (8 * b))
					}
					out[line*k+j] = elemValue(f.a, v)
				}
			}
			return out
		}
		a := fill(0, 64, f.inRegs)
		b := fill(wgmmaB, f.n, false)
		for row := range 64 {
			for col := range f.n {
				c := f.element(acc[trial*128*f.regs():], row, col)
				sum, mag := c, math.Abs(c)
				for j := range k {
					p := a[row*k+j] * b[col*k+j]
					sum += p
					mag += math.Abs(p)
				}
				want, magnitude = append(want, sum), append(magnitude, mag)
			}
		}
	}
	d := New(Options{Chip: H200})
	out := d.Alloc("out", 4*len(acc))
	launch(t, d, m, fmt.Sprintf("k%d", i), Dim(trials), Dim(128), 0, Upload(d, "image", image), Upload(d, "acc", acc), out)
	bits = Download[uint32](out)
	for trial := range trials {
		for row := range 64 {
			for col := range f.n {
				got = append(got, f.element(bits[trial*128*f.regs():], row, col))
			}
		}
	}
	return got, want, magnitude, bits
}

// element is an element of D, by the manual's table of threads and registers.
func (f *wgmmaForm) element(regs []uint32, row, col int) float64 {
	per := 32 / elemBits(f.c)
	thread := row/16*32 + row%8*4 + col%8/2
	i := col/8*4 + row/8%2*2 + col%2
	v := uint64(regs[thread*f.regs()+i/per]) >> (i % per * elemBits(f.c))
	if per == 2 {
		v &= 0xffff
	}
	return elemValue(f.c, v)
}

func loadWgmma(t testing.TB, forms []wgmmaForm) *Module {
	var text strings.Builder
	text.WriteString(wgmmaHead)
	fmt.Fprintf(&text, ".shared .align 1024 .b8 image_sm[%d];\n", wgmmaImage)
	for i := range forms {
		text.WriteString(forms[i].kernelText(i))
	}
	m, err := Load("wgmma.ptx", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWarpgroupProducts holds dots of warpgroups against float64.
func TestWarpgroupProducts(t *testing.T) {
	r := newRand(t)
	forms := wgmmaForms()
	m := loadWgmma(t, forms)
	for i := range forms {
		f := &forms[i]
		got, want, magnitude, _ := f.run(t, m, i, r, 2)
		tol := map[string]float64{"f16": 0x1p-9, "f32": 0x1p-20}[f.c]
		if elemBits(f.a) == 8 {
			tol = 0x1p-8 // 33 terms and their sum, cut 13 bits below the first
		}
		limit := map[string]float64{"f16": 65000, "f32": 3e38}[f.c]
		bad := 0
		for j, w := range want {
			ok := false
			if f.c == "s32" {
				ok = uint32(int64(w)) == uint32(int64(got[j]))
			} else {
				ok = !(magnitude[j] < limit) || math.Abs(got[j]-w) <= tol*magnitude[j]+0x1p-24
			}
			if !ok {
				if bad++; bad <= 3 {
					t.Errorf("%s: row %d column %d is %v, want %v", f.text(), j/f.n%64, j%f.n, got[j], w)
				}
			}
		}
		if bad > 3 {
			t.Errorf("%s: %d of %d are wrong", f.text(), bad, len(want))
		}
	}
}

// TestWarpgroupFindings: a dot without a fence before it, of its registers or of
// what its operands were written with, and one that is not waited for before
// someone touches its registers or writes its operands.
func TestWarpgroupFindings(t *testing.T) {
	const (
		proxy  = "fence.proxy.async;"
		fence  = "wgmma.fence.sync.aligned;"
		commit = "wgmma.commit_group.sync.aligned;"
		wait   = "wgmma.wait_group.sync.aligned 0;"
		later  = "wgmma.wait_group.sync.aligned 1;"
		store  = "st.shared.v4.b32 [%t3], {%v0, %v1, %v2, %v3};"
	)
	for _, c := range []struct {
		name     string
		inRegs   bool
		old, new string
		kind     simt.FindingKind
		want     string // empty: no finding
	}{
		{name: "right", old: proxy, new: proxy},
		{name: "no fence for operands", old: proxy, want: "which warp 0 wrote: no fence.proxy.async lies between", kind: simt.FindDot},
		{name: "a fence of operands after the barrier", old: proxy + "\n\tbar.sync 0;", new: "bar.sync 0;\n\t" + proxy},
		{name: "a fence of operands before they are written again", old: "bar.sync 0;", new: store + "bar.sync 0;", want: "no fence.proxy.async lies between", kind: simt.FindDot},
		{name: "no fence for registers", old: fence, want: "no wgmma.fence comes before it", kind: simt.FindDot},
		{name: "a sum is written after the fence", old: fence, new: fence + " mov.b32 %d1, %t0;", want: "%d1 was written after the last wgmma.fence", kind: simt.FindDot},
		{name: "an operand is written after the fence", inRegs: true, old: fence, new: fence + " ld.shared.b32 %a2, [%t3];", want: "%a2 was written after the last wgmma.fence", kind: simt.FindDot},
		{name: "no wait", old: wait, want: "uses %d0, which a dot of the warpgroup still computes: no wgmma.wait_group for it comes before", kind: simt.FindDot},
		{name: "a wait for an older one", old: wait, new: later, want: "uses %d0, which a dot of the warpgroup still computes", kind: simt.FindDot},
		{name: "a wait for a newer group", old: wait, new: fence + commit + later},
		{name: "a wait without a group", old: commit, want: "uses %d0, which a dot of the warpgroup still computes", kind: simt.FindDot},
		{name: "a sum is written", old: commit, new: commit + " mov.b32 %d3, %t0;", want: "mov.b32 uses %d3, which", kind: simt.FindDot},
		{name: "an operand in registers is read", inRegs: true, old: commit, new: commit + " mov.b32 %t7, %a2;"},
		{name: "an operand in registers is written", inRegs: true, old: commit, new: commit + " mov.b32 %a2, %t0;", want: "mov.b32 writes %a2, which a dot of the warpgroup still reads", kind: simt.FindDot},
		{name: "an operand in shared memory is written", old: commit, new: commit + " bar.sync 0;" + store, want: "writes shared memory at 0x0, which a dot of warp 0 still reads: no wgmma.wait_group for it comes before", kind: simt.FindDot},
		{name: "an operand of another warp's is written", old: wait, new: wait + " add.s32 %t3, %t3, 512; and.b32 %t3, %t3, 2047; st.shared.b32 [%t3], %t0;", want: "while warp 0 reads it: no barrier lies between", kind: simt.FindRace},
		{name: "an operand is written after wait and barrier", old: wait, new: wait + " bar.sync 0;" + store},
	} {
		f := wgmmaForm{a: "f16", c: "f32", n: 16, swizzle: 128, inRegs: c.inRegs}
		kernel := f.kernelText(0)
		if !strings.Contains(kernel, c.old) {
			t.Fatalf("%s: the kernel has no %q", c.name, c.old)
		}
		text := wgmmaHead + fmt.Sprintf(".shared .align 1024 .b8 image_sm[%d];\n", wgmmaImage) + strings.Replace(kernel, c.old, c.new, 1)
		m, err := Load("wgmma.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d := New(Options{Chip: H200, Workers: 1})
		regs := 128 * f.regs()
		_, err = d.Launch(m, "k0", Dim(1), Dim(128), 0, Upload(d, "image", make([]byte, wgmmaImage)), Upload(d, "acc", make([]uint32, regs)), d.Alloc("out", 4*regs))
		var found *simt.FindingsError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "":
		case !errors.As(err, &found):
			t.Errorf("%s: %v, want a finding", c.name, err)
		case !slices.ContainsFunc(found.Findings, func(f *simt.Finding) bool { return f.Kind == c.kind && strings.Contains(f.Message, c.want) }):
			t.Errorf("%s: %v, want %v: %s", c.name, err, c.kind, c.want)
		}
	}
}
