package sim

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// A tensorCopy is a bulk copy of a box of a tensor to shared memory, which a tensor
// map made by the kernel describes, and, with back set, of the box from there to a
// second tensor of the same shape.
type tensorCopy struct {
	elem    int // bytes of an element
	typ     int // its number in a tensor map
	dims    []int
	row     int // elements from row to row; 0 for the first of dims
	box     []int
	at      []int // coordinates of the box
	swizzle int   // mode 0 to 3
	nan     bool  // what lies outside is NaN
	back    bool
}

func tensorCopies() []tensorCopy {
	return []tensorCopy{
		{elem: 4, typ: 7, dims: []int{64}, box: []int{32}, at: []int{16}},
		{elem: 4, typ: 7, dims: []int{64}, box: []int{32}, at: []int{48}},
		{elem: 4, typ: 7, dims: []int{64}, box: []int{32}, at: []int{-8}, nan: true},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 8}, at: []int{16, 3}},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{16, 16}, at: []int{8, 7}, swizzle: 1},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{32, 16}, at: []int{40, 30}, swizzle: 2},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 32}, at: []int{56, 20}, swizzle: 3},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 32}, at: []int{-8, -3}, swizzle: 3, nan: true},
		{elem: 2, typ: 10, dims: []int{96, 40}, box: []int{64, 32}, at: []int{56, 20}, swizzle: 3, nan: true},
		{elem: 1, typ: 0, dims: []int{80, 20}, box: []int{128, 16}, at: []int{-16, 8}, swizzle: 3},
		{elem: 8, typ: 9, dims: []int{20, 9}, box: []int{16, 9}, at: []int{6, 1}, swizzle: 3, nan: true},
		{elem: 4, typ: 7, dims: []int{40, 7, 5}, box: []int{32, 4, 3}, at: []int{12, 5, 3}, swizzle: 3},
		{elem: 2, typ: 10, dims: []int{24, 6, 5, 4}, box: []int{8, 4, 3, 2}, at: []int{16, 3, -1, 1}, nan: true},
		{elem: 2, typ: 6, dims: []int{16, 3, 4, 3, 3}, box: []int{8, 2, 3, 2, 2}, at: []int{8, 2, 2, 2, -1}},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 16}, at: []int{48, 30}, swizzle: 3, back: true},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{32, 16}, at: []int{-8, -5}, swizzle: 2},
		{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{32, 16}, at: []int{72, 30}, swizzle: 2, back: true},
		{elem: 4, typ: 7, dims: []int{40, 7, 5}, box: []int{32, 4, 3}, at: []int{12, 5, 3}, back: true},
		{elem: 4, typ: 7, dims: []int{64}, box: []int{32}, at: []int{40}, back: true},
		{elem: 4, typ: 7, dims: []int{61}, box: []int{32}, at: []int{40}, back: true},
		{elem: 2, typ: 6, dims: []int{90, 40}, row: 96, box: []int{64, 16}, at: []int{48, 30}, swizzle: 3, back: true},
		{elem: 1, typ: 0, dims: []int{33, 5, 3}, row: 64, box: []int{32, 4, 2}, at: []int{32, 2, 2}, back: true},
	}
}

// memory is the shape of the memory that the tensor lies in: of rows that may be
// longer, and of whole pieces of 16 bytes.
func (c *tensorCopy) memory() []int {
	m := slices.Clone(c.dims)
	m[0] = (max(m[0], c.row)*c.elem + 15) / 16 * 16 / c.elem
	return m
}

func (c *tensorCopy) bytes(shape []int) int {
	n := c.elem
	for _, d := range shape {
		n *= d
	}
	return n
}

// dumped is how many bytes 128 threads copy word by word to have the whole box.
func (c *tensorCopy) dumped() int { return cdiv(c.bytes(c.box), 512) * 512 }

func (c *tensorCopy) text() string {
	s := fmt.Sprintf("tensor %v of %d-byte elements, box %v at %v, swizzle %d", c.dims, c.elem, c.box, c.at, c.swizzle)
	if c.nan {
		s += ", NaN outside"
	}
	if c.back {
		s += ", and back"
	}
	return s
}

