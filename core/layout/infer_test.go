package layout

import (
	"slices"
	"testing"
)

// The walk of a kernel that transposes, reshapes, splits and joins: the
// encodings that Triton infers at each step.
func TestInferChain(t *testing.T) {
	blocked := func(s, th, w, o []int) Encoding { return &Blocked{s, th, w, o, nil} }
	e := blocked([]int{1, 4}, []int{4, 8}, []int{4, 1}, []int{1, 0})
	step := func(name string, got Encoding, err error, want Encoding) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !Equal(got, want) {
			t.Fatalf("%s: got %+v, want %+v", name, got, want)
		}
		e = got
	}
	got, err := Trans(e, []int64{32, 32}, []int{1, 0})
	step("trans", got, err, blocked([]int{4, 1}, []int{8, 4}, []int{1, 4}, []int{0, 1}))
	got, err = Reshape(e, []int64{32, 32}, []int64{16, 2, 32})
	step("reshape", got, err, blocked([]int{2, 2, 1}, []int{8, 1, 4}, []int{1, 1, 4}, []int{1, 0, 2}))
	got, err = Trans(e, []int64{16, 2, 32}, []int{0, 2, 1})
	step("trans 3", got, err, blocked([]int{2, 1, 2}, []int{8, 4, 1}, []int{1, 4, 1}, []int{2, 0, 1}))
	got, err = Split(e, []int64{16, 32, 2})
	step("split", got, err, blocked([]int{2, 1}, []int{8, 4}, []int{1, 4}, []int{0, 1}))
	got, err = Join(e, []int64{16, 32})
	step("join", got, err, blocked([]int{2, 1, 2}, []int{8, 4, 1}, []int{1, 4, 1}, []int{2, 0, 1}))
	j := e
	got, err = Reshape(e, []int64{16, 32, 2}, []int64{32, 32})
	step("reshape to linear", got, err, &Linear{
		Register: Bases{{0, 1}, {2, 0}, {1, 0}}, Lane: Bases{{4, 0}, {8, 0}, {16, 0}, {0, 2}, {0, 4}}, Warp: Bases{{0, 8}, {0, 16}}, Block: Bases{},
	})
	got, err = Reshape(j, []int64{16, 32, 2}, []int64{1024})
	step("reshape to rank 1", got, err, &Linear{
		Register: Bases{{1}, {64}, {32}}, Lane: Bases{{128}, {256}, {512}, {2}, {4}}, Warp: Bases{{8}, {16}}, Block: Bases{},
	})
	eight := []int64{2, 2, 2, 2, 2, 2, 2, 2}
	got, err = Reshape(blocked([]int{2}, []int{32}, []int{4}, []int{0}), []int64{256}, eight)
	step("hypercube", got, err, blocked([]int{1, 1, 1, 1, 1, 1, 1, 2}, []int{1, 1, 2, 2, 2, 2, 2, 1}, []int{2, 2, 1, 1, 1, 1, 1, 1}, []int{7, 6, 5, 4, 3, 2, 1, 0}))
	got, err = Reshape(e, eight, []int64{256})
	step("and back", got, err, blocked([]int{2}, []int{32}, []int{4}, []int{0}))
}

// No shape operation moves a value: the element that a place holds afterwards
// is the image of the one before.
func TestInferKeepsPlaces(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank)
		var e Encoding = randomBlocked(r, rank, 4, 8)
		if r.IntN(2) == 0 {
			e = FromLayout(mustLinear(t, e, shape...))
		}
		before := mustLinear(t, e, shape...)

		perm := r.Perm(rank)
		te, err := Trans(e, shape, perm)
		if err != nil {
			t.Fatal(err)
		}
		after := mustLinear(t, te, permuted(shape, perm)...)
		x := r.Uint64() & mask(len(before.cols))
		if got, want := after.UnpackOut(after.ApplyPacked(x)), pick(before.UnpackOut(before.ApplyPacked(x)), perm); !slices.Equal(got, want) {
			t.Fatalf("%v transposed by %v: place %d holds %v, want %v", before, perm, x, got, want)
		}

		to := []int64{product(shape)}
		for i := 0; i < r.IntN(3); i++ {
			if last := to[len(to)-1]; last > 1 {
				k := int64(1) << r.IntN(log2(int(last)))
				to = append(to[:len(to)-1], k, last/k)
			}
		}
		re, err := Reshape(e, shape, to)
		if err != nil {
			t.Fatal(err)
		}
		after = mustLinear(t, re, to...)
		if got, want := rowMajorIndex(to, after.UnpackOut(after.ApplyPacked(x))), rowMajorIndex(shape, before.UnpackOut(before.ApplyPacked(x))); got != want {
			t.Fatalf("%v reshaped to %v: place %d holds %d, want %d", before, to, x, got, want)
		}

		je, err := Join(e, shape)
		if err != nil {
			t.Fatal(err)
		}
		se, err := Split(je, append(slices.Clone(shape), 2))
		if err != nil {
			t.Fatal(err)
		}
		if !mustLinear(t, se, shape...).Equal(before) {
			t.Fatalf("split of join of %v is %v", before, mustLinear(t, se, shape...))
		}
	}
}

func permuted(shape []int64, perm []int) []int64 {
	s := make([]int64, len(perm))
	for i, d := range perm {
		s[i] = shape[d]
	}
	return s
}

func rowMajorIndex(shape []int64, at []int) int64 {
	n := int64(0)
	for i, d := range shape {
		n = n*d + int64(at[i])
	}
	return n
}

func TestAsBlocked(t *testing.T) {
	r := seeded(t)
	for range lawRuns {
		rank := 1 + r.IntN(3)
		shape := randomShape(r, rank)
		l := mustLinear(t, randomBlocked(r, rank, 4, 8), shape...)
		e, ok := AsBlocked(l)
		if ok && !mustLinear(t, e, shape...).Equal(l) {
			t.Fatalf("%+v is not %v", e, l)
		}
		full := l.IsInvertible()
		if full && !ok {
			t.Fatalf("no blocked encoding found for %v", l)
		}
	}
}

func TestInferRefuses(t *testing.T) {
	b := &Blocked{[]int{1, 2}, []int{4, 8}, []int{1, 1}, []int{1, 0}, nil}
	if _, err := ExpandDims(b, 0); err == nil {
		t.Error("expand_dims of a blocked encoding")
	}
	if _, err := ExpandDims(&Slice{1, b}, 0); err == nil {
		t.Error("expand_dims at another dimension than the slice's")
	}
	if e, err := ExpandDims(&Slice{0, b}, 0); err != nil || e != Encoding(b) {
		t.Errorf("expand_dims: %v, %v", e, err)
	}
	if _, err := Split(&Blocked{[]int{1, 1}, []int{16, 2}, []int{1, 1}, []int{1, 0}, nil}, []int64{16, 2}); err == nil {
		t.Error("split across lanes")
	}
	if _, err := Split(b, []int64{4, 16}); err == nil {
		t.Error("split of a last dimension of 16")
	}
	if _, err := Trans(b, []int64{4, 4}, []int{0, 0}); err == nil {
		t.Error("trans by no permutation")
	}
	if _, err := Reshape(b, []int64{4, 4}, []int64{4, 8}); err == nil {
		t.Error("reshape to another number of elements")
	}
	if _, err := Reshape(b, []int64{4, 4}, []int64{16, 0}); err == nil {
		t.Error("reshape to an empty tensor")
	}
}
