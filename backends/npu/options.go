package npu

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/backends/npu/chip"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// fp8Kinds are the 8-bit floats that a kernel may use, and dotPrecisions the values of
// dot's input_precision: triton-ascend's.
var (
	fp8Kinds      = []string{"fp8e4b15", "fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16"}
	dotPrecisions = []string{"ieee", "hf32", "tf32", "tf32x3"}
)

// optionSpecs are those of triton-ascend's NPUOptions that say what a kernel is compiled
// to, ir_override, and the flags of the vendor's compiler.
var optionSpecs = append([]sdk.OptionSpec{
	{Name: "num_warps", Type: sdk.Int, Default: "32", Doc: "warps, of which an NPU has none; no effect"},
	{Name: "warp_size", Type: sdk.Int, Default: "32", Doc: "threads of a warp, of which an NPU has none; always 32"},
	{Name: "num_stages", Type: sdk.Int, Default: "1", Doc: "stages of software pipelining, which multibuffer does here; no effect"},
	{Name: "num_ctas", Type: sdk.Int, Default: "1", Doc: "programs of a cluster, always 1"},
	{Name: "debug", Type: sdk.Bool, Default: "false", Doc: "keep device_assert"},
	{Name: "sanitize_overflow", Type: sdk.Bool, Default: "true", Doc: "with debug, assert that integers do not overflow"},
	{Name: "arch", Type: sdk.String, Default: "null", Doc: "chip to compile for, the target's", Derived: true},
	{Name: "multibuffer", Type: sdk.Bool, Default: "true", Doc: "two buffers for what is copied while the units compute; false on the 950"},
	{Name: "enable_fp_fusion", Type: sdk.Bool, Default: "true", Doc: "contract a*b+c to fma"},
	{Name: "supported_fp8_dtypes", Type: sdk.StringList, Default: `["fp8e4b15","fp8e4b8","fp8e4nv","fp8e5","fp8e5b16"]`, Doc: "8-bit floats a kernel may use", Choices: fp8Kinds},
	{Name: "deprecated_fp8_dtypes", Type: sdk.StringList, Default: "[]", Doc: "8-bit floats that are taken with a warning", Choices: fp8Kinds},
	{Name: "default_dot_input_precision", Type: sdk.String, Default: `"ieee"`, Doc: "the input_precision of f32 dots without one", Choices: dotPrecisions},
	{Name: "allowed_dot_input_precisions", Type: sdk.StringList, Default: `["ieee","hf32","tf32","tf32x3"]`, Doc: "values that dot's input_precision may have", Choices: dotPrecisions},
	{Name: "max_num_imprecise_acc_default", Type: sdk.Int, Default: "0", Doc: "how many products an fp8 dot may accumulate at low precision; no effect here"},
	{Name: "mlir", Type: sdk.Int, Default: "22", Doc: "version of MLIR whose syntax the stage ttadapter has: 22, or 19, that of the vendor's compiler"},
	{Name: "ir_override", Type: sdk.String, Default: "null", Doc: "file (.ttir) that replaces the result of its stage", CallerOnly: true},
}, vendorSpecs()...)

// vendorMLIR is the version of MLIR whose syntax the vendor's compiler reads.
const vendorMLIR = 19

// options are the values of optionSpecs that stages look at.
type options struct {
	NumWarps    int     `json:"num_warps"`
	Multibuffer bool    `json:"multibuffer"`
	MLIR        int     `json:"mlir"`
	IROverride  *string `json:"ir_override"`
}

// readOptions reads what parseOptions made.
func readOptions(text string) (options, error) {
	var o options
	if err := json.Unmarshal([]byte(text), &o); err != nil || o.NumWarps == 0 {
		return o, fmt.Errorf("these are not options of the npu backend: %q", text)
	}
	return o, nil
}

// parseOptions checks the user's options and completes them for a chip. It returns their
// canonical JSON.
func parseOptions(c *chip.Chip, given string) (string, error) {
	specs := slices.Clone(optionSpecs)
	for i := range specs {
		switch specs[i].Name {
		case "arch":
			specs[i].Default = fmt.Sprintf("%q", c.Vendor)
		case "multibuffer":
			specs[i].Default = fmt.Sprint(!strings.HasPrefix(c.Name, "ascend950"))
		}
	}
	values, err := sdk.ParseOptions(specs, given)
	if err != nil {
		return "", err
	}
	if bad := checkOptions(c, values); len(bad) > 0 {
		return "", bad
	}
	return values.JSON(), nil
}

// checkOptions finds the values that are of the right type and still wrong.
func checkOptions(c *chip.Chip, v sdk.Options) sdk.Diagnostics {
	var bad sdk.Diagnostics
	refuse := func(name, format string, args ...any) {
		i := slices.IndexFunc(optionSpecs, func(s sdk.OptionSpec) bool { return s.Name == name })
		bad = append(bad, *sdk.Errorf("option %s: %s", name, fmt.Sprintf(format, args...)).WithHelp("%s: %s", name, optionSpecs[i].Doc))
	}
	number := func(name string) int { n, _ := v[name].(int); return n }
	if n := number("num_warps"); n < 1 || n > maxWarps || n&(n-1) != 0 {
		refuse("num_warps", "%d is not a power of two between 1 and %d", n, maxWarps)
	}
	if n := number("warp_size"); n != warpSize {
		refuse("warp_size", "%d; on %s it is %d", n, c.Target(), warpSize)
	}
	if n := number("num_ctas"); n != 1 {
		refuse("num_ctas", "%s has no clusters, so it must be 1, not %d", c.Target(), n)
	}
	if n := number("num_stages"); n < 0 {
		refuse("num_stages", "%d is negative", n)
	}
	if n := number("max_num_imprecise_acc_default"); n < 0 {
		refuse("max_num_imprecise_acc_default", "%d is negative", n)
	}
	if n := number("mlir"); n != vendorMLIR && n != 22 {
		refuse("mlir", "%d is neither 19 nor 22", n)
	}
	allowed, _ := v["allowed_dot_input_precisions"].([]string)
	if p, _ := v["default_dot_input_precision"].(string); !slices.Contains(allowed, p) {
		refuse("default_dot_input_precision", "%q is none of the allowed %s", p, strings.Join(allowed, ", "))
	}
	if path, given := v["ir_override"].(string); given && filepath.Ext(path) != "."+stageTTIR {
		refuse("ir_override", "%q does not end in .%s", path, stageTTIR)
	}
	return bad
}
