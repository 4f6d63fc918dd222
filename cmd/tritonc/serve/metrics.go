package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	pb "github.com/tritonc/tritonc/cmd/tritonc/serve/v1"
	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/promtext"
)

// How command lines end.
const (
	resultOK        = "ok"
	resultError     = "error"
	resultUsage     = "usage"
	resultCancelled = "cancelled"
	resultRefused   = "refused"
)

var results = []string{resultOK, resultError, resultUsage, resultCancelled, resultRefused}

// resultOf is the one that an exit code stands for.
func resultOf(code int) string {
	switch code {
	case 0:
		return resultOK
	case 2:
		return resultUsage
	}
	return resultError
}

// metrics count what a server did.
type metrics struct {
	started time.Time

	mu              sync.Mutex
	requests        map[string]int64
	kernels, cached int64
	stages          map[string]time.Duration
}

func newMetrics() *metrics {
	m := &metrics{started: time.Now(), requests: map[string]int64{}, stages: map[string]time.Duration{}}
	for _, r := range results {
		m.requests[r] = 0
	}
	return m
}

func (m *metrics) request(result string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[result]++
}

func (m *metrics) kernel(cached bool, stages map[string]time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kernels++; cached {
		m.cached++
	}
	for stage, t := range stages {
		m.stages[stage] += t
	}
}

// status is what was counted, with what the process has.
func (m *metrics) status() *pb.GetStatusResponse {
	m.mu.Lock()
	defer m.mu.Unlock()
	resp := &pb.GetStatusResponse{
		Pid: int64(os.Getpid()), UptimeSeconds: time.Since(m.started).Seconds(), Requests: maps.Clone(m.requests),
		Kernels: m.kernels, Cached: m.cached, StageSeconds: map[string]float64{},
		ResidentBytes: residentBytes(os.Getpid()), Goroutines: int64(runtime.NumGoroutine()), OpenFiles: openFiles(),
	}
	for stage, t := range m.stages {
		resp.StageSeconds[stage] = t.Seconds()
	}
	return resp
}

