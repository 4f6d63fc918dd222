package npu

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/ir/text"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// compilerName is the vendor's compiler.
const compilerName = "bishengir-compile"

// Settings of the vendor's software, which its compiler gets in the environment, too.
var (
	settingBisheng = sdk.SettingSpec{Name: "bisheng", Env: []string{"BISHENG_INSTALL_PATH"}, Doc: "folder of the vendor's tools that " + compilerName + " runs"}
	settingCANN    = sdk.SettingSpec{Name: "cann", Env: []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}, Doc: "folder of the vendor's CANN toolkit"}
	// settingArch is triton-ascend's way to choose a chip.
	settingArch = sdk.SettingSpec{Name: "triton_ascend_arch", Env: []string{"TRITON_ASCEND_ARCH"}, Doc: "the chip, for triton-ascend; here --target chooses it, and another one is warned of"}
)

// compilerKind is the vendor's compiler. Its variable names a folder, as triton-ascend has
// it, or the program.
var compilerKind = &backend.ToolKind{
	Name: compilerName,
	Setting: sdk.SettingSpec{
		Name: "npu_compiler", Env: []string{"TRITON_NPU_COMPILER_PATH"}, Doc: "folder of the vendor's compiler " + compilerName + ", or its path",
	},
	Named:   inFolder,
	Places:  func(map[string]string) (programs, folders []string) { return backend.InPath(compilerName), nil },
	Version: func(said string) (string, bool) { return cmp.Or(versionNumber.FindString(said), "0"), true },
	Refuse:  func(int) string { return "" },
	Help: "it comes with the vendor's CANN toolkit: set_env.sh puts it into PATH, or TRITON_NPU_COMPILER_PATH names its folder; " +
		"without it, --emit npusim makes what tritonc run executes on the simulated NPU, and --emit npuir shows the program",
	Limits: backend.Limits{Time: 10 * time.Minute, Memory: 32 << 30},
}

// versionNumber is the first that --version prints; a compiler that prints none has 0.
var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// inFolder is the compiler in a folder that a user names, or what they name.
func inFolder(path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path
	}
	for _, name := range []string{compilerName, filepath.Join("bin", compilerName), "npuc"} {
		if p := filepath.Join(path, name); exists(p) {
			return p
		}
	}
	return filepath.Join(path, compilerName)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// mostName is how long the name of a kernel may be that the vendor's compiler takes.
const mostName = 49

// binFacts are what the metadata say of a binary, under triton-ascend's names; format and
// ffts are ours.
type binFacts struct {
	Format       string `json:"format"`
	MixMode      string `json:"mix_mode"`
	ParallelMode string `json:"parallel_mode"`
	// FFTS says that the arguments begin with the address by which cores synchronize.
	FFTS          bool   `json:"ffts"`
	TensorKinds   []int  `json:"tensor_kinds"`
	UBBits        int64  `json:"required_ub_bits"`
	WorkspaceSize int64  `json:"workspace_size"`
	LockNum       int64  `json:"lock_num"`
	LockInitValue int64  `json:"lock_init_value"`
	TaskType      *int64 `json:"bs_task_type,omitempty"`
	// AllBlocks says that a launch may have fewer blocks than the grid has programs: each runs
	// several.
	AllBlocks bool `json:"all_blocks_parallel,omitempty"`
	// Together says, by Triton's name, that programs wait for one another.
	Together bool `json:"launch_cooperative_grid,omitempty"`
}

// Files of the vendor's compiler in its working directory. Older ones write the second name.
const (
	vendorInput  = "kernel.ttadapter.mlir"
	vendorOutput = "kernel"
	vendorHost   = "libkernel.so"
)

var vendorBinaries = []string{"kernel.o", "kernel_reloc.o"}

// makeNPUBin has the vendor's compiler make the binary.
func makeNPUBin(k *backend.Compilation, c *chip.Chip) error {
	tool, err := k.Find(compilerKind)
	if err != nil {
		return err
	}
	file, line, column := k.KernelPlace()
	if len(k.Meta.Name) > mostName {
		return &sdk.Diagnostic{
			File: file, Line: line, Column: column,
			Message: fmt.Sprintf("the name %s has %d characters; the vendor's compiler takes kernels with at most %d", k.Meta.Name, len(k.Meta.Name), mostName),
			Help:    "give the kernel a shorter name",
		}
	}
	kernel := toVendorForm(k.Module)
	input := text.Append(nil, k.Module, text.Options{Locations: true, MLIR: vendorMLIR})
	flags, err := vendorFlags(c, k.Request.OptionsJSON, k.Request.Settings, vendorInput, vendorOutput)
	if err != nil {
		return err
	}
	dir, remove, err := sdk.TempDir("tritonc-bishengir")
	if err != nil {
		return err
	}
	defer remove()
	if err := os.WriteFile(filepath.Join(dir, vendorInput), input, 0o600); err != nil {
		return err
	}
	cmd := sdk.Command{Path: tool.Path, Args: flags, Dir: dir, Env: vendorEnvironment(k.Request.Settings, tool.Path)}
	res, err := k.RunTool(tool, cmd)
	if err != nil {
		return err
	}
	said := string(res.Stdout) + string(res.Stderr)
	if !res.OK() {
		return vendorError(k, cmd, input, said, compilerName+" failed ("+res.Status()+")")
	}
	code, err := firstOf(dir, vendorBinaries)
	if err != nil {
		return vendorError(k, cmd, input, said, compilerName+" wrote neither "+strings.Join(vendorBinaries, " nor "))
	}
	if !strings.HasPrefix(string(code), "\x7fELF") {
		return fmt.Errorf("what %s wrote is not an ELF file", tool.Path)
	}
	ffts := c.Arch == archA2 && !isOn(k.Request.Settings, settingFFTS)
	facts := binFacts{
		Format: stageNPUBin, MixMode: kernel.mixMode, ParallelMode: simdMode, FFTS: ffts, TensorKinds: kernel.tensorKinds, UBBits: ubBits(said),
		Together: kernel.together, AllBlocks: isOn(k.Request.Settings, settingBlocks),
	}
	if host := filepath.Join(dir, vendorHost); exists(host) {
		if err := readCallbacks(host, k.Meta.Name, &facts); err != nil {
			return fmt.Errorf("the library that %s wrote for the kernel %s: %w", tool.Path, k.Meta.Name, err)
		}
	}
	k.Artifact, k.Meta.Usage = code, facts
	return nil
}

