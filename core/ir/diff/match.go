package diff

import "slices"

// maxEdits bounds the search for corresponding lines: its memory grows with the
// square of the number of lines that do not correspond. What differs more than
// this has nothing to be read in a diff.
const maxEdits = 4000

// matches returns the pairs of indices of a longest common subsequence of a and
// b, by Myers' algorithm ("An O(ND) Difference Algorithm and Its Variations",
// 1986); only the common prefix and suffix when more than maxEdits lines differ.
func matches(a, b []string) [][2]int {
	var head, tail [][2]int
	for len(head) < min(len(a), len(b)) && a[len(head)] == b[len(head)] {
		head = append(head, [2]int{len(head), len(head)})
	}
	from := len(head)
	n, m := len(a), len(b)
	for n > from && m > from && a[n-1] == b[m-1] {
		n, m = n-1, m-1
		tail = append(tail, [2]int{n, m})
	}
	slices.Reverse(tail)
	middle := shortestEdit(a[from:n], b[from:m])
	for _, p := range middle {
		head = append(head, [2]int{p[0] + from, p[1] + from})
	}
	return append(head, tail...)
}

// shortestEdit returns the pairs of equal lines that a shortest edit script from
// a to b keeps.
func shortestEdit(a, b []string) [][2]int {
	// reach[d][k+d] is how far into a one comes with d edits on the diagonal
	// k = x−y.
	var reach [][]int32
	for d := 0; d <= min(len(a)+len(b), maxEdits); d++ {
		row := make([]int32, 2*d+1)
		reach = append(reach, row)
		for k := -d; k <= d; k += 2 {
			x := step(reach, d, k)
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			row[k+d] = int32(x)
			if x == len(a) && x-k == len(b) {
				return backtrack(reach, d, k)
			}
		}
	}
	return nil
}

// step is where the d-th edit, the one that leads to the diagonal k, ends.
func step(reach [][]int32, d, k int) int {
	if d == 0 {
		return 0
	}
	before := reach[d-1]
	at := func(k int) int { return int(before[k+d-1]) }
	if k == -d || k != d && at(k-1) < at(k+1) {
		return at(k + 1) // a line of b is put in
	}
	return at(k-1) + 1 // a line of a is taken out
}

// backtrack follows the edits from the end to the start and gathers the equal
// lines between them.
func backtrack(reach [][]int32, d, k int) [][2]int {
	var pairs [][2]int
	for ; d >= 0; d-- {
		x := int(reach[d][k+d])
		start := step(reach, d, k)
		for ; x > start; x-- {
			pairs = append(pairs, [2]int{x - 1, x - 1 - k})
		}
		if d == 0 {
			break
		}
		before := reach[d-1]
		if k == -d || k != d && before[k-1+d-1] < before[k+1+d-1] {
			k++
		} else {
			k--
		}
	}
	slices.Reverse(pairs)
	return pairs
}
