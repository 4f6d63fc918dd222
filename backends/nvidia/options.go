package nvidia

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/pass"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Names of options that messages and tables mention.
const (
	optionSkipPasses = "skip_passes"
	optionPTX        = "ptx"
)

// Values of the option ptx.
const (
	ptxLLVM   = "llvm"
	ptxDirect = "direct"
)

// instrumentConsan is the value of the option instrumentation_mode that adds the concurrency
// sanitizer's checks.
const instrumentConsan = "consan"

// Values of the option tma. Pointers are up to twice as fast as TMA where a program
// copies a block or two, and a little faster for sums of rows; dots are up to
// 1.3 times as fast by TMA.
const (
	tmaAuto   = "auto"
	tmaAlways = "always"
	tmaNever  = "never"
)

// Values of the option wgmma.
const (
	wgmmaAuto  = "auto"
	wgmmaNever = "never"
)

// optionSpecs are Triton's CUDAOptions, and prefetch_operands, tma, wgmma, ptx
// and skip_passes. Where a default depends on the target
// the one here is for cuda:80; defaultsFor has the others.
var optionSpecs = []sdk.OptionSpec{
	{Name: "num_warps", Type: sdk.Int, Default: "4", Doc: "warps of a block, a power of two up to 32"},
	{Name: "num_ctas", Type: sdk.Int, Default: "1", Doc: "blocks of a cluster, a power of two up to 16; more than 1 from cuda:90 on"},
	{Name: "num_stages", Type: sdk.Int, Default: "3", Doc: "stages of software pipelining"},
	{Name: "warp_size", Type: sdk.Int, Default: "32", Doc: "threads of a warp, always 32"},
	{Name: "maxnreg", Type: sdk.Int, Default: "null", Doc: "the most registers per thread, 16 to 255; null for no limit"},
	{Name: "ptx_version", Type: sdk.Int, Default: "null", Doc: "PTX ISA version, 84 for 8.4; null: the newest that ptxas reads and both writers know"},
	{Name: "ptx_options", Type: sdk.String, Default: "null", Doc: "more arguments of ptxas, separated by spaces", CallerOnly: true},
	{Name: "ir_override", Type: sdk.String, Default: "null", Doc: "file (.ttir, .ttgir, .llir or .ptx) that replaces the result of its stage", CallerOnly: true},
	{Name: "enable_fp_fusion", Type: sdk.Bool, Default: "true", Doc: "contract a*b+c to fma"},
	{Name: "enable_reflect_ftz", Type: sdk.Bool, Default: "true", Doc: "let device libraries flush f32 denormals to zero"},
	{Name: "launch_cooperative_grid", Type: sdk.Bool, Default: "false", Doc: "launch all blocks at once, so that they can synchronize"},
	{Name: "launch_pdl", Type: sdk.Bool, Default: "false", Doc: "programmatic dependent launch: start before the previous kernel has ended"},
	{Name: "supported_fp8_dtypes", Type: sdk.StringList, Default: `["fp8e4b15","fp8e5"]`, Doc: "8-bit floats a kernel may use", Choices: []string{"fp8e4b15", "fp8e4nv", "fp8e5"}},
	{Name: "deprecated_fp8_dot_operand_dtypes", Type: sdk.StringList, Default: "[]", Doc: "8-bit floats that dot accepts with a warning", Choices: []string{"fp8e4b15", "fp8e4nv", "fp8e5"}},
	{Name: "default_dot_input_precision", Type: sdk.String, Default: `"tf32"`, Doc: "the input_precision of f32 dots without one", Choices: dotPrecisions},
	{Name: "allowed_dot_input_precisions", Type: sdk.StringList, Default: `["tf32","tf32x3","ieee","bf16x3","bf16x6"]`, Doc: "values that dot's input_precision may have", Choices: dotPrecisions},
	{Name: "max_num_imprecise_acc_default", Type: sdk.Int, Default: "0", Doc: "how many products an fp8 dot may accumulate at low precision"},
	{Name: "extern_libs", Type: sdk.StringMap, Default: "{}", Doc: "libraries of LLVM IR to link, as name to path; libdevice is found where CUDA is", CallerOnly: true},
	{Name: "debug", Type: sdk.Bool, Default: "false", Doc: "keep device_assert"},
	{Name: "backend_name", Type: sdk.String, Default: `"cuda"`, Doc: "the target's backend", Derived: true},
	{Name: "sanitize_overflow", Type: sdk.Bool, Default: "true", Doc: "with debug, assert that integers do not overflow"},
	{Name: "arch", Type: sdk.String, Default: "null", Doc: "architecture that the stages before ptx compile for, smNN; null: the target's"},
	{Name: "prefetch_operands", Type: sdk.Bool, Default: "false", Doc: "read the first part of a dot's operands from shared memory one iteration ahead"},
	{Name: "tma", Type: sdk.String, Default: `"auto"`, Doc: "copy blocks by TMA through the descriptors that a kernel makes, from cuda:90 on; auto: in kernels whose loops with dots do", Choices: []string{tmaAuto, tmaAlways, tmaNever}},
	{Name: "wgmma", Type: sdk.String, Default: `"auto"`, Doc: "compute dots by wgmma on cuda:90; auto: where it can; never: by mma.sync, as with Triton's DISABLE_MMA_V3", Choices: []string{wgmmaAuto, wgmmaNever}},
	{Name: optionSkipPasses, Type: sdk.StringList, Default: "[]", Doc: "passes to leave out, by the names that tritonc passes shows"},
	{Name: optionPTX, Type: sdk.String, Default: `"direct"`, Doc: "what writes PTX: direct is tritonc itself, which leaves LLVM IR that it did not make, and what libraries were linked into, to LLVM's llc; llvm has llc write all", Choices: []string{ptxDirect, ptxLLVM}},
	{Name: "instrumentation_mode", Type: sdk.String, Default: `""`, Doc: "instrumentation to add; consan: checks that accesses to shared memory wait for one another", Choices: []string{"", instrumentConsan}},
}

