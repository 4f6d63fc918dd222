package syntax

// A Go program that overflows its stack dies without a message, so everything
// that could make the parser, or a walk over its tree, recurse without end has
// a bound here. Real programs stay far below each of them.
const (
	// maxSource bounds a file, in bytes; offsets are int32.
	maxSource = 64 << 20
	// maxBrackets is CPython's bound on nested (, [ and {.
	maxBrackets = 200
	// maxIndents is CPython's bound on nested blocks.
	maxIndents = 100
	// maxFStrings is CPython's bound on f-strings within f-strings.
	maxFStrings = 150
	// maxFields bounds the {} within the format specs of one f-string's field,
	// as CPython does.
	maxFields = 3
	// maxDepth bounds the parser's own recursion: blocks, elif chains,
	// brackets, prefix operators, lambdas, right-hand sides.
	maxDepth = 1500
	// maxHeight bounds the height of an expression that the parser builds
	// without recursion: a+a+a+…, a.b.c.…, a()()()….
	maxHeight = 5000
	// maxDecimalDigits is CPython's bound on a decimal integer literal, whose
	// conversion costs the square of its length.
	maxDecimalDigits = 4300
)
