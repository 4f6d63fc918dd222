package llir

import (
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// TestNumbering: a table finds what a map would, keys that differ in one field and those
// that are added twice included.
func TestNumbering(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	m := NewModule("test", "", "")
	var table vnTable
	want := map[vnKey]Value{}
	draw := func() vnKey {
		few := func() int32 { return int32(r.IntN(7)) - 3 }
		return vnKey{op: Op(r.IntN(3)), pred: uint8(r.IntN(2)), flags: Flags(r.IntN(2)), typ: few(), a: few(), b: few(), c: few(), n: few()}
	}
	if k := draw(); table.find(&k) != nil {
		t.Error("an empty table finds something")
	}
	for i := range 20 * leastBuckets {
		k := draw()
		v := m.I64(int64(i))
		want[k] = v
		table.add(&k, v, nil)
		for _, k := range []vnKey{k, draw()} {
			e, v := table.find(&k), want[k]
			if (e == nil) != (v == nil) || e != nil && e.v != v {
				t.Fatalf("after %d entries %+v is %+v, want %v", i+1, k, e, v)
			}
		}
	}
	for k, v := range want {
		if e := table.find(&k); e == nil || e.v != v {
			t.Errorf("%+v is %+v, want %v", k, e, v)
		}
	}
}
