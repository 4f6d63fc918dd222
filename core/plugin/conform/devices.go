package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
	bpb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/device/v1"
)

// devices are those of the program that serves tritonc.device.v1.Devices.
type devices struct {
	found     process.Found
	handshake goplugin.HandshakeConfig
	proc      *process.Process

	list   []*pb.DeviceInfo
	number int        // of the one that is used
	target sdk.Target // of its code
}

// needDriver skips checks of devices that nobody serves.
func (s *suite) needDriver() error {
	switch {
	case s.dev == nil && s.facts == nil:
		return skip("it does not describe itself")
	case s.dev == nil:
		return skip("it serves no devices")
	case len(s.dev.list) == 0:
		return skip("it lists no devices")
	}
	return nil
}

// startDriver starts a process of the driver, which has a driver's time and environment.
func (s *suite) startDriver(ctx context.Context, tempDir string) (*process.Process, error) {
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: s.log})
	return process.Start(ctx, s.dev.found, process.Config{
		Kind: "device driver", Handshake: s.dev.handshake, PluginName: host.DevicePluginName,
		Versions: map[int]goplugin.Plugin{host.DeviceProtocolVersion: &devicesPlugin{}},
		Env:      s.opts.Env, Logger: log, StartTimeout: time.Minute, TempDir: tempDir,
	})
}

// driver returns the service of the living process, which it starts if there is none.
func (s *suite) driver(ctx context.Context) (pb.DevicesClient, error) {
	if d := s.dev; d.proc == nil || d.proc.HasExited() {
		s.stopDriver()
		p, err := s.startDriver(ctx, s.opts.TempDir)
		if err != nil {
			return nil, err
		}
		d.proc = p
	}
	return s.dev.proc.Client().(pb.DevicesClient), nil
}

func (s *suite) stopDriver() {
	if s.dev != nil && s.dev.proc != nil {
		s.dev.proc.Stop()
		s.dev.proc = nil
	}
}

// died explains the error of a call during which the driver's process ended; nil where
// it lives.
func (s *suite) died(when string, err error) error {
	if err == nil {
		return nil
	}
	if end, died := s.dev.proc.Died(err); died {
		return fmt.Errorf("the driver's process died %s (%s)%s", when, end.How, end.Said)
	}
	return nil
}

// mustRefuse holds that a call ended with an error, and that the process did not.
func (s *suite) mustRefuse(what string, err error) error {
	if err == nil {
		return fmt.Errorf("it takes %s: answer an error", what)
	}
	return s.died("of "+what, err)
}

// open begins a session for code of the device's target.
func (s *suite) open(ctx context.Context) (*session, error) {
	client, err := s.driver(ctx)
	if err != nil {
		return nil, err
	}
	t := s.dev.target
	resp, err := client.Open(ctx, &pb.OpenRequest{
		Number: int32(s.dev.number),
		Target: &bpb.Target{Backend: t.Backend, Arch: t.Arch, WarpSize: int32(t.WarpSize)},
	})
	if err := answered(resp, err); err != nil {
		return nil, fmt.Errorf("device %d does not open for %s: %w", s.dev.number, t, err)
	}
	return &session{client, resp.GetSession(), resp.GetProperties()}, nil
}

// inSession runs f in a session of its own, and says so if the process died.
func (s *suite) inSession(ctx context.Context, f func(*session) error) error {
	open, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := f(open); err != nil {
		if end := s.died("", err); end != nil {
			return end
		}
		return err
	}
	return open.close(ctx)
}

