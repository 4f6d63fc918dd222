package npu

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/ascendstandin"
	"github.com/tritonc/tritonc/internal/inprocess"
	"github.com/tritonc/tritonc/internal/refkernels"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

const binSource = `import triton
import triton.language as tl


@triton.jit
def NAME(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.load(y + i, mask=i < n) + a, mask=i < n)
    tl.store(out + i, a, mask=i < n)
`

// vendor compiles a kernel to stages with the stand-in for the vendor's compiler. It returns
// what the compiler was called with, too.
func vendor(t *testing.T, arch, kernel string, values map[string]any, stages ...string) (k *core.Kernel, command string, err error) {
	t.Helper()
	return vendorWith(t, arch, kernel, nil, values, stages...)
}

// vendorWith is vendor with settings.
func vendorWith(t *testing.T, arch, kernel string, settings map[string]string, values map[string]any, stages ...string) (k *core.Kernel, command string, err error) {
	t.Helper()
	dir, missing := ascendstandin.Compiler(t)
	if missing != "" {
		t.Skip(missing)
	}
	target := core.Target{Backend: "npu", Arch: arch, WarpSize: warpSize}
	b := inprocess.Backend{Kit: local.Kit, Settings: map[string]string{compilerKind.Setting.Name: dir}}
	maps.Copy(b.Settings, settings)
	opts := &core.Options{
		Select: func(context.Context, core.Target) (core.Backend, core.Target, error) { return b, target, nil },
		Values: values, Stages: stages,
	}
	source := []byte(strings.ReplaceAll(binSource, "NAME", kernel))
	variants, err := core.Variants(t.Context(), &core.Source{Path: "k.py", Text: source}, target, opts, core.Want{Kernel: kernel, Signature: "*fp32:16, *fp32, *fp32, i32, B=64"})
	if err != nil {
		t.Fatal(err)
	}
	k, err = core.Compile(t.Context(), variants[0], target, opts)
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	return k, strings.TrimSpace(string(log)), err
}

