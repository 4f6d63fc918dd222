//go:build linux

package ascend

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/native"
	"github.com/tritonc/tritonc/internal/ascendstandin"
	"github.com/tritonc/tritonc/internal/standin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// cann has the driver use the stand-in for CANN's libraries, and returns its log.
func cann(t *testing.T) standin.Log {
	t.Helper()
	home, missing := ascendstandin.Library(t)
	if missing != "" {
		t.Skip(missing)
	}
	t.Setenv("ASCEND_HOME_PATH", home)
	return standin.NewLog(t)
}

// npubin is a binary for a kernel, with metadata: those of vector cores without FFTS, and
// what more there is.
func npubin(kernel string, more map[string]any) sdk.DeviceBinary {
	meta := map[string]any{"name": kernel, "mix_mode": "aiv", "parallel_mode": "simd"}
	maps.Copy(meta, more)
	code := "\x7fELF " + kernel
	if meta["ffts"] == true {
		code += " ffts"
	}
	text, _ := json.Marshal(meta)
	return sdk.DeviceBinary{Name: kernel + ".npubin", Kernel: kernel, Code: []byte(code), Metadata: string(text), NumWarps: 32, NumCTAs: 1, Shared: 1}
}

func open(t *testing.T) *native.Session {
	t.Helper()
	return standin.Open(t, New(), sdk.Target{}).(*native.Session)
}

func load(t *testing.T, s sdk.Device, b sdk.DeviceBinary) sdk.DeviceKernel {
	t.Helper()
	k, err := s.Load(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var one = [3]int{1, 1, 1}

// pointer is a pointer's bytes in hexadecimal.
func pointer(at uint64) string { return hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, at)) }

func TestDescribe(t *testing.T) {
	cann(t)
	t.Setenv("STANDIN_DEVICES", "2")
	facts, err := New().Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if facts.Name != "ascend" || facts.Version != "ACL 1.14.2" || len(facts.Devices) != 2 {
		t.Errorf("%+v", facts)
	}
	want := sdk.DeviceInfo{
		Name: "Ascend910B3", Target: sdk.Target{Backend: "npu", Arch: "ascend910b3", WarpSize: 32}, Memory: 1 << 30, Multiprocessors: 19, MaxShared: 192 << 10,
	}
	if got := facts.Devices[1]; got != want {
		t.Errorf("%+v", got)
	}
	t.Setenv("STANDIN_SOC", "Ascend910B4-1")
	t.Setenv("STANDIN_FAIL", "aclrtGetDeviceInfo=207000")
	facts, err = New().Describe(t.Context())
	if err != nil || facts.Devices[0].Target.Arch != "ascend910b4_1" || facts.Devices[0].Multiprocessors != 20 || facts.Devices[0].Memory != 0 {
		t.Errorf("%+v, %v", facts, err)
	}
}

func TestNoDevice(t *testing.T) {
	cann(t)
	describe := func() error {
		_, err := New().Describe(t.Context())
		return err
	}
	t.Setenv("STANDIN_DEVICES", "0")
	standin.Wants(t, describe(), "counting the NPUs: ACL_ERROR_RT_NO_DEVICE (there is no device)", "npu-smi info", "/dev/davinci")
	t.Setenv("STANDIN_DEVICES", "1")
	t.Setenv("STANDIN_SOC", "-")
	standin.Wants(t, describe(), "NPU 0: CANN does not tell what chip it is")
	t.Setenv("STANDIN_SOC", "Ascend310P3")
	standin.Wants(t, describe(), "NPU 0 is an Ascend310P3, for which there is no target", "tritonc backend describe npu")
	t.Setenv("STANDIN_FAIL", "aclInit=507033")
	standin.Wants(t, describe(), "CANN cannot be used: aclInit: ACL_ERROR_RT_DEV_SETUP_ERROR (the device cannot be set up)", "npu-smi")
	t.Setenv("STANDIN_SOC", "")
	t.Setenv("STANDIN_FAIL", "aclInit=100002") // it was initialized before
	if err := describe(); err != nil {
		t.Error(err)
	}
	t.Setenv("STANDIN_FAIL", "aclInit=123")
	standin.Wants(t, describe(), "aclInit: error 123")
}

