package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gorgonia.org/cu"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Driver has the GPUs of this machine. It implements sdk.DeviceDriver.
type Driver struct {
	mu   sync.Mutex
	open map[int]*gpu // those in use, by number
	out  *stdout      // nil before the first Open
}

var _ sdk.DeviceDriver = (*Driver)(nil)

// New returns the driver. No GPU is touched before it is asked for.
func New() *Driver { return &Driver{open: map[int]*gpu{}} }

// Describe implements sdk.DeviceDriver.
func (d *Driver) Describe(context.Context) (sdk.DeviceFacts, error) {
	facts := sdk.DeviceFacts{Name: backend}
	if v := cu.Version(); v > 0 {
		facts.Version = fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10)
	}
	n, err := count()
	if err != nil {
		return facts, err
	}
	for i := range n {
		g, err := look(i)
		if err != nil {
			return facts, err
		}
		facts.Devices = append(facts.Devices, sdk.DeviceInfo{Name: g.properties.Name, Target: g.target(), Memory: g.properties.Memory})
	}
	return facts, nil
}

func count() (int, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return 0, explain("counting the GPUs", err)
	}
	if n == 0 {
		return 0, errors.New("CUDA sees no GPU")
	}
	return n, nil
}

// Open implements sdk.DeviceDriver.
func (d *Driver) Open(_ context.Context, number int, target sdk.Target) (sdk.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.open[number]
	if g == nil {
		n, err := count()
		if err != nil {
			return nil, err
		}
		if number < 0 || number >= n {
			return nil, sdk.Errorf("there is no GPU number %d", number).WithHelp("they have the numbers from 0 to %d", n-1)
		}
		if g, err = look(number); err != nil {
			return nil, err
		}
	}
	stage, err := g.stage(target)
	if err != nil {
		return nil, err
	}
	if d.out == nil {
		if d.out, err = catchStdout(); err != nil {
			return nil, fmt.Errorf("catching what kernels print: %w", err)
		}
	}
	if d.open[number] == nil {
		if err := g.start(); err != nil {
			return nil, err
		}
		d.open[number] = g
	}
	s := &session{gpu: g, out: d.out, properties: g.properties, buffers: map[*buffer]bool{}, kernels: map[*kernel]bool{}}
	s.properties.Stage = stage
	return s, nil
}
