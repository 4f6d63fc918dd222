package tracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/tritonc/tritonc/core/span"
)

// Config says what a process tells of itself, and to whom.
type Config struct {
	// Service names the process, unless OTEL_SERVICE_NAME does.
	Service string
	Version string
	// Variable is the value of a variable of the environment, or empty. The SDK reads the
	// environment of the process by itself.
	Variable func(name string) string
	// Console takes the spans of the exporter console.
	Console io.Writer
	// Warn tells the user why spans are not sent. It is called once at most.
	Warn func(err error)
}

// flushTime bounds how long a command that ends waits for the collector.
const flushTime = 500 * time.Millisecond

// queued is how many spans wait for the collector before some are dropped: those of a
// thousand kernels.
const queued = 1 << 15

// Tracing is what sends the spans of a process.
type Tracing struct {
	provider *sdktrace.TracerProvider
	warned   atomic.Bool
	cfg      *Config
}

// Start begins to send spans; nil without an error if nobody wants any. What is said of
// exporters that makes no sense is an error.
func Start(cfg Config) (*Tracing, error) {
	names, err := exporters(cfg.Variable)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	t := &Tracing{cfg: &cfg}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.warn))
	otel.SetLogger(funcr.New(func(_, args string) { t.warn(errors.New(args)) }, funcr.Options{}))
	ctx := context.Background()
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(),
		resource.WithAttributes(attribute.String("service.name", cfg.Service), attribute.String("service.version", cfg.Version)),
		resource.WithFromEnv(),
	)
	if err != nil {
		t.warn(err) // what could be found out is there
	}
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(about)}
	for _, name := range names {
		e, err := t.exporter(ctx, name)
		if err != nil {
			return nil, err
		}
		var batch []sdktrace.BatchSpanProcessorOption
		if cfg.Variable("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
			batch = append(batch, sdktrace.WithMaxQueueSize(queued))
		}
		opts = append(opts, sdktrace.WithBatcher(e, batch...))
	}
	t.provider = sdktrace.NewTracerProvider(opts...)
	return t, nil
}

// exporters are those that the variables ask for. The specification has OTLP on where
// nothing is said, which is for services: a command sends nothing unless somebody says
// where to.
func exporters(variable func(string) string) ([]string, error) {
	if strings.EqualFold(variable("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	text := variable("OTEL_TRACES_EXPORTER")
	if text == "" {
		if variable("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
			return nil, nil
		}
		text = "otlp"
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		switch name = strings.TrimSpace(name); name {
		case "none", "":
		case "otlp":
			if _, err := endpoint(variable); err != nil {
				return nil, err
			}
			names = append(names, name)
		case "console":
			names = append(names, name)
		default:
			return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %q, and tritonc has otlp, console and none", name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// either is the value of a variable for traces, or of that for all signals.
func either(variable func(string) string, name string) (value, from string) {
	for _, from := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if v := variable(from); v != "" {
			return v, from
		}
	}
	return "", ""
}

// endpoint is where spans are sent to by OTLP, for people. The SDK goes on with its default
// where it cannot read one, which nobody would find.
func endpoint(variable func(string) string) (string, error) {
	text, from := either(variable, "ENDPOINT")
	if text == "" {
		if protocol, _ := either(variable, "PROTOCOL"); protocol == "grpc" {
			return "http://localhost:4317", nil
		}
		return "http://localhost:4318", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s is %q, which is not a URL such as http://localhost:4318", from, text)
	}
	return text, nil
}

// exporter makes one. None connects before there are spans.
func (t *Tracing) exporter(ctx context.Context, name string) (sdktrace.SpanExporter, error) {
	if name == "console" {
		return stdouttrace.New(stdouttrace.WithWriter(t.cfg.Console))
	}
	switch protocol, from := either(t.cfg.Variable, "PROTOCOL"); protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("%s is %q, and tritonc has http/protobuf and grpc", from, protocol)
	}
}

// warn says once that spans are not sent.
func (t *Tracing) warn(err error) {
	if err != nil && !t.warned.Swap(true) {
		if to, bad := endpoint(t.cfg.Variable); bad == nil {
			err = fmt.Errorf("%s: %w", to, err)
		}
		t.cfg.Warn(err)
	}
}

// Context returns a context whose spans are sent, below parent, as TRACEPARENT has it, if
// that is one.
func (t *Tracing) Context(ctx context.Context, parent string) context.Context {
	return span.Extract(span.With(ctx, t.tracer()), parent)
}

func (t *Tracing) tracer() trace.Tracer {
	return t.provider.Tracer("github.com/tritonc/tritonc", trace.WithInstrumentationVersion(t.cfg.Version))
}

// End sends what has not been sent, as far as that takes no longer than flushTime.
func (t *Tracing) End() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- t.provider.Shutdown(ctx) }()
	select {
	case err := <-ended:
		t.warn(err)
	case <-ctx.Done(): // whatever the exporter does about its own context
		t.warn(fmt.Errorf("not all spans were taken in %v", flushTime))
	}
}
