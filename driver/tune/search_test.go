package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/frontend"
)

// recorded reads a space and its times, infinite where a configuration does not fit.
func recorded(t *testing.T, name string) (configs []Config, times []float64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	names := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		var c Config
		values := strings.Split(line, "\t")
		for i, name := range names[:len(names)-1] {
			n, err := strconv.ParseInt(values[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			c = append(c, setting(name, n))
		}
		us, err := strconv.ParseFloat(values[len(values)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		configs, times = append(configs, c), append(times, us)
	}
	return configs, times
}

// tries has a search choose; it returns what it chose, in order.
func tries(t *testing.T, s Search, configs []Config, times []float64, atOnce int) (order []int) {
	t.Helper()
	choose, err := s.chooser(configs)
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]float64{}
	var under []int
	for {
		under = append(under, choose.next(atOnce-len(under), known)...)
		if len(under) == 0 {
			return order
		}
		order, known[under[0]] = append(order, under[0]), times[under[0]]
		under = under[1:]
	}
}

// noisy are times as a device measures them: 2 % off.
func noisy(times []float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	out := make([]float64, len(times))
	for i, t := range times {
		out[i] = t * math.Exp(0.02*rng.NormFloat64())
	}
	return out
}

// TestGuided: over recorded spaces a guided search finds a configuration within 3 % of
// the fastest in a fifth of the points, whatever its seed, with several compiles at a
// time too, and where times are measured with some noise.
func TestGuided(t *testing.T) {
	for _, name := range []string{"matmul", "flash"} {
		configs, times := recorded(t, name)
		least := slices.Min(times)
		var reached []string
		for seed := range uint64(6) {
			for _, atOnce := range []int{1, 4, 16} {
				measured := times
				if atOnce > 1 {
					measured = noisy(times, seed)
				}
				order := tries(t, Search{Method: Guided, Seed: seed}, configs, measured, atOnce)
				if most := (len(configs) + 4) / 5; len(order) > most {
					t.Fatalf("%s: %d of %d configurations are tried", name, len(order), len(configs))
				}
				slices.Sort(order)
				if len(slices.Compact(slices.Clone(order))) != len(order) {
					t.Errorf("%s: a configuration is tried twice", name)
				}
				best := math.Inf(1)
				for _, k := range order {
					best = min(best, times[k])
				}
				reached = append(reached, fmt.Sprintf("%.1f%%", 100*(best/least-1)))
				if best > 1.03*least {
					t.Errorf("%s, seed %d, %d at a time: the best of %d is %.1f %% slower than the fastest of %d",
						name, seed, atOnce, len(order), 100*(best/least-1), len(configs))
				}
			}
		}
		t.Logf("%s: %s", name, strings.Join(reached, " "))
	}
}

// TestSearch: the same seed makes the same choice, another one another.
func TestSearch(t *testing.T) {
	configs, times := recorded(t, "flash")
	for _, method := range []string{Random, Guided} {
		first := tries(t, Search{Method: method, Points: 20, Seed: 3}, configs, times, 2)
		if again := tries(t, Search{Method: method, Points: 20, Seed: 3}, configs, times, 2); !slices.Equal(first, again) || len(first) != 20 {
			t.Errorf("%s: %v, and then %v", method, first, again)
		}
		if other := tries(t, Search{Method: method, Points: 20, Seed: 4}, configs, times, 2); slices.Equal(first, other) {
			t.Errorf("%s: another seed makes the same choice", method)
		}
	}
	if all := tries(t, Search{}, configs, times, 3); len(all) != len(configs) || !slices.IsSorted(all) {
		t.Errorf("%d of %d are tried", len(all), len(configs))
	}
	few := configs[:7]
	for _, method := range []string{Random, Guided} {
		if all := tries(t, Search{Method: method}, few, times, 3); len(all) != len(few) {
			t.Errorf("%s: %d of %d are tried", method, len(all), len(few))
		}
	}
	// All fail, and all are the same: there is nothing to be guided by.
	inf := slices.Repeat([]float64{math.Inf(1)}, len(configs))
	if got := tries(t, Search{Method: Guided, Points: 30}, configs, inf, 1); len(got) != 30 {
		t.Errorf("%d are tried where all fail", len(got))
	}
	if got := tries(t, Search{Method: Guided, Points: 3}, []Config{few[0], few[0], few[0]}, times, 1); len(got) != 3 {
		t.Errorf("%d of three that are the same are tried", len(got))
	}
	if _, err := (&Search{Method: "best"}).chooser(few); err == nil {
		t.Error("there is a search that nobody knows")
	}
}

// setting is a constant or an option of the recorded spaces.
func setting(name string, n int64) (s frontend.ConfigSetting) {
	return frontend.ConfigSetting{Name: name, Value: n, Option: strings.HasPrefix(name, "num_")}
}
