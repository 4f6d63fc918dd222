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
	ref "github.com/tritonc/tritonc/core/lower/devmath/reference"
	"github.com/tritonc/tritonc/internal/testseed"
)

// everyEnv asks for all 2³² arguments of f32: 1 for every function that has not
// been swept as it is now, or names. Some minutes each.
const everyEnv = "TRITONC_ALL"

// sweepsPath lists what the sweeps found: a function, the digest of its code, the
// greatest error and the bits of its argument.
const sweepsPath = "testdata/sweeps.tsv"

// sweep is the result for one function.
type sweep struct {
	name, digest string
	worst        float64
	at           uint32
}

// natural has the functions of doubles in C's library that are compared with; a
// function that is not here is compared with ours of doubles, which has been
// measured against 200 bits, if code of its own computes floats.
var natural = map[string]string{
	"exp": "exp", "exp2": "exp2", "exp10": "exp10", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
	"log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
	"sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf",
	"erfc": "erfc", "tgamma": "tgamma", "cbrt": "cbrt", "rcbrt": "rcbrt_of", "rsqrt": "rsqrt_of",
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
		if _, err := fmt.Sscanf(line, "%s %s %g %x", &s.name, &s.digest, &s.worst, &s.at); err != nil {
			t.Fatalf("%s: %q: %v", sweepsPath, line, err)
		}
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
	return slices.DeleteFunc(append(shorterSingles(), specs...), func(s *spec) bool { return natural[s.name] == "" && !slices.Contains(own, s.name) })
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
		x := math.Float32frombits(s.at)
		worst := all[i].worstOf(t, s.at, all[i].ref(ref.New(float64(x))))
		if math.Abs(worst-s.worst) > 0.001 || worst > all[i].bound(llir.F32) {
			t.Errorf("%s(%v) is off by %.4f, the list says %.4f, the bound is %v", s.name, x, worst, s.worst, all[i].bound(llir.F32))
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
		list := sweeps(t) // read again: another run may have written
		sum := s.digest()
		i := slices.IndexFunc(list, func(o sweep) bool { return o.name == s.label() })
		if i >= 0 && list[i].digest == sum {
			continue
		}
		found := s.sweep(t, program, 0, 1)
		found.digest = sum
		if i >= 0 {
			list[i] = found
		} else {
			list = append(list, found)
		}
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
	out.WriteString("# Greatest errors over all 2^32 arguments of f32: function, digest of its code, units in the\n" +
		"# last place, bits of the argument. TestEverySingle writes this.\n")
	for _, s := range list {
		fmt.Fprintf(&out, "%s\t%s\t%.4f\t%08x\n", s.name, s.digest, s.worst, s.at)
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
	var wrong, wrongAt uint64
	found := sweep{name: s.label()}
	if _, err := fmt.Sscanf(string(out), "%g %x %d %x", &found.worst, &found.at, &wrong, &wrongAt); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	if wrong != 0 {
		t.Errorf("%s: %d wrong zeros or NaNs, as at %v (bits %08x)", s.label(), wrong, single(wrongAt), wrongAt)
	}
	// What counts is what 200 bits say of the worst argument.
	if want := s.ref(ref.New(float64(math.Float32frombits(found.at)))); want != nil {
		found.worst = s.worstOf(t, found.at, want)
	}
	t.Logf("%s: %.4f at %v", s.label(), found.worst, math.Float32frombits(found.at))
	if found.worst > s.bound(llir.F32) {
		t.Errorf("%s(%v) is off by %.4f units in the last place", s.label(), math.Float32frombits(found.at), found.worst)
	}
	return found
}

// worstOf is the error at one argument, as written or fused.
func (s *spec) worstOf(t testing.TB, at uint32, want *big.Float) float64 {
	worst := 0.0
	for _, m := range s.code(t, llir.F32) {
		worst = max(worst, off(llir.F32, float64(single(m.run(uint64(at)))), want))
	}
	return worst
}
