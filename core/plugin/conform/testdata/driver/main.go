// A backend whose dialect is another one in each process and lacks what its stage prints,
// and a driver whose device takes any code and computes wrong numbers.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.Serve(sdk.Plugin{Backend: backend{}, Driver: driver{}}) }

var target = sdk.Target{Backend: "wrong", Arch: "v1", WarpSize: 1}

type backend struct{}

func (backend) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{Name: "wrong", Version: "1", Targets: []sdk.TargetFacts{{Pattern: "wrong:v1", WarpSize: 1}}}, nil
}

func (backend) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "ir", Run: func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
		if in.Metadata["name"] != "vector_add" {
			end := len(in.Data)
			return nil, in.Errorf(in.Range(end-2, end-1), "it is not vector_add")
		}
		return []byte("module {\n  wrong.add\n}\n"), nil
	}}, {Name: "out", Run: func(context.Context, *sdk.StageInput) ([]byte, error) {
		return []byte("vector_add"), nil
	}}}, nil
}

// LoadDialects answers another text in each process.
func (backend) LoadDialects(context.Context) ([]sdk.Dialect, error) {
	return []sdk.Dialect{{Name: "wrong", Declaration: fmt.Sprintf(`{"name": "wrong", "doc": "%d", "ops": []}`, os.Getpid())}}, nil
}

type driver struct{}

func (driver) Describe(context.Context) (sdk.DeviceFacts, error) {
	return sdk.DeviceFacts{Name: "wrong", Version: "1", Devices: []sdk.DeviceInfo{{Name: "Wrong", Target: target, Memory: 1 << 30}}}, nil
}

func (driver) Open(_ context.Context, number int, _ sdk.Target) (sdk.Device, error) {
	if number != 0 {
		return nil, sdk.Errorf("there is no device %d", number)
	}
	return &device{next: 4096}, nil
}

type device struct{ next uint64 }

func (*device) Properties() sdk.DeviceProperties {
	return sdk.DeviceProperties{Name: "Wrong", Stage: "out", WarpSize: 1, MaxThreads: 1, Memory: 1 << 30}
}

func (*device) Close() error { return nil }

func (d *device) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	if size > 1<<30 {
		return nil, sdk.Errorf("%s: no room", name)
	}
	b := &buffer{d.next, make([]byte, size)}
	d.next += uint64(size)/4096*4096 + 8192
	return b, nil
}

func (*device) Load(context.Context, sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	return kernel{}, nil
}

type buffer struct {
	addr uint64
	data []byte
}

func (b *buffer) Addr() uint64 { return b.addr }
func (b *buffer) Free() error  { return nil }

func (b *buffer) Write(_ context.Context, offset int64, p []byte) error {
	copy(b.data[offset:], p)
	return nil
}

func (b *buffer) Read(_ context.Context, offset int64, p []byte) error {
	copy(p, b.data[offset:])
	return nil
}

type kernel struct{}

// Launch adds the elements of the first two arguments, one of them wrong, and forgets
// how many there are.
func (kernel) Launch(_ context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	if len(l.Args) < 3 {
		return sdk.DeviceResult{}, nil
	}
	var b [3]*buffer
	for i := range b {
		b[i] = l.Args[i].Buffer.(*buffer)
	}
	at := func(b *buffer, i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(b.data[4*i:]))
	}
	for i := range len(b[0].data) / 4 {
		sum := at(b[0], i) + at(b[1], i)
		if i == 1234 {
			sum++
		}
		binary.LittleEndian.PutUint32(b[2].data[4*i:], math.Float32bits(sum))
	}
	return sdk.DeviceResult{}, nil
}