// options are the values of optionSpecs that stages look at.
type options struct {
	NumWarps         int               `json:"num_warps"`
	NumCTAs          int               `json:"num_ctas"`
	NumStages        int               `json:"num_stages"`
	WarpSize         int               `json:"warp_size"`
	MaxNReg          *int              `json:"maxnreg"`
	PTXVersion       *int              `json:"ptx_version"`
	PTXOptions       *string           `json:"ptx_options"`
	IROverride       *string           `json:"ir_override"`
	EnableFPFusion   bool              `json:"enable_fp_fusion"`
	EnableReflectFTZ bool              `json:"enable_reflect_ftz"`
	ExternLibs       map[string]string `json:"extern_libs"`
	Debug            bool              `json:"debug"`
	Arch             string            `json:"arch"`
	PrefetchOperands bool              `json:"prefetch_operands"`
	TMA              string            `json:"tma"`
	WGMMA            string            `json:"wgmma"`
	SkipPasses       []string          `json:"skip_passes"`
	PTX              string            `json:"ptx"`
	Instrumentation  string            `json:"instrumentation_mode"`
}

// readOptions reads what parseOptions made.
func readOptions(text string) (options, error) {
	var o options
	if err := json.Unmarshal([]byte(text), &o); err != nil || o.NumWarps == 0 {
		return o, fmt.Errorf("these are not options of the nvidia backend: %q", text)
	}
	return o, nil
}

// parseOptions checks the user's options and completes them for the target. It
// returns their canonical JSON.
func parseOptions(a arch, given string) (string, error) {
	values, err := sdk.ParseOptions(defaultsFor(a), given)
	if err != nil {
		return "", err
	}
	if values["arch"] == nil {
		values["arch"] = "sm" + strconv.Itoa(a.cc)
	}
	if bad := checkOptions(a, values); len(bad) > 0 {
		return "", bad
	}
	return values.JSON(), nil
}