func TestNoLibrary(t *testing.T) {
	dir := t.TempDir()
	for _, variable := range []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"} {
		t.Setenv(variable, filepath.Join(dir, variable))
		if err := os.MkdirAll(filepath.Join(dir, variable, "lib64"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ASCEND_TOOLKIT_HOME", "lib64", "libascendcl.so"), []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New().Describe(t.Context())
	if err == nil {
		t.Skip("this machine has CANN")
	}
	standin.Wants(t, err, "CANN's library libascendcl.so cannot be opened", filepath.Join(dir, "ASCEND_HOME_PATH", "lib64", "libascendcl.so"),
		"libascendcl.so: file too short", "/usr/local/Ascend/ascend-toolkit/latest/lib64/libascendcl.so", "install Ascend's CANN 8 or later", "set_env.sh")
}

// TestPartOfLibrary: CANN with one of its libraries, or without a function.
func TestPartOfLibrary(t *testing.T) {
	cann(t)
	home := t.TempDir()
	from, err := os.ReadFile(filepath.Join(os.Getenv("ASCEND_HOME_PATH"), "lib64", "libascendcl.so"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "lib64"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "lib64", "libascendcl.so"), from, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ASCEND_HOME_PATH", home)
	_, err = New().Describe(t.Context())
	standin.Wants(t, err, "CANN's library libruntime.so cannot be opened")
	home, missing := standin.Library(t, map[string]string{"lib64/libascendcl.so": "int aclInit(void *p) { return 0; }"})
	if missing != "" {
		t.Skip(missing)
	}
	t.Setenv("ASCEND_HOME_PATH", home)
	_, err = New().Describe(t.Context())
	standin.Wants(t, err, "libascendcl.so has no function acl", "CANN 8 or later is needed")
}

func TestOpen(t *testing.T) {
	cann(t)
	for _, target := range []sdk.Target{{}, {Backend: "npu", Arch: "ascend910b3", WarpSize: 32}, {Backend: "npu", Arch: "Ascend910B3"}} {
		s := standin.Open(t, New(), target)
		if p := s.Properties(); p.Name != "Ascend910B3" || p.Stage != "npubin" || p.MaxShared != 192<<10 || p.Memory != 1<<30 || p.Multiprocessors != 19 {
			t.Errorf("%+v", p)
		}
	}
	d := New()
	for _, target := range []sdk.Target{{Backend: "npu", Arch: "ascend910b1"}, {Backend: "cuda", Arch: "90"}, {Backend: "npu", Arch: "ascend910b3", WarpSize: 64}} {
		_, err := d.Open(t.Context(), 0, target)
		standin.Wants(t, err, "the Ascend910B3 is for npu:ascend910b3 and runs no code for "+target.String(), "--target npu:ascend910b3")
	}
	_, err := d.Open(t.Context(), 1, sdk.Target{})
	standin.Wants(t, err, "there is no NPU number 1", "from 0 to 0")
}

// TestLaunch: a launch has a time, and a kernel that is compiled by C finds its arguments,
// with FFTS and without.
func TestLaunch(t *testing.T) {
	for _, ffts := range []bool{false, true} {
		log := cann(t)
		s := open(t)
		x, y, out := standin.Alloc(t, s, "x", 8), standin.Alloc(t, s, "y", 8), standin.Alloc(t, s, "out", 8)
		for b, text := range map[sdk.DeviceBuffer]string{x: "\x00\x00\x80\x3f\x00\x00\x00\x40", y: "\x00\x00\x80\x3f\x00\x00\x80\x3f"} { // 1, 2; 1, 1
			if b.Addr()%256 != 0 {
				t.Errorf("memory at %#x", b.Addr())
			}
			if err := b.Write(t.Context(), 0, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		k := load(t, s, npubin("add", map[string]any{"ffts": ffts}))
		log.Read(t)
		r, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{3, 2, 5}, Args: []sdk.DeviceArg{{Buffer: x}, {Buffer: y}, {Buffer: out}, standin.Number(2, 0, 0, 0)}})
		if err != nil || r.Time != 1500*time.Microsecond || r.Fault != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		got := make([]byte, 8)
		if err := out.Read(t.Context(), 0, got); err != nil || string(got) != "\x00\x00\x00\x40\x00\x00\x40\x40" { // 2, 3
			t.Errorf("%x, %v", got, err)
		}
		want := "launch add blocks=30 args="
		if ffts {
			want += pointer(0xffff5000)
		}
		want += pointer(0) + pointer(0) + pointer(x.Addr()) + pointer(y.Addr()) + pointer(out.Addr()) + "02000000" + "03000000" + "02000000" + "05000000\n"
		if said := log.Read(t); said != want {
			t.Errorf("got %swant %s", said, want)
		}
		if err := x.Free(); err != nil {
			t.Error(err)
		}
	}
}

// TestMagic: code for vector cores alone has another magic than what cube cores run, too.
func TestMagic(t *testing.T) {
	log := cann(t)
	s := open(t)
	for mode, want := range map[string]string{"aiv": "load aivec, 6 bytes\n", "aic": "load elf, 6 bytes\n", "mix": "load elf, 6 bytes\n"} {
		log.Read(t)
		load(t, s, npubin("k", map[string]any{"mix_mode": mode}))
		if said := log.Read(t); said != want {
			t.Errorf("%s: %s", mode, said)
		}
	}
}

// TestArguments: what launches are refused.
func TestArguments(t *testing.T) {
	cann(t)
	s := open(t)
	b := standin.Alloc(t, s, "b", 1)
	k := load(t, s, npubin("k", nil))
	launch := func(grid [3]int, args ...sdk.DeviceArg) error {
		_, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: grid, Args: args})
		return err
	}
	standin.Wants(t, launch(one, sdk.DeviceArg{}, standin.Number(1, 2, 3)), "argument 1 of kernel k: a number has 3 bytes")
	standin.Wants(t, launch(one, standin.Number(make([]byte, 16)...)), "argument 0 of kernel k: a number has 16 bytes")
	standin.Wants(t, launch(one, sdk.DeviceArg{Buffer: b, Map: &sdk.DeviceTensorMap{}}), "it is a tensor map, and Ascend's NPUs have none")
	standin.Wants(t, launch(one, sdk.DeviceArg{Buffer: standin.Alloc(t, open(t), "c", 1)}), "it is memory of another device")
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	standin.Wants(t, launch(one, sdk.DeviceArg{Buffer: b}), "argument 0 of kernel k: memory b was freed")
	for grid, text := range map[[3]int]string{
		{1, 0, 1}:         "grid dimension y is 0: it must be at least 1",
		{65536, 1, 1}:     "a grid of 65536 x 1 x 1 has more blocks than the 65535 that a launch may have",
		{256, 256, 1}:     "a grid of 256 x 256 x 1 has more blocks",
		{1 << 62, 4, 1}:   "more blocks",
		{1, 65535, 2}:     "more blocks",
		{21845, 3, 1 + 1}: "more blocks",
	} {
		standin.Wants(t, launch(grid), text)
	}
	for _, grid := range [][3]int{{65535, 1, 1}, {1, 21845, 3}} {
		if err := launch(grid); err != nil {
			t.Error(grid, err)
		}
	}
}

// TestTogether: blocks that wait for one another have a core each.
func TestTogether(t *testing.T) {
	cann(t)
	s := open(t)
	for _, tt := range []struct {
		mode string
		most int
		text string
	}{
		{"aiv", 38, "kernel k has all blocks wait for one another, and a grid of 39 x 1 x 1 has 39: each needs a core of its own, and the Ascend910B3 has 38 vector cores"},
		{"mix", 19, "a grid of 20 x 1 x 1 has 20: each needs a core of its own, and the Ascend910B3 has 19 AI cores"},
	} {
		b := npubin("k", map[string]any{"mix_mode": tt.mode})
		b.Cooperative = true
		k := load(t, s, b)
		launch := func(n int) error {
			_, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{n, 1, 1}})
			return err
		}
		if err := launch(tt.most); err != nil {
			t.Error(err)
		}
		standin.Wants(t, launch(tt.most+1), tt.text)
	}
}

