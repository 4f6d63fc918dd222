package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/tritonc/tritonc/internal/natstest"
)

// collected is a collector of OpenTelemetry: what it was sent.
type collected struct {
	testing.TB
	url string

	mu    sync.Mutex
	spans []collectedSpan
}

type collectedSpan struct {
	*otlp.Span
	service string
}

func newCollector(t testing.TB) *collected {
	c := &collected{TB: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(body)
		}
		data, err := io.ReadAll(body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(data, &req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		c.add(&req)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collected) add(req *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		service := ""
		for _, kv := range rs.GetResource().GetAttributes() {
			if kv.GetKey() == "service.name" {
				service = kv.GetValue().GetStringValue()
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				c.spans = append(c.spans, collectedSpan{s, service})
			}
		}
	}
}

// grpcCollector is a collector that speaks gRPC.
type grpcCollector struct {
	collector.UnimplementedTraceServiceServer
	*collected
}

// Export implements the service.
func (c grpcCollector) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.add(req)
	return &collector.ExportTraceServiceResponse{}, nil
}

// TestTraceGRPC: spans go by gRPC where the environment says so.
func TestTraceGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collected{TB: t, url: "http://" + l.Addr().String()}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, grpcCollector{collected: c})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	f := newFarmTest(t)
	f.env = append(c.env(f.env), traceOf, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	if _, said := f.run(0, "-t", "cuda:80", "--emit", "ttgir", "-o", "out", "k.py"); said != "" {
		t.Errorf("it says\n%s", said)
	}
	c.wait("tritonc: tritonc", "tritonc: tritonc | compile k | nvidia RunStages | stage ttgir")
	c.inTrace()
}

// env is the environment of a process that is traced.
func (c *collected) env(env []string) []string {
	return append(slices.Clone(env), "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url, "OTEL_BSP_SCHEDULE_DELAY=50")
}

// path is a span with all above it, outermost first: "service: name | name | ...". A
// service is told where it changes.
func (c *collected) path(s collectedSpan) string {
	var names []string
	for {
		above := slices.IndexFunc(c.spans, func(o collectedSpan) bool { return bytes.Equal(o.GetSpanId(), s.GetParentSpanId()) })
		name := s.GetName()
		if above < 0 || c.spans[above].service != s.service {
			name = s.service + ": " + name
		}
		names = append(names, name)
		if above < 0 {
			break
		}
		s = c.spans[above]
	}
	slices.Reverse(names)
	return strings.Join(names, " | ")
}

// wait waits until there are spans of these paths, and returns one of each.
func (c *collected) wait(paths ...string) map[string]collectedSpan {
	c.Helper()
	found := map[string]collectedSpan{}
	var seen []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		seen = nil
		for _, s := range c.spans {
			p := c.path(s)
			seen = append(seen, p)
			if slices.Contains(paths, p) {
				found[p] = s
			}
		}
		c.mu.Unlock()
		if len(found) == len(paths) {
			return found
		}
	}
	c.Fatalf("there is no span of one of\n%s\nin\n%s", strings.Join(paths, "\n"), strings.Join(seen, "\n"))
	return nil
}

// facts are the attributes of a span.
func (s collectedSpan) facts() map[string]string {
	facts := map[string]string{}
	for _, kv := range s.GetAttributes() {
		switch v := kv.GetValue(); {
		case v.GetStringValue() != "":
			facts[kv.GetKey()] = v.GetStringValue()
		default:
			facts[kv.GetKey()] = fmt.Sprint(v.GetIntValue())
		}
	}
	return facts
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	traceOf = "TRACEPARENT=00-" + traceID + "-b7ad6b7169203331-01"
)

// inTrace fails unless all spans are of the trace of traceOf, but for those of what a worker
// does for nobody.
func (c *collected) inTrace() {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if p := c.path(s); fmt.Sprintf("%x", s.GetTraceId()) != traceID && !strings.HasPrefix(p, "tritonc-worker: class") {
			c.Errorf("%s is in another trace", p)
		}
		if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
			c.Errorf("%s ends before it begins", c.path(s))
		}
	}
}

