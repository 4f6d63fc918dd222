package nvidia

import "strings"

// maxStrideReductionPairs is how many pairs of instructions llc's straight-line
// strength reduction (slsr) may compare. The pass compares each sum and each address
// with all earlier ones of the same operand, at 14 to 40 microseconds a pair: 512
// accesses through one pointer take it some 3 seconds, 4,096 took minutes, in which
// everything else in llc takes 2 seconds. Kernels with more pairs are compiled
// without it. It saves additions, up to a third of the instructions of a kernel that
// is nearly all address arithmetic, so the bound is not lower: 25 of 1,838 public
// kernels, at block sizes that were guessed, are above it, and no reference kernel.
const maxStrideReductionPairs = 1 << 17

// strideReductionPairs bounds how many pairs llc's straight-line strength reduction
// compares in LLVM IR: those of additions with a common operand, and of addresses
// with a common base or index, within a function. Constants don't count, since the
// pass leaves sums with one alone.
func strideReductionPairs(llir string) int {
	type key struct{ kind, operand string }
	pairs, seen := 0, make(map[key]int)
	note := func(kind, operand string) {
		k := key{kind, operand}
		pairs += seen[k]
		seen[k]++
	}
	for line := range strings.Lines(llir) {
		if strings.HasPrefix(line, "define ") {
			clear(seen)
		}
		_, op, ok := strings.Cut(line, " = ")
		if !ok {
			continue
		}
		switch {
		case strings.HasPrefix(op, "add "): // add nsw i32 %a, %b, !dbg !7
			x, rest, _ := strings.Cut(op, ", ")
			y, _, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), ",")
			x = lastWord(x)
			if isRegister(x) && isRegister(y) {
				note("add", x)
				note("add", y)
			}
		case strings.HasPrefix(op, "getelementptr "): // getelementptr inbounds float, ptr addrspace(1) %p, i64 %i, !dbg !7
			elem, rest, _ := strings.Cut(op, ", ")
			base, rest, _ := strings.Cut(rest, ", ")
			index, _, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), ",")
			if index = lastWord(index); isRegister(index) {
				note(lastWord(elem), lastWord(base))
				note(lastWord(elem), index)
			}
		}
	}
	return pairs
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

func isRegister(operand string) bool { return strings.HasPrefix(operand, "%") }
