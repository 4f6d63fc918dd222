package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
	"github.com/tritonc/tritonc/internal/testseed"
)

// copyChips are the chips that copy to LDS, with the bytes of a lane that they copy.
var copyChips = []struct {
	name  string
	chip  Chip
	sizes []int
}{
	{"gfx942", MI300X, []int{1, 2, 4}},
	{"gfx950", MI355X, []int{1, 2, 4, 12, 16}},
}

// copySnippet is amdSnippet for a chip.
func copySnippet(name, body string) string {
	return strings.ReplaceAll(amdSnippet(body), "gfx942", name)
}

// copySuffix is a size in names of loads; those of less than a word extend the sign.
var copySuffix = map[int]string{1: "sbyte", 2: "sshort", 4: "dword", 12: "dwordx3", 16: "dwordx4"}

// TestAMDCopyToLDS compares LDS after loads that write to it with what the ISA says: lane
// l of those that are on writes at M0 + offset + l times the size, and zeros where it
// reads beyond the records of a buffer, each word by itself.
func TestAMDCopyToLDS(t *testing.T) {
	const bytes = 4096 // of LDS and of each buffer
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	r := rand.New(rand.NewPCG(seed, 11))
	for range 40 {
		for _, c := range copyChips {
			size := c.sizes[r.IntN(len(c.sizes))]
			m0, offset, step := r.Uint32N(1024)|r.Uint32()&^(1<<18-1), 4*r.IntN(256), 1+r.IntN(48)
			exec, records := r.Uint64(), bytes
			load := fmt.Sprintf("global_load_lds_%s v8, s[2:3] offset:%d", copySuffix[size], offset)
			if r.IntN(2) == 0 {
				records = r.IntN(bytes)
				load = fmt.Sprintf("buffer_load_%s v8, s[8:11], 0 offen offset:%d lds", copySuffix[size], offset)
			}
			var body strings.Builder
			fmt.Fprintf(&body, "\ts_mov_b32 s8, s2\n\ts_and_b32 s9, s3, 0xffff\n\ts_movk_i32 s10, 0x%x\n\ts_mov_b32 s11, 0x27000\n", records)
			body.WriteString("\tv_lshlrev_b32_e32 v3, 4, v0\n")
			for i := range 4 {
				fmt.Fprintf(&body, "\tv_mov_b32_e32 v%d, -1\n", 4+i)
			}
			for i := range 4 {
				fmt.Fprintf(&body, "\tds_write_b128 v3, v[4:7] offset:%d\n", 1024*i)
			}
			fmt.Fprintf(&body, "\tv_mul_u32_u24_e32 v8, %d, v0\n\ts_waitcnt lgkmcnt(0)\n\ts_mov_b32 m0, 0x%x\n", step, m0)
			fmt.Fprintf(&body, "\ts_mov_b32 exec_lo, 0x%x\n\ts_mov_b32 exec_hi, 0x%x\n\t%s\n", uint32(exec), exec>>32, load)
			body.WriteString("\ts_mov_b64 exec, -1\n\ts_waitcnt vmcnt(0)\n")
			for i := range 4 {
				fmt.Fprintf(&body, "\tds_read_b128 v[4:7], v3 offset:%d\n\ts_waitcnt lgkmcnt(0)\n\tglobal_store_dwordx4 v3, v[4:7], s[4:5] offset:%d\n", 1024*i, 1024*i)
			}
			in := make([]byte, bytes)
			want := make([]byte, bytes)
			for i := range in {
				in[i], want[i] = byte(r.Uint32()), 0xff
			}
			for l := range 64 {
				if exec>>l&1 != 0 {
					at := int(m0&0x3fffc) + offset + l*max(4, size)
					copyLane(want[at:], in, offset+l*step, size, records)
				}
			}
			m, err := LoadAMDGCN("k.s", []byte(copySnippet(c.name, body.String())))
			if err != nil {
				t.Fatal(err)
			}
			for _, unchecked := range []bool{false, true} {
				d := New(Options{Chip: c.chip, NoChecks: unchecked})
				q := d.Alloc("q", bytes)
				if _, err := d.Launch(m, "k", Dim(1), Dim(64), 0, Upload(d, "p", in), q); err != nil {
					t.Fatalf("%s, %s, m0 0x%x, exec 0x%x, %d records, step %d: %v", c.name, load, m0, exec, records, step, err)
				}
				for i, b := range Download[byte](q) {
					if b != want[i] {
						t.Fatalf("%s, %s, m0 0x%x, exec 0x%x, %d records, step %d: byte %d of LDS is 0x%x, want 0x%x", c.name, load, m0, exec, records, step, i, b, want[i])
					}
				}
			}
		}
	}
}