// kernelText is the kernel k<i> of one block: map, load, and a plain copy of shared
// memory to out or, with back, a copy of the box to the tensor to.
func (c *tensorCopy) kernelText(i int) string {
	var b strings.Builder
	size := c.bytes(c.box)
	fmt.Fprintf(&b, ".visible .entry k%d(.param .u64 from, .param .u64 to, .param .u64 scratch, .param .u64 out)\n.reqntid 128\n{\n", i)
	b.WriteString("\t.reg .b32 %t<8>, %c<5>, %v;\n\t.reg .b64 %p<8>, %m, %g;\n\t.reg .pred %w, %l, %done;\n")
	b.WriteString("\tmov.u32 %t0, %tid.x;\n\tsetp.lt.u32 %w, %t0, 32;\n\tsetp.eq.u32 %l, %t0, 0;\n\tmov.u32 %t1, sm;\n\tshl.b32 %t2, %t0, 2;\n\tadd.u32 %t3, %t1, %t2;\n\tmov.b32 %v, 0;\n")
	b.WriteString("\tld.param.u64 %p0, [from];\n\tld.param.u64 %p1, [to];\n\tld.param.u64 %p2, [scratch];\n\tld.param.u64 %p3, [out];\n\tcvt.u64.u32 %m, %t1;\n")
	for i, x := range c.at {
		fmt.Fprintf(&b, "\tmov.b32 %%c%d, %d;\n", i, int32(x))
	}
	c.mapText(&b, "%p0", "%p2")
	if c.back {
		b.WriteString("\tadd.s64 %p4, %p2, 128;\n")
		c.mapText(&b, "%p1", "%p4")
	}
	// What a copy leaves alone is recognized.
	b.WriteString("\tmov.b32 %v, 0x5a5a5a5a;\n\tmov.u32 %t4, %t2;\nFILL:\n\tadd.u32 %t5, %t1, %t4;\n\tst.shared.b32 [%t5], %v;\n\tadd.u32 %t4, %t4, 512;\n")
	fmt.Fprintf(&b, "\tsetp.lt.u32 %%done, %%t4, %d;\n\t@%%done bra FILL;\n", c.dumped())
	fmt.Fprintf(&b, "\tmov.u32 %%t6, bar_sm;\n\t@%%l mbarrier.init.shared::cta.b64 [%%t6], 1;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n\t@%%l mbarrier.arrive.expect_tx.shared.b64 _, [%%t6], %d;\n", size)
	var coords []string
	for i := range c.at {
		coords = append(coords, fmt.Sprintf("%%c%d", i))
	}
	form := fmt.Sprintf("cp.async.bulk.tensor.%dd", len(c.dims))
	place := "{" + strings.Join(coords, ", ") + "}"
	b.WriteString("\tcvta.global.u64 %g, %p2;\n")
	fmt.Fprintf(&b, "\t@%%l %s.shared::cluster.global.mbarrier::complete_tx::bytes [%%t1], [%%g, %s], [%%t6];\n", form, place)
	b.WriteString("\tmov.b32 %v, 0;\nWAIT:\n\tmbarrier.try_wait.parity.shared.b64 %done, [%t6], %v;\n\t@!%done bra WAIT;\n\tbar.sync 0;\n")
	if c.back {
		b.WriteString("\tcvta.global.u64 %g, %p4;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n")
		fmt.Fprintf(&b, "\t@%%l %s.global.shared::cta.bulk_group [%%g, %s], [%%t1];\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\n", form, place)
	}
	b.WriteString("\tmov.u32 %t4, %t2;\nDUMP:\n\tadd.u32 %t5, %t1, %t4;\n\tld.shared.b32 %v, [%t5];\n\tcvt.u64.u32 %p5, %t4;\n\tadd.s64 %p5, %p3, %p5;\n\tst.global.b32 [%p5], %v;\n\tadd.u32 %t4, %t4, 512;\n")
	fmt.Fprintf(&b, "\tsetp.lt.u32 %%done, %%t4, %d;\n\t@%%done bra DUMP;\n\tret;\n}\n", c.dumped())
	return b.String()
}