// TestTraceFarm: a compile by a worker is one trace, from the command to the tools of the
// backend of the worker.
func TestTraceFarm(t *testing.T) {
	needSignals(t)
	if !haveToolchain() {
		t.Skip("llc is not there")
	}
	f := newFarmTest(t)
	c := newCollector(t)
	f.env = c.env(f.env)
	url := natstest.Run(t).URL()
	f.startWorker(url)
	f.env = append(f.env, traceOf)
	f.run(0, "compile", "--no-cache", "--farm", "--nats", url, "-t", "cuda:80", "-o", "there", "k.py")
	task := "tritonc: tritonc compile | farm k | farm task | tritonc-worker: task"
	compile := task + " | compile k"
	spans := c.wait(
		"tritonc: tritonc compile", "tritonc: tritonc compile | read", "tritonc: tritonc compile | farm k | farm task",
		task, task+" | read", compile, compile+" | front end", compile+" | nvidia RunStages", compile+" | nvidia RunStages | stage ttgir",
		compile+" | nvidia RunStages | stage ptx", compile+" | nvidia RunStages | stage cubin | ptxas",
	)
	c.inTrace()
	if facts := spans[compile].facts(); facts["tritonc.kernel"] != "k" || facts["tritonc.target"] != "cuda:80" || !slices.Contains([]string{"B=64", "B=128 num_warps=2"}, facts["tritonc.config"]) || facts["tritonc.cache.local"] != "off" {
		t.Errorf("the compile says %v", facts)
	}
	if s := spans[compile+" | nvidia RunStages | stage cubin | ptxas"]; s.facts()["process.exit.code"] != "0" || s.GetStatus().GetCode() != otlp.Status_STATUS_CODE_UNSET {
		t.Errorf("ptxas says %v, %v", s.facts(), s.GetStatus())
	}
	if a, b := spans[task].facts()["tritonc.worker"], spans["tritonc: tritonc compile | farm k | farm task"].facts()["tritonc.worker"]; a == "" || a != b {
		t.Errorf("the worker is %q, and for the client %q", a, b)
	}

	// What goes wrong is said in the spans of who did it and of who asked.
	f.run(1, "compile", "--no-cache", "--farm", "--nats", url, "-t", "cuda:80", "wrong.py")
	wrong := c.wait("tritonc: tritonc compile | farm w", "tritonc: tritonc compile | farm w | farm task | tritonc-worker: task | compile w | front end")
	for path, s := range wrong {
		if s.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR || !strings.Contains(s.GetStatus().GetMessage(), "undefined is not defined") {
			t.Errorf("%s: %v", path, s.GetStatus())
		}
	}
}