// facts are the metadata of a kernel.
func metadataOf(t *testing.T, k *core.Kernel) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(k.Metadata, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNPUBin: the vendor's compiler is called as triton-ascend calls it, and the metadata
// have what a launch needs.
func TestNPUBin(t *testing.T) {
	for _, tt := range []struct {
		arch, kernel string
		options      map[string]any
		command      string
		want         map[string]any
	}{
		{
			"ascend910b3", "add", nil,
			"kernel.ttadapter.mlir --target=Ascend910B3 --enable-auto-multi-buffer=true --enable-debug-info=true --enable-print-memory-allocated-size " +
				"--enable-hfusion-compile=true --enable-hivm-compile=true --enable-triton-kernel-compile=true -o kernel",
			map[string]any{"format": "npubin", "mix_mode": "aiv", "parallel_mode": "simd", "ffts": true, "required_ub_bits": 8192.0, "workspace_size": 0.0, "lock_num": 0.0, "shared": 1.0},
		},
		{
			"ascend950pr_9579", "add",
			map[string]any{"vf_merge_level": 1, "sync_solver": true},
			"kernel.ttadapter.mlir --target=Ascend950PR_9579 --enable-auto-multi-buffer=false --enable-hivm-graph-sync-solver=true --enable-vf-merge-level=1 --disable-ffts " +
				"--enable-debug-info=true --enable-print-memory-allocated-size --enable-hfusion-compile=true --enable-triton-kernel-compile=true -o kernel",
			map[string]any{"ffts": false},
		},
		{
			"ascend910b3", "old_add",
			map[string]any{"multibuffer": false, "sync_solver": true, "limit_auto_multi_buffer_of_local_buffer": "no-l0c", "tile_mix_cube_loop": 2},
			"kernel.ttadapter.mlir --target=Ascend910B3 --enable-auto-multi-buffer=false --enable-hivm-graph-sync-solver=true --enable-hivm-cross-core-gss=true " +
				"--limit-auto-multi-buffer-of-local-buffer=no-l0c --tile-mix-cube-loop=2 --enable-debug-info=true --enable-print-memory-allocated-size " +
				"--enable-hfusion-compile=true --enable-hivm-compile=true --enable-triton-kernel-compile=true -o kernel",
			map[string]any{"format": "npubin"},
		},
		{
			"ascend910b3", "locks", nil, "",
			map[string]any{"workspace_size": 4096.0, "lock_num": 3.0, "lock_init_value": -1.0, "bs_task_type": 2.0},
		},
	} {
		k, command, err := vendor(t, tt.arch, tt.kernel, tt.options, stageNPUBin)
		if err != nil {
			t.Errorf("%s on %s: %v", tt.kernel, tt.arch, err)
			continue
		}
		if tt.command != "" && command != tt.command {
			t.Errorf("%s on %s: the command line is\n%s\nwant\n%s", tt.kernel, tt.arch, command, tt.command)
		}
		if code := string(k.Artifact(stageNPUBin).Data); !strings.HasPrefix(code, "\x7fELF "+tt.kernel) {
			t.Errorf("%s: the binary is %q", tt.kernel, code)
		}
		m := metadataOf(t, k)
		for name, want := range tt.want {
			if m[name] != want {
				t.Errorf("%s on %s: %s is %v, want %v", tt.kernel, tt.arch, name, m[name], want)
			}
		}
		if kinds, _ := json.Marshal(m["tensor_kinds"]); string(kinds) != "[0,2,1]" {
			t.Errorf("%s: the kinds of its tensors are %s", tt.kernel, kinds)
		}
		if tools, _ := json.Marshal(m["tools"]); string(tools) != `{"bishengir-compile":"1.1.0"}` {
			t.Errorf("%s: the tools are %s", tt.kernel, tools)
		}
	}
}

// TestSettings: variables of triton-ascend that are on ask the vendor's compiler for
// something, or are warned of.
func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		setting sdk.SettingSpec
		value   string
		flag    string
		want    map[string]any
		warning string
	}{
		{settingBlocks, "1", " --enable-auto-blockify-loop ", map[string]any{"all_blocks_parallel": true}, ""},
		{settingBlocks, "0", "", map[string]any{"all_blocks_parallel": nil}, ""},
		{settingFFTS, "True", " --disable-ffts ", map[string]any{"ffts": false}, ""},
		{settingFFTS, "false", "", map[string]any{"ffts": true}, ""},
		{settingChecks, "true", " --enable-sanitizer=true ", nil, ""},
		{settingsWithout[0].setting, "1", "", nil, "TRITON_DEVICE_PRINT has no effect: tl.device_print has no form for NPUs here"},
		{settingsWithout[0].setting, "0", "", nil, ""},
	} {
		k, command, err := vendorWith(t, "ascend910b3", "add", map[string]string{tt.setting.Name: tt.value}, nil, stageNPUBin)
		if err != nil {
			t.Errorf("%s=%s: %v", tt.setting.Name, tt.value, err)
			continue
		}
		if !strings.Contains(command, tt.flag) || tt.flag == "" && (strings.Contains(command, "blockify") || strings.Contains(command, "ffts")) {
			t.Errorf("%s=%s: the command line is\n%s", tt.setting.Name, tt.value, command)
		}
		m := metadataOf(t, k)
		for name, want := range tt.want {
			if m[name] != want {
				t.Errorf("%s=%s: %s is %v, want %v", tt.setting.Name, tt.value, name, m[name], want)
			}
		}
		said := ""
		for _, w := range k.Warnings {
			said += w.Message
		}
		if said != tt.warning {
			t.Errorf("%s=%s: warned of %q, want %q", tt.setting.Name, tt.value, said, tt.warning)
		}
	}
}

