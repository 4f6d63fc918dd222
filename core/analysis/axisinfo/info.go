package axisinfo

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Axis is what is known along one dimension. Each number is at least 1.
type Axis struct {
	Contiguity   int64
	Divisibility int64 // of integers, or bytes of pointers
	Constancy    int64
	// Presumed is set where the numbers hold only if no dividend of a signed
	// division on the way is negative, which is not known.
	Presumed bool
}

// Info is what is known of one value.
type Info struct {
	// Axes has one entry per dimension; a scalar has one.
	Axes []Axis
	// Const is the value of every element when IsConst.
	Const   int64
	IsConst bool
	// NonNegative is set where no element is negative, if no sum or product of
	// 32 bits or more wraps around and no divisor is negative.
	NonNegative bool
}

// maxDivisor stands for "any number divides it": 0 and poison.
const maxDivisor = int64(1) << 62

// unknown knows nothing of a value of this rank.
func unknown(rank int) Info {
	i := Info{Axes: make([]Axis, rank)}
	for d := range i.Axes {
		i.Axes[d] = Axis{Contiguity: 1, Divisibility: 1, Constancy: 1}
	}
	return i
}

// constant is the info of a value of this shape whose elements are all v.
func constant(shape []int64, v int64) Info {
	i := Info{Axes: make([]Axis, len(shape)), Const: v, IsConst: true, NonNegative: v >= 0}
	for d, n := range shape {
		i.Axes[d] = Axis{Contiguity: 1, Divisibility: pow2Divisor(v), Constancy: n}
	}
	return i
}

// is reports whether the value is the constant v.
func (i Info) is(v int64) bool { return i.IsConst && i.Const == v }

// Equal reports whether i and j say the same.
func (i Info) Equal(j Info) bool {
	return i.IsConst == j.IsConst && i.Const == j.Const && i.NonNegative == j.NonNegative && slices.Equal(i.Axes, j.Axes)
}

// join keeps what holds of both.
func join(i, j Info) Info {
	if len(i.Axes) != len(j.Axes) {
		panic(fmt.Sprintf("BUG: axisinfo: joining %v and %v", i, j))
	}
	r := Info{Axes: make([]Axis, len(i.Axes)), NonNegative: i.NonNegative && j.NonNegative}
	for d, a := range i.Axes {
		b := j.Axes[d]
		r.Axes[d] = Axis{
			Contiguity: gcd(a.Contiguity, b.Contiguity),
			Constancy:  gcd(a.Constancy, b.Constancy),
			Presumed:   a.Presumed || b.Presumed,
		}
		// Runs that become shorter start in the middle of longer ones.
		r.Axes[d].Divisibility = gcd(startDivisor(a, r.Axes[d].Contiguity), startDivisor(b, r.Axes[d].Contiguity))
	}
	if i.IsConst && j.IsConst && i.Const == j.Const {
		r.Const, r.IsConst = i.Const, true
	}
	return r
}

// startDivisor divides the first element of each run when a's runs are cut into
// runs of the given length.
func startDivisor(a Axis, run int64) int64 {
	if a.Contiguity > run {
		return gcd(a.Divisibility, run)
	}
	return a.Divisibility
}

// String is the info in the form of Triton's analysis printer.
func (i Info) String() string {
	var b strings.Builder
	list := func(name string, of func(Axis) int64) {
		b.WriteString(name)
		b.WriteString(" = [")
		for d, a := range i.Axes {
			if d > 0 {
				b.WriteString(", ")
			}
			fmt.Fprint(&b, of(a))
		}
		b.WriteString("], ")
	}
	list("contiguity", func(a Axis) int64 { return a.Contiguity })
	list("divisibility", func(a Axis) int64 { return a.Divisibility })
	list("constancy", func(a Axis) int64 { return a.Constancy })
	if i.IsConst {
		fmt.Fprintf(&b, "constant_value = %d", i.Const)
	} else {
		b.WriteString("constant_value = <none>")
	}
	return b.String()
}

// gcd(0, x) is x.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// pow2Divisor is the highest power of two that divides v.
func pow2Divisor(v int64) int64 {
	return 1 << min(bits.TrailingZeros64(uint64(v)), bits.TrailingZeros64(uint64(maxDivisor)))
}

// mulDivisors is a·b, at most maxDivisor.
func mulDivisors(a, b int64) int64 {
	if a > maxDivisor/b {
		return maxDivisor
	}
	return a * b
}
