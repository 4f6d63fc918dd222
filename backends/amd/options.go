package amd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/pass"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Names of options that messages and tables mention.
const (
	optionSkipPasses = "skip_passes"
	optionAsyncCopy  = "use_async_copy"
	optionTurns      = "use_block_pingpong"
)

// scheduleHints are the values that schedule_hint may list, none of which has an effect
// yet but the last.
const (
	hintNone        = "none"
	hintAttention   = "attention"
	hintMemoryBound = "memory-bound-attention"
)

var scheduleHints = []string{hintNone, hintAttention, hintMemoryBound}

// optionSpecs are Triton's HIPOptions, ir_override and skip_passes. Where a default
// depends on the target the one here is for hip:gfx942; defaultsFor has the others.
var optionSpecs = []sdk.OptionSpec{
	{Name: "num_warps", Type: sdk.Int, Default: "4", Doc: "warps of a work-group, a power of two with no more than 1024 threads"},
	{Name: "waves_per_eu", Type: sdk.Int, Default: "0", Doc: "warps that each SIMD is to hold at once, which bounds registers; 0: LLVM decides"},
	{Name: "num_stages", Type: sdk.Int, Default: "2", Doc: "stages of software pipelining"},
	{Name: "num_ctas", Type: sdk.Int, Default: "1", Doc: "work-groups of a cluster, always 1"},
	{Name: "warp_size", Type: sdk.Int, Default: "64", Doc: "threads of a warp, the target's"},
	{Name: "extern_libs", Type: sdk.StringMap, Default: "{}", Doc: "libraries of LLVM IR to link, as name to path", CallerOnly: true},
	{Name: "debug", Type: sdk.Bool, Default: "false", Doc: "keep device_assert"},
	{Name: "sanitize_overflow", Type: sdk.Bool, Default: "true", Doc: "with debug, assert that integers do not overflow"},
	{Name: "arch", Type: sdk.String, Default: "null", Doc: "architecture to compile for, the target's", Derived: true},
	{Name: "supported_fp8_dtypes", Type: sdk.StringList, Default: `["fp8e4b8","fp8e4nv","fp8e5","fp8e5b16"]`, Doc: "8-bit floats a kernel may use", Choices: fp8Kinds},
	{Name: "deprecated_fp8_dot_operand_dtypes", Type: sdk.StringList, Default: "[]", Doc: "8-bit floats that dot accepts with a warning", Choices: fp8Kinds},
	{Name: "default_dot_input_precision", Type: sdk.String, Default: `"ieee"`, Doc: "the input_precision of f32 dots without one"},
	{Name: "allowed_dot_input_precisions", Type: sdk.StringList, Default: `["ieee","bf16x3","bf16x6","tf32"]`, Doc: "values that dot's input_precision may have"},
	{Name: "enable_fp_fusion", Type: sdk.Bool, Default: "true", Doc: "contract a*b+c to fma"},
	{Name: "launch_cooperative_grid", Type: sdk.Bool, Default: "false", Doc: "launch all work-groups at once, so that they can synchronize"},
	{Name: "matrix_instr_nonkdim", Type: sdk.Int, Default: "0", Doc: "rows and columns of a matrix instruction, 16 or 32; 0: by the dot's shape"},
	{Name: "kpack", Type: sdk.Int, Default: "1", Doc: "instructions whose operands a thread reads from LDS together, 1 or 2"},
	{Name: "use_buffer_ops", Type: sdk.Bool, Default: "true", Doc: "access memory by buffer instructions where offsets of 32 bits suffice"},
	{Name: optionAsyncCopy, Type: sdk.Bool, Default: "false", Doc: "copy operands of dots in loops to LDS without registers, on gfx942 and gfx950"},
	{Name: optionTurns, Type: sdk.Bool, Default: "true", Doc: "have warps take turns at matrix cores and memory in loops around dots by MFMA"},
	{Name: "allow_flush_denorm", Type: sdk.Bool, Default: "false", Doc: "flush f32 denormals to zero"},
	{Name: "max_num_imprecise_acc_default", Type: sdk.Int, Default: "0", Doc: "how many products an fp8 dot may accumulate at low precision; no effect here"},
	{Name: "backend_name", Type: sdk.String, Default: `"hip"`, Doc: "the target's backend", Derived: true},
	{Name: "instrumentation_mode", Type: sdk.String, Default: `""`, Doc: "instrumentation to add: none is here", Choices: []string{""}},
	{Name: "schedule_hint", Type: sdk.String, Default: `"none"`, Doc: "hints to LLVM's scheduler, separated by commas: " + strings.Join(scheduleHints, ", ")},
	{Name: "ir_override", Type: sdk.String, Default: "null", Doc: "file (.ttir, .ttgir, .llir or .amdgcn) that replaces the result of its stage", CallerOnly: true},
	{Name: optionSkipPasses, Type: sdk.StringList, Default: "[]", Doc: "passes to leave out, by the names that tritonc passes shows"},
}

// options are the values of optionSpecs that stages look at.
type options struct {
	NumWarps         int               `json:"num_warps"`
	WavesPerEU       int               `json:"waves_per_eu"`
	NumStages        int               `json:"num_stages"`
	ExternLibs       map[string]string `json:"extern_libs"`
	Debug            bool              `json:"debug"`
	EnableFPFusion   bool              `json:"enable_fp_fusion"`
	MatrixInstrDim   int               `json:"matrix_instr_nonkdim"`
	KPack            int               `json:"kpack"`
	UseBufferOps     bool              `json:"use_buffer_ops"`
	UseAsyncCopy     bool              `json:"use_async_copy"`
	UsePingpong      bool              `json:"use_block_pingpong"`
	AllowFlushDenorm bool              `json:"allow_flush_denorm"`
	ScheduleHint     string            `json:"schedule_hint"`
	IROverride       *string           `json:"ir_override"`
	SkipPasses       []string          `json:"skip_passes"`
}

