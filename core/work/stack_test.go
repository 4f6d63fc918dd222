package work

import (
	"testing"
	"unsafe"
)

// TestGrowStack: a stack that has grown at once stays where it is, and one that has not
// moves as it fills.
func TestGrowStack(t *testing.T) {
	for _, grown := range []bool{false, true} {
		moved := make(chan bool)
		go func() {
			if grown {
				GrowStack()
			}
			var here byte
			before := uintptr(unsafe.Pointer(&here))
			deeper(stackBytes / 2)
			moved <- uintptr(unsafe.Pointer(&here)) != before
		}()
		if got := <-moved; got == grown {
			t.Errorf("grown %t: moved %t", grown, got)
		}
	}
}

// deeper uses so many bytes of stack and returns a number of no interest.
//
//go:noinline
func deeper(bytes int) int {
	var frame [1 << 10]byte
	if bytes <= 0 {
		return 0
	}
	n := deeper(bytes - len(frame))
	frame[n&1] = byte(n)
	return int(frame[0]) + n&1
}
