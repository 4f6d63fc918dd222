package kerneltest

import (
	"hash/fnv"
	"os"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// AMDChips are the chips of AMD's backend.
var AMDChips = []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200"}

// Chips are the chips of AMD's that a test runs on: gfx942 and gfx1100, whose lanes and
// matrix instructions differ most, and one of the others, which the seed and the test's
// name draw; all of them with TRITONC_ALL. Most of the time that such tests take is LLVM's.
func Chips(t testing.TB) []string {
	t.Helper()
	if os.Getenv("TRITONC_ALL") != "" {
		return AMDChips
	}
	others := slices.DeleteFunc(slices.Clone(AMDChips), func(c string) bool { return c == "gfx942" || c == "gfx1100" })
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name()))
	drawn := others[(testseed.Seed()+h.Sum64())%uint64(len(others))]
	t.Logf("of %v on %s; TRITONC_ALL=1 has all", others, drawn)
	return []string{"gfx942", "gfx1100", drawn}
}
