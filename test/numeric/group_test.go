package numeric

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// The kinds of layouts: what a value's layout comes from.
const (
	rows    = "rows"    // a load along the last dimension
	columns = "columns" // a load along the first
	slice   = "slice"   // a reduction: registers and lanes hold copies
	mma     = "mma"     // a dot by matrix instructions
)

// The sizes of tensors.
const (
	tiny  = "tiny"  // less than a warp
	odd   = "odd"   // a few hundred, masked
	whole = "whole" // without a mask
	large = "large" // more than one element for every thread, masked
)

// group is a family of operations on one element type. A nil axis is all
// there is of it.
type group struct {
	name           string
	layouts, sizes []string
	ranks, warps   []int
	// programs is the grid; 0 is 1.
	programs int
	// min is the least compute capability, 0 any.
	min int
	// options are further compile options.
	options kerneltest.Options
	// elements is the most that a thread may have where machine code is made;
	// 0 is 32. Assemblers take minutes for a network that is unrolled, and for
	// all operations of a family at once, and some dots with 64 elements of a matrix.
	elements int
	// tile is the number of elements of the largest matrix, by size, where shapes has none.
	tile func(size string) int
	// words says that memory ends with a whole word.
	words bool
	// shapes replaces the shapes of the sizes.
	shapes func(c config) (dims, live []int)
	build  func(b *builder)
}

// config is a group at one point of the other axes.
type config struct {
	*group
	layout, size string
	rank, nwarps int
	cc           int
}

func (c config) String() string {
	return fmt.Sprintf("%s/%s/rank=%d/%s/warps=%d", c.name, c.layout, c.rank, c.size, c.nwarps)
}

// axes are the values of a config, for covering pairs of them.
func (c config) axes() [5]string {
	return [5]string{c.name, c.layout, c.size, fmt.Sprint("rank=", c.rank), fmt.Sprint("warps=", c.nwarps)}
}

// standard are dims and live by rank and size.
var standard = map[string][5][2][]int{
	tiny:  {{}, {{8}, {5}}, {{2, 4}, {2, 3}}, {{2, 2, 2}, {2, 1, 2}}, {{1, 2, 2, 2}, {1, 2, 2, 1}}},
	odd:   {{}, {{256}, {199}}, {{16, 32}, {13, 27}}, {{4, 8, 16}, {3, 7, 13}}, {{2, 4, 8, 8}, {2, 3, 5, 7}}},
	whole: {{}, {{512}, {512}}, {{32, 16}, {32, 16}}, {{8, 4, 16}, {8, 4, 16}}, {{4, 2, 16, 4}, {4, 2, 16, 4}}},
	large: {{}, {{2048}, {1999}}, {{32, 64}, {31, 61}}, {{8, 16, 16}, {7, 11, 16}}, {{4, 8, 8, 8}, {3, 8, 7, 5}}},
}

func (c config) shape() (dims, live []int) {
	if c.shapes != nil {
		return c.shapes(c)
	}
	s := standard[c.size][c.rank]
	return s[0], s[1]
}

func orAll[T any](list, all []T) []T {
	if list == nil {
		return all
	}
	return list
}

// capabilities are those that configs are compiled for: that of TRITONC_TARGET,
// or all that the simulator knows.
func capabilities() []int {
	if cc, ok := strings.CutPrefix(os.Getenv(kerneltest.TargetEnv), "cuda:"); ok {
		n, err := strconv.Atoi(cc)
		if err != nil {
			panic(fmt.Sprintf("%s=cuda:%s is not of the form cuda:90", kerneltest.TargetEnv, cc))
		}
		return []int{n}
	}
	return []int{80, 86, 89, 90}
}

// heavy reports whether machine code of the kernel takes minutes to make.
func (c config) heavy() bool {
	dims, _ := c.shape()
	most := c.elements
	if most == 0 {
		most = 32
	}
	n := count(dims)
	if c.tile != nil {
		n = c.tile(c.size)
	}
	return n > most*c.nwarps*warpSize
}

// warpSize is that of the devices that configs are compiled for.
const warpSize = 32

// configs are all of a group.
func (g *group) configs(r *rand.Rand) []config {
	var all []config
	targets := slices.DeleteFunc(capabilities(), func(cc int) bool { return cc < g.min })
	if len(targets) == 0 {
		return nil
	}
	for _, layout := range orAll(g.layouts, []string{rows, columns, slice, mma}) {
		for _, rank := range orAll(g.ranks, []int{0, 1, 2, 3, 4}) {
			for _, size := range orAll(g.sizes, []string{tiny, odd, whole, large}) {
				for _, warps := range orAll(g.warps, []int{1, 2, 4, 8, 16}) {
					if rank == 0 && (layout != rows || size != tiny) || rank == 1 && layout == columns || size == tiny && layout == mma {
						continue // the same as others
					}
					all = append(all, config{g, layout, size, rank, warps, targets[r.IntN(len(targets))]})
				}
			}
		}
	}
	return all
}

// maxLight is the most elements per thread of a config that is cheap to compile: all
// operations of a family on each of them are straight-line code.
const maxLight = 8

// light reports whether a config is cheap to compile.
func (c config) light() bool {
	dims, _ := c.shape()
	return count(dims) <= maxLight*c.nwarps*warpSize
}

