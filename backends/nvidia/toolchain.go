package nvidia

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/trust"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Settings of the machine that the backend reads: where its tools are and what
// they may take. The host takes them from the environment.
const (
	settingPtxas     = "ptxas"
	settingLLC       = "llc"
	settingLLVMLink  = "llvm_link"
	settingOpt       = "opt"
	settingCUDA      = "cuda"
	settingLibdevice = "libdevice"

	settingToolSeconds = "tool_seconds"
	settingToolMemory  = "tool_memory"
	settingMaxMemory   = "max_memory"
)

var settingSpecs = []sdk.SettingSpec{
	{Name: settingPtxas, Env: []string{"TRITON_PTXAS_PATH", "TRITONC_PTXAS"}, Doc: "path of NVIDIA's assembler ptxas"},
	{Name: settingLLC, Env: []string{"TRITONC_LLC"}, Doc: "path of LLVM's llc, version " + strconv.Itoa(llvmMajor)},
	{Name: settingLLVMLink, Env: []string{"TRITONC_LLVM_LINK"}, Doc: "path of LLVM's llvm-link, for kernels that call functions of a library"},
	{Name: settingOpt, Env: []string{"TRITONC_OPT"}, Doc: "path of LLVM's opt, for the same"},
	{Name: settingLibdevice, Env: []string{"TRITON_LIBDEVICE_PATH"}, Doc: "path of CUDA's library libdevice.10.bc"},
	{Name: settingCUDA, Env: []string{"CUDA_HOME", "CUDA_PATH"}, Doc: "folder of a CUDA toolkit, whose bin/ has ptxas"},
	{Name: settingToolSeconds, Env: []string{"TRITONC_TOOL_SECONDS"}, Doc: "seconds that a tool may take for a kernel (300, ptxas 600)"},
	{Name: settingToolMemory, Env: []string{"TRITONC_TOOL_MEMORY"}, Doc: "MiB of memory that a tool may take (4096, ptxas 16384)"},
	{Name: settingMaxMemory, Env: []string{"TRITONC_MAX_MEMORY"}, Doc: "MiB of memory that a compile may take beside its tools; 0 is no limit"},
}

// llvmMajor is the version of LLVM whose llc we know: its flags, the PTX
// versions that it writes, and what it does with our IR.
const llvmMajor = 22

// minPtxasMajor: older ones do not know sm_90a. One that the user names counts
// all the same.
const minPtxasMajor = 12

// llcPTXVersions are those of LLVM 22's features +ptxNN that make sense for our
// targets, ascending.
var llcPTXVersions = []int{70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90}

// ptxVersionAlone is used when PTX is asked for and no ptxas is there to decide:
// that of CUDA 12.4, which drivers since early 2024 read.
const ptxVersionAlone = 84

// tool is a program that was found, with what is known of it.
type tool struct {
	sdk.ToolInfo
	major, minor int
}

// ptxVersion is the PTX ISA version that this ptxas reads, 84 for 8.4. NVIDIA
// counts it apart from CUDA's own.
func (t tool) ptxVersion() int {
	switch {
	case t.major >= 13:
		return 90 + 10*(t.major-13) + t.minor
	case t.major == 12 && t.minor >= 6:
		return 79 + t.minor
	case t.major == 12:
		return 80 + t.minor
	default:
		return 70 + t.minor
	}
}

// ptxVersionFor is the newest PTX ISA version that ptxas reads and llc writes.
func ptxVersionFor(ptxas tool) int {
	best := llcPTXVersions[0]
	for _, v := range llcPTXVersions {
		if v <= ptxas.ptxVersion() {
			best = v
		}
	}
	return best
}

// kind is a sort of tool and how to recognize one.
type kind struct {
	name    string
	setting string
	// version finds the version in what --version prints.
	version func(text string) (version string, ok bool)
	// refuse says why a version that nobody asked for is passed over, or "".
	refuse func(major int) string
	// help is what a user can do who has none.
	help string
}