// firstOf reads the first of some files that is there.
func firstOf(dir string, names []string) ([]byte, error) {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return nil, fs.ErrNotExist
}

// vendorEnvironment is that of the compiler: the plugin's, the folders that settings name,
// and its own folder first in PATH, where it looks for the programs that it runs.
func vendorEnvironment(given map[string]string, tool string) []string {
	env := append(os.Environ(), "PATH="+filepath.Dir(tool)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, s := range []sdk.SettingSpec{settingBisheng, settingCANN} {
		if value := given[s.Name]; value != "" {
			env = append(env, s.Env[0]+"="+value)
		}
	}
	return env
}

var ubSize = regexp.MustCompile(`UB\s+size\s*=\s*(\d+)\s*bits`)

// ubBits is what the compiler says that the kernel takes of UB, 0 where it says nothing.
func ubBits(said string) int64 {
	m := ubSize.FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// vendorMessage is an error as MLIR prints it: loc("k.mlir":3:5): error: words.
var vendorMessage = regexp.MustCompile(`^(?:loc\()?"?([^"\n]*?)"?:(\d+):(\d+)\)?: error: (.*)$`)

// mostVendorErrors bounds how many of the compiler's errors are shown.
const mostVendorErrors = 8

// vendorError makes diagnostics of what the compiler said, each in the kernel's file where
// its input says from where the line came. The input is kept for a command that repeats
// the failure.
func vendorError(k *backend.Compilation, cmd sdk.Command, input []byte, said, otherwise string) error {
	file, line, column := k.KernelPlace()
	var list sdk.Diagnostics
	for text := range strings.Lines(said) {
		m := vendorMessage.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil || len(list) == mostVendorErrors {
			continue
		}
		d := sdk.Diagnostic{Message: compilerName + ": " + m[4], File: m[1]}
		d.Line, _ = strconv.Atoi(m[2])
		d.Column, _ = strconv.Atoi(m[3])
		if filepath.Base(m[1]) == vendorInput {
			d.File, d.Line, d.Column = sourceOf(string(input), d.Line)
		} else {
			d.Column++ // a location of the kernel's counts from 0
		}
		if d.File == "" {
			d.File, d.Line, d.Column = file, line, column
		}
		list = append(list, d)
	}
	if len(list) == 0 {
		d := sdk.Diagnostic{Message: otherwise, File: file, Line: line, Column: column}
		if words := backend.FirstLines(strings.TrimSpace(said), 10); words != "" {
			d.Message += ": " + words
		}
		list = sdk.Diagnostics{d}
	}
	help := "the command was: " + cmd.String()
	if path, err := keepInput(input); err == nil {
		cmd.Args = append([]string{path}, cmd.Args[1:]...)
		help = "to repeat it: " + cmd.String()
	}
	list[len(list)-1].Help = help
	return list
}

var (
	placeOfLine = regexp.MustCompile(`loc\((#loc\d*)\)$`)
	placeOfName = regexp.MustCompile(`(?m)^(#loc\d*) = loc\((?:"[^"]*"\()?(?:(#loc\d*)|"([^"]+)":(\d+):(\d+))\)`)
)

// sourceOf is where in the kernel's file a line of MLIR text came from, as its location says.
func sourceOf(mlir string, line int) (file string, at, column int) {
	for ; line > 1; line-- {
		_, mlir, _ = strings.Cut(mlir, "\n")
	}
	text, rest, _ := strings.Cut(mlir, "\n")
	name := placeOfLine.FindStringSubmatch(strings.TrimRight(text, " {"))
	if name == nil {
		return "", 0, 0
	}
	places := map[string][]string{}
	for _, m := range placeOfName.FindAllStringSubmatch(rest, -1) {
		places[m[1]] = m[2:]
	}
	// A value's name has the place of another location: #loc12 = loc("a"(#loc2)).
	m := places[name[1]]
	if m != nil && m[0] != "" {
		m = places[m[0]]
	}
	if m == nil || m[1] == "" {
		return "", 0, 0
	}
	at, _ = strconv.Atoi(m[2])
	column, _ = strconv.Atoi(m[3])
	return m[1], at, column + 1
}

// keepInput leaves the compiler's input in a file named by its content, so that the same
// failure does not pile up files.
func keepInput(input []byte) (string, error) {
	sum := sha256.Sum256(input)
	path := filepath.Join(os.TempDir(), "tritonc-"+hex.EncodeToString(sum[:6])+".ttadapter.mlir")
	return path, filememo.Replace(path, input)
}