// listed checks what the driver says of its devices.
func listed(ctx context.Context, s *suite) (string, error) {
	if s.dev == nil {
		return "", s.needDriver()
	}
	client, err := s.driver(ctx)
	if err != nil {
		return "", err
	}
	resp, err := client.Describe(ctx, &pb.DescribeRequest{})
	if err := answered(resp, err); err != nil {
		return "", err
	}
	if resp.GetName() != s.dev.found.Name {
		return "", fmt.Errorf("the driver's name is %q, but the program's is %q", resp.GetName(), s.dev.found.Name)
	}
	if len(resp.GetDevices()) == 0 {
		return "", errors.New("it lists no device: where there is none, say why in a diagnostic")
	}
	var found []string
	for i, d := range resp.GetDevices() {
		t := d.GetTarget()
		if d.GetName() == "" || t.GetBackend() == "" || t.GetArch() == "" || d.GetMemory() < 1 {
			return "", fmt.Errorf("device %d lacks one of its name (%q), its target (%s:%s) and its memory (%d)", i, d.GetName(), t.GetBackend(), t.GetArch(), d.GetMemory())
		}
		found = append(found, fmt.Sprintf("%s (%s:%s)", d.GetName(), t.GetBackend(), t.GetArch()))
	}
	again, err := client.Describe(ctx, &pb.DescribeRequest{})
	if err := answered(again, err); err != nil {
		return "", err
	}
	if len(again.GetDevices()) != len(found) {
		return "", fmt.Errorf("it lists %s, then %d", diag.Count(len(found), "device"), len(again.GetDevices()))
	}
	s.dev.list = resp.GetDevices()
	s.dev.choose(s.opts.Target)
	return strings.Join(found, ", "), nil
}

// choose takes the first device of a target, or the first one.
func (d *devices) choose(t sdk.Target) {
	for i, info := range d.list {
		of := info.GetTarget()
		if t == (sdk.Target{}) || of.GetBackend() == t.Backend && of.GetArch() == t.Arch {
			d.number = i
			d.target = sdk.Target{Backend: of.GetBackend(), Arch: of.GetArch(), WarpSize: int(of.GetWarpSize())}
			return
		}
	}
	d.number, d.target = 0, t
}

// sizes of memory: none, odd ones, and more than a message carries.
var sizes = []int64{0, 1, 3, 257, 4096, pieceBytes + 5}

// deviceMemory allocates, copies both ways and frees.
func deviceMemory(ctx context.Context, s *suite) (string, error) {
	if err := s.needDriver(); err != nil {
		return "", err
	}
	return "", s.inSession(ctx, func(open *session) error {
		buffers := make([]uint64, len(sizes))
		addresses := make([]uint64, len(sizes))
		for i, size := range sizes {
			var err error
			if buffers[i], addresses[i], err = open.alloc(ctx, "check", size); err != nil {
				return fmt.Errorf("memory of size %d: %w", size, err)
			}
			if addresses[i]%256 != 0 {
				return fmt.Errorf("memory of size %d is at 0x%x, which is not a multiple of 256", size, addresses[i])
			}
			for j := range i {
				if sizes[j] > 0 && size > 0 && addresses[i] < addresses[j]+uint64(sizes[j]) && addresses[j] < addresses[i]+uint64(size) {
					return fmt.Errorf("memory of size %d at 0x%x overlaps that of size %d at 0x%x", size, addresses[i], sizes[j], addresses[j])
				}
			}
		}
		if err := roundTrips(ctx, open, buffers); err != nil {
			return err
		}
		if err := s.outside(ctx, open, buffers); err != nil {
			return err
		}
		return s.freed(ctx, open, buffers)
	})
}

// pattern is data that is another one in each buffer.
func pattern(buffer int, size int64) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i*7 + i>>8 + buffer*31 + 1)
	}
	return data
}

// roundTrips writes to all buffers before it reads any, then parts of them.
func roundTrips(ctx context.Context, open *session, buffers []uint64) error {
	for i, size := range sizes {
		if err := open.write(ctx, buffers[i], 0, size, pattern(i, size)); err != nil {
			return fmt.Errorf("a write of size %d: %w", size, err)
		}
	}
	for i, size := range sizes {
		want := pattern(i, size)
		part := size / 3 // at an odd place
		if part > 0 {
			copy(want[part:], "part")
			if err := open.write(ctx, buffers[i], part, min(4, size-part), []byte("part")[:min(4, size-part)]); err != nil {
				return fmt.Errorf("write to byte %d of %d: %w", part, size, err)
			}
		}
		for _, from := range []int64{0, part} {
			got, err := open.read(ctx, buffers[i], from, size-from)
			if err != nil {
				return fmt.Errorf("read from byte %d of %d: %w", from, size, err)
			}
			if !bytes.Equal(got, want[from:]) {
				return fmt.Errorf("memory of size %d, read from byte %d, is not what was written, from byte %d on", size, from, from+int64(firstDifference(got, want[from:])))
			}
		}
	}
	return nil
}