// TestBothFormats: one compile makes both final formats, and the IR between, as one for each
// does.
func TestBothFormats(t *testing.T) {
	both, _, err := vendor(t, "ascend910b3", "add", nil, stageTTAdapter, stageNPUSim, stageNPUBin)
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{stageTTAdapter, stageNPUSim, stageNPUBin} {
		alone, _, err := vendor(t, "ascend910b3", "add", nil, stage)
		if err != nil {
			t.Fatal(err)
		}
		if string(alone.Artifact(stage).Data) != string(both.Artifact(stage).Data) {
			t.Errorf("the %s alone is another", stage)
		}
	}
	if m := metadataOf(t, both); m["mix_mode"] != "aiv" {
		t.Errorf("%v", m)
	}
	alone, _, err := vendor(t, "ascend910b3", "add", nil, stageNPUSim)
	if err != nil {
		t.Fatal(err)
	}
	if m := metadataOf(t, alone); m["format"] != "sim" || m["mix_mode"] != nil {
		t.Errorf("the metadata of a program for the simulator are %v", m)
	}
}

// TestNPUBinRefused: what the vendor's compiler says is shown, in the kernel's file.
func TestNPUBinRefused(t *testing.T) {
	long := strings.Repeat("k", mostName+1)
	for _, tt := range []struct {
		kernel  string
		options map[string]any
		line    int
		want    []string
	}{
		{"overflow", nil, 8, []string{"bishengir-compile: ub overflow, requires 3072256 bits while 1572864 bits available!", "to repeat it: ", ".ttadapter.mlir --target=Ascend910B3"}},
		{"words", nil, 6, []string{"bishengir-compile failed (exit status 3): hivmc: internal compiler error\nplease submit a report"}},
		{"quiet", nil, 6, []string{"bishengir-compile wrote neither kernel.o nor kernel_reloc.o"}},
		{"text", nil, 0, []string{"is not an ELF file"}},
		{"strange", nil, 0, []string{"strange_infer_workspace_shape_function does more than to return a number: its code begins with "}},
		{long, nil, 6, []string{"has 50 characters; the vendor's compiler takes kernels with at most 49", "a shorter name"}},
		{"add", map[string]any{"enable_vf_fusion": true}, 0, []string{"option enable_vf_fusion: the compiler for npu:ascend910b3 has no such flag"}},
	} {
		_, _, err := vendor(t, "ascend910b3", tt.kernel, tt.options, stageNPUBin)
		if err == nil {
			t.Errorf("%s: no error", tt.kernel)
			continue
		}
		said := err.Error() + helpOf(err)
		for _, d := range diag.All(err) {
			said += "\n" + d.Help
			if d.Pos.Line != tt.line || tt.line > 0 && d.Pos.File != "k.py" {
				t.Errorf("%s: at %v, want line %d", tt.kernel, d.Pos, tt.line)
			}
		}
		for _, want := range tt.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %s\nwant %q", tt.kernel, said, want)
			}
		}
	}
}

// helpOf is the next step that an error of the backend names.
func helpOf(err error) string {
	if d, ok := errors.AsType[*sdk.Diagnostic](err); ok {
		return "\n" + d.Help
	}
	return ""
}

// TestNoCompiler: without the vendor's compiler the error names it and what there is.
func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := compileTo(t, stageNPUBin, "k.py", []byte(strings.ReplaceAll(binSource, "NAME", "add")), "add", "*fp32, *fp32, *fp32, i32, B=64", nil)
	if err == nil {
		t.Fatal("there is a binary")
	}
	said := err.Error() + helpOf(err)
	for _, want := range []string{"no usable bishengir-compile was found", "TRITON_NPU_COMPILER_PATH", "--emit npusim", "tritonc run", "--emit npuir"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\nwant %q", said, want)
		}
	}
}