// TestAllBlocks: a kernel whose blocks run several programs has no more of them than there
// are cores, and a grid of any size.
func TestAllBlocks(t *testing.T) {
	log := cann(t)
	s := open(t)
	for _, tt := range []struct {
		mode string
		grid [3]int
		want int
	}{{"aiv", [3]int{1000, 1000, 1}, 38}, {"aiv", [3]int{5, 7, 1}, 35}, {"mix", [3]int{100, 1, 1}, 19}} {
		k := load(t, s, npubin("k", map[string]any{"mix_mode": tt.mode, "all_blocks_parallel": true}))
		log.Read(t)
		if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: tt.grid}); err != nil {
			t.Fatal(err)
		}
		if got, want := log.Read(t), fmt.Sprintf("launch k blocks=%d ", tt.want); !strings.HasPrefix(got, want) {
			t.Errorf("%s, %v: %s, want %s", tt.mode, tt.grid, got, want)
		}
	}
	k := load(t, s, npubin("k", map[string]any{"all_blocks_parallel": true}))
	_, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{1 << 20, 1 << 20, 1}})
	standin.Wants(t, err, "more blocks")
}

// TestWorkspace: memory for all blocks of a grid, which grows, and locks, which begin each
// launch with their value.
func TestWorkspace(t *testing.T) {
	log := cann(t)
	d, err := New().Open(t.Context(), 0, sdk.Target{})
	if err != nil {
		t.Fatal(err)
	}
	s := d.(*native.Session)
	k := load(t, s, npubin("k", map[string]any{"workspace_size": 1000, "lock_num": 3, "lock_init_value": -2, "ffts": true}))
	other := load(t, s, npubin("l", map[string]any{"workspace_size": -1, "lock_num": -1}))
	launch := func(k sdk.DeviceKernel, grid [3]int) string {
		t.Helper()
		log.Read(t)
		if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: grid, Args: []sdk.DeviceArg{standin.Number(7)}}); err != nil {
			t.Fatal(err)
		}
		return log.Read(t)
	}
	said := launch(k, [3]int{3, 2, 1})
	r, locks := s.Region(workspaces), s.Region("locks of "+lastStub("k"))
	if r.Size != 6000 || locks.Size != 48 {
		t.Errorf("a workspace of %d bytes, locks of %d", r.Size, locks.Size)
	}
	want := "copy 24\nlaunch k blocks=6 args=" + pointer(0xffff5000) + pointer(uint64(locks.At)) + pointer(uint64(r.At)) + "07000000" + "03000000" + "02000000" + "01000000\n"
	if said != want {
		t.Errorf("got %swant %s", said, want)
	}
	hold := make([]byte, 24)
	if code := libraryOf(t).Read(locks.At, hold); code != 0 || hex.EncodeToString(hold) != strings.Repeat("feffffffffffffff", 3) {
		t.Errorf("%d: the locks hold %x", code, hold)
	}
	if said := launch(k, [3]int{2, 1, 1}); r.Size != 6000 || !strings.Contains(said, "copy 24\n") {
		t.Errorf("a workspace of %d bytes; %s", r.Size, said)
	}
	if launch(k, [3]int{20, 1, 1}); r.Size != 20000 {
		t.Errorf("a workspace of %d bytes", r.Size)
	}
	if said, want := launch(other, one), "launch l blocks=1 args="+pointer(0)+pointer(0)+"07000000"+strings.Repeat("01000000", 3)+"\n"; said != want {
		t.Errorf("got %swant %s", said, want)
	}
	huge := load(t, s, npubin("huge", map[string]any{"workspace_size": 1 << 60}))
	for grid, text := range map[[3]int]string{{100, 1, 1}: "more bytes than there are addresses", one: "ACL_ERROR_RT_MEMORY_ALLOCATION: the workspace of huge needs 1152921504606846976 bytes of the Ascend910B3; "} {
		_, err := huge.Launch(t.Context(), sdk.DeviceLaunch{Grid: grid})
		standin.Wants(t, err, text)
	}
	if launch(k, one); r.Size != 1000 {
		t.Errorf("after a workspace that there was no memory for, one of %d bytes", r.Size)
	}
	log.Read(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if said := log.Read(t); !strings.Contains(said, "free leaves 0 bytes\n") || strings.Count(said, "unload\n") != 3 || !strings.HasSuffix(said, "stream ends\n") {
		t.Errorf("at its end: %s", said)
	}
}