// outside accesses what is not in a buffer.
func (s *suite) outside(ctx context.Context, open *session, buffers []uint64) error {
	const of = 3 // which buffer
	size := sizes[of]
	other, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer other.close(ctx)
	tries := []struct {
		what string
		try  func() error
	}{
		{"a write beyond the end of memory", func() error { return open.write(ctx, buffers[of], size-1, 2, []byte{1, 2}) }},
		{"a write before the start of memory", func() error { return open.write(ctx, buffers[of], -1, 2, []byte{1, 2}) }},
		{"a read beyond the end of memory", func() error { _, err := open.read(ctx, buffers[of], size, 1); return err }},
		{"a read before the start of memory", func() error { _, err := open.read(ctx, buffers[of], -4, 4); return err }},
		{"a write of less than it announces", func() error { return open.write(ctx, buffers[of], 0, 8, nil) }},
		{"a write of more than it announces", func() error { return open.write(ctx, buffers[of], 8, 1, []byte{1, 2, 3}) }},
		{"memory of a number that there is not", func() error { _, err := open.read(ctx, 1<<40, 0, 1); return err }},
		{"memory of another session", func() error { _, err := other.read(ctx, buffers[of], 0, 1); return err }},
		{"memory of less than no bytes", func() error { _, _, err := open.alloc(ctx, "check", -1); return err }},
		{"a session of a number that there is not", func() error {
			none := &session{client: open.client, id: 1 << 40}
			_, _, err := none.alloc(ctx, "check", 1)
			return err
		}},
		{"a device of a number that there is not", func() error {
			resp, err := open.client.Open(ctx, &pb.OpenRequest{Number: 1 << 20, Target: &bpb.Target{Backend: s.dev.target.Backend, Arch: s.dev.target.Arch}})
			return answered(resp, err)
		}},
	}
	for _, t := range tries {
		if err := s.mustRefuse(t.what, t.try()); err != nil {
			return err
		}
	}
	got, err := open.read(ctx, buffers[of], size-1, 1)
	if err != nil {
		return fmt.Errorf("after accesses that are refused a right one fails: %w", err)
	}
	if want := pattern(of, size); got[0] != want[size-1] {
		return errors.New("a write that is refused changed memory")
	}
	return nil
}

// freed frees, and then uses what was freed.
func (s *suite) freed(ctx context.Context, open *session, buffers []uint64) error {
	for i, b := range buffers {
		if err := open.free(ctx, b); err != nil {
			return fmt.Errorf("free memory of size %d: %w", sizes[i], err)
		}
	}
	last := buffers[len(buffers)-1]
	if err := s.mustRefuse("memory that is freed twice", open.free(ctx, last)); err != nil {
		return err
	}
	_, err := open.read(ctx, last, 0, 1)
	if err := s.mustRefuse("a read of memory that was freed", err); err != nil {
		return err
	}
	if err := open.close(ctx); err != nil {
		return fmt.Errorf("close a session: %w", err)
	}
	if err := s.mustRefuse("a session that is closed twice", open.close(ctx)); err != nil {
		return err
	}
	again, err := s.open(ctx) // that inSession closes
	if err != nil {
		return err
	}
	*open = *again
	return nil
}

// tooMuch is memory that no device has.
const tooMuch = 1 << 56

func outOfMemory(ctx context.Context, s *suite) (string, error) {
	if err := s.needDriver(); err != nil {
		return "", err
	}
	return "", s.inSession(ctx, func(open *session) error {
		_, _, err := open.alloc(ctx, "check", tooMuch)
		if err := s.mustRefuse(fmt.Sprintf("an Alloc of size %d", int64(tooMuch)), err); err != nil {
			return err
		}
		if !errors.As(err, new(refusal)) {
			return fmt.Errorf("an Alloc of size %d must end with a diagnostic, which users see: %w", int64(tooMuch), err)
		}
		if _, _, err := open.alloc(ctx, "check", 4096); err != nil {
			return fmt.Errorf("after an Alloc of too much one of 4096 bytes fails: %w", err)
		}
		return nil
	})
}

