package sdk

import (
	"fmt"
	"slices"
)

// Facts is all that core knows of a backend: data, so that core has no branch
// on a vendor's name. `<plugin> --describe` prints it as JSON.
type Facts struct {
	// Name as in tritonc-backend-<name>; empty: that of the program's file.
	Name string `json:"name"`
	// Version for people, and to choose one of several by; empty: ProgramVersion.
	Version string `json:"version"`
	// Hash changes whenever the same input could give other bytes. It is part
	// of every cache key. Empty: ProgramHash.
	Hash           string         `json:"hash"`
	Targets        []TargetFacts  `json:"targets"` // the first row that matches holds
	Options        []OptionSpec   `json:"options"`
	Settings       []SettingSpec  `json:"settings"`
	Specialization Specialization `json:"specialization"`
	BinaryEnding   string         `json:"binary_ending"` // of the final artifact: "cubin"

	// What follows the SDK fills in, by the optional powers of the backend.

	// Dialects names those that LoadDialects declares; DialectsHash changes with
	// their declarations.
	Dialects     []string `json:"dialects"`
	DialectsHash string   `json:"dialects_hash"`
	// Modules are those of GetModuleMap, with their names and aliases alone.
	Modules      []Module `json:"modules"`
	Capabilities []string `json:"capabilities"`
}

// For returns the row of Targets that matches t.
func (f *Facts) For(t Target) (TargetFacts, bool) {
	for i := range f.Targets {
		if t.Matches(f.Targets[i].Pattern) {
			return f.Targets[i], true
		}
	}
	return TargetFacts{}, false
}

// Supports decides by the facts alone: a row must match, and the warp size, when
// given, must be one of the row's.
func (f *Facts) Supports(t Target) SupportsTargetResponse {
	row, ok := f.For(t)
	if !ok {
		return SupportsTargetResponse{} // its list of targets says why
	}
	if t.WarpSize == 0 {
		t.WarpSize = row.WarpSize
	}
	if t.WarpSize != row.WarpSize && !slices.Contains(row.WarpSizes, t.WarpSize) {
		return SupportsTargetResponse{Reason: fmt.Sprintf("%s:%s has warps of %d threads, not %d", t.Backend, t.Arch, row.WarpSize, t.WarpSize)}
	}
	return SupportsTargetResponse{Supported: true, Target: t}
}

// CapAnyBlockSizes is the capability of a backend whose targets take blocks of all sizes;
// without it they are powers of two, as in Triton.
const CapAnyBlockSizes = "any_block_sizes"

// CapHalfMath is the capability of a backend for whose targets functions such as tl.exp take
// floats of 16 bits, too, and are computed in 32; in Triton they take no others than f32 and
// f64.
const CapHalfMath = "half_math"

// Has reports whether the backend has a capability.
func (f *Facts) Has(capability string) bool {
	return slices.Contains(f.Capabilities, capability)
}

// TargetFacts describes the targets that match Pattern, a path.Match pattern
// over "backend:arch" such as "cuda:80" or "hip:gfx9*".
type TargetFacts struct {
	Pattern                  string       `json:"pattern"`
	WarpSize                 int          `json:"warp_size"`            // the default
	WarpSizes                []int        `json:"warp_sizes,omitempty"` // others that are allowed
	Limits                   DeviceLimits `json:"limits"`
	MinDotSizes              []MinDotSize `json:"min_dot_sizes"`
	FP8Kinds                 []string     `json:"fp8_kinds"` // "fp8e5", "fp8e4nv", ...
	DeprecatedFP8DotOperands []string     `json:"deprecated_fp8_dot_operands"`
	DotInputPrecisions       []string     `json:"dot_input_precisions"`
	DefaultDotInputPrecision string       `json:"default_dot_input_precision"`
	Doc                      string       `json:"doc,omitempty"`
}

// MinDot returns the least M, N, K of a dot whose operands have this many bits
// an element; 1, 1, 1 when the table says nothing.
func (t *TargetFacts) MinDot(bits int) (m, n, k int) {
	for _, row := range t.MinDotSizes {
		if row.Bits == 0 || row.Bits == bits {
			return row.M, row.N, row.K
		}
	}
	return 1, 1, 1
}