// mapText makes the map of the tensor at an address, at another.
func (c *tensorCopy) mapText(b *strings.Builder, tensor, at string) {
	line := func(format string, args ...any) { fmt.Fprintf(b, "\t"+format+"\n", args...) }
	line("@%%w st.shared.b32 [%%t3], %%v;")
	line("bar.sync 0;")
	set := func(field, typ, args string) {
		line("@%%l tensormap.replace.tile.%s.shared::cta.b1024.%s [%%m], %s;", field, typ, args)
	}
	set("global_address", "b64", tensor)
	set("rank", "b32", fmt.Sprint(len(c.dims)-1))
	stride := c.elem
	for i := range c.dims {
		word := func(field string, v int) {
			line("mov.b32 %%t7, %d;", v)
			set(field, "b32", fmt.Sprintf("%d, %%t7", i))
		}
		word("box_dim", c.box[i])
		word("global_dim", c.dims[i])
		word("element_stride", 1)
		if stride *= c.memory()[i]; i+1 < len(c.dims) {
			line("mov.b64 %%p6, %d;", stride)
			set("global_stride", "b64", fmt.Sprintf("%d, %%p6", i))
		}
	}
	set("elemtype", "b32", fmt.Sprint(c.typ))
	set("interleave_layout", "b32", "0")
	set("swizzle_mode", "b32", fmt.Sprint(c.swizzle))
	fill := "0"
	if c.nan {
		fill = "1"
	}
	set("fill_mode", "b32", fill)
	line("bar.warp.sync -1;")
	line("@%%w tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%s], [%%m], 0x80;", at)
	line("@%%w fence.proxy.tensormap::generic.acquire.gpu [%s], 0x80;", at)
	line("bar.sync 0;")
}

// want is what shared memory and the second tensor hold at the end.
func (c *tensorCopy) want(from, to []byte) (shared, after []byte) {
	shared, after = make([]byte, c.bytes(c.box)), bytes.Clone(to)
	mask := 1<<c.swizzle - 1
	for p := 0; p < len(shared); p += c.elem {
		rest, off, stride, inside, piece := p/c.elem, 0, c.elem, true, true
		for i, n := range c.box {
			x := c.at[i] + rest%n
			rest /= n
			inside = inside && x >= 0 && x < c.dims[i]
			// A row is stored until the end of the 16 bytes in which it ends.
			end := c.dims[i]
			if i == 0 {
				end = (end*c.elem + 15) / 16 * 16 / c.elem
			}
			piece = piece && x >= 0 && x < end
			off += x * stride
			stride *= c.memory()[i]
		}
		at := p ^ p>>7&mask<<4
		switch {
		case inside:
			copy(shared[at:at+c.elem], from[off:])
		case c.nan:
			for i := 0; i < c.elem; i += 2 {
				shared[at+i], shared[at+i+1] = 0xf7, 0x7f
			}
		}
		if c.back && piece {
			copy(after[off:off+c.elem], shared[at:])
		}
	}
	return shared, after
}

// run launches a copy of random bytes.
func (c *tensorCopy) run(t testing.TB, m *Module, i int, r *rand.Rand) (shared, after, wantShared, wantAfter []byte) {
	from, to := make([]byte, c.bytes(c.memory())), make([]byte, c.bytes(c.memory()))
	for i := range from {
		from[i], to[i] = byte(r.UintN(256)), byte(r.UintN(256))
	}
	d := New(Options{Chip: H200})
	second, out := Upload(d, "to", to), d.Alloc("out", c.dumped())
	launch(t, d, m, fmt.Sprintf("k%d", i), Dim(1), Dim(128), 0, Upload(d, "from", from), second, d.Alloc("scratch", 256), out)
	wantShared, wantAfter = c.want(from, to)
	return out.Read()[:len(wantShared)], second.Read(), wantShared, wantAfter
}