// lastStub is the name of the last function that was registered of a kernel.
func lastStub(kernel string) string {
	n := len(stubs.list) - 1 // one of another kernel came after it
	return fmt.Sprintf("%s_%d", kernel, n)
}

// libraryOf opens the library once more; the stand-in's state is that of the process.
func libraryOf(t *testing.T) native.Library {
	t.Helper()
	l, err := openLibrary()
	if err != nil {
		t.Fatal(err)
	}
	if code := l.Choose(0); code != native.Success {
		t.Fatal(code)
	}
	return l
}

func TestTime(t *testing.T) {
	log := cann(t)
	s := open(t)
	k := load(t, s, npubin("k", map[string]any{"lock_num": 1}))
	measure := func(timing sdk.DeviceTiming) []time.Duration {
		t.Helper()
		log.Read(t)
		r, err := s.Time(t.Context(), k, sdk.DeviceLaunch{Grid: one}, timing)
		if err != nil {
			t.Fatal(err)
		}
		return r.Times
	}
	ms := 1500 * time.Microsecond
	if got := measure(sdk.DeviceTiming{Runs: 3, Warmup: 2, Flush: 4096}); !slices.Equal(got, []time.Duration{ms, ms, ms}) {
		t.Error(got)
	}
	said := log.Read(t)
	if strings.Count(said, "copy 8\nlaunch k ") != 5 || strings.Count(said, "memset 4096\ncopy 8\nlaunch k ") != 3 {
		t.Error(said)
	}
	if got := measure(sdk.DeviceTiming{Runs: 3, Flush: 4096, Together: true}); !slices.Equal(got, []time.Duration{ms / 3}) {
		t.Error(got)
	}
	_, err := s.Time(t.Context(), k, sdk.DeviceLaunch{Grid: one}, sdk.DeviceTiming{Runs: 1, Graph: true})
	standin.Wants(t, err, "the driver of Ascend's NPUs measures no graphs")
}

