package sim

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// amdSnippet is a kernel with two pointers, whose addresses are in s[2:3] and s[4:5].
func amdSnippet(body string) string {
	return `	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
k:
	s_load_dwordx4 s[2:5], s[0:1], 0x0
	s_waitcnt lgkmcnt(0)
	v_lshlrev_b32_e32 v1, 2, v0
` + body + `
	s_endpgm
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 4096
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
	.end_amdhsa_kernel
	.amdgpu_metadata
amdhsa.kernels:
  - .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .offset: 8
        .size: 8
        .value_kind: global_buffer
    .name: k
    .wavefront_size: 64
	.end_amdgpu_metadata
`
}

// TestAMDFindings: what a kernel does wrong is reported.
func TestAMDFindings(t *testing.T) {
	const read = "\tglobal_load_dword v2, v1, s[2:3]\n"
	const write = "\tglobal_store_dword v1, v2, s[4:5]\n"
	// A descriptor of the first pointer, whose records say nothing of its size.
	const rsrc = "\ts_mov_b32 s8, s2\n\ts_and_b32 s9, s3, 0xffff\n\ts_mov_b32 s10, 0x7ffffffe\n\ts_mov_b32 s11, 0x27000\n"
	// The second wave is a barrier after the first; each reads what the other has stored.
	apart := func(barriers string) string {
		return "\tv_readfirstlane_b32 s6, v0\n\ts_cmp_eq_u32 s6, 0\n\ts_cbranch_scc1 .Lahead\n\ts_barrier\n.Lahead:\n" +
			"\tds_write_b32 v1, v0\n\ts_waitcnt lgkmcnt(0)\n" + barriers + "\tv_xor_b32_e32 v3, 0x100, v1\n\tds_read_b32 v2, v3\n" +
			"\ts_waitcnt lgkmcnt(0)\n\ts_cmp_lg_u32 s6, 0\n\ts_cbranch_scc1 .Lend\n\ts_barrier\n.Lend:\n" + write
	}
	const loaded = "\ts_waitcnt vmcnt(0)\n" + write
	for name, tt := range map[string]struct {
		body string
		kind simt.FindingKind
		says string // nothing is wrong where it is empty
	}{
		"right":   {read + "\ts_waitcnt vmcnt(0)\n" + write, 0, ""},
		"no wait": {read + write, simt.FindWait, "register v2 is used while the instruction that loads it has not been waited for"},
		"far branch": {"\ts_getpc_b64 s[6:7]\n.Lpost:\n\ts_add_u32 s6, s6, (.Lfar-.Lpost)&4294967295\n\ts_addc_u32 s7, s7, (.Lfar-.Lpost)>>32\n" +
			"\ts_setpc_b64 s[6:7]\n" + write + ".Lfar:\n", 0, ""},
		"far branch back": {"\ts_branch .Lon\n.Lback:\n\ts_endpgm\n.Lon:\n\ts_getpc_b64 s[6:7]\n.Lpost:\n\ts_add_u32 s6, s6, (.Lback-.Lpost)&4294967295\n" +
			"\ts_addc_u32 s7, s7, (.Lback-.Lpost)>>32\n\ts_setpc_b64 s[6:7]\n" + write, 0, ""},
		"older only":     {read + "\tglobal_load_dword v3, v1, s[2:3]\n\ts_waitcnt vmcnt(1)\n" + write, 0, ""},
		"dead":           {"\tglobal_load_dwordx2 v[2:3], v0, s[2:3]\n\tglobal_load_dword v3, v1, s[2:3]\n\ts_waitcnt vmcnt(0)\n\tv_mov_b32_e32 v2, v3\n" + write, 0, ""},
		"other half":     {read + "\tglobal_load_short_d16_hi v2, v1, s[2:3]\n\ts_waitcnt vmcnt(0)\n" + write, simt.FindUndefined, "the value stored is not defined"},
		"legacy":         {"\tv_mad_legacy_u16 v2, v0, v0, v0\n" + write, 0, ""},
		"younger":        {read + "\tglobal_load_dword v3, v1, s[2:3]\n\ts_waitcnt vmcnt(1)\n\tv_mov_b32_e32 v2, v3\n" + write, simt.FindWait, "register v3"},
		"scalar":         {"\ts_load_dword s6, s[2:3], 0x0\n\tv_mov_b32_e32 v2, s6\n" + write, simt.FindWait, "register s6"},
		"undefined":      {write, simt.FindUndefined, "the value stored is not defined in lanes 0xffffffffffffffff"},
		"undefined half": {"\tv_and_b32_e32 v2, 0xffff, v9\n" + write, simt.FindUndefined, "the value stored"},
		"masked":         {"\tv_and_b32_e32 v2, 0, v9\n" + write, 0, ""},
		"same":           {"\tv_xor_b32_e32 v2, v9, v9\n" + write, 0, ""},
		"branch":         {"\ts_cmp_eq_u32 s40, 0\n\ts_cbranch_scc1 .L\n.L:\n", simt.FindUndefined, "where the branch goes"},
		"exec":           {"\ts_mov_b64 exec, s[40:41]\n", simt.FindUndefined, "EXEC depends on an undefined value"},
		"bounds":         {"\tv_mov_b32_e32 v2, 1\n\tglobal_store_dword v1, v2, s[4:5] offset:512\n", simt.FindBounds, "writes 4 bytes of global memory"},
		"barrier":        {"\tds_write_b32 v1, v0\n\ts_barrier\n", simt.FindWait, "a barrier is reached while stores to shared memory"},
		"race":           {"\tds_write_b32 v1, v0\n\tv_xor_b32_e32 v3, 0x100, v1\n\tds_read_b32 v2, v3\n\ts_waitcnt lgkmcnt(0)\n" + write, simt.FindRace, "while warp 0"},
		"exchange":       {"\tds_write_b32 v1, v0\n\tv_xor_b32_e32 v3, 0x100, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v2, v3\n\ts_waitcnt lgkmcnt(0)\n" + write, 0, ""},
		"apart":          {apart("\ts_barrier\n\ts_barrier\n"), 0, ""},
		"apart, early":   {apart("\ts_barrier\n"), simt.FindRace, "while warp 1"},
		"buffer":         {rsrc + "\tbuffer_load_dword v2, v1, s[8:11], 0 offen\n" + loaded, 0, ""},
		"buffer mask":    {rsrc + "\tv_bfrev_b32_e32 v3, 1\n\tbuffer_load_dword v2, v3, s[8:11], 0 offen offset:16\n" + loaded, 0, ""},
		"buffer store":   {rsrc + "\tv_bfrev_b32_e32 v3, 1\n\tbuffer_store_dword v9, v3, s[8:11], 0 offen\n", 0, ""},
		"buffer wraps":   {rsrc + "\tv_add_u32_e32 v3, -16, v1\n\tbuffer_load_dword v2, v3, s[8:11], 0 offen offset:16\n" + loaded, 0, ""},
		"buffer before":  {rsrc + "\tv_mov_b32_e32 v3, -4\n\tbuffer_load_dword v2, v3, s[8:11], 0 offen\n" + loaded, simt.FindBounds, "the offset 0xfffffffc from a buffer's base is negative"},
		"buffer beyond":  {rsrc + "\tbuffer_load_dword v2, v1, s[8:11], 0 offen offset:512\n" + loaded, simt.FindBounds, "reads 4 bytes of global memory"},
		"buffer records": {rsrc + "\ts_mov_b32 s10, 0x200\n\tbuffer_load_dword v2, v1, s[8:11], 0 offen offset:512\n" + loaded, 0, ""},
		"permute":        {"\tds_bpermute_b32 v2, v1, v0\n\ts_waitcnt lgkmcnt(0)\n" + write, 0, ""},
		"trap":           {"\ts_trap 2\n", simt.FindTrap, "trapped"},
	} {
		m, err := LoadAMDGCN("k.s", []byte(amdSnippet(tt.body)))
		if err != nil {
			t.Fatal(err)
		}
		run := func(o Options) (*Report, error) {
			d := New(o)
			return d.Launch(m, "k", Dim(1), Dim(128), 0, Upload(d, "p", make([]int32, 128)), d.Alloc("q", 512))
		}
		rep, err := run(Options{Chip: MI300X})
		if _, unchecked := run(Options{Chip: MI300X, NoChecks: true}); tt.says == "" && unchecked != nil {
			t.Errorf("%s, without checks: %v", name, unchecked)
		}
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.says == "":
		case err == nil || rep == nil || len(rep.Findings) == 0 || rep.Findings[0].Kind != tt.kind || !strings.Contains(err.Error(), tt.says):
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestAMDValues: what an instruction computes into v2, from v0, the number of the thread.
func TestAMDValues(t *testing.T) {
	scalar := func(text string) string { return text + "\tv_mov_b32_e32 v2, s6\n" }
	for name, tt := range map[string]struct {
		body string
		want uint32 // of thread 5
	}{
		"signs":              {scalar("\ts_flbit_i32 s6, 0xfff00000\n"), 12},
		"positive signs":     {scalar("\ts_flbit_i32 s6, 0x40000000\n"), 1},
		"signs alone":        {scalar("\ts_flbit_i32 s6, -1\n"), 1<<32 - 1},
		"signs of 64 bits":   {scalar("\ts_mov_b32 s8, 0\n\ts_mov_b32 s9, 1\n\ts_flbit_i32_i64 s6, s[8:9]\n"), 31},
		"clamped pair":       {"\tv_mov_b32_e32 v3, 0xc7c35000\n\tv_cvt_f32_u32_e32 v4, v0\n\tv_cvt_pk_i16_f32 v2, v4, v3\n", 0x80000005},
		"unsigned pair":      {"\tv_mov_b32_e32 v3, 0x47c35000\n\tv_cvt_f32_u32_e32 v4, v0\n\tv_cvt_pk_u16_f32 v2, v4, v3\n", 0xffff0005},
		"table of bits":      {"\tv_mov_b32_e32 v3, 6\n\tv_bitop3_b32 v2, v0, v3, 12 bitop3:0x78\n", 5 ^ 6&12},
		"upper half of EXEC": {"\ts_mov_b32 exec_hi, 0x80000001\n\ts_mov_b32 s6, exec_hi\n\ts_mov_b32 exec_hi, -1\n\tv_mov_b32_e32 v2, s6\n", 0x80000001},
		"lower half of EXEC": {"\ts_mov_b32 exec_lo, 32\n\ts_bcnt1_i32_b64 s6, exec\n\tv_mov_b32_e32 v2, s6\n", 33},
		// (1 + 2⁻⁵²)·2⁻⁸⁹⁵ + 2⁻¹⁰⁷⁴, divided by 2¹²⁸, is above the middle of two subnormal
		// numbers, and in the middle if the sum is rounded first.
		"subnormal quotient": {"\ts_mov_b64 vcc, -1\n\tv_mov_b32_e32 v4, 1\n\tv_mov_b32_e32 v5, 0x08000000\n" +
			"\tv_mov_b32_e32 v6, 0\n\tv_mov_b32_e32 v7, 0x3ff00000\n\tv_mov_b32_e32 v8, 1\n\tv_mov_b32_e32 v9, 0\n" +
			"\tv_div_fmas_f64 v[2:3], v[4:5], v[6:7], v[8:9]\n", 1},
	} {
		m, err := LoadAMDGCN("k.s", []byte(amdSnippet(tt.body+"\tglobal_store_dword v1, v2, s[4:5]\n")))
		if err != nil {
			t.Fatal(err)
		}
		d := New(Options{Chip: MI300X})
		q := d.Alloc("q", 256)
		if _, err := d.Launch(m, "k", Dim(1), Dim(64), 0, Upload(d, "p", make([]int32, 64)), q); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := Download[uint32](q)[5]; got != tt.want {
			t.Errorf("%s: got 0x%x, want 0x%x", name, got, tt.want)
		}
	}
}