// defaultsFor is optionSpecs with the defaults of a target.
func defaultsFor(a arch) []sdk.OptionSpec {
	specs := slices.Clone(optionSpecs)
	for i := range specs {
		var v any
		switch specs[i].Name {
		case "supported_fp8_dtypes":
			v = a.fp8Kinds()
		case "deprecated_fp8_dot_operand_dtypes":
			v = a.deprecatedFP8()
		case "max_num_imprecise_acc_default":
			v = a.impreciseAcc()
		default:
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("BUG: default of %s: %v", specs[i].Name, err))
		}
		specs[i].Default = string(text)
	}
	return specs
}

// maxWarps is how many warps a block may have: 1024 threads.
const maxWarps = 32

func isNumWarps(n int) bool { return n >= 1 && n <= maxWarps && n&(n-1) == 0 }

// overridable are the stages whose result ir_override may replace.
var overridable = []string{".ttir", ".ttgir", ".llir", ".ptx"}

// checkOptions finds the values that are of the right type and still wrong.
func checkOptions(a arch, v sdk.Options) sdk.Diagnostics {
	var bad sdk.Diagnostics
	refuse := func(name, format string, args ...any) {
		bad = append(bad, *sdk.Errorf("option %s: %s", name, fmt.Sprintf(format, args...)).WithHelp("%s: %s", name, docOf(name)))
	}
	number := func(name string) int { n, _ := v[name].(int); return n }

	if n := number("num_warps"); !isNumWarps(n) {
		refuse("num_warps", "%d is not a power of two between 1 and %d", n, maxWarps)
	}
	switch n := number("num_ctas"); {
	case n < 1 || n > 16 || n&(n-1) != 0:
		refuse("num_ctas", "%d is not a power of two between 1 and 16", n)
	case n > 1 && a.ctas == 1:
		refuse("num_ctas", "%s:%d has no clusters, so it must be 1", backendName, a.cc)
	}
	if n := number("num_stages"); n < 0 {
		refuse("num_stages", "%d is negative", n)
	} else if n > pass.MaxStages {
		refuse("num_stages", "%d is more than %d: what more stages hold does not fit in shared memory", n, pass.MaxStages)
	}
	if n := number("warp_size"); n != warpSize {
		refuse("warp_size", "%d; a warp has %d threads here", n, warpSize)
	}
	if n, given := v["maxnreg"].(int); given && (n < 16 || n > 255) {
		refuse("maxnreg", "%d is not between 16 and 255", n)
	}
	if n, given := v["ptx_version"].(int); given && !slices.Contains(llcPTXVersions, n) {
		refuse("ptx_version", "%d is none of %s", n, joinInts(llcPTXVersions))
	}
	if path, given := v["ir_override"].(string); given && !slices.Contains(overridable, filepath.Ext(path)) {
		refuse("ir_override", "%q does not end in one of %s", path, strings.Join(overridable, ", "))
	}
	if n := number("max_num_imprecise_acc_default"); n < 0 {
		refuse("max_num_imprecise_acc_default", "%d is negative", n)
	}
	allowed, _ := v["allowed_dot_input_precisions"].([]string)
	if p, _ := v["default_dot_input_precision"].(string); !slices.Contains(allowed, p) {
		refuse("default_dot_input_precision", "%q is none of the allowed %s", p, strings.Join(allowed, ", "))
	}
	libs, _ := v["extern_libs"].(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(libs)) {
		if info, err := os.Stat(libs[name]); err != nil || !info.Mode().IsRegular() {
			refuse("extern_libs", "%s: there is no file %q", name, libs[name])
		}
	}
	if names, _ := v[optionSkipPasses].([]string); len(names) > 0 {
		if err := checkSkipped(a, names); err != nil {
			refuse(optionSkipPasses, "%v", err)
		}
	}
	name, _ := v["arch"].(string)
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "sm")); err != nil || !strings.HasPrefix(name, "sm") {
		refuse("arch", "%q is not of the form sm80", name)
	} else if !slices.ContainsFunc(archs, func(a arch) bool { return a.cc == n }) {
		refuse("arch", "%q is not an architecture of %s", name, targetList())
	}
	return bad
}

func docOf(name string) string {
	for i := range optionSpecs {
		if optionSpecs[i].Name == name {
			return optionSpecs[i].Doc
		}
	}
	panic("BUG: no option " + name)
}

func joinInts(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}