func TestLoad(t *testing.T) {
	cann(t)
	s := open(t)
	with := func(f func(*sdk.DeviceBinary)) sdk.DeviceBinary {
		b := npubin("k", nil)
		f(&b)
		return b
	}
	for _, tt := range []struct {
		binary sdk.DeviceBinary
		text   string
	}{
		{with(func(b *sdk.DeviceBinary) { b.Metadata = "" }), "k.npubin comes without metadata"},
		{with(func(b *sdk.DeviceBinary) { b.Metadata = "{" }), "the metadata of k.npubin: unexpected end of JSON input"},
		{with(func(b *sdk.DeviceBinary) { b.Metadata = `{"mix_mode": 1}` }), "the metadata of k.npubin: "},
		{npubin("k", map[string]any{"mix_mode": "all"}), `have "all" as mix_mode, which is one of aiv, aic, mix`},
		{npubin("k", map[string]any{"parallel_mode": "mix_simd_simt"}), "SIMT mode"},
		{npubin("k", map[string]any{"lock_num": 1 << 40}), "lock_num"},
		{with(func(b *sdk.DeviceBinary) { b.Code = []byte("module {}") }), "k.npubin is not an ELF file"},
		{with(func(b *sdk.DeviceBinary) { b.Code = nil }), "k.npubin is not an ELF file"},
		{with(func(b *sdk.DeviceBinary) { b.Kernel = "" }), "do not name its kernel"},
		{with(func(b *sdk.DeviceBinary) { b.Kernel = "other" }), "finding other: ACL_ERROR_RT_KERNEL_LOOKUP (the code has no such kernel)"},
		{with(func(b *sdk.DeviceBinary) { b.NumCTAs = 2 }), "clusters of 2 blocks"},
		{with(func(b *sdk.DeviceBinary) { b.PDL = true }), "launch_pdl"},
		{with(func(b *sdk.DeviceBinary) { b.GlobalScratchSize = 8 }), "8 bytes of scratch memory"},
	} {
		_, err := s.Load(t.Context(), tt.binary)
		standin.Wants(t, err, tt.text)
	}
	for fail, text := range map[string]string{
		"rtDevBinaryRegister=107000": "loading k.npubin: ACL_ERROR_RT_PARAM_INVALID (a parameter is invalid)",
		"rtGetC2cCtrlAddr=207000":    "asking where cores synchronize: ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
		"aclrtMemcpy=507899":         "copying to the locks of k: ACL_ERROR_RT_DRV_INTERNAL_ERROR",
		"aclrtSetDevice=107001":      "choosing NPU 0: ACL_ERROR_RT_INVALID_DEVICEID",
	} {
		t.Setenv("STANDIN_FAIL", fail)
		_, err := s.Load(t.Context(), npubin("k", map[string]any{"ffts": true, "lock_num": 1}))
		standin.Wants(t, err, text)
	}
	t.Setenv("STANDIN_FAIL", "")
}

