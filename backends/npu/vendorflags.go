package npu

import (
	"encoding/json"
	"fmt"

	"github.com/tritonc/tritonc/backends/npu/chip"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Cores by the name of their architecture.
const (
	archA2  = "dav-c220" // 910B and 910_93, which synchronize by FFTS
	arch950 = "dav-c310"
)

// vendorOption is an option of triton-ascend that is a flag of the vendor's compiler. It has
// an effect on the stage npubin alone.
type vendorOption struct {
	name    string
	typ     sdk.OptionType
	flag    string
	doc     string
	choices []string
	// arch, where it is not empty, is the only architecture whose compiler has the flag.
	arch string
	// caller options are arguments of another tool.
	caller bool
}

// vendorOptions are in the order of the command line. None is given unless the user says so.
var vendorOptions = []vendorOption{
	{name: "enable_ubuf_saving", typ: sdk.Bool, flag: "enable-ubuf-saving", doc: "prefer less UB to more speed", arch: archA2},
	{name: "enable_auto_bind_sub_block", typ: sdk.Bool, flag: "enable-auto-bind-sub-block", doc: "divide work between the vector cores of an AI core"},
	{name: "enable_hivm_auto_cv_balance", typ: sdk.Bool, flag: "enable-hivm-auto-cv-balance", doc: "balance cube and vector cores"},
	{name: "sync_solver", typ: sdk.Bool, flag: "enable-hivm-graph-sync-solver", doc: "place synchronization by a solver"},
	{name: "unit_flag", typ: sdk.Bool, flag: "enable-hivm-unit-flag-sync", doc: "synchronize cube and store by the unit flag"},
	{name: "enable_drop_unit_dims", typ: sdk.Bool, flag: "enable-drop-unit-dims", doc: "drop dimensions of size 1"},
	{name: "enable_flatten", typ: sdk.Bool, flag: "enable-flatten", doc: "flatten dimensions"},
	{name: "enable_auto_vectorize_v2", typ: sdk.Bool, flag: "enable-auto-vectorize-v2", doc: "the second vectorizer"},
	{name: "inject_barrier_all", typ: sdk.Bool, flag: "enable-hivm-inject-barrier-all-sync", doc: "a barrier after each instruction"},
	{name: "inject_block_all", typ: sdk.Bool, flag: "enable-hivm-inject-block-all-sync", doc: "synchronize all cores at each place that needs some"},
	{name: "disable_auto_inject_block_sync", typ: sdk.Bool, flag: "disable-auto-inject-block-sync", doc: "leave the synchronization of cores to the kernel"},
	{name: "limit_auto_multi_buffer_only_for_local_buffer", typ: sdk.Bool, flag: "limit-auto-multi-buffer-only-for-local-buffer", doc: "no two buffers in global memory"},
	{name: "limit_auto_multi_buffer_of_local_buffer", typ: sdk.String, flag: "limit-auto-multi-buffer-of-local-buffer", doc: "which local buffers there are two of", choices: []string{"no-limit", "no-l0c"}},
	{name: "set_workspace_multibuffer", typ: sdk.Int, flag: "set-workspace-multibuffer", doc: "how many buffers the workspace has"},
	{name: "tile_mix_vector_loop", typ: sdk.Int, flag: "tile-mix-vector-loop", doc: "pieces of a vector loop beside a cube loop", arch: archA2},
	{name: "tile_mix_cube_loop", typ: sdk.Int, flag: "tile-mix-cube-loop", doc: "pieces of a cube loop beside a vector loop", arch: archA2},
	{name: "enable_mixed_cv", typ: sdk.Bool, flag: "enable-mixed-cv", doc: "cube and vector work in one kernel", arch: arch950},
	{name: "enable_vf_fusion", typ: sdk.Bool, flag: "enable-vf-fusion", doc: "fuse vector functions", arch: arch950},
	{name: "vf_merge_level", typ: sdk.Int, flag: "enable-vf-merge-level", doc: "how far vector functions are merged", arch: arch950},
	{name: "bisheng_options", typ: sdk.String, flag: "append-bisheng-options", doc: "arguments of the vendor's C compiler", caller: true},
}

// vendorSpecs are their declarations.
func vendorSpecs() []sdk.OptionSpec {
	var list []sdk.OptionSpec
	for _, o := range vendorOptions {
		list = append(list, sdk.OptionSpec{
			Name: o.name, Type: o.typ, Default: "null", Doc: "npubin: " + o.doc, Choices: o.choices, CallerOnly: o.caller,
		})
	}
	return list
}

// vendorFlags is the command line of the vendor's compiler for a file in its working
// directory. Options is what parseOptions made, and settings are the request's.
func vendorFlags(c *chip.Chip, options string, settings map[string]string, in, out string) ([]string, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(options), &given); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	flags := []string{in, "--target=" + c.Vendor, "--enable-auto-multi-buffer=" + string(given["multibuffer"])}
	for _, o := range vendorOptions {
		value, ok := given[o.name]
		if !ok || string(value) == "null" {
			continue
		}
		if o.arch != "" && o.arch != c.Arch {
			return nil, sdk.Errorf("option %s: the compiler for %s has no such flag", o.name, c.Target()).WithHelp("leave it out for this chip; it says: %s", o.doc)
		}
		text := string(value)
		if o.typ == sdk.String {
			if err := json.Unmarshal(value, &text); err != nil {
				return nil, fmt.Errorf("option %s: %w", o.name, err)
			}
		}
		flags = append(flags, "--"+o.flag+"="+text)
		if o.name == "sync_solver" && c.Arch == archA2 {
			flags = append(flags, "--enable-hivm-cross-core-gss="+text)
		}
	}
	for _, f := range settingFlags {
		if isOn(settings, f.setting) || f.setting.Name == settingFFTS.Name && c.Arch == arch950 {
			flags = append(flags, f.flag)
		}
	}
	flags = append(flags, "--enable-debug-info=true", "--enable-print-memory-allocated-size", "--enable-hfusion-compile=true")
	if c.Arch != arch950 {
		flags = append(flags, "--enable-hivm-compile=true")
	}
	return append(flags, "--enable-triton-kernel-compile=true", "-o", out), nil
}
