package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/cuda"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// session is a cuda.Device as the SDK wants one. It implements sdk.Device and
// sdk.DeviceTimer.
type session struct {
	device *cuda.Device
	out    *stdout
}

var _ sdk.DeviceTimer = (*session)(nil)

// Properties implements sdk.Device.
func (s *session) Properties() sdk.DeviceProperties {
	p := s.device.Properties()
	return sdk.DeviceProperties{
		Name: p.Name, Stage: p.Stage, WarpSize: p.WarpSize, Multiprocessors: p.Multiprocessors,
		MaxThreads: p.MaxThreads, MaxShared: p.MaxShared, Memory: p.Memory,
	}
}

// Close implements sdk.Device.
func (s *session) Close() error { return toSDK(s.device.Close()) }

// Alloc implements sdk.Device.
func (s *session) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	b, err := s.device.Alloc(name, int(size))
	if err != nil {
		return nil, toSDK(err)
	}
	return &buffer{b}, nil
}

// buffer is memory as the SDK wants it.
type buffer struct{ driver.Buffer }

// Write implements sdk.DeviceBuffer.
func (b *buffer) Write(_ context.Context, offset int64, p []byte) error {
	return toSDK(b.Buffer.Write(int(offset), p))
}

// Read implements sdk.DeviceBuffer.
func (b *buffer) Read(_ context.Context, offset int64, p []byte) error {
	return toSDK(b.Buffer.Read(int(offset), p))
}

// Free implements sdk.DeviceBuffer.
func (b *buffer) Free() error { return toSDK(b.Buffer.Free()) }

// Load implements sdk.Device.
func (s *session) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	k, err := s.device.Load(driver.Binary{Name: b.Name, Code: b.Code, Metadata: driver.Metadata{
		Kernel: b.Kernel, NumWarps: b.NumWarps, NumCTAs: b.NumCTAs, Cooperative: b.Cooperative, PDL: b.PDL, Shared: int(b.Shared),
		GlobalScratch: int(b.GlobalScratchSize), GlobalScratchAlign: int(b.GlobalScratchAlign),
	}})
	if err != nil {
		return nil, toSDK(err)
	}
	return &kernel{s, k}, nil
}

// kernel is one as the SDK wants it.
type kernel struct {
	session *session
	kernel  driver.Kernel
}

// Launch implements sdk.DeviceKernel. The host ends the process to stop a kernel.
func (k *kernel) Launch(_ context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	var r sdk.DeviceResult
	launch, err := launchOf(&l)
	if err != nil {
		return r, err
	}
	k.session.out.launching.Lock()
	defer k.session.out.launching.Unlock()
	result, err := k.kernel.Launch(context.Background(), launch)
	if result != nil {
		r.Time = result.Time
	}
	return k.session.outcome(r, err)
}

// Time implements sdk.DeviceTimer.
func (s *session) Time(_ context.Context, k sdk.DeviceKernel, l sdk.DeviceLaunch, t sdk.DeviceTiming) (r sdk.DeviceResult, err error) {
	own, ok := k.(*kernel)
	if !ok || own.session != s {
		return r, errors.New("the kernel was loaded by another device")
	}
	launch, err := launchOf(&l)
	if err != nil {
		return r, err
	}
	s.out.launching.Lock()
	defer s.out.launching.Unlock()
	r.Times, err = s.device.Time(context.Background(), own.kernel, launch, driver.Timing{
		Runs: t.Runs, Warmup: t.Warmup, Flush: t.Flush, Graph: t.Graph, Together: t.Together,
	})
	return s.outcome(r, err)
}

// outcome completes the result of a launch with what kernels printed and did wrong. It
// runs before another session launches.
func (s *session) outcome(r sdk.DeviceResult, err error) (sdk.DeviceResult, error) {
	out, readErr := s.out.collect()
	if readErr != nil {
		return r, fmt.Errorf("reading what kernels printed: %w", errors.Join(readErr, err))
	}
	r.Output = out
	var fault *driver.Fault
	if errors.As(err, &fault) {
		r.Fault, r.Lost = wire.ListToSDK(fault.Findings), s.device.Lost()
		return r, nil
	}
	r.Lost = s.device.Lost() && !errors.Is(err, driver.ErrLost)
	return r, toSDK(err)
}

// launchOf is a launch as package cuda wants it.
func launchOf(l *sdk.DeviceLaunch) (driver.Launch, error) {
	launch := driver.Launch{Grid: l.Grid, Args: make([]any, len(l.Args))}
	for i, a := range l.Args {
		switch b, _ := a.Buffer.(*buffer); {
		case b != nil && a.Map != nil:
			m := a.Map
			launch.Args[i] = &driver.TensorMap{
				Buffer: b.Buffer, Offset: m.Offset, Shape: m.Shape, Strides: m.Strides, NaN: m.NaN,
				DescriptorMeta: driver.DescriptorMeta{Swizzle: m.Swizzle, ElemSize: m.ElemSize, ElemType: m.ElemType, Box: m.Box},
			}
		case b != nil:
			launch.Args[i] = b.Buffer
		default:
			var err error
			if launch.Args[i], err = scalar(a.Scalar); err != nil {
				return launch, fmt.Errorf("argument %d: %w", i, err)
			}
		}
	}
	return launch, nil
}

// scalar is a number of so many bytes, none of which is a null pointer.
func scalar(b []byte) (any, error) {
	switch len(b) {
	case 0:
		return nil, nil
	case 1:
		return b[0], nil
	case 2:
		return binary.LittleEndian.Uint16(b), nil
	case 4:
		return binary.LittleEndian.Uint32(b), nil
	case 8:
		return binary.LittleEndian.Uint64(b), nil
	}
	return nil, sdk.Errorf("a number has %d bytes", len(b))
}
