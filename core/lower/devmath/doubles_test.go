package devmath

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	ref "github.com/tritonc/tritonc/internal/mathref"
	"github.com/tritonc/tritonc/internal/testseed"
)

// doublesPath is a table of functions of doubles to 128 bits. Package reference
// computed them; TestDoubles writes it.
const doublesPath = "testdata/doubles.tsv"

const (
	tablePrecision = 128
	tableSamples   = 80 // of a function, beside its hard cases
)

// double is a row of the table: the bits of the arguments and the value.
type double struct {
	name string
	args []uint64
	want *big.Float
}

// numbers are the arguments.
func (d *double) numbers() (out []float64) {
	for _, x := range d.args {
		out = append(out, math.Float64frombits(x))
	}
	return out
}

// value computes the row's value anew; nil where it is infinite or no number, and for
// lgamma's zeros, which TestLimits knows.
func (d *double) value() *big.Float {
	var args []*big.Float
	for _, x := range d.numbers() {
		args = append(args, ref.New(x))
	}
	s := specs[slices.IndexFunc(specs, func(s *spec) bool { return s.name == d.name })]
	v := s.ref(args...)
	if v == nil || v.IsInf() || d.name == "lgamma" && v.MantExp(nil) < -100 {
		return nil
	}
	return new(big.Float).SetPrec(tablePrecision).Set(v)
}

// someDoubles are the rows without values: the hard cases, their neighbours, and samples.
func someDoubles() (out []*double) {
	for _, s := range specs {
		add := func(x []float64) {
			d := &double{name: s.name}
			for _, v := range x {
				if math.IsInf(v, 0) {
					return
				}
				d.args = append(d.args, math.Float64bits(v))
			}
			out = append(out, d)
		}
		r := rand.New(rand.NewPCG(3, 4))
		for _, x := range hard[s.name] {
			add(x)
			for _, to := range []float64{math.Inf(1), math.Inf(-1)} {
				next := slices.Clone(x)
				next[0] = math.Nextafter(x[0], to)
				add(next)
			}
		}
		for range tableSamples {
			add(s.sample(r, llir.F64, Find(s.name).Args))
		}
	}
	return out
}

func writeDoubles(t *testing.T) {
	t.Helper()
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Functions of doubles, to %d bits: function, bits of the arguments, significand, exponent of 2.\n"+
		"# TestDoubles writes this with TRITONC_UPDATE=1, by package mathref.\n", tablePrecision)
	for _, d := range someDoubles() {
		v := d.value()
		if v == nil {
			continue
		}
		fmt.Fprintf(&out, "%s\t", d.name)
		for i, x := range d.args {
			if i > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, "%016x", x)
		}
		m := new(big.Float)
		exp := v.MantExp(m)
		whole, _ := m.SetMantExp(m, tablePrecision).Int(nil)
		fmt.Fprintf(&out, "\t%x\t%d\n", whole, exp-tablePrecision)
	}
	if err := os.WriteFile(doublesPath, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readDoubles(t *testing.T) (out []*double) {
	t.Helper()
	text, err := os.ReadFile(doublesPath)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			t.Fatalf("%s: %q", doublesPath, line)
		}
		d := &double{name: f[0]}
		for part := range strings.SplitSeq(f[1], ",") {
			x, err := strconv.ParseUint(part, 16, 64)
			if err != nil {
				t.Fatalf("%s: %q: %v", doublesPath, line, err)
			}
			d.args = append(d.args, x)
		}
		whole, ok := new(big.Int).SetString(f[2], 16)
		exp, err := strconv.Atoi(f[3])
		if !ok || err != nil {
			t.Fatalf("%s: %q", doublesPath, line)
		}
		v := new(big.Float).SetPrec(tablePrecision).SetInt(whole)
		d.want = v.SetMantExp(v, exp)
		out = append(out, d)
	}
	return out
}

// TestDoubles: the functions of doubles, as written, fused and with a GPU's approximations,
// are within their bounds on the table, which is what package mathref computes.
func TestDoubles(t *testing.T) {
	if os.Getenv("TRITONC_UPDATE") == "1" {
		writeDoubles(t)
	}
	table := readDoubles(t)
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	for range 100 {
		d := table[r.IntN(len(table))]
		if v := d.value(); v == nil || v.Cmp(d.want) != 0 {
			t.Errorf("%s%v is %v, %s says %v", d.name, d.numbers(), v, doublesPath, d.want)
		}
	}
	for _, s := range append(shortOf(specs), specs...) {
		ms := s.code(t, llir.F64)
		worst, at, n := 0.0, []float64(nil), 0
		for _, d := range table {
			if d.name != s.name {
				continue
			}
			n++
			for _, m := range ms {
				got := math.Float64frombits(m.run(d.args...))
				if e := off(llir.F64, got, d.want); e > worst {
					worst, at = e, d.numbers()
				}
			}
		}
		switch {
		case n < tableSamples/2:
			t.Errorf("%s has %d rows of %s", s.label(), n, doublesPath)
		case worst > s.bound(llir.F64):
			t.Errorf("%s%v is off by %.2f units in the last place, more than %v", s.label(), at, worst, s.bound(llir.F64))
		default:
			t.Logf("%s: at most %.3f of %d, at %v", s.label(), worst, n, at)
		}
	}
}
