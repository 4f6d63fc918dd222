package image

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// codeObject is the assembly of two kernels, one with arguments that the runtime fills in.
const codeObject = `	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 5
	.text
first:
	s_endpgm
second:
	s_endpgm
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - { .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer }
      - { .offset: 8, .size: 1, .value_kind: by_value }
      - { .offset: 10, .size: 2, .value_kind: by_value }
      - { .offset: 12, .size: 4, .value_kind: by_value }
      - { .offset: 16, .size: 4, .value_kind: hidden_block_count_x }
    .group_segment_fixed_size: 70000
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           first
    .private_segment_fixed_size: 0
    .sgpr_count:     8
    .symbol:         first.kd
    .vgpr_count:     200
    .wavefront_size: 64
  - .args: []
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 0
    .max_flat_workgroup_size: 1024
    .name:           second
    .private_segment_fixed_size: 0
    .sgpr_count:     8
    .symbol:         second.kd
    .vgpr_count:     4
    .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.version: [ 1, 2 ]
...
	.end_amdgpu_metadata
`

// TestCodeObject reads what LLVM's assembler and linker make.
func TestCodeObject(t *testing.T) {
	dir := t.TempDir()
	source, object, out := filepath.Join(dir, "k.s"), filepath.Join(dir, "k.o"), filepath.Join(dir, "k.hsaco")
	if err := os.WriteFile(source, []byte(codeObject), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"llvm-mc-22", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", "-o", object, source},
		{"ld.lld-22", "-shared", object, "-o", out},
	} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skip(err)
		}
		if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, said)
		}
	}
	code, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(code)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s %+v", f.Arch, f.Kernels)
	want := "gfx942 [{Name:first Params:[{Size:8} {Size:1} {Size:2} {Size:4}] Block:[0 0 0] MaxThreads:256 Shared:70000 Registers:200}" +
		" {Name:second Params:[] Block:[0 0 0] MaxThreads:1024 Shared:0 Registers:4}]"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for cut := 4; cut < len(code); cut += 7 {
		Parse(code[:cut]) // whatever it says, it ends
	}
}

// TestUnpack has a value of each form of MessagePack that metadata may have.
func TestUnpack(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{"\x07", "7"},
		{"\xff", "-1"},
		{"\xc0", "<nil>"},
		{"\xc3", "true"},
		{"\xcc\xff", "255"},
		{"\xcd\x01\x00", "256"},
		{"\xce\x00\x01\x00\x00", "65536"},
		{"\xcf\x00\x00\x00\x01\x00\x00\x00\x00", "4294967296"},
		{"\xd0\x80", "-128"},
		{"\xd1\xff\x7f", "-129"},
		{"\xd3\xff\xff\xff\xff\xff\xff\xff\xfe", "-2"},
		{"\xa3abc", "abc"},
		{"\xd9\x01a", "a"},
		{"\xda\x00\x01a", "a"},
		{"\x92\x01\xa1b", "[1 b]"},
		{"\xdc\x00\x01\x05", "[5]"},
		{"\x81\xa1k\x05", "map[k:5]"},
		{"\xde\x00\x01\xa1k\x05", "map[k:5]"},
		{"", "cut off"},
		{"\xa3ab", "cut off"},
		{"\xdd\xff\xff\xff\xff\x01", "cut off"},
		{"\x81\x05\x05", "a key is 5"},
		{"\xcb\x00\x00\x00\x00\x00\x00\x00\x00", "unknown kind 0xcb"},
		{strings.Repeat("\x91", 100), "nest too deep"},
	} {
		v, err := unpack([]byte(tt.data))
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s, want %s", tt.data, got, tt.want)
		}
	}
}
