package simulated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/sim"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func testDevice(t *testing.T, opts Options) driver.Device {
	t.Helper()
	dev, err := New(sdk.Target{Backend: "cuda", Arch: "80"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

func binary(t *testing.T, name string) driver.Binary {
	t.Helper()
	text, err := os.ReadFile("../sim/testdata/" + name + ".ptx")
	if err != nil {
		t.Fatal(err)
	}
	return driver.Binary{Name: name + ".ptx", Code: text}
}

func filled(t *testing.T, dev driver.Device, name string, data []float32) driver.Buffer {
	t.Helper()
	b, err := dev.Alloc(name, 4*len(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Write(0, sim.Bytes(data)); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestProperties(t *testing.T) {
	for arch, name := range map[string]string{"80": "simulated A100", "86": "simulated A10", "89": "simulated L40", "90": "simulated H200"} {
		dev, err := New(sdk.Target{Backend: "cuda", Arch: arch}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p := dev.Properties(); p.Name != name || p.WarpSize != 32 || !p.Simulated || p.Stage != "ptx" || p.MaxShared < 99<<10 || p.Memory < 24<<30 {
			t.Errorf("cuda:%s: %+v", arch, p)
		}
	}
	if _, err := New(sdk.Target{Backend: "hip", Arch: "gfx600"}, Options{}); err == nil || !strings.Contains(err.Error(), "hip:gfx600; there is one for cuda:80") {
		t.Errorf("got %v", err)
	}
}

// TestAMD launches a kernel on the devices of AMD's processors.
func TestAMD(t *testing.T) {
	for arch, lanes := range map[string]int{"gfx942": 64, "gfx1100": 32} {
		dev, err := New(sdk.Target{Backend: "hip", Arch: arch}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p := dev.Properties(); p.Stage != "amdgcn" || p.WarpSize != lanes || p.MaxShared != 64<<10 || p.Target.String() != "hip:"+arch {
			t.Errorf("%s: %+v", arch, p)
		}
		text, err := os.ReadFile("../sim/testdata/" + arch + "/vector_add.amdgcn")
		if err != nil {
			t.Fatal(err)
		}
		k, err := dev.Load(driver.Binary{Name: "vector_add.amdgcn", Code: text, Metadata: driver.Metadata{NumWarps: 4}})
		if err != nil {
			t.Fatal(err)
		}
		x := filled(t, dev, "x", []float32{15: 2})
		small := filled(t, dev, "small", make([]float32, 8))
		if _, err := k.Launch(t.Context(), driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, x, int32(16)}}); err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 4)
		if err := x.Read(60, out); err != nil || sim.Slice[float32](out)[0] != 4 {
			t.Errorf("%s: %v, %v", arch, err, out)
		}
		_, err = k.Launch(t.Context(), driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, small, int32(16)}})
		var fault *driver.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), "out of bounds") || !strings.Contains(err.Error(), "buffer small") {
			t.Errorf("%s: %v", arch, err)
		}
	}
}

// TestLaunch runs a kernel of which nothing but the PTX is known.
func TestLaunch(t *testing.T) {
	var done []int
	dev := testDevice(t, Options{Progress: func(n, total int) { done = append(done, n, total) }})
	k, err := dev.Load(binary(t, "vector_add"))
	if err != nil {
		t.Fatal(err)
	}
	const n = 1040
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	a, b, out := filled(t, dev, "a", x), filled(t, dev, "b", x), filled(t, dev, "out", make([]float32, n))
	res, err := k.Launch(t.Context(), driver.Launch{Grid: [3]int{2, 1, 1}, Args: []any{a, b, out, int32(n)}})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4*n)
	if err := out.Read(0, got); err != nil {
		t.Fatal(err)
	}
	for i, v := range sim.Slice[float32](got) {
		if v != 2*x[i] {
			t.Fatalf("out[%d] = %v", i, v)
		}
	}
	if res.Time <= 0 || len(done) != 4 || done[2] != 2 || done[3] != 2 {
		t.Errorf("took %v, progress %v", res.Time, done)
	}
	var table, text bytes.Buffer
	if err := res.Report.WriteTable(&table); err != nil || !strings.Contains(table.String(), "global bytes") {
		t.Errorf("%v\n%s", err, &table)
	}
	if err := res.Report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Kernel   string
		Counters struct {
			Read map[string]int `json:"bytes_read"`
		}
		Findings []any
	}
	if err := json.Unmarshal(text.Bytes(), &rep); err != nil || rep.Kernel != "vector_add" || rep.Counters.Read["global"] != 8*n || rep.Findings == nil {
		t.Errorf("%v, %+v\n%s", err, rep, &text)
	}
}

