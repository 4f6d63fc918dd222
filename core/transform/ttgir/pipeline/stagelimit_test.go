package pipeline

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// A schedule that is in the IR may ask for no more stages than a loop's
// attribute may.
func TestScheduleHasLimits(t *testing.T) {
	m, err := text.Parse(dialect.NewContext(), "k.ttgir", []byte(`module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %q = tt.addptr %p, %i {loop.cluster = 0 : i32, loop.stage = 0 : i32} : !tt.ptr<f32>, i32
      %v = tt.load %q {loop.cluster = 0 : i32, loop.stage = 0 : i32} : !tt.ptr<f32>
      tt.store %q, %v {loop.cluster = 0 : i32, loop.stage = 2000000 : i32} : !tt.ptr<f32>
    } {tt.scheduled_max_stage = 2000000 : i32}
    tt.return
  }
}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&pass.Runner{}).Run(m, []pass.Row{{Pass: Pipeline}}, nil)
	if err == nil || !strings.Contains(err.Error(), "scheduled in 2000001 stages; it may have 128") {
		t.Errorf("got %v", err)
	}
}

// A latency that is in the IR may ask for no more stages, either.
func TestLatencyHasLimits(t *testing.T) {
	for _, latency := range []string{"2147483647", "-1"} {
		m, err := text.Parse(dialect.NewContext(), "k.ttgir", []byte(`module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %q = tt.addptr %p, %i : !tt.ptr<f32>, i32
      %v = tt.load %q {tt.latency = `+latency+` : i32} : !tt.ptr<f32>
      tt.store %q, %v : !tt.ptr<f32>
    }
    tt.return
  }
}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&pass.Runner{}).Run(m, []pass.Row{{Pass: ScheduleLoops}}, nil)
		if err == nil || !strings.Contains(err.Error(), "tt.load has the tt.latency "+latency+", which is from 0 to 64") {
			t.Errorf("got %v", err)
		}
	}
}
