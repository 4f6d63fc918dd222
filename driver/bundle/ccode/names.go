package ccode

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// reserved are words that C, C++, headers or what is generated have taken.
var reserved = strings.Fields(`alignas alignof asm auto bitand bitor bool break case catch char char8_t char16_t
	char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
	decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
	inline int int8_t int16_t int32_t int64_t long mutable namespace new noexcept not_eq nullptr operator or_eq and_eq
	private protected public register reinterpret_cast requires restrict return short signed sizeof static
	static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
	uint8_t uint16_t uint32_t uint64_t union unsigned using virtual void volatile wchar_t while xor xor_eq
	_Bool _Complex _Imaginary NULL linux unix
	stream args err attrs config global_scratch profile_scratch algo_id tt_x tt_y tt_z`)

// driverName matches the names of CUDA's driver API: cuInit, CUstream, CU_STREAM_LEGACY,
// CUDA_SUCCESS, CUDAAPI.
var driverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(cu[A-Z]|CU[a-z_]|CUDA)`) })

// library are functions and types that a kernel's own function would collide with: those
// of C's headers that every compiler knows, and what cuda.h brings in with stdlib.h.
var library = strings.Fields(`main
	abort abs aligned_alloc alloca atexit atof atoi atol atoll bsearch calloc div div_t drand48 exit fd_set free getenv
	labs ldiv llabs lldiv malloc mblen mktemp pselect putenv qsort rand random realloc realpath select setstate
	size_t srand srandom strtod strtof strtol strtold strtoll strtoul strtoull system
	memchr memcmp memcpy memmove memset strcat strchr strcmp strcpy strlen strncat strncmp strncpy strstr
	fclose fflush fgetc fgets fopen fprintf fputc fputs fread fscanf fseek fwrite getc getchar perror printf putc
	putchar puts remove rename rewind scanf snprintf sprintf sscanf ungetc vfprintf vprintf vsnprintf vsprintf
	isalnum isalpha isdigit islower isprint ispunct isspace isupper tolower toupper bcmp bcopy bzero ffs index rindex`)

// mathLibrary are functions that are there for float and long double, too: sinf, sinl.
var mathLibrary = strings.Fields(`acos acosh asin asinh atan atan2 atanh cabs carg cbrt ccos ceil cexp cimag clog conj
	copysign cos cosh cpow creal csin csqrt ctan drem erf erfc exp exp2 exp10 expm1 fabs fdim finite floor fma fmax fmin
	fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround
	modf nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn signbit
	significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn`)

// identifier is a name as C may have it.
func identifier(name string) string {
	s := strings.Trim(identifierPart(filepath.Base(name)), "_")
	if strings.HasPrefix(name, "_") {
		s = "_" + s
	}
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = "_" + s
	}
	if slices.Contains(reserved, s) || driverName().MatchString(s) {
		s += "_"
	}
	return s
}

// function is the name of a kernel as C may have it for a function with external linkage.
func function(name string) string {
	s := identifier(name)
	float, long := strings.TrimSuffix(s, "f"), strings.TrimSuffix(s, "l")
	if slices.Contains(library, s) || slices.Contains(mathLibrary, float) || slices.Contains(mathLibrary, long) {
		s += "_"
	}
	return s
}

// identifierPart is what may follow in an identifier.
func identifierPart(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