func loadTensorCopies(t testing.TB, copies []tensorCopy) *Module {
	var text strings.Builder
	text.WriteString(wgmmaHead + ".shared .align 1024 .b8 sm[8192];\n.shared .align 8 .b8 bar_sm[8];\n")
	for i := range copies {
		text.WriteString(copies[i].kernelText(i))
	}
	m, err := Load("bulk.ptx", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTensorCopies copies boxes that lie inside and across the edges of tensors.
func TestTensorCopies(t *testing.T) {
	r := newRand(t)
	copies := tensorCopies()
	m := loadTensorCopies(t, copies)
	for i := range copies {
		c := &copies[i]
		shared, after, wantShared, wantAfter := c.run(t, m, i, r)
		if !bytes.Equal(shared, wantShared) {
			t.Errorf("%s: shared memory is\n%x, want\n%x", c.text(), shared, wantShared)
		}
		if !bytes.Equal(after, wantAfter) {
			t.Errorf("%s: the second tensor is\n%x, want\n%x", c.text(), after, wantAfter)
		}
	}
}

// TestTensorCopiesBefore: a box that is copied back begins in the tensor, and bits of 64
// are not combined. What copies from a tensor may begin before it.
func TestTensorCopiesBefore(t *testing.T) {
	const back = ".global.shared::cta.bulk_group"
	for _, c := range []struct {
		copy   tensorCopy
		reduce string
		want   string
	}{
		{tensorCopy{elem: 4, typ: 7, dims: []int{64}, box: []int{32}, at: []int{-4}}, "", "at [-4], which begins before the tensor"},
		{tensorCopy{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{32, 16}, at: []int{-8, 5}}, "", "at [-8 5]"},
		{tensorCopy{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{32, 16}, at: []int{8, -5}}, "", "at [8 -5]"},
		{tensorCopy{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{32, 16}, at: []int{8, -16}}, "add", "at [8 -16]"},
		{tensorCopy{elem: 4, typ: 3, dims: []int{16, 6, 5}, box: []int{8, 2, 2}, at: []int{0, 0, -1}}, "or", "at [0 0 -1]"},
		{tensorCopy{elem: 8, typ: 4, dims: []int{16, 6}, box: []int{8, 2}, at: []int{0, 0}}, "or", "combines bits of u64"},
		{tensorCopy{elem: 8, typ: 5, dims: []int{16, 6}, box: []int{8, 2}, at: []int{0, 0}}, "and", "combines bits of s64"},
		{tensorCopy{elem: 8, typ: 5, dims: []int{16, 6}, box: []int{8, 2}, at: []int{12, 5}}, "xor", "combines bits of s64"},
		{tensorCopy{elem: 8, typ: 5, dims: []int{16, 6}, box: []int{8, 2}, at: []int{12, 5}}, "min", ""},
		{tensorCopy{elem: 4, typ: 3, dims: []int{16, 6}, box: []int{8, 2}, at: []int{12, 5}}, "xor", ""},
	} {
		c.copy.back = true
		text := wgmmaHead + ".shared .align 1024 .b8 sm[8192];\n.shared .align 8 .b8 bar_sm[8];\n" + c.copy.kernelText(0)
		if c.reduce != "" {
			rank := fmt.Sprintf("async.bulk.tensor.%dd", len(c.copy.dims))
			text = strings.Replace(text, "cp."+rank+back, "cp.reduce."+rank+strings.Replace(back, ".bulk", "."+c.reduce+".bulk", 1), 1)
		}
		m, err := Load("bulk.ptx", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d := New(Options{Chip: H200})
		zeros := make([]byte, c.copy.bytes(c.copy.memory()))
		_, err = d.Launch(m, "k0", Dim(1), Dim(128), 0, Upload(d, "from", zeros), Upload(d, "to", zeros), d.Alloc("scratch", 256), d.Alloc("out", c.copy.dumped()))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %q", c.copy.text(), c.reduce, err, c.want)
		}
	}
}

// TestTensorCopyAlignment: rows of a box begin at multiples of 16 bytes.
func TestTensorCopyAlignment(t *testing.T) {
	c := tensorCopy{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 8}, at: []int{5, 3}}
	m := loadTensorCopies(t, []tensorCopy{c})
	d := New(Options{Chip: H200})
	_, err := d.Launch(m, "k0", Dim(1), Dim(128), 0, d.Alloc("from", c.bytes(c.dims)), d.Alloc("to", c.bytes(c.dims)), d.Alloc("scratch", 256), d.Alloc("out", c.dumped()))
	var found *simt.FindingsError
	if !errors.As(err, &found) || found.Findings[0].Kind != simt.FindAlign || !strings.Contains(err.Error(), "which is byte 10") {
		t.Errorf("a box at element 5 gives %v", err)
	}
}

// TestBoxAlignment: boxes lie at multiples of 128 bytes of shared memory.
func TestBoxAlignment(t *testing.T) {
	c := tensorCopy{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 8}, at: []int{8, 3}}
	text := wgmmaHead + ".shared .align 1024 .b8 sm[8192];\n.shared .align 8 .b8 bar_sm[8];\n" + c.kernelText(0)
	m, err := Load("bulk.ptx", []byte(strings.Replace(text, "bytes [%t1],", "bytes [%t1+64],", 1)))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{Chip: H200})
	_, err = d.Launch(m, "k0", Dim(1), Dim(128), 0, d.Alloc("from", c.bytes(c.dims)), d.Alloc("to", c.bytes(c.dims)), d.Alloc("scratch", 256), d.Alloc("out", c.dumped()))
	var found *simt.FindingsError
	if !errors.As(err, &found) || found.Findings[0].Kind != simt.FindAlign || !strings.Contains(err.Error(), "which is not a multiple of 128") {
		t.Errorf("a box at byte 64 gives %v", err)
	}
}

