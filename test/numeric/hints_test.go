package numeric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// hint is what an access says about caches: its arguments, and the modifiers that
// they give an ordinary load or store.
type hint struct{ args, mods string }

func cacheHint(c string) hint { return hint{fmt.Sprintf(", cache_modifier='%s'", c), ".global" + c} }

func evictHint(e string) hint {
	return hint{fmt.Sprintf(", eviction_policy='%s'", e), ".global.L1::" + e + ".L2::cache_hint"}
}

// loadHints and storeHints are those that one instruction can have.
var (
	loadHints = []hint{
		{"", ".global"},
		cacheHint(".ca"), cacheHint(".cg"), cacheHint(".cv"),
		evictHint("evict_first"), evictHint("evict_last"),
		{", volatile=True", ".volatile.global"},
	}
	storeHints = []hint{
		{"", ".global"},
		cacheHint(".wb"), cacheHint(".cg"), cacheHint(".cs"), cacheHint(".wt"),
		evictHint("evict_first"), evictHint("evict_last"),
	}
)

// copyHints are all combinations, of which an ordinary load refuses some. An
// asynchronous copy takes them all, and its instruction shows none.
func copyHints() (all []hint) {
	for _, volatile := range []string{"", ", volatile=True"} {
		for _, cache := range []string{"", ".ca", ".cg", ".cv"} {
			for _, evict := range []string{"", "evict_first", "evict_last"} {
				args := volatile
				if cache != "" {
					args += cacheHint(cache).args
				}
				if evict != "" {
					args += evictHint(evict).args
				}
				all = append(all, hint{args: args})
			}
		}
	}
	return all
}

// masks are the ways to mask an access: the arguments of a load and of the store of
// what it loaded.
var masks = []struct{ name, load, store string }{
	{"whole", "", ""},
	{"masked", ", mask=inside", ", mask=inside"},
	{"other", ", mask=inside, other=1", ""},
	{"other block", ", mask=inside, other=y", ""},
}

// accessText is the end of the opcode with which threads move so many bytes of a
// type.
func accessText(size, width int) string {
	word := min(width, max(4, size))
	if width > word {
		return fmt.Sprintf(".v%d.b%d ", width/word, word*8)
	}
	return fmt.Sprintf(".b%d ", word*8)
}

// hintTypes are of every size; the masks' constants and NaNs stay as they are.
var hintTypes = []string{"i8", "fp8e5", "fp16", "bf16", "i32", "fp32", "i64", "fp64"}

// hintCase is a kernel of accesses of one type and width, of all hints.
type hintCase struct {
	typ        string
	width      int // bytes a thread moves at a time
	mask       int // in masks
	ahead      bool
	warps, num int // warps, and elements of a block
	target     string
}

// eachHint runs f for each type, width and mask.
func eachHint(t *testing.T, ahead bool, f func(t *testing.T, c hintCase, r *rand.Rand)) {
	r := kerneltest.Rand(t)
	targets := capabilities()
	for _, typ := range hintTypes {
		for width := dtype(typ).Size; width <= 16; width *= 2 {
			for m := range masks {
				if typ == "fp8e5" && masks[m].name == "other" {
					continue // floats of eight bits insist on 1.0
				}
				warps := 1 << r.IntN(3)
				target := fmt.Sprintf("cuda:%d", targets[r.IntN(len(targets))])
				threads := warpSize * warps * kerneltest.Kernel{Target: target}.Blocks()
				c := hintCase{typ, width, m, ahead, warps, threads * width / dtype(typ).Size, target}
				own := rand.New(rand.NewPCG(r.Uint64(), 0))
				t.Run(fmt.Sprintf("%s/width=%d/%s", typ, width, masks[m].name), func(t *testing.T) {
					t.Parallel()
					f(t, c, own)
				})
			}
		}
	}
}

// random is memory of any bits, of n elements.
func (c hintCase) random(r *rand.Rand, n int) *array.Array {
	a := array.New(dtype(c.typ), n)
	for i := range a.Data {
		a.Data[i] = byte(r.Uint32())
	}
	return a
}