func TestMemory(t *testing.T) {
	cann(t)
	s := open(t)
	_, err := s.Alloc(t.Context(), "x", 1<<30+1)
	standin.Wants(t, err, "ACL_ERROR_RT_MEMORY_ALLOCATION: x needs 1073741825 bytes of the Ascend910B3; 1073741824 are free")
	if b := standin.Alloc(t, s, "empty", 0); b.Write(t.Context(), 0, nil) != nil {
		t.Error("memory of no bytes")
	}
	x := standin.Alloc(t, s, "x", 1)
	k := load(t, s, npubin("k", nil))
	t.Setenv("STANDIN_FAIL", "aclrtMemcpy=507053")
	standin.Wants(t, x.Read(t.Context(), 0, make([]byte, 1)), "copying from x: ACL_ERROR_RT_DEVICE_MEM_ERROR", "npu-smi")
	t.Setenv("STANDIN_FAIL", "rtKernelLaunch=107000")
	_, err = k.Launch(t.Context(), sdk.DeviceLaunch{Grid: one})
	standin.Wants(t, err, "launching k: ACL_ERROR_RT_PARAM_INVALID (a parameter is invalid)")
	t.Setenv("STANDIN_FAIL", "")
}

// TestFault: what a kernel does wrong is a part of its result, with what the library tells
// of it, and the device is lost.
func TestFault(t *testing.T) {
	cann(t)
	d := New()
	s := standin.Open(t, d, sdk.Target{})
	x := standin.Alloc(t, s, "x", 1)
	k := load(t, s, npubin("fault", nil))
	r, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: one})
	if err != nil || !r.Lost || len(r.Fault) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	standin.Wants(t, &r.Fault[0], "kernel fault: ACL_ERROR_RT_VECTOR_CORE_EXCEPTION (an exception on a vector core)\n    EZ9999: Inner Error!\n    EZ9999: [PID: 7] fault kernel_name=fault, device_id=0.",
		"--device sim runs the kernel on a simulated NPU")
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: one}); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
	if err := x.Write(t.Context(), 0, []byte{1}); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
	if _, err := s.Load(t.Context(), npubin("k", nil)); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
	if err := x.Free(); err != nil {
		t.Error(err)
	}
	if _, err := d.Open(t.Context(), 0, sdk.Target{}); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
}

// TestLostIsCollected: the memory of a session whose device was lost can be reclaimed.
func TestLostIsCollected(t *testing.T) {
	cann(t)
	func() {
		s, err := New().Open(t.Context(), 0, sdk.Target{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := load(t, s, npubin("fault", nil)).Launch(t.Context(), sdk.DeviceLaunch{Grid: one})
		if err != nil || !r.Lost {
			t.Errorf("%+v, %v", r, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 3 { // finalizers panic where something was left pinned
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}
