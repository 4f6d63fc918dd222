package array

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// Mismatch tells how two arrays differ.
type Mismatch struct {
	// Count of Total elements differ by more than is allowed.
	Count, Total int
	// Greatest is the greatest absolute difference of these, NaN where one side
	// alone is none or infinite; GreatestAt is its place.
	Greatest   float64
	GreatestAt int
	// First are the first places, at most maxPlaces.
	First []Difference
	shape []int
}

// Difference is one place of a Mismatch.
type Difference struct {
	Index     int // row by row
	Got, Want float64
}

const maxPlaces = 5

// Compare returns how got differs from want, or nil when
//
//	|got - want| <= atol + rtol·|want|
//
// everywhere. NaN equals NaN, and an infinity itself alone. Shapes must have the
// same number of elements; the error says so if they do not.
func Compare(got, want *Array, rtol, atol float64) (*Mismatch, error) {
	if got.Len() != want.Len() {
		return nil, fmt.Errorf("%s %v where %d %v are expected", diag.Count(got.Len(), "element"), got.Shape, want.Len(), want.Shape)
	}
	ints := !got.Type.Float() && !want.Type.Float()
	m := &Mismatch{Total: got.Len(), shape: got.Shape}
	for i := range got.Len() {
		g, w := got.At(i), want.At(i)
		if ints && got.Int(i) == want.Int(i) || !ints && g == w || g != g && w != w {
			continue
		}
		err := math.Abs(g - w)
		if err <= atol+rtol*math.Abs(w) && !math.IsInf(w, 0) && !(ints && err == 0) {
			continue
		}
		if math.IsInf(err, 0) {
			err = math.NaN()
		}
		if m.Count == 0 || err > m.Greatest || err != err && m.Greatest == m.Greatest {
			m.Greatest, m.GreatestAt = err, i
		}
		if m.Count++; len(m.First) < maxPlaces {
			m.First = append(m.First, Difference{i, g, w})
		}
	}
	if m.Count == 0 {
		return nil, nil
	}
	return m, nil
}

// String is several lines: the count, the greatest error, the first places.
func (m *Mismatch) String() string {
	var b strings.Builder
	verb := "differ"
	if m.Count == 1 {
		verb = "differs"
	}
	fmt.Fprintf(&b, "%d of %s %s; the greatest error is %.6g, at %s", m.Count, diag.Count(m.Total, "element"), verb, m.Greatest, m.place(m.GreatestAt))
	for _, d := range m.First {
		fmt.Fprintf(&b, "\n  %s is %.9g, expected %.9g", m.place(d.Index), d.Got, d.Want)
	}
	if m.Count > len(m.First) {
		fmt.Fprintf(&b, "\n  and %d more", m.Count-len(m.First))
	}
	return b.String()
}

// place is an index as Python writes it: [3, 17].
func (m *Mismatch) place(i int) string {
	var at []string
	for _, d := range slices.Backward(m.shape) {
		if d > 0 {
			at = append(at, fmt.Sprint(i%d))
			i /= d
		}
	}
	slices.Reverse(at)
	return "[" + strings.Join(at, ", ") + "]"
}
