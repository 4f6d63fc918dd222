package counts

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

const (
	// pairsOutEnv names the folder that TestDirectPublicPairs writes to.
	pairsOutEnv = "TRITONC_PAIRS_OUT"
	// publicPartEnv is "I/N": of the kernels only every N-th, from the I-th on, so that N
	// processes can share the work.
	publicPartEnv = "TRITONC_PART"
)

// A publicPair tells bench/direct_public.py how to launch a kernel whose PTX lies beside it,
// or why it cannot be launched.
type publicPair struct {
	Repo      string `json:"repo"`
	Path      string `json:"path"`
	Kernel    string `json:"kernel"`
	Signature string `json:"signature"`
	// Why says why the kernel cannot be timed; the rest is for those that can.
	Why      string   `json:"why,omitempty"`
	Name     string   `json:"name,omitempty"` // of the PTX's entry
	NumWarps int      `json:"num_warps,omitempty"`
	Shared   int      `json:"shared,omitempty"`
	Scratch  int      `json:"global_scratch_size,omitempty"`
	Types    []string `json:"types,omitempty"` // a parameter each: "*" and the element's, or a number's
	Integers []int64  `json:"integers,omitempty"`
	Executed int      `json:"executed,omitempty"` // instructions of llc's warps, by the simulator
}

// TestDirectPublicPairs compiles public kernels by llc and without it, and finds arguments
// with which llc's code runs to its end on the simulated device, as TestDirectPublic does.
// Each kernel leaves KEY.json, and KEY.llvm.ptx and KEY.direct.ptx if it can be launched;
// memory/TYPE.I has the period of what the I-th parameter's memory holds. Kernels that the
// folder has already are not tried again.
func TestDirectPublicPairs(t *testing.T) {
	root, out := os.Getenv(checkoutsEnv), os.Getenv(pairsOutEnv)
	if root == "" || out == "" {
		t.Skipf("set %s to a folder with the checkouts that manifest.tsv lists, and %s to a folder for the pairs", checkoutsEnv, pairsOutEnv)
	}
	if err := os.MkdirAll(filepath.Join(out, "memory"), 0o777); err != nil {
		t.Fatal(err)
	}
	part, parts := 0, 1
	if s := os.Getenv(publicPartEnv); s != "" {
		if _, err := fmt.Sscanf(s, "%d/%d", &part, &parts); err != nil {
			t.Fatalf("%s=%s: %v", publicPartEnv, s, err)
		}
	}
	end := publicDeadline(t)
	for i, p := range publicKernels(t) {
		base := filepath.Join(out, p.key())
		if i%parts != part || !strings.Contains(p.String(), os.Getenv(publicOnlyEnv)) || exists(base+".json") {
			continue
		}
		if time.Now().After(end) {
			t.Log("the budget is spent; another run goes on from here")
			return
		}
		pair := &publicPair{Repo: p.repo, Path: p.path, Kernel: p.kernel, Signature: p.signature}
		if err := p.writePair(t, root, base, pair); err != nil {
			pair.Why = firstLine(err.Error())
		}
		text, err := json.Marshal(pair)
		if err != nil {
			t.Fatal(err)
		}
		write(t, base+".json", string(text)+"\n")
	}
}

// key names the kernel's files.
func (p *publicKernel) key() string {
	h := fnv.New64a()
	h.Write([]byte(p.String()))
	return strconv.FormatUint(h.Sum64(), 16)
}

// writePair fills in how the kernel is launched and writes its PTX, and what memory holds.
func (p *publicKernel) writePair(t testing.TB, root, base string, pair *publicPair) error {
	k, d, err := p.both(t.Context(), root, nil)
	if k == nil {
		return errors.New("refused: " + firstLine(kerneltest.Text(err)))
	}
	if err != nil {
		return err
	}
	types, declared, err := p.parameters(k.llir)
	if err != nil {
		return err
	}
	// One seed for all: what memory holds depends on the parameter's place and type alone,
	// and few files have it.
	g, executed, err := bestGuess(k, types, declared, 0)
	if err != nil {
		return err
	}
	if _, err := launchGuess(d, types, declared, g, 0, sim.Options{MaxInstructions: 4 * publicInstructions}); err != nil {
		return errors.New("direct stops: " + firstLine(kerneltest.Text(err)))
	}
	pair.Name, pair.NumWarps, pair.Shared, pair.Scratch, pair.Executed = k.kernel, k.threads/32, k.shared, k.scratch, executed
	for i, typ := range types {
		if declared[i] == "" {
			break // memory that the compiler adds, and whoever launches has
		}
		n := g.integer(declared[i])
		name, ok := map[string]string{"i1": "i8", "half": "i16", "bfloat": "i16", "float": "fp32", "double": "fp64"}[typ]
		if !ok {
			name = typ
		}
		switch typ {
		case "ptr":
			element := elementOf(declared[i])
			name = "*" + element
			file := filepath.Join(filepath.Dir(base), "memory", fmt.Sprintf("%s.%d", element, i))
			if !exists(file) {
				write(t, file, string(memoryOf(0, i, element)[:memoryPeriod]))
			}
		case "half", "bfloat":
			n = scalarHalf
		case "i1", "i8":
			n &= 1
		}
		pair.Types = append(pair.Types, name)
		pair.Integers = append(pair.Integers, int64(n))
	}
	write(t, base+".llvm.ptx", k.ptx)
	write(t, base+".direct.ptx", d.ptx)
	return nil
}

// bestGuess is the guess by which code executes most of those that it runs to its end with.
func bestGuess(c *compiled, types, declared []string, seed uint64) (best guess, executed int, err error) {
	executed = -1
	var why error
	for _, g := range guesses {
		r, err := launchGuess(c, types, declared, g, seed, sim.Options{MaxInstructions: publicInstructions})
		if err != nil {
			why = err
			continue
		}
		if r.executed > executed {
			best, executed = g, r.executed
		}
	}
	if executed < 0 {
		return best, 0, errors.New("none of the guesses: " + firstLine(kerneltest.Text(why)))
	}
	return best, executed, nil
}

// TestPublicPair is TestDirectPublicPairs of one kernel, which needs no checkout.
func TestPublicPair(t *testing.T) {
	root := t.TempDir()
	base := filepath.Join(root, "pairs", "key")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "o", "n"), 0o777), os.MkdirAll(filepath.Join(root, "pairs", "memory"), 0o777)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "o", "n", "k.py"), `import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, f, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n) * f, i < n)
`)
	p := &publicKernel{"o/n", "k.py", "scale", "x=*fp32:16, y=*fp16:16, n=i32, f=fp32, B=64"}
	var pair publicPair
	if err := p.writePair(t, root, base, &pair); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(pair.Types, pair.Integers[2]), "[*fp32 *fp16 i32 fp32] 64"; got != want {
		t.Errorf("launched with %s, not %s", got, want)
	}
	for _, name := range []string{"key.llvm.ptx", "key.direct.ptx", "memory/fp32.0", "memory/fp16.1"} {
		if !exists(filepath.Join(root, "pairs", name)) {
			t.Errorf("there is no %s", name)
		}
	}
	p.kernel = "none"
	if err := p.writePair(t, root, base, &pair); err == nil || !strings.HasPrefix(err.Error(), "refused: ") {
		t.Errorf("a kernel that does not compile: %v", err)
	}
}