// copyLane is what a lane copies from byte at of in.
func copyLane(to, in []byte, at, size, records int) {
	if size >= 4 {
		for i := 0; i < size; i += 4 {
			clear(to[i:][:4])
			if at+i+4 <= records {
				copy(to[i:][:4], in[at+i:])
			}
		}
		return
	}
	x := int32(0)
	if at+size <= records {
		x = int32(int8(in[at]))
		if size == 2 {
			x = int32(int16(binary.LittleEndian.Uint16(in[at:])))
		}
	}
	binary.LittleEndian.PutUint32(to, uint32(x))
}

// TestAMDCopyFindings: what copies to LDS do wrong is reported.
func TestAMDCopyFindings(t *testing.T) {
	const (
		// Each wave copies to 256 bytes of its own; the first lanes are in s6.
		base  = "\tv_readfirstlane_b32 s6, v1\n\ts_mov_b32 m0, s6\n"
		load  = "\tglobal_load_lds_dword v1, s[2:3]\n"
		read  = "\tds_read_b32 v2, v1\n\ts_waitcnt lgkmcnt(0)\n\tglobal_store_dword v1, v2, s[4:5]\n"
		other = "\tv_xor_b32_e32 v1, 0x100, v1\n" // of the other wave
		more  = "\ts_add_i32 m0, s6, 0x200\n" + load
	)
	for name, tt := range map[string]struct {
		body string
		kind simt.FindingKind
		says string // nothing is wrong where it is empty
	}{
		"right":           {base + load + "\ts_waitcnt vmcnt(0)\n" + read, 0, ""},
		"older only":      {base + load + more + "\ts_waitcnt vmcnt(1)\n" + read, 0, ""},
		"across barriers": {base + load + more + "\ts_waitcnt vmcnt(1)\n\ts_barrier\n" + other + read, 0, ""},
		"no wait":         {base + load + read, simt.FindAsync, "reads shared memory at 0x0, which an async copy that was not waited for still owns"},
		"too few":         {base + load + more + "\ts_waitcnt vmcnt(2)\n" + read, simt.FindAsync, "reads shared memory at 0x0"},
		"other counter":   {base + load + "\ts_waitcnt lgkmcnt(0)\n" + read, simt.FindAsync, "reads shared memory at 0x0"},
		"overwritten":     {base + load + "\tds_write_b32 v1, v0\n", simt.FindAsync, "writes shared memory at 0x0"},
		"late barrier":    {base + load + "\ts_barrier\n" + other + read, simt.FindAsync, "which an async copy that was not waited for still owns"},
		"no barrier":      {base + load + "\ts_waitcnt vmcnt(0)\n" + other + read, simt.FindRace, "no barrier lies between"},
		"m0":              {load + "\ts_waitcnt vmcnt(0)\n", simt.FindBounds, "depends on m0, which is not defined"},
		"pending m0":      {"\tv_cmp_gt_u32_e32 vcc, 64, v0\n\ts_and_b64 exec, exec, vcc\n\ts_load_dword m0, s[2:3], 0x0\n" + load, simt.FindWait, "while the instruction that loads it"},
		"pending v0":      {base + "\tglobal_load_dword v0, v1, s[2:3]\n" + load + "\ts_waitcnt vmcnt(0)\n" + read, 0, ""},
		"beyond":          {"\ts_movk_i32 m0, 0xff0\n" + load, simt.FindBounds, "shared memory"},
		"unaligned":       {base + load[:len(load)-1] + " offset:2\n", simt.FindAlign, "4"},
	} {
		for _, c := range copyChips {
			m, err := LoadAMDGCN("k.s", []byte(copySnippet(c.name, tt.body)))
			if err != nil {
				t.Fatal(name, err)
			}
			d := New(Options{Chip: c.chip})
			rep, err := d.Launch(m, "k", Dim(1), Dim(128), 0, Upload(d, "p", make([]int32, 256)), d.Alloc("q", 512))
			switch {
			case tt.says == "" && err != nil:
				t.Errorf("%s: %s: %v", c.name, name, err)
			case tt.says == "":
			case err == nil || rep == nil || len(rep.Findings) == 0 || rep.Findings[0].Kind != tt.kind || !strings.Contains(err.Error(), tt.says):
				t.Errorf("%s: %s: got %v", c.name, name, err)
			}
		}
	}
}
