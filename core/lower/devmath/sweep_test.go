package devmath

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	ref "github.com/tritonc/tritonc/internal/mathref"
	"github.com/tritonc/tritonc/internal/testseed"
)

// everyEnv asks for all 2³² arguments of f32: 1 for every function that has not
// been swept as it is now, or names. Some minutes each.
const everyEnv = "TRITONC_ALL"

// sweepsPath lists what the sweeps found: a function, the digest of its code, the
// greatest error and the bits of its arguments.
const sweepsPath = "testdata/sweeps.tsv"

// sweep is the result for one function.
type sweep struct {
	name, digest string
	worst        float64
	at           arguments
}

// arguments are the bits of floats, written in hexadecimal with commas.
type arguments []uint64

func (a arguments) String() string {
	var out []string
	for _, x := range a {
		out = append(out, fmt.Sprintf("%08x", x))
	}
	return strings.Join(out, ",")
}

func parseArguments(t testing.TB, text string) (out arguments) {
	t.Helper()
	for part := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseUint(part, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// numbers are the floats.
func (a arguments) numbers() (out []float32) {
	for _, x := range a {
		out = append(out, single(x))
	}
	return out
}

// exact is the function of the arguments, nil where that is not a number or there are none.
func (s *spec) exact(a arguments) *big.Float {
	var x []*big.Float
	for _, v := range a.numbers() {
		if v != v || math.IsInf(float64(v), 0) {
			return nil
		}
		x = append(x, ref.New(float64(v)))
	}
	return s.ref(x...)
}

// natural has the functions of doubles in C's library that are compared with; a
// function that is not here is compared with ours of doubles, which has been
// measured against 200 bits, if code of its own computes floats.
var natural = map[string]string{
	"exp": "exp", "exp2": "exp2", "exp10": "exp10", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
	"log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
	"sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf",
	"erfc": "erfc", "tgamma": "tgamma", "cbrt": "cbrt", "rcbrt": "rcbrt_of", "rsqrt": "rsqrt_of",
	"lgamma": "lgamma", "j0": "j0", "j1": "j1", "y0": "y0", "y1": "y1",
	"erfinv": "inverse_erf_of", "erfcinv": "inverse_erfc_of", "normcdfinv": "inverse_normcdf_of",
	"cyl_bessel_i0": "bessel_i0_of", "cyl_bessel_i1": "bessel_i1_of",
	"pow": "pow", "atan2": "atan2", "fmod": "fmod", "remainder": "remainder",
	"hypot": "norm2_of", "norm3d": "norm3_of", "norm4d": "norm4_of",
	"rhypot": "rnorm2_of", "rnorm3d": "rnorm3_of", "rnorm4d": "rnorm4_of",
}

// otherArguments says which function of sweep.c chooses the arguments after the first;
// near if there is none.
var otherArguments = map[string]string{"pow": "power", "fmod": "divisor", "remainder": "divisor"}

// remainders have one right result.
var remainders = []*spec{
	{name: "fmod", ref: exactly(math.Mod)},
	{name: "remainder", ref: exactly(math.Remainder)},
}

// exactly makes a reference of a function of doubles that are floats, which it does not
// round; nil is NaN.
func exactly(f func(x, y float64) float64) func(...*big.Float) *big.Float {
	return of2(func(x, y *big.Float) *big.Float {
		a, _ := x.Float64()
		b, _ := y.Float64()
		if v := f(a, b); v == v {
			return ref.New(v)
		}
		return nil
	})
}

// own are functions that are compared with ours of doubles.
var own = []string{"sinpi", "cospi", "erfcx", "normcdf"}

// digest names the code of a function of f32.
func (s *spec) digest() string {
	m := llir.NewModule("", "", "")
	for i, v := range s.variants() {
		emitInto(m, fmt.Sprint("f", i), v.f, llir.F32)
	}
	sum := sha256.Sum256(m.Print())
	return fmt.Sprintf("%x", sum[:6])
}

// sweeps reads the list.
func sweeps(t testing.TB) []sweep {
	t.Helper()
	text, err := os.ReadFile(sweepsPath)
	if err != nil {
		t.Fatal(err)
	}
	var out []sweep
	for line := range strings.Lines(string(text)) {
		var s sweep
		if strings.HasPrefix(line, "#") {
			continue
		}
		var at string
		if _, err := fmt.Sscanf(line, "%s %s %g %s", &s.name, &s.digest, &s.worst, &at); err != nil {
			t.Fatalf("%s: %q: %v", sweepsPath, line, err)
		}
		s.at = parseArguments(t, at)
		out = append(out, s)
	}
	return out
}

// everywhere is the greatest error over all arguments as the documents have it.
func (s *spec) everywhere(t testing.TB) string {
	for _, found := range sweeps(t) {
		if found.name == s.label() {
			return fmt.Sprintf("%.2f", found.worst)
		}
	}
	return "—"
}

// sweepSpecs are the functions that can be swept.
func sweepSpecs() []*spec {
	return slices.DeleteFunc(slices.Concat(shorter(specs), specs, shorter(remainders), remainders), func(s *spec) bool {
		return natural[s.name] == "" && !slices.Contains(own, s.name)
	})
}

// TestSweeps: the list speaks of the code as it is, and its errors, measured anew
// against 200 bits, are within the bounds.
func TestSweeps(t *testing.T) {
	all := sweepSpecs()
	for _, s := range sweeps(t) {
		i := slices.IndexFunc(all, func(sp *spec) bool { return sp.label() == s.name })
		if i < 0 || all[i].digest() != s.digest {
			t.Errorf("%s has changed since it was swept: run %s=%s go test -run TestEverySingle .", s.name, everyEnv, s.name)
			continue
		}
		worst := s.worst
		if want := all[i].exact(s.at); want != nil {
			worst = all[i].worstOf(t, s.at, want)
		}
		if math.Abs(worst-s.worst) > 0.001 || worst > all[i].bound(llir.F32) {
			t.Errorf("%s(%v) is off by %.4f, the list says %.4f, the bound is %v", s.name, s.at.numbers(), worst, s.worst, all[i].bound(llir.F32))
		}
	}
}

// TestEverySingle runs functions of one f32, compiled for this machine, over all
// arguments, beside functions of doubles.
func TestEverySingle(t *testing.T) {
	asked := os.Getenv(everyEnv)
	if asked == "" {
		t.Skipf("set %s=1 to compute functions of f32 at all 2³² arguments, minutes each, or to the names of some", everyEnv)
	}
	program := sweeper(t)
	todo := sweepSpecs()
	if asked != "1" { // in the order of the names
		names := strings.Fields(asked)
		todo = slices.DeleteFunc(todo, func(s *spec) bool { return !slices.Contains(names, s.label()) })
		slices.SortFunc(todo, func(a, b *spec) int { return slices.Index(names, a.label()) - slices.Index(names, b.label()) })
	}
	for _, s := range todo {
		sum := s.digest()
		named := func(o sweep) bool { return o.name == s.label() }
		if list := sweeps(t); slices.ContainsFunc(list, func(o sweep) bool { return named(o) && o.digest == sum }) {
			continue
		}
		found := s.sweep(t, program, 0, 1)
		found.digest = sum
		list := append(slices.DeleteFunc(sweeps(t), named), found) // read again: another may have written
		writeSweeps(t, list)
	}
}

// TestSomeSingles is the sweep of every 2¹⁶th argument.
func TestSomeSingles(t *testing.T) {
	program := sweeper(t)
	const step = 1<<16 - 1
	for _, s := range sweepSpecs() {
		s.sweep(t, program, testseed.Seed()%step, step)
	}
}

func writeSweeps(t *testing.T, list []sweep) {
	t.Helper()
	slices.SortFunc(list, func(a, b sweep) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	out.WriteString("# Greatest errors over all 2^32 (first) arguments of f32: function, digest of its code, units in\n" +
		"# the last place, bits of the arguments. TestEverySingle writes this.\n")
	for _, s := range list {
		fmt.Fprintf(&out, "%s\t%s\t%.4f\t%s\n", s.name, s.digest, s.worst, s.at)
	}
	if err := os.WriteFile(sweepsPath, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sweep compares at arguments whose bits are a step apart.
func (s *spec) sweep(t *testing.T, program string, first, step uint64) sweep {
	t.Helper()
	out, err := exec.Command(program, s.label(), strconv.FormatUint(first, 10), strconv.FormatUint(step, 10)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var wrong uint64
	var at, wrongAt string
	found := sweep{name: s.label()}
	if _, err := fmt.Sscanf(string(out), "%g %s %d %s", &found.worst, &at, &wrong, &wrongAt); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	found.at = parseArguments(t, at)
	if wrong != 0 {
		t.Errorf("%s: %d wrong zeros or NaNs, as at %v (bits %s)", s.label(), wrong, parseArguments(t, wrongAt).numbers(), wrongAt)
	}
	// What counts is what 200 bits say of the worst arguments.
	if want := s.exact(found.at); want != nil {
		found.worst = s.worstOf(t, found.at, want)
	}
	t.Logf("%s: %.4f at %v", s.label(), found.worst, found.at.numbers())
	if found.worst > s.bound(llir.F32) {
		t.Errorf("%s(%v) is off by %.4f units in the last place", s.label(), found.at.numbers(), found.worst)
	}
	return found
}

// worstOf is the error for some arguments, as written or fused.
func (s *spec) worstOf(t testing.TB, at arguments, want *big.Float) float64 {
	worst := 0.0
	for _, m := range s.code(t, llir.F32) {
		worst = max(worst, off(llir.F32, float64(single(m.run(at...))), want))
	}
	return worst
}
