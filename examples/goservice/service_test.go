package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/bundle/gocode"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// counting is a simulated device, with all checks, that counts its buffers. Its kernels
// wait before they run.
type counting struct {
	driver.Device
	buffers *atomic.Int64
	wait    func()
}

func (d *counting) Alloc(name string, size int) (driver.Buffer, error) {
	b, err := d.Device.Alloc(name, size)
	if err == nil {
		d.buffers.Add(1)
	}
	return &countedBuffer{b, d.buffers}, err
}

func (d *counting) Load(b driver.Binary) (driver.Kernel, error) {
	k, err := d.Device.Load(b)
	return &waitingKernel{k, d.wait}, err
}

type countedBuffer struct {
	driver.Buffer
	buffers *atomic.Int64
}

func (b *countedBuffer) Free() error {
	b.buffers.Add(-1)
	return b.Buffer.Free()
}

type waitingKernel struct {
	driver.Kernel
	wait func()
}

func (k *waitingKernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	k.wait()
	return k.Kernel.Launch(ctx, unwrap(l))
}

// unwrap gives the simulator its own buffers.
func unwrap(l driver.Launch) driver.Launch {
	args := make([]any, len(l.Args))
	for i, a := range l.Args {
		if b, ok := a.(*countedBuffer); ok {
			a = b.Buffer
		}
		args[i] = a
	}
	return driver.Launch{Grid: l.Grid, Args: args}
}