// TestTraceCaches: the span of a compile says what the caches had, and which tool failed.
func TestTraceCaches(t *testing.T) {
	f := newFarmTest(t)
	c := newCollector(t)
	f.env = append(c.env(f.env), traceOf, "OTEL_SERVICE_NAME=mine")
	for _, found := range []string{"miss", "hit"} {
		f.run(0, "-t", "cuda:80", "--emit", "ttgir", "-o", found, "k.py")
		for _, s := range c.wait("mine: tritonc | compile k", "mine: tritonc | compile k | cache") {
			if got := s.facts()["tritonc.cache.local"]; got != found {
				t.Errorf("%s: %q, want %q", c.path(s), got, found)
			}
		}
		c.inTrace()
		c.spans = nil
	}
	fails := filepath.Join(f.dir, "ptxas")
	if err := os.WriteFile(fails, []byte("#!/bin/sh\ncase $1 in --version) echo 'Cuda compilation tools, release 12.8, V12.8.93';; *) exit 3;; esac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.env = append(f.env, "TRITON_PTXAS_PATH="+fails)
	f.run(1, "-t", "cuda:80", "-o", "fails", "k.py")
	tool := "mine: tritonc | compile k | nvidia RunStages | stage cubin | ptxas"
	if s := c.wait(tool)[tool]; s.facts()["process.exit.code"] != "3" || s.GetStatus().GetMessage() != "exit status 3" {
		t.Errorf("ptxas says %v, %v", s.facts(), s.GetStatus())
	}
}

// TestTraceDevices: what a device measures for another machine, and what runs here, is in
// the trace of the command.
func TestTraceDevices(t *testing.T) {
	needSignals(t)
	f := newFarmTest(t)
	if err := os.WriteFile(filepath.Join(f.dir, "t.py"), []byte(tunedKernels), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCollector(t)
	f.env = append(c.env(f.env), traceOf)
	url := natstest.Run(t).URL()
	f.worker("--nats", url, "--device", "sim", "--target", "cuda:80")
	f.run(0, append(append([]string{"tune", "--farm", "--nats", url, "--target", "cuda:80"}, launchK...), "--space", "B=64,256", "t.py")...)
	f.run(0, append(append([]string{"run", "--target", "cuda:80", "--config", "1"}, launchK...), "t.py")...)
	spans := c.wait("tritonc: tritonc tune | farm task | tritonc-worker: task | measure", "tritonc: tritonc tune | compile k", "tritonc: tritonc run | compile k", "tritonc: tritonc run | launch k")
	c.inTrace()
	for path, s := range spans {
		if facts := s.facts(); strings.HasSuffix(path, "measure") && !strings.HasPrefix(facts["tritonc.device"], "simulated A100") || strings.HasSuffix(path, "launch k") && facts["tritonc.device"] != "simulated A100" {
			t.Errorf("%s says %v", path, facts)
		}
	}
}

// TestTraceServed: what a server compiles is in the trace of the command.
func TestTraceServed(t *testing.T) {
	f := newFarmTest(t)
	c := newCollector(t)
	for _, kv := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url, "OTEL_BSP_SCHEDULE_DELAY=50", backendPathVar + "=" + buildBackends(t)} {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	socket := startServer(t, "tritonc")
	f.env = append(c.env(f.env), socketVar+"="+socket, traceOf)
	f.run(0, "-t", "cuda:80", "--emit", "ttgir", "-o", "out", "k.py")
	c.wait("tritonc: tritonc | compile by a server | tritonc-serve: serve | compile k | front end")
	c.inTrace()
}

// TestTraceAway: a collector that is away, silent or wrongly named costs one warning.
func TestTraceAway(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	unwilling := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	t.Cleanup(unwilling.Close)
	f := newFarmTest(t)
	for name, tt := range map[string]struct {
		env  []string
		want string // empty: nothing
	}{
		"off":       {[]string{"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, ""},
		"disabled":  {[]string{"OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, ""},
		"away":      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, "http://127.0.0.1:1: "},
		"grpc":      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "http://127.0.0.1:1: "},
		"silent":    {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String()}, "http://" + silent.Addr().String() + ": "},
		"unwilling": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + unwilling.URL}, "403"},
		"exporter":  {[]string{"OTEL_TRACES_EXPORTER=zipkin"}, `OTEL_TRACES_EXPORTER is "zipkin", and tritonc has otlp, console and none`},
		"protocol":  {[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, `OTEL_EXPORTER_OTLP_PROTOCOL is "http/json", and tritonc has http/protobuf and grpc`},
		"url":       {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:4318"}, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is "localhost:4318", which is not a URL such as http://localhost:4318`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *f
			own.T, own.env = t, append(slices.Clone(f.env), tt.env...)
			_, said := own.run(0, "-t", "cuda:80", "--emit", "ttgir", "-o", name, "k.py")
			n := strings.Count(said, "warning: ")
			if tt.want == "" && said != "" || tt.want != "" && (n != 1 || !strings.Contains(said, tt.want) || strings.Count(said, "no trace is sent") != 1) {
				t.Errorf("it says\n%s", said)
			}
		})
	}
}

// TestTraceConsole: the exporter console writes a line for each span, not to where
// artifacts go.
func TestTraceConsole(t *testing.T) {
	f := newFarmTest(t)
	cmd := exec.Command("tritonc", "-t", "cuda:80", "--emit", "ttir", "-o", "-", "-s", "*fp32, *fp32, i32, B=64", "k.py")
	cmd.Dir, cmd.Env = f.dir, append(f.env, "OTEL_TRACES_EXPORTER=console", traceOf)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "tt.func public @k") || strings.Contains(out.String(), "TraceID") {
		t.Errorf("%v: %s%s", err, out.String(), said.String())
	}
	if n := strings.Count(said.String(), `"TraceID":"`+traceID+`"`); n < 4 {
		t.Errorf("there are %d spans:\n%s", n, said.String())
	}
}
