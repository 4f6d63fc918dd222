package tune

import "math"

// process is a Gaussian process: a distribution of functions of points, of which the
// values at some points are known. Near points have similar values; how near, scales
// says for each dimension. (Rasmussen and Williams, Gaussian Processes for Machine
// Learning, algorithm 2.1.)
type process struct {
	xs     [][]float64
	ys     []float64 // less their mean
	mean   float64
	scales []float64
	signal float64     // variance of the values
	noise  float64     // of each, beside
	lower  [][]float64 // of Cholesky's decomposition of the covariances
	alpha  []float64   // solution of the covariances for ys
}

// Variance of a time that is measured again, of log times, as a part of all.
const noisePart = 1e-3

// fit makes the process that explains the values best: the likelihood of scales is
// raised dimension by dimension.
func fit(xs [][]float64, ys []float64) *process {
	dims := 0
	if len(xs) > 0 {
		dims = len(xs[0])
	}
	scales := make([]float64, dims)
	for i := range scales {
		scales[i] = 1
	}
	best := solve(xs, ys, scales)
	most := best.likelihood()
	for range 3 {
		changed := false
		for d := range dims {
			for _, s := range [...]float64{0.15, 0.3, 0.6, 1, 2, 4, 16} {
				if s == scales[d] {
					continue
				}
				old := scales[d]
				scales[d] = s
				p := solve(xs, ys, scales)
				if l := p.likelihood(); l > most+1e-9 {
					best, most, changed = p, l, true
				} else {
					scales[d] = old
				}
			}
		}
		if !changed {
			break
		}
	}
	return best
}

// solve makes the process of given scales.
func solve(xs [][]float64, ys []float64, scales []float64) *process {
	n := len(xs)
	p := &process{xs: xs, ys: make([]float64, n), scales: append([]float64(nil), scales...)}
	for _, y := range ys {
		p.mean += y / float64(n)
	}
	for i, y := range ys {
		p.ys[i] = y - p.mean
	}
	p.noise = noisePart
	p.factor()
	// The signal's variance has a closed form, given the rest.
	p.signal = 0
	for i, a := range p.alpha {
		p.signal += a * p.ys[i] / float64(n)
	}
	p.signal = max(p.signal, 1e-12)
	return p
}

// factor decomposes the covariances, in units of the signal's variance.
func (p *process) factor() {
	n := len(p.xs)
	p.lower = make([][]float64, n)
	for i := range n {
		row := make([]float64, i+1)
		for k := range i + 1 {
			sum := p.covariance(p.xs[i], p.xs[k])
			if i == k {
				sum += p.noise
			}
			for m := range k {
				if i == k {
					sum -= row[m] * row[m]
				} else {
					sum -= row[m] * p.lower[k][m]
				}
			}
			if i == k {
				row[k] = math.Sqrt(max(sum, 1e-12))
			} else {
				row[k] = sum / p.lower[k][k]
			}
		}
		p.lower[i] = row
	}
	p.alpha = p.backward(p.forward(p.ys))
}

func (p *process) forward(b []float64) []float64 {
	x := make([]float64, len(b))
	for i := range b {
		sum := b[i]
		for k := range i {
			sum -= p.lower[i][k] * x[k]
		}
		x[i] = sum / p.lower[i][i]
	}
	return x
}

func (p *process) backward(b []float64) []float64 {
	x := make([]float64, len(b))
	for i := len(b) - 1; i >= 0; i-- {
		sum := b[i]
		for k := i + 1; k < len(b); k++ {
			sum -= p.lower[k][i] * x[k]
		}
		x[i] = sum / p.lower[i][i]
	}
	return x
}

// distance is Euclid's, in units of the scales.
func distance(x, y, scales []float64) float64 {
	sum := 0.0
	for d := range x {
		z := x[d] - y[d]
		if scales != nil {
			z /= scales[d]
		}
		sum += z * z
	}
	return math.Sqrt(sum)
}

// covariance is Matérn's with 5/2: functions that can be differentiated twice, which
// need not be as smooth as a square has them.
func (p *process) covariance(x, y []float64) float64 {
	r := math.Sqrt(5) * distance(x, y, p.scales)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// likelihood is the logarithm of that of the values, less a constant; scales far from
// the size of the space count as less likely.
func (p *process) likelihood() float64 {
	n := float64(len(p.xs))
	l := -n / 2 * math.Log(p.signal)
	for i := range p.lower {
		l -= math.Log(p.lower[i][i])
	}
	for _, s := range p.scales {
		z := math.Log(s)
		l -= z * z / 4
	}
	return l
}

// predict returns the value that is to be expected at a point, and its deviation.
func (p *process) predict(x []float64) (mean, deviation float64) {
	k := make([]float64, len(p.xs))
	for i := range p.xs {
		k[i] = p.covariance(x, p.xs[i])
		mean += k[i] * p.alpha[i]
	}
	v := p.forward(k)
	variance := 1.0
	for _, z := range v {
		variance -= z * z
	}
	return p.mean + mean, math.Sqrt(p.signal * max(variance, 0))
}

// with is the process with one more value.
func (p *process) with(x []float64, y float64) *process {
	q := *p
	q.xs = append(append([][]float64(nil), p.xs...), x)
	q.ys = append(append([]float64(nil), p.ys...), y-p.mean)
	q.factor()
	return &q
}