// TestBulkCopies copies bytes to shared memory and back, in blocks that take turns
// at one mbarrier, one phase per copy.
func TestBulkCopies(t *testing.T) {
	const rounds, most = 3, 4096
	text := wgmmaHead + `.shared .align 128 .b8 sm[4096];
.shared .align 8 .b8 bar_sm[8];
.visible .entry k0(.param .u64 from, .param .u64 to, .param .u32 size)
.reqntid 128
{
	.reg .b32 %t<8>;
	.reg .b64 %p<4>;
	.reg .pred %l, %done;
	mov.u32 %t0, %tid.x;
	setp.eq.u32 %l, %t0, 0;
	ld.param.u64 %p0, [from];
	ld.param.u64 %p1, [to];
	ld.param.u32 %t1, [size];
	mov.u32 %t7, %ctaid.x;
	mul.wide.u32 %p2, %t7, 12288;
	add.s64 %p0, %p0, %p2;
	add.s64 %p1, %p1, %p2;
	mov.u32 %t2, sm;
	mov.u32 %t3, bar_sm;
	@%l mbarrier.init.shared::cta.b64 [%t3], 1;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	mov.u32 %t4, 0;
ROUND:
	and.b32 %t5, %t4, 1;
	@%l mbarrier.arrive.expect_tx.shared.b64 _, [%t3], %t1;
	@%l cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%t2], [%p0], %t1, [%t3];
WAIT:
	mbarrier.try_wait.parity.shared.b64 %done, [%t3], %t5;
	@!%done bra WAIT;
	bar.sync 0;
	@%l cp.async.bulk.global.shared::cta.bulk_group [%p1], [%t2], %t1;
	@%l cp.async.bulk.commit_group;
	@%l cp.async.bulk.wait_group 0;
	bar.sync 0;
	add.s64 %p0, %p0, 4096;
	add.s64 %p1, %p1, 4096;
	add.u32 %t4, %t4, 1;
	setp.lt.u32 %done, %t4, 3;
	@%done bra ROUND;
	ret;
}
`
	m, err := Load("bulk.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := newRand(t)
	for _, size := range []int{16, 48, 1024, most} {
		const blocks = 2
		data := make([]byte, blocks*rounds*most)
		for i := range data {
			data[i] = byte(r.UintN(256))
		}
		d := New(Options{Chip: H200})
		to := Upload(d, "to", make([]byte, len(data)))
		launch(t, d, m, "k0", Dim(blocks), Dim(128), 0, Upload(d, "from", data), to, uint32(size))
		for i, got := range to.Read() {
			want := data[i]
			if i%most >= size {
				want = 0
			}
			if got != want {
				t.Fatalf("size %d: byte %d is %x, want %x", size, i, got, want)
			}
		}
		checkHardware(t, 1, to.Read())
	}
}

// checkHardware compares an argument's contents with what the GPU left there, where
// there is one.
var checkHardware = func(t testing.TB, arg int, got []byte) {}