func open(t *testing.T, arch string, workers int, wait func()) (*service, *atomic.Int64) {
	t.Helper()
	buffers := new(atomic.Int64)
	s, err := newService(workers, func() (driver.Device, error) {
		dev, err := simulated.New(target.Target{Backend: "cuda", Arch: arch}, simulated.Options{Workers: 1})
		return &counting{dev, buffers, wait}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, buffers
}

// post sends a body and returns the answer.
func post(url string, body []byte) (code int, text []byte, err error) {
	r, err := http.Post(url+"/softmax", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	text, err = io.ReadAll(r.Body)
	return r.StatusCode, text, err
}

// checkSoftmax asks for the softmax of a matrix of random numbers.
func checkSoftmax(url string, rows, columns int) error {
	random := rand.New(rand.NewPCG(uint64(rows), uint64(columns)))
	var m, got matrix
	for range rows {
		row := make([]float32, columns)
		for i := range row {
			row[i] = float32(random.NormFloat64()) * 10
		}
		m.Rows = append(m.Rows, row)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	code, text, err := post(url, body)
	if err != nil || code != http.StatusOK {
		return fmt.Errorf("%dx%d: %d, %w: %s", rows, columns, code, err, text)
	}
	if err := json.Unmarshal(text, &got); err != nil || len(got.Rows) != rows {
		return fmt.Errorf("%dx%d: %d rows, %w", rows, columns, len(got.Rows), err)
	}
	for i, row := range m.Rows {
		most, sum := math.Inf(-1), 0.0
		for _, x := range row {
			most = max(most, float64(x))
		}
		for _, x := range row {
			sum += math.Exp(float64(x) - most)
		}
		for j, x := range row {
			want := math.Exp(float64(x)-most) / sum
			if d := math.Abs(float64(got.Rows[i][j]) - want); d > 1e-6+1e-4*want || d != d {
				return fmt.Errorf("%dx%d: element %d, %d is %g, not %g", rows, columns, i, j, got.Rows[i][j], want)
			}
		}
	}
	return nil
}

// TestConcurrent: requests of different shapes at once, each on its own device, get
// their own results, and no memory is left taken.
func TestConcurrent(t *testing.T) {
	for _, arch := range []string{"80", "90"} {
		s, buffers := open(t, arch, 3, func() {})
		server := httptest.NewServer(s.handler())
		var wg sync.WaitGroup
		for _, shape := range [][2]int{{1, 1}, {3, 7}, {5, 16}, {2, 100}, {4, 128}, {1, 129}, {2, 1000}, {1, 4096}, {9, 3}, {2, 48}} {
			wg.Go(func() {
				if err := checkSoftmax(server.URL, shape[0], shape[1]); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		server.Close()
		if n := buffers.Load(); n != 0 {
			t.Errorf("%d buffers are left", n)
		}
		if len(s.free) != 3 {
			t.Errorf("%d of 3 workers are free", len(s.free))
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBadRequests(t *testing.T) {
	s, _ := open(t, "80", 1, func() {})
	server := httptest.NewServer(s.handler())
	defer server.Close()
	for _, tt := range []struct {
		body, says string
		code       int
	}{
		{``, "EOF", 400},
		{`[1]`, "cannot unmarshal", 400},
		{`{"columns": []}`, `unknown field "columns"`, 400},
		{`{"rows": []}`, "there are 1 to 65536 rows, not 0", 400},
		{`{"rows": [[]]}`, "a row has 1 to 4096 numbers, not 0", 400},
		{`{"rows": [[1, 2], [3]]}`, "row 1 has another length than row 0: 1, not 2", 400},
		{`{"rows": [[1e300]]}`, "cannot unmarshal number 1e300", 400},
		{`{"rows": [[` + strings.Repeat("0,", maxColumns) + `0]]}`, "a row has 1 to 4096 numbers, not 4097", 400},
		{`{"rows": [[` + strings.Repeat(" ", maxBody) + `]]}`, "too large", 413},
	} {
		code, text, err := post(server.URL, []byte(tt.body))
		if err != nil || code != tt.code || !strings.Contains(string(text), tt.says) {
			t.Errorf("%.60s: %d %s, %v; want %d %s", tt.body, code, text, err, tt.code, tt.says)
		}
	}
	r, err := http.Get(server.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, _ := io.ReadAll(r.Body); string(text) != "ok, 1 devices: simulated A100\n" {
		t.Errorf("%s", text)
	}
}

// TestShutdown: the request that is under way is answered, those that come later are
// not taken, and then the service ends.
func TestShutdown(t *testing.T) {
	launched, goOn := make(chan struct{}), make(chan struct{})
	s, buffers := open(t, "80", 1, func() { close(launched); <-goOn })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended, answered := make(chan error, 1), make(chan error, 1)
	go func() { ended <- s.serve(ctx, l) }()
	go func() { answered <- checkSoftmax(url, 2, 5) }()
	<-launched
	stop()
	for { // until it listens no more
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			break
		}
		c.Close()
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended with a request under way: %v", err)
	default:
	}
	close(goOn)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := buffers.Load(); n != 0 {
		t.Errorf("%d buffers are left", n)
	}
}

// TestAbandoned: a client that goes away leaves its worker to others.
func TestAbandoned(t *testing.T) {
	launched, goOn := make(chan struct{}, 8), make(chan struct{})
	s, _ := open(t, "80", 1, func() { launched <- struct{}{}; <-goOn })
	server := httptest.NewServer(s.handler())
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 { // one computes, two wait
		wg.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/softmax", strings.NewReader(`{"rows": [[1]]}`))
			if err != nil {
				t.Error(err)
				return
			}
			if r, err := http.DefaultClient.Do(r); err == nil {
				r.Body.Close()
				t.Error("it was answered")
			}
		})
	}
	<-launched
	leave()
	wg.Wait()
	close(goOn)
	if err := checkSoftmax(server.URL, 1, 3); err != nil {
		t.Error(err)
	}
}

// TestGenerated: the package is what tritonc build makes of the bundle today; else run
// go generate.
func TestGenerated(t *testing.T) {
	b, err := bundle.Open(filepath.Join("kernels", gocode.BundleFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := gocode.Package("kernels", b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("kernels", gocode.SourceFile))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("kernels/%s is out of date (%v): go generate ./examples/goservice/... writes it", gocode.SourceFile, err)
	}
}
