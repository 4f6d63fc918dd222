package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Methods of a Search.
const (
	Exhaustive = "exhaustive"
	Random     = "random"
	Guided     = "guided"
)

// Search says which configurations are tried.
type Search struct {
	// Method is Exhaustive, which "" stands for, Random or Guided.
	Method string
	// Points are how many are tried; 0 means a fifth of them where they are not all, and
	// at least 10.
	Points int
	// Seed makes the choice another; the same seed and times make the same one.
	Seed uint64
}

// minPoints are tried of a search at least, of a few configurations all.
const minPoints = 10

// points is how many of n configurations are tried.
func (s *Search) points(n int) int {
	switch {
	case s.Method == Exhaustive || s.Method == "":
		return n
	case s.Points > 0:
		return min(s.Points, n)
	}
	return min(max((n+4)/5, minPoints), n)
}

// chooser proposes configurations by number.
type chooser interface {
	// next returns up to n that have not been proposed; none when the search is over, or
	// where n is not positive, as it is when devices have gone.
	// Of those that were, times has the time, infinite for those that failed.
	next(n int, times map[int]float64) []int
}

// chooser makes the one that the search asks for.
func (s *Search) chooser(configs []Config) (chooser, error) {
	n := len(configs)
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	switch s.Method {
	case "", Exhaustive:
		return &listed{left: all}, nil
	case Random:
		rng := rand.New(rand.NewPCG(s.Seed, 1))
		rng.Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
		return &listed{left: all[:s.points(n)]}, nil
	case Guided:
		return newGuided(configs, s.points(n), s.Seed), nil
	}
	return nil, fmt.Errorf("there is no search %q: there are %s, %s and %s", s.Method, Exhaustive, Random, Guided)
}

// listed proposes what a list has.
type listed struct{ left []int }

func (l *listed) next(n int, _ map[int]float64) []int {
	n = max(min(n, len(l.left)), 0)
	out := l.left[:n]
	l.left = l.left[n:]
	return out
}

// guided is a search by a model of the times: a Gaussian process over the values of
// the settings, which says of each configuration what time is to be expected and how
// far that is from sure. It begins with configurations that lie apart, and goes on with
// those whose time is expected to be the greatest improvement.
type guided struct {
	points [][]float64 // of the configurations
	left   int
	most   int // that are measured at a time
	tried  []int
	done   map[int]bool
	rng    *rand.Rand
	first  int // how many are chosen before there is a model
	// scales are those of the model, which is fitted anew when there are refit times.
	scales []float64
	refit  int
}

func newGuided(configs []Config, left int, seed uint64) *guided {
	g := &guided{points: coordinates(configs), left: left, done: map[int]bool{}, rng: rand.New(rand.NewPCG(seed, 2))}
	dims := 0
	if len(g.points) > 0 {
		dims = len(g.points[0])
	}
	g.first = min(max(left/4, dims+1), max(left/2, 1))
	g.most = max(left/guidedPart, guidedLeast)
	return g
}

// Of a search's points a quarter may be under way at a time, or four: a choice learns
// nothing from those. With 16 of 29 at a time three of six searches of an attention's
// configurations end 4.6 % from the fastest, with a quarter all within 3 %.
const (
	guidedPart  = 4
	guidedLeast = 4
)

func (g *guided) next(n int, times map[int]float64) []int {
	var out []int
	under := 0
	for _, k := range g.tried {
		if _, ok := times[k]; !ok {
			under++
		}
	}
	n = min(n, g.most-under)
	for len(out) < n && g.left > 0 && len(g.tried) < len(g.points) {
		var at int
		if len(g.tried) < g.first {
			at = g.apart()
		} else {
			at = g.promising(times)
		}
		g.left--
		g.tried, g.done[at] = append(g.tried, at), true
		out = append(out, at)
	}
	return out
}