var (
	llcKind      = llvmKind("llc", settingLLC)
	llvmLinkKind = llvmKind("llvm-link", settingLLVMLink)
	optKind      = llvmKind("opt", settingOpt)
	ptxasKind    = kind{
		name: "ptxas", setting: settingPtxas,
		version: func(text string) (string, bool) { return wordAfter(text, ", V") },
		refuse: func(major int) string {
			if major < minPtxasMajor {
				return fmt.Sprintf("version %d.0 or newer is needed", minPtxasMajor)
			}
			return ""
		},
		help: "install NVIDIA's CUDA toolkit, or run make toolchain, or name one with TRITONC_PTXAS",
	}
)

// llvmKind is a tool of LLVM.
func llvmKind(name, setting string) kind {
	return kind{
		name: name, setting: setting,
		version: func(text string) (string, bool) { return wordAfter(text, "LLVM version ") },
		refuse: func(major int) string {
			if major != llvmMajor {
				return fmt.Sprintf("version %d is needed", llvmMajor)
			}
			return ""
		},
		help: fmt.Sprintf("install LLVM %d (Debian: apt-get install llvm-%[1]d), or run make toolchain, or name one with %s",
			llvmMajor, strings.Join(envOf(setting), ", ")),
	}
}

// wordAfter is what stands between mark and the next space in text.
func wordAfter(text, mark string) (string, bool) {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return "", false
	}
	word, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n", " "), " ")
	return word, word != ""
}

// candidates lists where a tool may be, first to last, and the folders whose
// content decided on that.
func (k *kind) candidates(settings map[string]string) (list, folders []string) {
	fromPath := func(name string) {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			if filepath.IsAbs(dir) {
				list = append(list, filepath.Join(dir, name))
			}
		}
	}
	switch k.name {
	case llcKind.name, llvmLinkKind.name, optKind.name:
		major := strconv.Itoa(llvmMajor)
		fromPath(k.name + "-" + major)
		fromPath(k.name)
		for _, dir := range []string{"/usr/lib/llvm-", "/usr/local/lib/llvm-", "/opt/homebrew/opt/llvm@", "/usr/local/opt/llvm@"} {
			list = append(list, dir+major+"/bin/"+k.name)
		}
	case ptxasKind.name:
		fromPath("ptxas")
		if dir := settings[settingCUDA]; dir != "" {
			list = append(list, filepath.Join(dir, "bin", "ptxas"))
		}
		list = append(list, "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas", "/usr/lib/cuda/bin/ptxas")
		folders = append(folders, "/usr/local")
		versions, _ := filepath.Glob("/usr/local/cuda-*/bin/ptxas") // an error means a bad pattern
		slices.SortFunc(versions, func(a, b string) int { return strings.Compare(b, a) })
		list = append(list, versions...)
	}
	if dir := cacheDir(); dir != "" {
		list = append(list, filepath.Join(dir, "toolchain", "bin", k.name))
	}
	if runtime.GOOS == "windows" {
		for i, p := range list {
			if filepath.Ext(p) == "" {
				list[i] = p + ".exe"
			}
		}
	}
	return list, folders
}

// isProgram reports whether a file may be run.
func isProgram(info os.FileInfo) bool {
	return info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

// cacheDir is tritonc's part of the user's cache folder, where make toolchain
// puts tools; empty when the user has no home.
func cacheDir() string {
	base := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "tritonc")
}

// checkOwn refuses a program of our own cache folder that others may have put or
// changed there. Those in other places are the system's, or in the user's PATH.
func checkOwn(path string, info os.FileInfo) error {
	cache := cacheDir()
	if cache == "" || filepath.Dir(path) != filepath.Join(cache, "toolchain", "bin") {
		return nil
	}
	for _, dir := range []string{cache, filepath.Join(cache, "toolchain"), filepath.Dir(path)} {
		if err := trust.Dir(dir); err != nil {
			return err
		}
	}
	return trust.Check(path, info)
}

// toolNotFound says that no usable tool of a kind is there.
type toolNotFound struct {
	kind  *kind
	tried []string // "path: why not"
}

func (e *toolNotFound) diagnostic() *sdk.Diagnostic {
	d := &sdk.Diagnostic{Kind: sdk.Environment, Message: "no usable " + e.kind.name + " was found", Help: e.kind.help}
	if len(e.tried) > 0 {
		d.Message += " (" + strings.Join(e.tried, "; ") + ")"
	}
	return d
}