// DeviceLimits are of one device of the target; 0 means not known.
type DeviceLimits struct {
	MaxThreadsPerBlock          int   `json:"max_threads_per_block"`
	MaxThreadsPerMultiprocessor int   `json:"max_threads_per_multiprocessor"`
	MaxRegistersPerThread       int   `json:"max_registers_per_thread"`
	RegistersPerMultiprocessor  int64 `json:"registers_per_multiprocessor"`
	MaxSharedMemory             int64 `json:"max_shared_memory"`    // bytes a block may have after opting in
	StaticSharedMemory          int64 `json:"static_shared_memory"` // bytes a block may have without
	MaxCTAsPerCluster           int   `json:"max_ctas_per_cluster"` // 1: no clusters
}

// MinDotSize is the least M, N, K of a dot whose operands have Bits bits an
// element; Bits 0 matches any width. The first row that matches holds.
type MinDotSize struct {
	Bits int `json:"bits"`
	M    int `json:"m"`
	N    int `json:"n"`
	K    int `json:"k"`
}

// OptionType is the type of an option's value.
type OptionType string

// The types of options. Every option may also be null where its default is.
const (
	Int        OptionType = "int"
	Bool       OptionType = "bool"
	String     OptionType = "string"
	StringList OptionType = "string_list"
	StringMap  OptionType = "string_map"
)

// OptionSpec is one compile option.
type OptionSpec struct {
	Name string     `json:"name"`
	Type OptionType `json:"type"`
	// Default is the JSON of the default value. Where the default depends on
	// the target, ParseOptions fills it in and this is the common one.
	Default string   `json:"default"`
	Doc     string   `json:"doc"`
	Choices []string `json:"choices,omitempty"` // of a string or a string list
	// Derived options are in the metadata but cannot be given by a user.
	Derived bool `json:"derived,omitempty"`
	// CallerOnly options name files or arguments of a tool, which is not for the
	// author of a kernel to choose. The host takes them from the command line and
	// refuses them from the file that is compiled.
	CallerOnly bool `json:"caller_only,omitempty"`
}

// SettingSpec is a knob of the machine rather than of the kernel, such as a
// tool's path. The host reads the environment; the backend sees the value in
// Settings[Name].
type SettingSpec struct {
	Name string   `json:"name"`
	Env  []string `json:"env"` // tried in order; the first that is not empty counts
	Doc  string   `json:"doc"`
	// Limit: it can end a compile, and changes nothing in what one makes. The
	// host's cache does not ask for it.
	Limit bool `json:"limit,omitempty"`
}

// Specialization says what a launch may tell the compiler of its arguments.
type Specialization struct {
	IntDivisor        int            `json:"int_divisor"` // ints divisible by it are marked so; 0: never
	PointerDivisor    int            `json:"pointer_divisor"`
	IntOneIsConstexpr bool           `json:"int_one_is_constexpr"`
	Attributes        []ArgAttribute `json:"attributes"`
}

// ArgAttribute is what one letter of a specialization key puts on an argument.
type ArgAttribute struct {
	Key   string `json:"key"`  // "D"
	Name  string `json:"name"` // "tt.divisibility"
	Value int64  `json:"value"`
}

// Dialect declares ops and attributes that core does not have, so that core can
// parse, verify and print them. docs/plugin-protocol.md has the JSON's schema.
type Dialect struct {
	Name        string `json:"name"`
	Declaration string `json:"declaration"`
}

// Module is one entry of Triton's get_module_map: source in the Triton language
// and functions of a device library.
type Module struct {
	Name string `json:"name"` // "triton.language.extra.cuda.libdevice"
	// Aliases are other names under which kernels import it, such as
	// "triton.language.extra.libdevice", which stands for every backend's own.
	Aliases []string         `json:"aliases,omitempty"`
	Source  string           `json:"source,omitempty"`
	Externs []ExternFunction `json:"externs,omitempty"`
}

// ExternFunction is one overload of a device library's function. Types have
// Triton's short names: fp32, i64.
type ExternFunction struct {
	Name    string   `json:"name"`
	Args    []string `json:"args"`
	Result  string   `json:"result"`
	Symbol  string   `json:"symbol"`
	Library string   `json:"library,omitempty"`
	Pure    bool     `json:"pure"`
}
