package work

// stackBytes is what compiles use of their stack at most, but for loops and calls that
// are nested deep.
const stackBytes = 96 << 10

// GrowStack makes the stack of the goroutine as large as a compile needs, at once. Go
// starts with a few KiB, doubles what is full, and walks all frames each time: for
// a small kernel, in a goroutine of its own, a twentieth of the compile.
func GrowStack() { growStack(0) }

// growStack returns n. Go looks at the size of its frame alone; what would use that is
// never reached, and clears nothing.
//
//go:noinline
func growStack(n int) int {
	if n > 0 {
		var room [stackBytes]byte
		for i := range room {
			room[i] = byte(n * i)
		}
		return int(room[n])
	}
	return n
}