func (e *toolNotFound) Error() string { return e.diagnostic().Message }

// find is the tool of a kind. Where it was looked for becomes part of the answer.
func (c *compilation) find(k *kind) (tool, error) {
	return k.find(c.ctx, c.backend.memo, c.req.Settings, c.lookAt)
}

// lookAt notes that the outcome depends on a file or folder, there or not.
func (c *compilation) lookAt(path string) {
	if !slices.Contains(c.resp.LookedAt, path) {
		c.resp.LookedAt = append(c.resp.LookedAt, path)
	}
}

// find looks for a tool: the one that the user names, and no other, or else the
// first usable candidate. look is told each path that decided on it.
func (k *kind) find(ctx context.Context, memo *toolMemo, settings map[string]string, look func(path string)) (tool, error) {
	if path := settings[k.setting]; path != "" {
		if !strings.ContainsRune(path, filepath.Separator) {
			if p, err := exec.LookPath(path); err == nil {
				path = p
			}
		}
		look(path)
		t, err := k.identify(ctx, memo, path)
		if err != nil {
			return tool{}, &sdk.Diagnostic{
				Kind:    sdk.Environment,
				Message: fmt.Sprintf("the %s that the environment names cannot be used: %v", k.name, err),
				Help:    "see " + strings.Join(envOf(k.setting), ", "),
			}
		}
		return t, nil
	}
	missing := &toolNotFound{kind: k}
	candidates, folders := k.candidates(settings)
	for _, dir := range folders {
		look(dir)
	}
	for _, path := range candidates {
		look(path)
		info, err := os.Stat(path)
		if err != nil || !isProgram(info) {
			continue
		}
		if err := checkOwn(path, info); err != nil {
			missing.tried = append(missing.tried, err.Error())
			continue
		}
		t, err := k.identify(ctx, memo, path)
		if ctx.Err() != nil {
			return tool{}, ctx.Err()
		}
		if err != nil {
			missing.tried = append(missing.tried, err.Error())
			continue
		}
		if why := k.refuse(t.major); why != "" {
			missing.tried = append(missing.tried, fmt.Sprintf("%s is %s, %s", path, t.Version, why))
			continue
		}
		return t, nil
	}
	return tool{}, missing
}

func envOf(setting string) []string {
	for i := range settingSpecs {
		if settingSpecs[i].Name == setting {
			return settingSpecs[i].Env
		}
	}
	panic("BUG: no setting " + setting)
}

// identify learns a program's version and hash, from the memo when the file is
// the one that it knows.
func (k *kind) identify(ctx context.Context, memo *toolMemo, path string) (tool, error) {
	info, err := os.Stat(path) // follows links: make toolchain makes some
	if err != nil {
		return tool{}, err
	}
	known, ok := memo.Get(path, info)
	if !ok || known.Version == "" || known.SHA256 == "" { // not known, or by an entry of another form
		if known, err = k.ask(ctx, path); err != nil {
			return tool{}, err
		}
		memo.Put(path, info, known)
	}
	t := tool{ToolInfo: sdk.ToolInfo{Name: k.name, Path: path, Version: known.Version, SHA256: known.SHA256}}
	parts := strings.SplitN(known.Version, ".", 3)
	t.major, err = strconv.Atoi(parts[0])
	if err == nil && len(parts) > 1 {
		t.minor, err = strconv.Atoi(parts[1])
	}
	if err != nil {
		return tool{}, fmt.Errorf("%s has the version %q, which is no number", path, known.Version)
	}
	return t, nil
}

// ask runs the program for its version and hashes its file.
func (k *kind) ask(ctx context.Context, path string) (identity, error) {
	res, err := sdk.Command{Path: path, Args: []string{"--version"}, Timeout: 20 * time.Second}.Run(ctx)
	if err != nil {
		return identity{}, err
	}
	version, ok := k.version(string(res.Stdout))
	if !ok {
		return identity{}, fmt.Errorf("%s --version names no version (%s)", path, res.Status())
	}
	f, err := os.Open(path)
	if err != nil {
		return identity{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return identity{}, err
	}
	return identity{Version: version, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// identity is what a tool's file is known by.
type identity struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// toolMemo spares asking the same tools in every process.
type toolMemo = filememo.Memo[identity]
