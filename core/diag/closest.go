package diag

import "strings"

// Closest finds the name that another is probably a slip of, or "". Names of one
// or two letters are too short to tell.
func Closest(name string, names []string) string {
	best, dist := "", len(name)/3+1
	if len(name) < 3 {
		dist = 1 // letter case alone
	}
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < dist && n != name {
			best, dist = n, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, change or swap with their
// neighbor between a and b.
func distance(a, b string) int {
	var before []int // the row before prev
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(b)]
}
