package sdk

import "slices"

// StageBefore is the place among stages of the one whose artifact the stage at i takes: that
// which it names in From, or else the one before it in the list. It is -1 where that is
// ttir as the front end builds it, and where From names no stage before this one.
func StageBefore(stages []Stage, i int) int {
	if stages[i].From == "" {
		return i - 1
	}
	return slices.IndexFunc(stages[:i], func(s Stage) bool { return s.Name == stages[i].From })
}

// StagesAfter are the places of the stages that can be made of the artifact of the stage at
// given, -1 for ttir as the front end builds it: those that take it, those that take what
// these make, and so on.
func StagesAfter(stages []Stage, given int) []int {
	var list []int
	for i := given + 1; i < len(stages); i++ {
		if b := StageBefore(stages, i); b == given || slices.Contains(list, b) {
			list = append(list, i)
		}
	}
	return list
}

// StagesFor are the places of the stages that run, in order, to make the artifacts of those
// at wanted of the artifact of the stage at given. It is nil where one of them is not made
// of that.
func StagesFor(stages []Stage, given int, wanted ...int) []int {
	after := StagesAfter(stages, given)
	needed := map[int]bool{}
	for _, w := range wanted {
		if !slices.Contains(after, w) {
			return nil
		}
		for ; w != given; w = StageBefore(stages, w) {
			needed[w] = true
		}
	}
	return slices.DeleteFunc(after, func(i int) bool { return !needed[i] })
}
