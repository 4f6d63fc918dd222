package slab

import (
	"slices"
	"testing"
)

// TestApart: values are zero when they are handed out, and none overlaps another,
// whatever is appended to a list.
func TestApart(t *testing.T) {
	var s Of[int]
	var ones []*int
	var lists [][]int
	for i := range 3000 {
		x := s.One()
		if *x != 0 {
			t.Fatalf("value %d is %d", i, *x)
		}
		*x = -i - 1
		ones = append(ones, x)
		l := s.Make(i % 7)
		if slices.ContainsFunc(l, func(v int) bool { return v != 0 }) {
			t.Fatalf("list %d is %d", i, l)
		}
		for k := range l {
			l[k] = i
		}
		_ = append(l, 1<<40)
		lists = append(lists, l, s.List(l))
	}
	for i, x := range ones {
		if *x != -i-1 {
			t.Fatalf("value %d is %d now", i, *x)
		}
		for _, l := range lists[2*i : 2*i+2] {
			if len(l) != i%7 || slices.ContainsFunc(l, func(v int) bool { return v != i }) {
				t.Fatalf("list %d is %d now", i, l)
			}
		}
	}
}

// TestLong: a list longer than a chunk is in one piece, and an empty one is nil.
func TestLong(t *testing.T) {
	var s Of[byte]
	long := make([]byte, 3*lastChunk)
	for i := range long {
		long[i] = byte(i)
	}
	if got := s.List(long); !slices.Equal(got, long) {
		t.Errorf("a list of %d is %d", len(long), got)
	}
	if got := s.List(nil); got != nil {
		t.Errorf("an empty list is %#v", got)
	}
}

// TestChunks: values come from few allocations.
func TestChunks(t *testing.T) {
	allocations := testing.AllocsPerRun(10, func() {
		var s Of[[4]int]
		for range 4096 {
			s.One()
		}
	})
	if allocations > 20 {
		t.Errorf("%v allocations of 4096 values", allocations)
	}
}
