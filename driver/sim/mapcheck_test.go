package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// TestMapOrder: a tensor map is acquired before it is copied through, and overwritten
// when the copies through it have been waited for.
func TestMapOrder(t *testing.T) {
	c := tensorCopy{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 8}, at: []int{16, 3}, swizzle: 3, back: true}
	var from, to strings.Builder
	c.mapText(&from, "%p0", "%p2")
	c.mapText(&to, "%p1", "%p4")
	text := wgmmaHead + ".shared .align 1024 .b8 sm[8192];\n.shared .align 8 .b8 bar_sm[8];\n" + c.kernelText(0)
	// The box lies above the place in which maps are made.
	text = strings.ReplaceAll(strings.ReplaceAll(text, "bytes [%t1],", "bytes [%t1+2048],"), "}], [%t1];", "}], [%t1+2048];")
	const (
		release = "@%w tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%p2], [%m], 0x80;"
		acquire = "@%w fence.proxy.tensormap::generic.acquire.gpu [%p2], 0x80;"
		load    = "\tmov.b32 %v, 0;\nWAIT:"
		waited  = "@!%done bra WAIT;\n\tbar.sync 0;\n"
		stores  = "cp.async.bulk.wait_group 0;\n"
		none    = "no fence.proxy.tensormap::generic.acquire lies between"
		early   = "through which a bulk copy that was not waited for still copies"
	)
	clear := "\tmov.b32 %v, 0;\n"
	for _, test := range []struct{ name, old, new, want string }{
		{"as it should be", "", "", ""},
		{"no acquire", acquire, "", none},
		{"acquired before it is written", release + "\n\t" + acquire, acquire + "\n\t" + release, none},
		{"another map acquired", acquire, strings.Replace(acquire, "%p2", "%p2+128", 1), none},
		{"overwritten after the wait", waited, waited + clear + from.String(), ""},
		{"overwritten before the wait", load, clear + from.String() + load, early},
		{"overwritten after the store", stores, stores + clear + to.String(), ""},
		{"overwritten before the store has read", stores, clear + to.String() + stores, early},
		{"a store not waited for", stores, "cp.async.bulk.wait_group 1;\n" + clear + to.String(), early},
		{"another map overwritten", load, clear + strings.ReplaceAll(to.String(), "%p4", "%p7") + load, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := text
			if test.old != "" {
				if !strings.Contains(text, test.old) {
					t.Fatalf("no %q in the kernel", test.old)
				}
				changed = strings.Replace(text, test.old, test.new, 1)
			}
			changed = strings.Replace(changed, "\tadd.s64 %p4, %p2, 128;\n", "\tadd.s64 %p4, %p2, 128;\n\tadd.s64 %p7, %p2, 256;\n", 1)
			m, err := Load("maps.ptx", []byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			d := New(Options{Chip: H200})
			_, err = d.Launch(m, "k0", Dim(1), Dim(128), 0, Upload(d, "from", make([]byte, c.bytes(c.memory()))), d.Alloc("to", c.bytes(c.memory())), d.Alloc("scratch", 384), d.Alloc("out", c.dumped()))
			var found *simt.FindingsError
			switch {
			case test.want == "" && err != nil && strings.Contains(err.Error(), "tensor map"):
				t.Error(err)
			case test.want != "" && (!errors.As(err, &found) || found.Findings[0].Kind != simt.FindAsync || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestMapBase: the tensor of a map begins at a multiple of 16 bytes.
func TestMapBase(t *testing.T) {
	c := tensorCopy{elem: 2, typ: 6, dims: []int{96, 40}, box: []int{64, 8}, at: []int{16, 3}}
	text := wgmmaHead + ".shared .align 1024 .b8 sm[8192];\n.shared .align 8 .b8 bar_sm[8];\n" + c.kernelText(0)
	m, err := Load("maps.ptx", []byte(strings.Replace(text, "ld.param.u64 %p0, [from];", "ld.param.u64 %p0, [from];\n\tadd.s64 %p0, %p0, 8;", 1)))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{Chip: H200})
	_, err = d.Launch(m, "k0", Dim(1), Dim(128), 0, d.Alloc("from", c.bytes(c.dims)+16), d.Alloc("to", c.bytes(c.dims)), d.Alloc("scratch", 256), d.Alloc("out", c.dumped()))
	var found *simt.FindingsError
	if !errors.As(err, &found) || found.Findings[0].Kind != simt.FindAlign || !strings.Contains(err.Error(), "which is not a multiple of 16") {
		t.Errorf("a tensor at byte 8 gives %v", err)
	}
}
