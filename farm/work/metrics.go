package work

import (
	"io"
	"time"

	"github.com/tritonc/tritonc/core/promtext"
)

// WriteMetrics writes a worker's state in the text form of Prometheus.
func (s *State) WriteMetrics(w io.Writer) error {
	t := promtext.New("tritonc_worker_")
	t.One("uptime_seconds", promtext.Gauge, "Time since the worker started.", time.Since(s.Started).Seconds())
	t.One("jobs", promtext.Gauge, "Tasks that may run at once.", float64(s.Jobs))
	t.One("running_tasks", promtext.Gauge, "Tasks that run.", float64(s.Running))
	t.One("done_tasks_total", promtext.Counter, "Tasks with a result.", float64(s.Done))
	t.One("failed_tasks_total", promtext.Counter, "Tasks that failed here and went to another worker.", float64(s.Failed))
	t.One("given_up_tasks_total", promtext.Counter, "Tasks that were given up here after too many tries.", float64(s.GivenUp))
	t.One("task_seconds_total", promtext.Counter, "Time that tasks took.", s.Busy)
	t.One("classes", promtext.Gauge, "Kinds of tasks that the worker takes.", float64(len(s.Classes)))
	_, err := t.WriteTo(w)
	return err
}
