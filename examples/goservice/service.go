package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/examples/goservice/kernels"
)

// Bounds of a request.
const (
	maxBody    = 16 << 20
	maxRows    = 1 << 16
	maxColumns = kernels.Wide
)

// service computes on several devices, one request at a time on each.
type service struct {
	all  []*worker
	free chan *worker
}

// worker is a device with the kernels on it.
type worker struct {
	device  driver.Device
	kernels *kernels.Kernels
}

// newService opens n devices.
func newService(n int, open func() (driver.Device, error)) (*service, error) {
	if n < 1 {
		return nil, fmt.Errorf("%d workers are too few", n)
	}
	s := &service{free: make(chan *worker, n)}
	for range n {
		dev, err := open()
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		w := &worker{device: dev}
		s.all = append(s.all, w)
		if w.kernels, err = kernels.Load(dev); err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.free <- w
	}
	return s, nil
}

// close gives the devices back. Nobody may be using them.
func (s *service) close() error {
	var errs []error
	for _, w := range s.all {
		errs = append(errs, w.device.Close())
	}
	return errors.Join(errs...)
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /softmax", s.softmax)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "ok, %d devices: %s\n", len(s.all), s.all[0].device.Properties().Name)
	})
	return mux
}

// matrix is the body of a request and of its answer.
type matrix struct {
	Rows [][]float32 `json:"rows"`
}

// softmax answers with the softmax of each row.
func (s *service) softmax(w http.ResponseWriter, r *http.Request) {
	var m matrix
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		code := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			code = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), code)
		return
	}
	if err := m.check(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case worker := <-s.free:
		defer func() { s.free <- worker }()
		if err := worker.softmax(r.Context(), &m); err != nil {
			if r.Context().Err() == nil { // else nobody is there to be told
				slog.Error("softmax", "error", err)
				http.Error(w, "the kernel failed", http.StatusInternalServerError)
			}
			return
		}
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(&m); err != nil {
		slog.Error("softmax", "error", err)
	}
}

// check refuses what the kernel does not take.
func (m *matrix) check() error {
	if len(m.Rows) == 0 || len(m.Rows) > maxRows {
		return fmt.Errorf("there are 1 to %d rows, not %d", maxRows, len(m.Rows))
	}
	n := len(m.Rows[0])
	if n == 0 || n > maxColumns {
		return fmt.Errorf("a row has 1 to %d numbers, not %d", maxColumns, n)
	}
	for i, row := range m.Rows {
		if len(row) != n {
			return fmt.Errorf("row %d has another length than row 0: %d, not %d", i, len(row), n)
		}
	}
	return nil
}

// softmax replaces each row.
func (w *worker) softmax(ctx context.Context, m *matrix) (err error) {
	columns := len(m.Rows[0])
	values := make([]float32, 0, len(m.Rows)*columns)
	for _, row := range m.Rows {
		values = append(values, row...)
	}
	in, err := kernel.From(w.device, values)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Free()) }()
	out, err := kernel.Alloc[float32](w.device, len(values))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Free()) }()
	block := kernels.Narrow
	if columns > block {
		block = kernels.Wide
	}
	_, err = w.kernels.RowSoftmax(ctx, kernel.Dims(len(m.Rows)), out, in, int32(columns), kernel.Named("BLOCK", block))
	if err != nil {
		return err
	}
	if err := out.Read(values); err != nil {
		return err
	}
	for i, row := range m.Rows {
		copy(row, values[i*columns:])
	}
	return nil
}