// run runs a kernel of some blocks, each a copy of one of x to the same one of out
// under the mask, and compares. Its arguments are
// x, y, out, n, the elements of a block, and aheadTrips.
func (c hintCase) run(t *testing.T, r *rand.Rand, blocks int, text string) string {
	t.Helper()
	size := dtype(c.typ).Size
	x, y, out := c.random(r, blocks*c.num), c.random(r, c.num), c.random(r, blocks*c.num)
	want := out.Clone()
	// A multiple of 16, so that whole accesses are inside or outside.
	n := 16 * r.IntN(c.num/16+1)
	for b := range blocks {
		for i := range c.num {
			at := (b*c.num + i) * size
			switch mask := masks[c.mask]; {
			case mask.load == "" || i < n:
				copy(want.Data[at:at+size], x.Data[at:])
			case mask.name == "other":
				want.Set(b*c.num+i, 1)
			case mask.name == "other block":
				copy(want.Data[at:at+size], y.Data[i*size:])
			}
		}
	}
	k := kerneltest.Kernel{Source: text, Target: c.target}.Warps(c.warps)
	ran := k.Run(t, kerneltest.Grid(1), x, y, out, n, c.num, aheadTrips)
	for i := range blocks * c.num {
		if got, want := out.Data[i*size:(i+1)*size], want.Data[i*size:(i+1)*size]; !slices.Equal(got, want) {
			t.Fatalf("block %d, element %d of %d is %x, must be %x (n=%d)\n%s", i/c.num, i%c.num, c.num, got, want, n, text)
		}
	}
	return ran.PTX
}

// head is the beginning of a kernel.
func (c hintCase) head() string {
	s := fmt.Sprintf("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, y, o, n, s, trips):\n    at = tl.arange(0, %d)\n    inside = at < n\n", c.num)
	if masks[c.mask].name == "other block" {
		s += "    y = tl.load(y + at)\n"
	}
	return s
}

// TestHints: loads and stores of each width with each cache modifier, each eviction
// policy, and volatile, under masks and without. What the modifiers do a simulated
// device cannot know; an assembler has to know each of these forms.
func TestHints(t *testing.T) {
	eachHint(t, false, func(t *testing.T, c hintCase, r *rand.Rand) {
		var s strings.Builder
		s.WriteString(c.head())
		block := 0
		mask := masks[c.mask]
		var forms []string
		line := func(load, store hint) {
			// The offset is a part of the instruction, and is not.
			for _, at := range []string{fmt.Sprint(block * c.num), fmt.Sprintf("%d * s", block+1)} {
				fmt.Fprintf(&s, "    tl.store(o + %s + at, tl.load(x + %s + at%s%s)%s%s)\n", at, at, mask.load, load.args, mask.store, store.args)
				block++
			}
			end := accessText(dtype(c.typ).Size, c.width)
			forms = append(forms, "ld"+load.mods+end, "st"+store.mods+end)
		}
		for _, h := range loadHints {
			line(h, storeHints[0])
		}
		for _, h := range storeHints {
			line(loadHints[0], h)
		}
		ptx := c.run(t, r, block, s.String())
		for _, f := range forms {
			if !strings.Contains(ptx, f) {
				t.Errorf("no %q\n%s\n%s", f, s.String(), ptx)
			}
		}
	})
}

// aheadTrips are the iterations of TestHintsAhead's loops.
const aheadTrips = 5

