package sdk

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// TestStageBegins: that a stage begins is sent once it has run for a while, and at once
// where the host knows of an earlier one, so that it names none in which the backend
// is not. After the end of a call nothing is sent.
func TestStageBegins(t *testing.T) {
	type step struct {
		p    Progress
		then time.Duration
	}
	a, b, half := Progress{Stage: "a"}, Progress{Stage: "b"}, Progress{Stage: "b", Fraction: 0.5}
	for name, tt := range map[string]struct {
		steps []step
		want  []string
	}{
		"short stages":              {[]step{{a, untold / 2}, {b, untold / 2}}, nil},
		"a long one":                {[]step{{a, 2 * untold}}, []string{"a"}},
		"a long one after a short":  {[]step{{a, untold / 2}, {b, 2 * untold}}, []string{"b"}},
		"a short one after a long":  {[]step{{a, 2 * untold}, {b, 0}}, []string{"a", "b"}},
		"progress of a stage":       {[]step{{a, 0}, {b, 0}, {half, 0}}, []string{"b"}},
		"a short one after it":      {[]step{{half, 0}, {a, 0}}, []string{"b", "a"}},
		"the call ends while it is": {[]step{{a, untold - 1}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent []string
				w := &eventWriter{events: events[pb.RunStagesEvent]{send: func(e *pb.RunStagesEvent) error {
					sent = append(sent, e.GetProgress().GetStage())
					return nil
				}}}
				for _, s := range tt.steps {
					w.progress(s.p)
					time.Sleep(s.then)
					synctest.Wait()
				}
				w.over()
				time.Sleep(10 * untold)
				synctest.Wait()
				if !slices.Equal(sent, tt.want) {
					t.Errorf("sent %q, not %q", sent, tt.want)
				}
			})
		})
	}
}