// sample picks configs so that each pair of values of two axes that any
// config has is in a picked one. A pair that light configs have comes from one of
// those, but in one of eight groups, whichever the seed chooses, from any: a third
// of LLVM's time was that of twenty kernels.
func sample(r *rand.Rand, all []config) []config {
	// Pairs have numbers; those with the group come first, since no other group has
	// them.
	type candidate struct {
		config
		own, other []int
	}
	type pair struct {
		i, j int
		a, b string
	}
	numbers := map[pair]int{}
	var list []candidate
	for _, c := range all {
		k, a := candidate{config: c}, c.axes()
		for i := range a {
			for j := range i {
				p := pair{i, j, a[i], a[j]}
				n, known := numbers[p]
				if !known {
					n = len(numbers)
					numbers[p] = n
				}
				if j == 0 {
					k.own = append(k.own, n)
				} else {
					k.other = append(k.other, n)
				}
			}
		}
		list = append(list, k)
	}
	closed := make([]bool, len(numbers))
	open := func(pairs []int) (n int) {
		for _, p := range pairs {
			if !closed[p] {
				n++
			}
		}
		return n
	}
	var picked []config
	var rest []candidate
	// pick closes pairs by candidates, those that close most first; alone counts the
	// candidates' own pairs only.
	pick := func(from []candidate, alone bool) {
		for {
			best, most := -1, 0
			for i, k := range from {
				own, other := open(k.own), open(k.other)
				if (own > 0 || !alone && other > 0) && own*100+other > most {
					best, most = i, own*100+other
				}
			}
			if best < 0 {
				return
			}
			picked = append(picked, from[best].config)
			for _, p := range slices.Concat(from[best].own, from[best].other) {
				closed[p] = true
			}
		}
	}
	shuffle := func(l []candidate) {
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].group == list[0].group {
			n++
		}
		group := slices.Clone(list[:n])
		list = list[n:]
		shuffle(group)
		if r.IntN(8) != 0 {
			pick(slices.DeleteFunc(slices.Clone(group), func(k candidate) bool { return !k.light() }), true)
		}
		pick(group, true)
		rest = append(rest, group...)
	}
	// What is open now, no group had to have.
	shuffle(rest)
	pick(rest, false)
	return picked
}

// TestSample: the sample has all pairs, is the same for the same seed, and has costly
// configs of each family for some.
func TestSample(t *testing.T) {
	draw := func(seed uint64) (all, picked []config) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, g := range groups() {
			all = append(all, g.configs(r)...)
		}
		return all, sample(r, slices.Clone(all))
	}
	pairs := func(list []config) map[[4]string]bool {
		m := map[[4]string]bool{}
		for _, c := range list {
			a := c.axes()
			for i := range a {
				for j := range i {
					m[[4]string{strconv.Itoa(i), a[i], strconv.Itoa(j), a[j]}] = true
				}
			}
		}
		return m
	}
	names := func(list []config) string {
		var s strings.Builder
		for _, c := range list {
			fmt.Fprintln(&s, c, c.cc)
		}
		return s.String()
	}
	family := func(c config) string { return strings.Split(c.name, "/")[0] }
	const seeds = 16
	left := map[string]bool{} // families of which no costly config was picked
	for seed := range uint64(seeds) {
		all, picked := draw(seed)
		if seed == 0 {
			for _, c := range all {
				if !c.light() {
					left[family(c)] = true
				}
			}
		}
		for _, c := range picked {
			if !c.light() {
				delete(left, family(c))
			}
		}
		if seed >= 2 {
			continue
		}
		has := pairs(picked)
		for p := range pairs(all) {
			if !has[p] {
				t.Errorf("seed %d: no kernel has %s", seed, p)
			}
		}
		if _, again := draw(seed); names(again) != names(picked) {
			t.Errorf("seed %d has two samples", seed)
		}
	}
	for name := range left {
		t.Errorf("no costly config of %s is picked for any of %d seeds", name, seeds)
	}
}

// groups are those of all families.
func groups() []*group {
	return slices.Concat(
		arithGroups(), castGroups(), memoryGroups(), reduceGroups(), scanGroups(),
		shapeGroups(), atomicGroups(), dotGroups(), controlGroups(), mathGroups(),
		foreignGroups(), descriptorGroups(), scaledGroups(),
	)
}

// shard is one of n parts of a list; text is "i/n", where i counts from 1. Parts
// of one seed are disjoint and together all of it.
func shard(t testing.TB, all []config, text string) []config {
	var i, n int
	if _, err := fmt.Sscanf(text, "%d/%d", &i, &n); err != nil || i < 1 || i > n {
		t.Fatalf("TRITONC_SHARD=%s is not of the form 2/10", text)
	}
	var part []config
	for k := i - 1; k < len(all); k += n {
		part = append(part, all[k])
	}
	return part
}

func TestSuite(t *testing.T) {
	r := kerneltest.Rand(t)
	seed := r.Uint64()
	var all []config
	for _, g := range groups() {
		all = append(all, g.configs(r)...)
	}
	run := all
	if os.Getenv("TRITONC_ALL") == "" {
		run = sample(r, slices.Clone(all))
	}
	if text := os.Getenv("TRITONC_SHARD"); text != "" {
		run = shard(t, run, text)
	}
	if only := os.Getenv("TRITONC_ONLY"); only != "" {
		run = slices.DeleteFunc(slices.Clone(run), func(c config) bool { return !strings.Contains(c.String(), only) })
	}
	if kerneltest.MachineCode() || onAMD() && os.Getenv("TRITONC_ALL") == "" { // llc allocates registers, too
		before := len(run)
		run = slices.DeleteFunc(slices.Clone(run), config.heavy)
		fmt.Printf("%d of %d kernels are left out: they take an assembler minutes\n", before-len(run), before)
	}
	var checks atomic.Int64
	t.Run("kernels", func(t *testing.T) {
		for _, c := range run {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				b := newBuilder(c, seed)
				c.build(b)
				checks.Add(int64(len(b.checks)))
				b.run(t)
			})
		}
	})
	// Not to the log: it is to be seen when all is well, too.
	fmt.Printf("%d of %d kernels ran, with %d operations\n", len(run), len(all), checks.Load())
}
