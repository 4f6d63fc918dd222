package lang

// Facts is what the front end must know of a target: data that the backend
// gives.
type Facts struct {
	// Backend and Arch name the target; kernels may compare them.
	Backend, Arch string
	WarpSize      int
	// MinDot holds the smallest dots; the first row that matches counts.
	MinDot []MinDot
	// FP8 lists the 8-bit floats that the target converts; nil means all.
	FP8 []string
	// DeprecatedFP8Dot lists the 8-bit floats that a dot should not take.
	DeprecatedFP8Dot []string
	// DotPrecisions lists the allowed input precisions of a dot, nil for all;
	// DefaultDotPrecision is taken where a kernel says nothing ("" for ieee).
	DotPrecisions       []string
	DefaultDotPrecision string
	// AnyBlockSizes says that sizes of blocks need not be powers of two.
	AnyBlockSizes bool
	// HalfMath says that functions such as tl.exp take floats of 16 bits.
	HalfMath bool
	// Properties are those that every device of the target has.
	Properties []Property
	// Modules are sources in the Triton language that the backend brings.
	Modules []ModuleSource
	// Aliases name modules by other names: the module map
	// ("triton.language.extra.libdevice" → "triton.language.extra.cuda.libdevice").
	Aliases []Alias
}

// MinDot is the least M, N and K of a dot whose operands have Bits bits; 0
// matches any width.
type MinDot struct{ Bits, M, N, K int }

// ModuleSource is a module of a backend: functions written in the Triton
// language, and functions of a device library.
type ModuleSource struct {
	Module  string // dotted name
	Name    string // the file's name in locations
	Text    string // with Externs empty: Lib.Load has both
	Externs []Extern
}

// Extern is one overload of a device library's function. Types have their
// names in signatures: fp32, i64. A result of type i1 is what the library's i32
// says by being zero or not.
type Extern struct {
	Name    string
	Args    []string
	Result  string
	Symbol  string
	Library string
	Pure    bool
}

// Alias gives a module another name.
type Alias struct{ From, To string }

// Options is what a compile says beyond the signature.
type Options struct {
	NumWarps, NumStages, NumCTAs int
	// Debug keeps device_assert, and the overflow checks with SanitizeOverflow.
	Debug            bool
	SanitizeOverflow bool
	// DefaultDotPrecision overrides that of the target when not "".
	DefaultDotPrecision string
	// MaxNumImpreciseAcc is the default of that parameter for fp8 dots.
	MaxNumImpreciseAcc int64
}
