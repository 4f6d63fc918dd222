package testseed

import "testing"

func TestSeed(t *testing.T) {
	t.Setenv(Env, "42")
	if Seed() != 42 {
		t.Error("the environment's seed is not taken")
	}
	t.Setenv(Env, "")
	if a, b := Seed(), Seed(); a == b {
		t.Error("two fresh seeds are the same")
	}
	t.Setenv(Env, "x")
	defer func() {
		if recover() == nil {
			t.Error("a seed that is not a number is taken")
		}
	}()
	Seed()
}