// TestVendorForm: MLIR 19 reads what the vendor's compiler gets, and so do we.
func TestVendorForm(t *testing.T) {
	i := slices.IndexFunc(opt19, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if i < 0 {
		t.Log("mlir-opt-19 is not installed: tritonc alone reads the files")
	}
	modes := map[string]string{"vector_add": "aiv", "matmul": "mix"}
	for _, j := range refkernels.Jobs(t, kernelDir) {
		if refused[j.Name] != "" {
			continue
		}
		path := filepath.Join(kernelDir, j.File)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		artifact, err := compile(t, path, src, j.Kernel, j.Signature, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := text.ParseFile(dialect.NewContext(), j.Name, artifact)
		if err != nil {
			t.Fatal(err)
		}
		k := toVendorForm(f.Op)
		if want := modes[j.Name]; want != "" && k.mixMode != want {
			t.Errorf("%s has the mode %s, want %s", j.Name, k.mixMode, want)
		}
		if err := f.Verify(); err != nil {
			t.Errorf("%s: %v", j.Name, err)
		}
		made := text.Append(nil, f.Op, text.Options{Locations: true, MLIR: 19})
		again, err := text.ParseFile(dialect.NewContext(), j.Name, made)
		if err != nil {
			t.Errorf("%s: %v", j.Name, err)
			continue
		}
		toVendorForm(again.Op) // what has the form keeps it
		if got := string(text.Append(nil, again.Op, text.Options{Locations: true, MLIR: 19})); got != string(made) {
			t.Errorf("%s: in the form a second time:\n%s", j.Name, got)
		}
		if i < 0 {
			continue
		}
		input := filepath.Join(t.TempDir(), j.Name+".mlir")
		if err := os.WriteFile(input, made, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(opt19[i], "--allow-unregistered-dialect", "-o", os.DevNull, input).CombinedOutput(); err != nil {
			t.Errorf("%s: mlir-opt-19: %v\n%s", j.Name, err, out)
		}
	}
}

// TestReturned reads constants out of functions as compilers write them.
func TestReturned(t *testing.T) {
	for _, tt := range []struct {
		machine elf.Machine
		code    string
		want    int64
		ok      bool
	}{
		{elf.EM_X86_64, "\xb8\x00\x10\x00\x00\xc3", 4096, true},
		{elf.EM_X86_64, "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\xb8\xef\xcd\xab\x89\x67\x45\x23\x01\x5d\xc3", 0x123456789abcdef, true},
		{elf.EM_X86_64, "\x48\xc7\xc0\xfe\xff\xff\xff\xc3", -2, true},
		{elf.EM_X86_64, "\xb8\xff\xff\xff\xff\xc3", 1<<32 - 1, true},
		{elf.EM_X86_64, "\x48\x83\xc8\xff\xc3", -1, true},
		{elf.EM_X86_64, "\x31\xc0\xc3", 0, true},
		{elf.EM_X86_64, "\xc3", 0, false},                     // it returns what was there
		{elf.EM_X86_64, "\xb8\x00\x10", 0, false},             // cut short
		{elf.EM_X86_64, "\xe8\x00\x00\x00\x00\xc3", 0, false}, // a call
		{elf.EM_AARCH64, "\x00\x03\x80\xd2\xc0\x03\x5f\xd6", 24, true},
		{elf.EM_AARCH64, "\x5f\x24\x03\xd5\x00\x00\x82\x52\xc0\x03\x5f\xd6", 4096, true},
		{elf.EM_AARCH64, "\x00\x00\x80\x92\xc0\x03\x5f\xd6", -1, true},
		{elf.EM_AARCH64, "\x00\x00\x80\x12\xc0\x03\x5f\xd6", 1<<32 - 1, true},
		{elf.EM_AARCH64, "\xe0\xbd\x99\xd2\x60\x2d\xb3\xf2\xc0\x03\x5f\xd6", 0x996bcdef, true},
		{elf.EM_AARCH64, "\x00\x00\x00\x94\xc0\x03\x5f\xd6", 0, false}, // a call
		{elf.EM_RISCV, "\xb8\x00\x10\x00\x00\xc3", 0, false},
	} {
		if got, ok := returned(tt.machine, []byte(tt.code)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("% x: %d, %v, want %d, %v", tt.code, got, ok, tt.want, tt.ok)
		}
	}
}
