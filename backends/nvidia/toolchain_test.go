package nvidia

import (
	"testing"

	"github.com/tritonc/tritonc/core/backend"
)

// ptxas124 is what the ptxas of CUDA 12.4 says of itself.
const ptxas124 = "Cuda compilation tools, release 12.4, V12.4.131"

func TestPTXVersion(t *testing.T) {
	tests := []struct{ major, minor, reads, written int }{
		{11, 8, 78, 78},
		{12, 0, 80, 80},
		{12, 4, 84, 84},
		{12, 5, 85, 85},
		{12, 6, 85, 85},
		{12, 8, 87, 87},
		{12, 9, 88, 88},
		{13, 0, 90, 90},
		{13, 1, 91, 90}, // llc 22 writes none newer
		{10, 2, 72, 72},
	}
	for _, tt := range tests {
		ptxas := &backend.Tool{Major: tt.major, Minor: tt.minor}
		if got := ptxVersion(ptxas); got != tt.reads {
			t.Errorf("ptxas %d.%d reads %d, want %d", tt.major, tt.minor, got, tt.reads)
		}
		if got := ptxVersionFor(ptxas); got != tt.written {
			t.Errorf("for ptxas %d.%d llc writes %d, want %d", tt.major, tt.minor, got, tt.written)
		}
	}
}