// TestHintsAhead: the same loads in pipelined loops, where those of four bytes and
// more are asynchronous copies.
func TestHintsAhead(t *testing.T) {
	const perKernel, trips = 8, aheadTrips
	eachHint(t, true, func(t *testing.T, c hintCase, r *rand.Rand) {
		all := loadHints
		if c.width >= 4 {
			all = copyHints()
		}
		mask := masks[c.mask]
		for hints := range slices.Chunk(all, perKernel) {
			var s strings.Builder
			s.WriteString(c.head())
			for k, h := range hints {
				block := k * trips * c.num
				end := fmt.Sprint(trips)
				if k%2 != 0 {
					end = "trips" // a length that only the launch knows
				}
				fmt.Fprintf(&s, "    for i in tl.range(0, %s, num_stages=3):\n", end)
				fmt.Fprintf(&s, "        tl.store(o + %d + i * %d + at, tl.load(x + %d + i * %d + at%s%s)%s%s)\n",
					block, c.num, block, c.num, mask.load, h.args, mask.store, storeHints[r.IntN(len(storeHints))].args)
			}
			ptx := c.run(t, r, len(hints)*trips, s.String())
			if got := strings.Contains(ptx, "cp.async.c"); got != (c.width >= 4) {
				t.Errorf("copies of %d bytes are asynchronous: %v\n%s\n%s", c.width, got, s.String(), ptx)
			}
			for line := range strings.Lines(ptx) {
				if strings.Contains(line, "cp.async") && strings.Contains(line, "cache_hint") {
					t.Errorf("cc 9.0 traps at %s", line)
				}
			}
		}
	})
}

// TestHintsOfDots: dots in pipelined loops, of operands that are loaded with every
// hint. Of so small ones the blocks of larger clusters than two would have parts that are
// not copied, and loads as such do not take all hints together.
func TestHintsOfDots(t *testing.T) {
	const m, depth, trips, perKernel = 32, 32, 3, 6
	r := kerneltest.Rand(t)
	targets := capabilities()
	for _, typ := range []string{"fp16", "fp32", "i8"} {
		for k, hints := range slices.Collect(slices.Chunk(copyHints(), perKernel)) {
			target, own := fmt.Sprintf("cuda:%d", targets[r.IntN(len(targets))]), rand.New(rand.NewPCG(r.Uint64(), 0))
			t.Run(fmt.Sprintf("%s/%d", typ, k), func(t *testing.T) {
				t.Parallel()
				out, zero := "fp32", "tl.float32"
				if typ == "i8" {
					out, zero = "i32", "tl.int32"
				}
				n := len(hints) * trips * depth // the length of the whole sum
				a, b := kerneltest.Randint(own, -4, 5, typ, m*n), kerneltest.Randint(own, -4, 5, typ, m*n)
				var s strings.Builder
				fmt.Fprintf(&s, "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(a, b, o):\n")
				fmt.Fprintf(&s, "    i = tl.arange(0, %d)\n    k = tl.arange(0, %d)\n    acc = tl.zeros((%d, %d), %s)\n", m, depth, m, m, zero)
				for j, h := range hints {
					fmt.Fprintf(&s, "    for t in range(%d, %d):\n", j*trips, (j+1)*trips)
					fmt.Fprintf(&s, "        p = tl.load(a + i[:, None] * %d + t * %d + k[None, :]%s)\n", n, depth, h.args)
					fmt.Fprintf(&s, "        q = tl.load(b + (t * %d + k[:, None]) * %d + i[None, :]%s)\n", depth, m, hints[len(hints)-1-j].args)
					fmt.Fprintf(&s, "        acc = tl.dot(p, q, acc, out_dtype=%s)\n", zero)
				}
				fmt.Fprintf(&s, "    tl.store(o + i[:, None] * %d + i[None, :], acc)\n", m)
				got := kerneltest.Empty(out, m*m)
				kernel := kerneltest.Kernel{Source: s.String(), Target: target}
				ran := kernel.With(kerneltest.Options{"num_stages": 3, "num_ctas": min(2, kernel.Blocks())}).Run(t, kerneltest.Grid(1), a, b, got)
				if !strings.Contains(ran.PTX, "cp.async.c") {
					t.Errorf("nothing is copied ahead\n%s", ran.PTX)
				}
				want := make([]float64, m*m)
				for i := range m {
					for j := range m {
						for l := range n {
							want[i*m+j] += a.At(i*n+l) * b.At(l*m+j)
						}
					}
				}
				kerneltest.Equal(t, "sums", got, want)
			})
		}
	}
}