// residentBytes is the memory that a process has, 0 where the system does not say.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	var size, resident int64
	if n, _ := fmt.Sscan(string(text), &size, &resident); n != 2 {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// openFiles counts the files of this process, 0 where the system does not say.
func openFiles() int64 {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return int64(max(len(names)-1, 0)) // less the folder itself
}

// Status is what a server says of itself.
type Status struct {
	Socket         string             `json:"socket"`
	PID            int64              `json:"pid"`
	Build          string             `json:"build"`
	Uptime         float64            `json:"uptime"` // in seconds, as all times
	Requests       map[string]int64   `json:"requests"`
	Kernels        int64              `json:"kernels"`
	Cached         int64              `json:"cached"`
	Active         int64              `json:"active"`
	Running        int64              `json:"running"`
	Waiting        int64              `json:"waiting"`
	Jobs           int64              `json:"jobs"`
	Stages         map[string]float64 `json:"stages"`
	Backends       []BackendStatus    `json:"backends"`
	ResidentBytes  int64              `json:"resident_bytes"`
	GoroutineCount int64              `json:"goroutines"`
	OpenFiles      int64              `json:"open_files"`
	SharedCache    *cache.Counts      `json:"shared_cache,omitempty"`
}

// BackendStatus is a backend's process.
type BackendStatus struct {
	Name          string `json:"name"`
	PID           int64  `json:"pid"`
	ResidentBytes int64  `json:"resident_bytes"`
}

func statusOf(socket string, r *pb.GetStatusResponse) *Status {
	s := &Status{
		Socket: socket, PID: r.GetPid(), Build: r.GetBuild(), Uptime: r.GetUptimeSeconds(), Requests: r.GetRequests(),
		Kernels: r.GetKernels(), Cached: r.GetCached(), Active: r.GetActive(), Running: r.GetRunning(), Waiting: r.GetWaiting(), Jobs: r.GetJobs(),
		Stages: r.GetStageSeconds(), Backends: []BackendStatus{}, ResidentBytes: r.GetResidentBytes(), GoroutineCount: r.GetGoroutines(), OpenFiles: r.GetOpenFiles(),
	}
	for _, b := range r.GetBackends() {
		s.Backends = append(s.Backends, BackendStatus{b.GetName(), b.GetPid(), b.GetResidentBytes()})
	}
	if text := r.GetSharedCache(); len(text) > 0 {
		s.SharedCache = &cache.Counts{}
		if json.Unmarshal(text, s.SharedCache) != nil {
			s.SharedCache = nil // of another build, which is asked for its status alone
		}
	}
	return s
}

// WriteText writes a line for each fact, for people.
func (s *Status) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("socket", "%s", s.Socket)
	row("process", "%d", s.PID)
	row("up", "%s", time.Duration(s.Uptime*float64(time.Second)).Round(time.Second))
	var ends []string
	for _, r := range results {
		ends = append(ends, fmt.Sprintf("%d %s", s.Requests[r], r))
	}
	row("requests", "%s", strings.Join(ends, ", "))
	row("kernels", "%d, of which the cache had %d", s.Kernels, s.Cached)
	if s.SharedCache != nil {
		row("shared cache", "%s", s.SharedCache)
	}
	row("now", "%s under way; of %s at a time %d compile, %d wait", diag.Count(int(s.Active), "request"), diag.Count(int(s.Jobs), "kernel"), s.Running, s.Waiting)
	for _, stage := range slices.Sorted(maps.Keys(s.Stages)) {
		row("stage "+stage, "%.3f s", s.Stages[stage])
	}
	for _, b := range s.Backends {
		row("backend "+b.Name, "process %d, %.1f MiB", b.PID, mebibytes(b.ResidentBytes))
	}
	row("memory", "%.1f MiB", mebibytes(s.ResidentBytes))
	row("goroutines", "%d", s.GoroutineCount)
	row("open files", "%d", s.OpenFiles)
	return t.Flush()
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// WriteMetrics writes the text form of Prometheus.
func (s *Status) WriteMetrics(w io.Writer) error {
	t := promtext.New("tritonc_")
	t.One("uptime_seconds", promtext.Gauge, "Time since the server started.", s.Uptime)
	t.Family("requests_total", promtext.Counter, "Command lines, by how they ended.")
	for _, r := range slices.Sorted(maps.Keys(s.Requests)) {
		t.Value("requests_total", fmt.Sprintf("{result=%q}", r), float64(s.Requests[r]))
	}
	t.One("kernels_total", promtext.Counter, "Kernels that came out.", float64(s.Kernels))
	t.One("cached_kernels_total", promtext.Counter, "Kernels that the cache had.", float64(s.Cached))
	t.One("active_requests", promtext.Gauge, "Command lines under way.", float64(s.Active))
	t.One("running_kernels", promtext.Gauge, "Kernels that are compiled.", float64(s.Running))
	t.One("waiting_kernels", promtext.Gauge, "Kernels that wait for a place.", float64(s.Waiting))
	t.One("jobs", promtext.Gauge, "Kernels that may be compiled at once.", float64(s.Jobs))
	t.Family("stage_seconds_total", promtext.Counter, "Time that stages took.")
	for _, stage := range slices.Sorted(maps.Keys(s.Stages)) {
		t.Value("stage_seconds_total", fmt.Sprintf("{stage=%q}", stage), s.Stages[stage])
	}
	t.Family("backend_resident_bytes", promtext.Gauge, "Memory of a backend's process.")
	for _, p := range s.Backends {
		t.Value("backend_resident_bytes", fmt.Sprintf("{backend=%q,pid=\"%d\"}", p.Name, p.PID), float64(p.ResidentBytes))
	}
	t.One("resident_bytes", promtext.Gauge, "Memory of the server's process.", float64(s.ResidentBytes))
	t.One("goroutines", promtext.Gauge, "Goroutines of the server.", float64(s.GoroutineCount))
	t.One("open_files", promtext.Gauge, "Open files of the server.", float64(s.OpenFiles))
	if _, err := t.WriteTo(w); err != nil || s.SharedCache == nil {
		return err
	}
	return s.SharedCache.WriteMetrics(w)
}
