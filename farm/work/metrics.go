package work

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteMetrics writes a worker's state in the text form of Prometheus.
func (s *State) WriteMetrics(w io.Writer) error {
	var b strings.Builder
	one := func(name, kind, help string, value float64) {
		fmt.Fprintf(&b, "# HELP tritonc_worker_%s %s\n# TYPE tritonc_worker_%s %s\ntritonc_worker_%s %s\n",
			name, help, name, kind, name, strconv.FormatFloat(value, 'g', -1, 64))
	}
	one("uptime_seconds", "gauge", "Time since the worker started.", time.Since(s.Started).Seconds())
	one("jobs", "gauge", "Tasks that may run at once.", float64(s.Jobs))
	one("running_tasks", "gauge", "Tasks that run.", float64(s.Running))
	one("done_tasks_total", "counter", "Tasks with a result.", float64(s.Done))
	one("failed_tasks_total", "counter", "Tasks that failed here and went to another worker.", float64(s.Failed))
	one("given_up_tasks_total", "counter", "Tasks that were given up here after too many tries.", float64(s.GivenUp))
	one("task_seconds_total", "counter", "Time that tasks took.", s.Busy)
	one("classes", "gauge", "Kinds of tasks that the worker takes.", float64(len(s.Classes)))
	_, err := io.WriteString(w, b.String())
	return err
}