// rubbish is not a kernel of anybody's.
var rubbish = []struct{ what, code string }{
	{"no code at all", ""},
	{"a text that is not a kernel", "this is not a kernel\n"},
	{"bytes that are not a kernel", "\x7fELF\x02\x01\x01\x00\xff\xfe\xfd\x00\x01\x02"},
}

func loading(ctx context.Context, s *suite) (string, error) {
	if err := s.needDriver(); err != nil {
		return "", err
	}
	return "", s.inSession(ctx, func(open *session) error {
		if open.props.GetStage() == "" {
			return errors.New("a call of Open does not name the stage whose artifact Load takes")
		}
		for _, r := range rubbish {
			_, err := open.load(ctx, "check."+open.props.GetStage(), []byte(r.code), "")
			if err := s.mustRefuse("a Load of "+r.what, err); err != nil {
				return err
			}
			if !errors.As(err, new(refusal)) {
				return fmt.Errorf("a Load of %s must end with a diagnostic, which users see: %w", r.what, err)
			}
		}
		return nil
	})
}

// loaded is a golden kernel in a session with its arguments.
func (s *suite) loaded(ctx context.Context, open *session, g *golden) (kernel uint64, m *memory, err error) {
	c := s.compiled[g.name]
	stage := open.props.GetStage()
	code := c.Artifact(stage)
	if code == nil {
		return 0, nil, fmt.Errorf("a call of Load wants the artifact of the stage %q, which AddStages does not list", stage)
	}
	if kernel, err = open.load(ctx, g.name+"."+stage, code, c.MetadataJSON); err != nil {
		return 0, nil, fmt.Errorf("%s does not load: %w", g.name, err)
	}
	if m, err = open.place(ctx, g.args()); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", g.name, err)
	}
	return kernel, m, nil
}

// right runs a golden kernel and compares what it wrote.
func (s *suite) right(ctx context.Context, open *session, g *golden) error {
	kernel, m, err := s.loaded(ctx, open, g)
	if err != nil {
		return err
	}
	if err := open.launch(ctx, kernel, grid3(g.grid), m.args); err != nil {
		if end := s.died("in "+g.name, err); end != nil {
			return end
		}
		return fmt.Errorf("%s fails: %w", g.name, err)
	}
	if err := open.compare(ctx, m, true); err != nil {
		return fmt.Errorf("%s gives wrong results: %w", g.name, err)
	}
	return open.freeAll(ctx, m)
}

// needKernel skips what needs a kernel to run.
func (s *suite) needKernel() error {
	switch err := s.needDriver(); {
	case err != nil:
		return err
	case s.backend == nil:
		return skip("there is no backend to compile kernels: name its program, too")
	case s.compiled[vectorAdd] == nil:
		return skip("the kernel vector_add does not compile")
	case s.target.Backend != s.dev.target.Backend || s.target.Arch != s.dev.target.Arch:
		return skip(fmt.Sprintf("kernels are compiled for %s, the device is for %s", s.target, s.dev.target))
	}
	return nil
}

func launches(ctx context.Context, s *suite) (string, error) {
	if err := s.needKernel(); err != nil {
		return "", err
	}
	var ran []string
	err := s.inSession(ctx, func(open *session) error {
		for i := range goldens {
			g := &goldens[i]
			if s.compiled[g.name] == nil {
				continue
			}
			for range 2 { // a kernel must not live of what the first launch left
				if err := s.right(ctx, open, g); err != nil {
					return err
				}
			}
			ran = append(ran, g.name)
		}
		return nil
	})
	return names(ran), err
}