// readOptions reads what parseOptions made.
func readOptions(text string) (options, error) {
	var o options
	if err := json.Unmarshal([]byte(text), &o); err != nil || o.NumWarps == 0 {
		return o, fmt.Errorf("these are not options of the amd backend: %q", text)
	}
	return o, nil
}

// parseOptions checks the user's options and completes them for the target. It
// returns their canonical JSON.
func parseOptions(a arch, given string) (string, error) {
	values, err := sdk.ParseOptions(defaultsFor(a), given)
	if err != nil {
		return "", explainCUDA(err)
	}
	if bad := checkOptions(a, values); len(bad) > 0 {
		return "", bad
	}
	return values.JSON(), nil
}

// cudaOptions are the options that Triton has for CUDA alone, and what takes their place
// here, or "".
var cudaOptions = map[string]string{
	"maxnreg":            "waves_per_eu bounds registers here",
	"ptx_version":        "",
	"ptx_options":        "",
	"launch_pdl":         "",
	"enable_reflect_ftz": "allow_flush_denorm has denormals taken for zero here",
}

// explainCUDA says of options of CUDA's among those that are unknown what they are.
func explainCUDA(err error) error {
	var list sdk.Diagnostics
	if !errors.As(err, &list) {
		return err
	}
	for i := range list {
		name, ok := strings.CutPrefix(list[i].Message, "unknown option ")
		if !ok {
			continue
		}
		instead, ok := cudaOptions[strings.Trim(name, `"`)]
		if !ok {
			continue
		}
		help := "it is one of Triton's for CUDA; "
		if instead != "" {
			help += instead + "; "
		}
		list[i].Help = help + list[i].Help
	}
	return list
}

// defaultsFor is optionSpecs with the defaults of a target.
func defaultsFor(a arch) []sdk.OptionSpec {
	specs := slices.Clone(optionSpecs)
	for i := range specs {
		var v any
		switch specs[i].Name {
		case "warp_size":
			v = a.chip.Lanes
		case "arch":
			v = a.chip.Name
		case optionTurns:
			v = a.pingpong
		case "deprecated_fp8_dot_operand_dtypes":
			v = a.deprecatedFP8()
		case "allowed_dot_input_precisions":
			v, specs[i].Choices = a.dotPrecisions(), a.dotPrecisions()
		case "default_dot_input_precision":
			v, specs[i].Choices = a.defaultPrecision(), a.dotPrecisions()
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

// overridable are the stages whose result ir_override may replace.
var overridable = []string{".ttir", ".ttgir", ".llir", ".amdgcn"}

// maxWaves is how many warps a SIMD holds at most, on any chip.
const maxWaves = 16

// checkOptions finds the values that are of the right type and still wrong.
func checkOptions(a arch, v sdk.Options) sdk.Diagnostics {
	var bad sdk.Diagnostics
	refuse := func(name, format string, args ...any) {
		bad = append(bad, *sdk.Errorf("option %s: %s", name, fmt.Sprintf(format, args...)).WithHelp("%s: %s", name, docOf(name)))
	}
	number := func(name string) int { n, _ := v[name].(int); return n }

	if n := number("num_warps"); n < 1 || n > a.maxWarps() || n&(n-1) != 0 {
		refuse("num_warps", "%d is not a power of two between 1 and %d", n, a.maxWarps())
	}
	if n := number("waves_per_eu"); n < 0 || n > maxWaves {
		refuse("waves_per_eu", "%d is not between 0 and %d", n, maxWaves)
	}
	if n := number("num_ctas"); n != 1 {
		refuse("num_ctas", "%s:%s has no clusters, so it must be 1, not %d", backendName, a.chip.Name, n)
	}
	if n := number("num_stages"); n < 0 {
		refuse("num_stages", "%d is negative", n)
	} else if n > pass.MaxStages {
		refuse("num_stages", "%d is more than %d: what more stages hold does not fit in LDS", n, pass.MaxStages)
	}
	if n := number("warp_size"); n != a.chip.Lanes {
		refuse("warp_size", "%d; on %s:%s it is %d", n, backendName, a.chip.Name, a.chip.Lanes)
	}
	if n := number("matrix_instr_nonkdim"); n != 0 && n != 16 && n != 32 {
		refuse("matrix_instr_nonkdim", "%d is none of 0, 16, 32", n)
	}
	if n := number("kpack"); n != 1 && n != 2 {
		refuse("kpack", "%d is neither 1 nor 2", n)
	}
	if on, _ := v[optionAsyncCopy].(bool); on && !a.copiesToLDS() {
		refuse(optionAsyncCopy, "%s:%s has no instructions that copy to LDS", backendName, a.chip.Name)
	}
	if on, _ := v[optionTurns].(bool); on && a.chip.MFMA == 0 {
		refuse(optionTurns, "%s:%s has no MFMA", backendName, a.chip.Name)
	}
	if n := number("max_num_imprecise_acc_default"); n < 0 {
		refuse("max_num_imprecise_acc_default", "%d is negative", n)
	}
	hints, _ := v["schedule_hint"].(string)
	for h := range strings.SplitSeq(hints, ",") {
		if !slices.Contains(scheduleHints, h) {
			refuse("schedule_hint", "%q is none of %s", h, strings.Join(scheduleHints, ", "))
		}
	}
	if path, given := v["ir_override"].(string); given && !slices.Contains(overridable, filepath.Ext(path)) {
		refuse("ir_override", "%q does not end in one of %s", path, strings.Join(overridable, ", "))
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