// apart is a configuration far from all that were tried: the farthest of some.
func (g *guided) apart() int {
	best, most := -1, -1.0
	for range 32 {
		at := g.rng.IntN(len(g.points))
		for g.done[at] {
			at = (at + 1) % len(g.points)
		}
		near := math.Inf(1)
		for _, k := range g.tried {
			near = min(near, distance(g.points[at], g.points[k], nil))
		}
		if near > most {
			best, most = at, near
		}
	}
	return best
}

// promising is the configuration whose expected improvement is the greatest. Those
// that are being measured are taken to have the time that is expected of them.
func (g *guided) promising(times map[int]float64) int {
	var xs [][]float64
	var ys []float64
	var open []int
	worst, best := math.Inf(-1), math.Inf(1)
	for _, k := range g.tried {
		if t, ok := times[k]; ok && !math.IsInf(t, 1) {
			worst, best = max(worst, math.Log(t)), min(best, math.Log(t))
		}
	}
	if math.IsInf(best, 1) {
		return g.apart() // nothing has a time so far
	}
	for _, k := range g.tried {
		t, ok := times[k]
		switch {
		case !ok:
			open = append(open, k)
			continue
		case math.IsInf(t, 1):
			t = worst // far enough off
		default:
			t = math.Log(t)
		}
		xs, ys = append(xs, g.points[k]), append(ys, t)
	}
	p := g.model(xs, ys)
	for _, k := range open {
		mean, _ := p.predict(g.points[k])
		p = p.with(g.points[k], mean)
	}
	at, most := -1, math.Inf(-1)
	for k := range g.points {
		if g.done[k] {
			continue
		}
		mean, deviation := p.predict(g.points[k])
		if e := improvement(best-mean, deviation); e > most {
			at, most = k, e
		}
	}
	return at
}

// model is the process that explains the times. Its scales change little with one time
// more.
func (g *guided) model(xs [][]float64, ys []float64) *process {
	if len(xs) < g.refit {
		return solve(xs, ys, g.scales)
	}
	p := fit(xs, ys)
	g.scales, g.refit = p.scales, len(xs)+len(xs)/8+1
	return p
}

// improvement is the logarithm of the expected improvement on the best time by a
// normal variable that lies gain below it on average.
func improvement(gain, deviation float64) float64 {
	if deviation < 1e-9 {
		deviation = 1e-9
	}
	z := gain / deviation
	if z < -6 { // where the difference below has no digits left
		return math.Log(deviation) - z*z/2 - 2*math.Log(-z) - 0.919
	}
	phi := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return math.Log(deviation * (z*0.5*math.Erfc(-z/math.Sqrt2) + phi))
}

// coordinates are the configurations as points: the values of each setting that
// differs among them, from 0 to 1 in the order of their size. Values that are not
// numbers have a dimension each.
func coordinates(configs []Config) [][]float64 {
	type axis struct {
		name   string
		values []any
	}
	var axes []*axis
	value := func(c Config, name string) any {
		for _, s := range c {
			if s.Name == name {
				return s.Value
			}
		}
		return nil
	}
	for _, c := range configs {
		for _, s := range c {
			if !slices.ContainsFunc(axes, func(a *axis) bool { return a.name == s.Name }) {
				axes = append(axes, &axis{name: s.Name})
			}
		}
	}
	points := make([][]float64, len(configs))
	for _, a := range axes {
		numbers := true
		for _, c := range configs {
			v := value(c, a.name)
			if _, ok := number(v); !ok {
				numbers = false
			}
			if !slices.Contains(a.values, v) {
				a.values = append(a.values, v)
			}
		}
		if len(a.values) < 2 {
			continue
		}
		if numbers {
			slices.SortFunc(a.values, func(x, y any) int {
				p, _ := number(x)
				q, _ := number(y)
				return cmp.Compare(p, q)
			})
		}
		for i, c := range configs {
			at := slices.Index(a.values, value(c, a.name))
			if numbers {
				points[i] = append(points[i], float64(at)/float64(len(a.values)-1))
				continue
			}
			for k := range a.values {
				x := 0.0
				if k == at {
					x = 1
				}
				points[i] = append(points[i], x)
			}
		}
	}
	return points
}

// number is a value as one, booleans and None among them.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case nil:
		return -1, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
