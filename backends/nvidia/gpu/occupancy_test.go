package gpu

import (
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// TestBlocks: how many blocks ptxas is asked for. The numbers of registers are those
// of kernels that were timed on an H200.
func TestBlocks(t *testing.T) {
	hopper := &Target{CC: 90, Shared: 228 << 10, Threads: 2048}
	loads := func(peak, live, loaded, truths int) *llir.Registers {
		return &llir.Registers{Peak: peak, Loads: llir.LoadGroup{Live: live, Loaded: loaded, Truths: truths}}
	}
	held := func(r *llir.Registers, n int) *llir.Registers {
		r.Loads.Held = n
		return r
	}
	for _, c := range []struct {
		name   string
		target *Target
		kernel lower.Kernel
		want   int
	}{
		{"the maximum of four rows in eight warps", hopper, lower.Kernel{Threads: 256, Shared: 128, Registers: loads(44, 44, 16, 4)}, 4},
		{"in four warps", hopper, lower.Kernel{Threads: 128, Registers: loads(83, 81, 32, 4)}, 4},
		{"few loads", hopper, lower.Kernel{Threads: 128, Registers: loads(45, 45, 4, 2)}, 0},
		{"loads that fit beside all threads", hopper, lower.Kernel{Threads: 128, Registers: loads(32, 32, 16, 2)}, 0},
		{"more masks than predicates", hopper, lower.Kernel{Threads: 128, Registers: loads(54, 50, 16, 17)}, 0},
		{"the greatest eight of 128 numbers of 64 bits", hopper, lower.Kernel{Threads: 128, Shared: 2 << 10, Registers: loads(72, 48, 16, 2)}, 4},
		{"much lives at once", hopper, lower.Kernel{Threads: 128, Registers: loads(130, 120, 40, 0)}, 2},
		{"too much", hopper, lower.Kernel{Threads: 128, Registers: loads(350, 120, 40, 0)}, 0},
		{"more than twice the registers of a thread", hopper, lower.Kernel{Threads: 512, Shared: 256, Registers: loads(420, 384, 192, 2)}, 1},
		{"two blocks of sixteen warps", hopper, lower.Kernel{Threads: 512, Registers: loads(55, 51, 24, 1)}, 2},
		{"which would spill", hopper, lower.Kernel{Threads: 512, Registers: loads(82, 74, 64, 8), InParts: true}, 0},
		{"a tile that goes through in parts", hopper, lower.Kernel{Threads: 256, Registers: loads(29, 24, 512, 2), InParts: true}, 4},
		{"in four warps, sums of eight rows and the loads of a step", hopper, lower.Kernel{Threads: 128, Shared: 128, Registers: held(loads(90, 85, 64, 9), 1), InParts: true}, 3},
		{"the sum of a row, no more loads in fewer blocks", hopper, lower.Kernel{Threads: 128, Shared: 16, Registers: held(loads(16, 8, 64, 0), 2), InParts: true}, 8},
		{"all loads in flight as it is", hopper, lower.Kernel{Threads: 64, Registers: held(loads(113, 72, 48, 2), 48), InParts: true}, 8},
		{"a kernel too large to tell", hopper, lower.Kernel{Threads: 128}, 0},
		{"an unknown multiprocessor", &Target{CC: 90}, lower.Kernel{Threads: 128, Registers: loads(45, 45, 16, 2)}, 0},
		{"1,536 threads", &Target{CC: 86, Shared: 100 << 10, Threads: 1536}, lower.Kernel{Threads: 128, Registers: loads(48, 47, 24, 2)}, 6},

		{"backward of keys, head of 128", hopper, lower.Kernel{Threads: 128, Shared: 34 << 10, Matrix: true, Registers: &llir.Registers{Peak: 233, Loop: 123}}, 3},
		{"forward, head of 128", hopper, lower.Kernel{Threads: 128, Shared: 64 << 10, Matrix: true, Registers: &llir.Registers{Peak: 310, Loop: 149}}, 1},
		{"eight warps", hopper, lower.Kernel{Threads: 256, Shared: 64 << 10, Matrix: true, Registers: &llir.Registers{Peak: 209, Loop: 113}}, 1},
		{"without a loop", hopper, lower.Kernel{Threads: 128, Shared: 64 << 10, Matrix: true, Registers: &llir.Registers{Peak: 272}}, 3},
		{"a loop that three would make spill", hopper, lower.Kernel{Threads: 128, Shared: 48 << 10, Matrix: true, Registers: &llir.Registers{Peak: 247, Loop: 86}}, 1},
		{"one block has room", hopper, lower.Kernel{Threads: 128, Shared: 144 << 10, Matrix: true, Registers: &llir.Registers{Peak: 160, Loop: 60}}, 1},
		{"dots without matrix instructions", hopper, lower.Kernel{Threads: 128, Shared: 36 << 10, Registers: &llir.Registers{Peak: 400, Loop: 80}}, 1},

		{"backward of keys, head of 64", hopper, lower.Kernel{Threads: 128, Shared: 18 << 10, Matrix: true, Registers: &llir.Registers{Peak: 140, Loop: 74}}, 4},
		{"of keys, in two parts", hopper, lower.Kernel{Threads: 128, Shared: 18 << 10, Matrix: true, Registers: &llir.Registers{Peak: 167, Loop: 104}}, 3},
		{"of keys, with dropout", hopper, lower.Kernel{Threads: 128, Shared: 12 << 10, Matrix: true, Registers: &llir.Registers{Peak: 167, Loop: 81}}, 4},
		{"of keys, with dropout, causal", hopper, lower.Kernel{Threads: 128, Shared: 12 << 10, Matrix: true, Uneven: true, Registers: &llir.Registers{Peak: 167, Loop: 81}}, 3},
		{"staged operands with little over, causal", hopper, lower.Kernel{Threads: 128, Shared: 34 << 10, Matrix: true, Uneven: true, Registers: &llir.Registers{Peak: 140, Loop: 74}}, 3},
		{"all programs alike", hopper, lower.Kernel{Threads: 128, Shared: 34 << 10, Matrix: true, Registers: &llir.Registers{Peak: 140, Loop: 74}}, 4},
		{"of queries", hopper, lower.Kernel{Threads: 128, Shared: 8 << 10, Matrix: true, Registers: &llir.Registers{Peak: 142, Loop: 118}}, 4},
		{"of queries, causal", hopper, lower.Kernel{Threads: 128, Shared: 8 << 10, Matrix: true, Registers: &llir.Registers{Peak: 150, Loop: 124}}, 3},
		{"of keys, head of 64, operands kept, with dropout", hopper, lower.Kernel{Threads: 128, Shared: 12 << 10, Matrix: true, Registers: &llir.Registers{Peak: 171, Loop: 110}}, 3},
		{"of keys, head of 64, loads an iteration ahead", hopper, lower.Kernel{Threads: 128, Shared: 12 << 10, Matrix: true, Registers: &llir.Registers{Peak: 163, Loop: 114}}, 4},
		{"the same, causal", hopper, lower.Kernel{Threads: 128, Shared: 12 << 10, Matrix: true, Uneven: true, Registers: &llir.Registers{Peak: 163, Loop: 114}}, 3},
		{"nothing over for a step", hopper, lower.Kernel{Threads: 128, Shared: 12 << 10, Matrix: true, Registers: &llir.Registers{Peak: 140, Loop: 119}}, 3},
		{"a loop that three blocks would make spill, little beside it", hopper, lower.Kernel{Threads: 128, Shared: 8 << 10, Matrix: true, Registers: &llir.Registers{Peak: 195, Loop: 170}}, 0},
		{"a warp, much at once", hopper, lower.Kernel{Threads: 32, Shared: 4 << 10, Matrix: true, Registers: &llir.Registers{Peak: 240, Loop: 120}}, 0},
		{"a loop that two blocks have registers for", hopper, lower.Kernel{Threads: 128, Shared: 20 << 10, Matrix: true, Registers: &llir.Registers{Peak: 239, Loop: 158}}, 0},
		{"of queries, head of 16", hopper, lower.Kernel{Threads: 128, Shared: 3 << 10, Matrix: true, Registers: &llir.Registers{Peak: 76, Loop: 41}}, 0},
	} {
		if n := c.target.blocks(c.kernel); n != c.want {
			t.Errorf("%s: %d blocks, want %d", c.name, n, c.want)
		}
	}
}

// TestSharedRoom: as many blocks as before fit beside one another, and shared memory
// is still not what limits them.
func TestSharedRoom(t *testing.T) {
	hopper := &Target{CC: 90, Shared: 228 << 10, Threads: 2048}
	for _, c := range []struct {
		target  *Target
		threads int
		dots    bool
		want    int
	}{
		{hopper, 128, false, 228<<10/16 - 1<<10},
		{hopper, 128, true, 228<<10/9 - 1<<10},
		{hopper, 1024, false, 228<<10/2 - 1<<10},
		{&Target{CC: 86, Shared: 100 << 10, Threads: 1536}, 128, true, 100<<10/7 - 1<<10},
		{&Target{CC: 90}, 128, true, 0},
	} {
		n := c.target.SharedRoom(c.threads, c.dots)
		if n != c.want {
			t.Errorf("%d threads, dots %v: %d bytes, want %d", c.threads, c.dots, n, c.want)
		}
		if k := (lower.Kernel{Threads: c.threads, Shared: n}); c.target.sharedBlocks(k) >= 0 {
			t.Errorf("%d threads, dots %v: %d bytes keep threads away", c.threads, c.dots, n)
		}
	}
}