// wrongLaunches are a host's mistakes: nothing runs, and the process lives.
func wrongLaunches(ctx context.Context, s *suite) (string, error) {
	if err := s.needKernel(); err != nil {
		return "", err
	}
	g := &goldens[0]
	return "", s.inSession(ctx, func(open *session) error {
		kernel, m, err := s.loaded(ctx, open, g)
		if err != nil {
			return err
		}
		grid := grid3(g.grid)
		one := m.args[:1]
		tries := []struct {
			what   string
			kernel uint64
			grid   []int64
			args   []*pb.Argument
		}{
			{"a launch without arguments", kernel, grid, nil},
			{"a launch with an argument too few", kernel, grid, m.args[:len(m.args)-1]},
			{"a launch with an argument too many", kernel, grid, append(m.args[:len(m.args):len(m.args)], one...)},
			{"a launch of a kernel that was not loaded", 1 << 40, grid, m.args},
			{"a launch with memory that there is not", kernel, grid, append([]*pb.Argument{{Buffer: 1 << 40}}, m.args[1:]...)},
			{"a launch with a grid of two dimensions", kernel, grid[:2], m.args},
		}
		for _, t := range tries {
			if err := s.mustRefuse(t.what, open.launch(ctx, t.kernel, t.grid, t.args)); err != nil {
				return err
			}
			if err := open.compare(ctx, m, false); err != nil {
				return fmt.Errorf("%s ran: %w", t.what, err)
			}
		}
		// Nothing to do may be an error; it must not be something.
		if err := s.died("of a grid of 0", open.launch(ctx, kernel, []int64{0, 1, 1}, m.args)); err != nil {
			return err
		}
		if err := open.compare(ctx, m, false); err != nil {
			return fmt.Errorf("a launch of a grid of 0 ran: %w", err)
		}
		if err := s.right(ctx, open, g); err != nil {
			return fmt.Errorf("after launches that are refused: %w", err)
		}
		return nil
	})
}

// sessions are open at the same time.
const sessionsAtOnce = 4

func sessions(ctx context.Context, s *suite) (string, error) {
	if err := s.needKernel(); err != nil {
		return "", err
	}
	if _, err := s.driver(ctx); err != nil { // which is for one goroutine
		return "", err
	}
	var wg sync.WaitGroup
	errs := make([]error, sessionsAtOnce)
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.inSession(ctx, func(open *session) error {
				for range 4 {
					if err := s.right(ctx, open, &goldens[0]); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return "", fmt.Errorf("where %d sessions are open at once: %w", sessionsAtOnce, err)
		}
	}
	return "", nil
}

// cutCalls cancels calls; what comes after them must be as ever.
func cutCalls(ctx context.Context, s *suite) (string, error) {
	if err := s.needKernel(); err != nil {
		return "", err
	}
	client, err := s.driver(ctx)
	if err != nil {
		return "", err
	}
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
		short, cancel := context.WithTimeout(ctx, after)
		open, err := s.open(short)
		if err == nil {
			// Its errors are the point.
			_ = s.right(short, open, &goldens[0])
			if buffer, _, err := open.alloc(short, "check", 8*pieceBytes); err == nil {
				_, _ = open.read(short, buffer, 0, 8*pieceBytes)
			}
		}
		<-short.Done()
		cancel()
	}
	bounded, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	if err := s.inSession(bounded, func(open *session) error { return s.right(bounded, open, &goldens[0]) }); err != nil {
		return "", fmt.Errorf("after calls that were cancelled: %w", err)
	}
	if again, err := s.driver(ctx); err != nil || again != client {
		return "", errors.Join(errors.New("its process died of calls that were cancelled"), err)
	}
	return "", nil
}

// devicesEnd asks the driver to end while a session is open.
func devicesEnd(ctx context.Context, s *suite) (string, error) {
	if err := s.needDriver(); err != nil {
		return "", err
	}
	open, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	if _, _, err := open.alloc(ctx, "check", 4096); err != nil {
		return "", err
	}
	begin := time.Now()
	s.stopDriver()
	if took := time.Since(begin); took > ending {
		return "", fmt.Errorf("the driver was killed: %s after GRPCController.Shutdown it had not ended", took.Round(time.Millisecond))
	}
	return diag.Count(len(s.dev.list), "device"), nil
}
