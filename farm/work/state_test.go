package work

import (
	"testing"
	"time"

	"github.com/tritonc/tritonc/internal/natstest"
)

// TestStateSoon: who asks what a farm does need not wait for a worker's next beat to see
// what it has done.
func TestStateSoon(t *testing.T) {
	cfg := quick
	cfg.Beat = time.Hour
	q := open(t, cfg, natstest.Run(t).URL())
	start(t, q, "w", &stub{class: anyClass})
	c := client(t, q, soon)
	all(t, c, []*Task{task("a"), task("b"), task("c")})
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := q.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Workers) == 1 && s.Workers[0].Done == 3 && s.Workers[0].Running == 0 && s.Workers[0].Rate > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("workers %+v", s.Workers)
		}
	}
}
