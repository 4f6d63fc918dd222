package gpu

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// What threads store to global memory before a barrier, others load after it;
// without one the device reports the race.
func TestLocalBarrier(t *testing.T) {
	const n = 128
	src := strings.NewReplacer("T128", "tensor<128xi32, ENC>", "P128", "tensor<128x!tt.ptr<i32>, ENC>").Replace(moduleOf(`
  tt.func public @k(%x: !tt.ptr<i32>, %o: !tt.ptr<i32>) {
    %last = arith.constant dense<127> : T128
    %i = tt.make_range {end = 128 : i32, start = 0 : i32} : T128
    %j = arith.subi %last, %i : T128
    %p = tt.splat %x : !tt.ptr<i32> -> P128
    %there = tt.addptr %p, %i : P128, T128
    %back = tt.addptr %p, %j : P128, T128
    tt.store %there, %i : P128
    ttg.local_barrier
    %v = tt.load %back : P128
    %q = tt.splat %o : !tt.ptr<i32> -> P128
    %to = tt.addptr %q, %i : P128, T128
    tt.store %to, %v : P128
    tt.return
  }
`))
	src = strings.ReplaceAll(src, "ENC", "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>")
	launch := func(src string) ([]int32, error) {
		k := build(t, "barrier.ttgir", src, 80)
		d := sim.New(sim.Options{})
		x, o := d.Alloc("x", 4*n), d.Alloc("o", 4*n)
		_, err := d.Launch(k.mod, k.Kernel, sim.Dim(1), sim.Dim(k.Threads), k.Shared, x, o)
		noteOperations(src)
		return sim.Download[int32](o), err
	}
	o, err := launch(src)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range o {
		if int(v) != n-1-i {
			t.Fatalf("o[%d] = %d, want %d", i, v, n-1-i)
		}
	}
	if _, err := launch(strings.Replace(src, "    ttg.local_barrier\n", "", 1)); err == nil {
		t.Error("without the barrier nothing is reported")
	}
}
