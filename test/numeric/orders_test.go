package numeric

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestAtomicOrders: every atomic operation in each order and scope, of a result
// that is used and of one that is not, under a mask and without, with the offset in
// the instruction and in a register; sums of floats of several elements per thread, too. (Elsewhere in the
// suite the order is drawn.)
func TestAtomicOrders(t *testing.T) {
	r := kerneltest.Rand(t)
	targets := capabilities()
	run := func(typ string, op atomicOp, each int) {
		target, own := fmt.Sprintf("cuda:%d", targets[r.IntN(len(targets))]), rand.New(rand.NewPCG(r.Uint64(), 0))
		t.Run(fmt.Sprintf("%s/%s/%d", typ, op.name, each), func(t *testing.T) {
			t.Parallel()
			atomicOrders(t, typ, op, each, target, own)
		})
	}
	for _, typ := range []string{"i32", "u32", "i64", "u64", "fp16", "bf16", "fp32", "fp64"} {
		for _, op := range atomicOps(typ) {
			for each := 1; each*dtype(typ).Size <= 16; each *= 2 {
				if run(typ, op, each); !dtype(typ).Float() || op.name != "add" {
					break // only sums of floats are done several at a time
				}
			}
		}
		if !dtype(typ).Float() {
			cas := atomicOp{name: "cas", f: func(_, v num) num { return v }}
			run(typ, cas, 0)
			run(typ, cas, 1)
		}
	}
}

// atomicOrders is one operation, each thread with so many elements.
func atomicOrders(t *testing.T, typ string, op atomicOp, each int, target string, own *rand.Rand) {
	const warps = 2
	n := warps * warpSize * each
	if each == 0 { // less than a warp: the others are kept out by a predicate
		n, each = 16, 1
	}
	elem := dtype(typ)
	value := func() num { // sums of two are exact
		v := int64(own.IntN(100)) - 50
		return wrapOrFloat(typ, v)
	}
	var s strings.Builder
	s.WriteString("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, o, old, compare, n, s):\n")
	fmt.Fprintf(&s, "    at = tl.arange(0, %d)\n    inside = at < n\n    x = tl.load(x + at)\n", n)
	block := 0
	var used, masked []bool
	for _, sem := range []string{"relaxed", "acquire", "release", "acq_rel"} {
		for _, scope := range []string{"cta", "gpu", "sys"} {
			for k := range 8 {
				want, mask := k&1 != 0, k&2 != 0 && op.name != "cas" // which takes none
				offset := fmt.Sprint(block * n)
				if k&4 != 0 {
					offset = fmt.Sprintf("%d * s", block)
				}
				args := "x"
				switch {
				case op.name == "cas":
					args = fmt.Sprintf("tl.load(compare + %s + at), x", offset)
				case mask:
					args = "x, mask=inside"
				}
				call := fmt.Sprintf("tl.atomic_%s(o + %s + at, %s, sem='%s', scope='%s')", op.name, offset, args, sem, scope)
				if want {
					call = fmt.Sprintf("tl.store(old + %s + at, %s%s)", offset, call, map[bool]string{true: ", mask=inside"}[mask])
				}
				s.WriteString("    " + call + "\n")
				used, masked = append(used, want), append(masked, mask)
				block++
			}
		}
	}
	live := n - 16*own.IntN(max(1, n/32)) // a multiple of 16: a thread has all of its elements or none
	x, out, old := kerneltest.Zeros(typ, n), kerneltest.Zeros(typ, block*n), kerneltest.Zeros(typ, block*n)
	for i := range n {
		put(x, i, value())
	}
	for i := range block * n {
		put(out, i, value())
	}
	start, compare := out.Clone(), out.Clone()
	for i := range block * n {
		if own.IntN(2) == 0 {
			put(compare, i, value())
		}
	}
	kerneltest.Kernel{Source: s.String(), Target: target}.Warps(warps).Run(t, kerneltest.Grid(1), x, out, old, compare, live, n)
	for i := range block * n {
		was, v := get(start, i), get(x, i%n)
		want, before := was, num{}
		if i%n < live || !masked[i/n] {
			if op.name != "cas" || was == get(compare, i) {
				want = op.f(was, v)
			}
			if used[i/n] {
				before = was
			}
		}
		if get(out, i) != want {
			t.Fatalf("block %d, element %d is %s, must be %s\n%s", i/n, i%n, literal(elem, get(out, i)), literal(elem, want), s.String())
		}
		if get(old, i) != before {
			t.Fatalf("block %d, element %d was %s, must be %s\n%s", i/n, i%n, literal(elem, get(old, i)), literal(elem, before), s.String())
		}
	}
}

// wrapOrFloat is an integer as a value of a type.
func wrapOrFloat(typ string, v int64) num {
	if t := dtype(typ); !t.Float() {
		return wrap(t, v)
	}
	return num{f: float64(v)}
}