func TestBuffers(t *testing.T) {
	dev := testDevice(t, Options{})
	b, err := dev.Alloc("b", 8)
	if err != nil {
		t.Fatal(err)
	}
	if b.Size() != 8 || b.Addr()%256 != 0 {
		t.Errorf("%d bytes at %#x", b.Size(), b.Addr())
	}
	if err := b.Write(4, make([]byte, 5)); err == nil {
		t.Error("wrote beyond the end")
	}
	if err := b.Read(-1, make([]byte, 1)); err == nil {
		t.Error("read before the beginning")
	}
	if err := b.Free(); err != nil {
		t.Error(err)
	}
	if _, err := dev.Alloc("huge", 1<<42); err == nil || !strings.Contains(err.Error(), "4398046511104 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestLoadMistakes(t *testing.T) {
	dev := testDevice(t, Options{})
	good := binary(t, "vector_add")
	for name, tt := range map[string]struct {
		change func(b *driver.Binary)
		says   string
	}{
		"name":     {func(b *driver.Binary) { b.Kernel = "mul" }, `vector_add.ptx has no kernel "mul"; it has ["vector_add"]`},
		"shared":   {func(b *driver.Binary) { b.Shared = 200 << 10 }, "out of resource: shared memory, Required: 204800, Hardware limit: 166912"},
		"clusters": {func(b *driver.Binary) { b.NumCTAs = 2 }, "clusters of 2 blocks"},
		"text":     {func(b *driver.Binary) { b.Code = b.Code[:500] }, "vector_add.ptx:"},
		"threads":  {func(b *driver.Binary) { b.Code = bytes.ReplaceAll(b.Code, []byte(".reqntid 128"), nil) }, "does not say how many threads"},
	} {
		b := good
		tt.change(&b)
		if _, err := dev.Load(b); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type stream struct{ driver.Stream }

func TestLaunchMistakes(t *testing.T) {
	dev := testDevice(t, Options{})
	k, err := dev.Load(binary(t, "vector_add"))
	if err != nil {
		t.Fatal(err)
	}
	x := filled(t, dev, "x", make([]float32, 16))
	for name, tt := range map[string]struct {
		l    driver.Launch
		says string
	}{
		"too few":  {driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, x}}, "takes 4 arguments, given 3"},
		"too many": {driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, x, int32(1), int32(2)}}, "takes 4 arguments, given 5"},
		"size":     {driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, x, int64(1)}}, "8 bytes"},
		"type":     {driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, x, "1"}}, "string"},
		"grid":     {driver.Launch{Grid: [3]int{0, 1, 1}, Args: []any{x, x, x, int32(1)}}, "grid dimension x is 0"},
		"negative": {driver.Launch{Grid: [3]int{1, -1, 1}, Args: []any{x, x, x, int32(1)}}, "grid dimension y is -1"},
		"stream":   {driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, x, int32(1)}, Stream: stream{}}, "on a stream: the device has no streams"},
		"limits":   {driver.Launch{Grid: [3]int{1, 1, 65536}, Args: []any{x, x, x, int32(1)}}, "grid dimension z is 65536"},
	} {
		if _, err := k.Launch(t.Context(), tt.l); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Launch(ctx, driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, x, int32(1)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestFault: what the kernel does wrong is told with its place, beside a result.
func TestFault(t *testing.T) {
	dev := testDevice(t, Options{})
	k, err := dev.Load(binary(t, "vector_add"))
	if err != nil {
		t.Fatal(err)
	}
	x, small := filled(t, dev, "x", make([]float32, 64)), filled(t, dev, "small", make([]float32, 32))
	res, err := k.Launch(t.Context(), driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{x, x, small, int32(64)}})
	var fault *driver.Fault
	if !errors.As(err, &fault) || res == nil || len(fault.Findings) != 1 {
		t.Fatalf("got %v", err)
	}
	d := fault.Findings[0]
	if !strings.Contains(d.Message, "out of bounds") || !strings.Contains(d.Message, "buffer small") || len(d.Notes) == 0 ||
		!strings.Contains(d.Notes[len(d.Notes)-1].Message, "block (0, 0, 0), warp 0, lane 8") {
		t.Errorf("got %+v", d)
	}
}

// TestScratch: a launch has scratch memory for all its blocks, and leaves none.
func TestScratch(t *testing.T) {
	dev := testDevice(t, Options{})
	b := binary(t, "vector_add")
	b.GlobalScratch = 1 << 20
	k, err := dev.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	x := filled(t, dev, "x", make([]float32, 128))
	launch := func(grid ...int) error {
		_, err := k.Launch(t.Context(), driver.Launch{Grid: sim.Dim(grid...), Args: []any{x, x, filled(t, dev, "out", make([]float32, 128)), int32(128)}})
		return err
	}
	for range 3 {
		if err := launch(2); err != nil {
			t.Error(err)
		}
	}
	if err := launch(1 << 20); err == nil || !strings.Contains(err.Error(), "allocation of 1099511627776 bytes is out of range") {
		t.Error(err)
	}
	if err := launch(1<<31-1, 65535, 65535); err == nil || !strings.Contains(err.Error(), "needs 1048576 bytes of scratch memory for each of [2147483647 65535 65535] programs") {
		t.Error(err)
	}
	if err := launch(1, 0); err == nil || !strings.Contains(err.Error(), "grid dimension y is 0") {
		t.Error(err)
	}
}

// TestGoroutines: several use one device, each its own memory.
func TestGoroutines(t *testing.T) {
	dev := testDevice(t, Options{})
	k, err := dev.Load(binary(t, "vector_add"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 10 {
				x := make([]float32, 64)
				for j := range x {
					x[j] = float32(100*g + 10*i + j)
				}
				a, out := filled(t, dev, "a", x), filled(t, dev, "out", make([]float32, 64))
				if _, err := k.Launch(t.Context(), driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{a, a, out, int32(64)}}); err != nil {
					t.Error(err)
				}
				got := make([]byte, 4*64)
				if err := out.Read(0, got); err != nil {
					t.Error(err)
				}
				for j := range x {
					x[j] *= 2
				}
				if !bytes.Equal(got, sim.Bytes(x)) {
					t.Errorf("goroutine %d, launch %d: %v", g, i, got)
				}
				for _, b := range []driver.Buffer{a, out} {
					if err := b.Free(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}
