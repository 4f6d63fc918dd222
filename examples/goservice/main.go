// Command goservice answers HTTP requests with a Triton kernel that it carries compiled:
// the softmax of each row of a matrix. It needs neither Python nor tritonc, and without a
// GPU it runs on a simulated one.
//
//	go run ./examples/goservice -listen localhost:8080
//	curl -d '{"rows": [[1, 2, 3], [0, 0, 0]]}' localhost:8080/softmax
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "the `ADDRESS` to listen on")
	simulate := flag.String("target", "cuda:80", "the `TARGET` to simulate: cuda:80 or cuda:90")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "how many requests are computed at once, each on a device of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *simulate, *workers); err != nil {
		slog.Error("goservice", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, simulate string, workers int) error {
	t, err := target.Parse(simulate)
	if err != nil {
		return err
	}
	s, err := newService(workers, func() (driver.Device, error) {
		return simulated.New(t, simulated.Options{NoChecks: true, Workers: 1})
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return errors.Join(err, s.close())
	}
	slog.Info("listening", "address", l.Addr().String())
	return s.serve(ctx, l)
}

// patience is how long requests may go on once the service is told to end.
const patience = 10 * time.Second

// serve answers requests until ctx ends, then waits for those under way.
func (s *service) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return errors.Join(err, s.close())
	case <-ctx.Done():
	}
	slog.Info("ending")
	end, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := server.Shutdown(end)
	if err != nil {
		err = fmt.Errorf("requests were still under way: %w", errors.Join(err, server.Close()))
	}
	return errors.Join(err, s.close())
}
