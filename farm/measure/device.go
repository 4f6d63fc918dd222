package measure

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/work"
)

// Device stands for the devices of a type. Its buffers are memory of this process, and
// its kernels are measured by the farm's workers. It implements tune.Measurer; its methods
// may be called by several goroutines.
type Device struct {
	of       *Type
	class    string
	client   *work.Client
	contents *Contents

	mu      sync.Mutex
	next    uint64
	buffers []*buffer // by their addresses
}

var _ tune.Measurer = (*Device)(nil)

// firstAddress is where buffers begin: no number that somebody passes lies there.
const firstAddress = 0x6e5a_0000_0000_0000

// Open makes the device of a type.
func Open(ctx context.Context, client *work.Client, contents *Contents, of *Type) (*Device, error) {
	class := of.class()
	if err := client.Announce(ctx, class); err != nil {
		return nil, err
	}
	return &Device{of: of, class: class.ID(), client: client, contents: contents, next: firstAddress}, nil
}

// Properties implements driver.Device.
func (d *Device) Properties() driver.Properties { return d.of.Properties }

// Close implements driver.Device.
func (d *Device) Close() error { return nil }

// Parallel implements tune.Measurer.
func (d *Device) Parallel() int {
	n := 0
	for _, w := range d.client.Workers() {
		if slices.Contains(w.Classes, d.class) {
			n++
		}
	}
	return max(n, 1)
}

// buffer is memory that a device is to have.
type buffer struct {
	device *Device
	name   string
	addr   uint64
	size   int

	mu   sync.Mutex
	data []byte // nil: undefined
	sent *content
}

const alignment = 256

// Alloc implements driver.Device.
func (d *Device) Alloc(name string, size int) (driver.Buffer, error) {
	if most := d.of.Properties.Memory; most > 0 && int64(size) > most {
		return nil, fmt.Errorf("%s needs %d bytes, and the %s has %d", name, size, d.of.Properties.Name, most)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b := &buffer{device: d, name: name, addr: d.next, size: size}
	d.next += uint64(size+2*alignment-1) &^ (alignment - 1) // with room between
	d.buffers = append(d.buffers, b)
	return b, nil
}

func (b *buffer) Addr() uint64 { return b.addr }
func (b *buffer) Size() int    { return b.size }

func (b *buffer) inside(off, n int) error {
	if off < 0 || off+n > b.size {
		return fmt.Errorf("%d bytes at %d do not lie in %s, which has %d", n, off, b.name, b.size)
	}
	return nil
}

func (b *buffer) Write(off int, p []byte) error {
	if err := b.inside(off, len(p)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data := make([]byte, b.size) // a content that was sent may have the old one
	copy(data, b.data)
	copy(data[off:], p)
	b.data, b.sent = data, nil
	return nil
}

func (b *buffer) Read(off int, p []byte) error {
	if err := b.inside(off, len(p)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(p)
	if b.data != nil {
		copy(p, b.data[off:])
	}
	return nil
}

func (b *buffer) Free() error {
	d := b.device
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buffers = slices.DeleteFunc(d.buffers, func(o *buffer) bool { return o == b })
	return nil
}

// content describes the memory as it is now.
func (b *buffer) content(ctx context.Context) (content, []byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.data == nil {
		return content{Size: b.size}, nil, nil
	}
	if b.sent == nil {
		sent, err := b.device.contents.describe(ctx, b.data)
		if err != nil {
			return content{}, nil, err
		}
		b.sent = &sent
	}
	return *b.sent, b.data, nil
}

// binary is what a kernel is here.
type binary struct{ driver.Binary }

// Load implements driver.Device. Whether a device takes the binary shows when it is
// measured.
func (d *Device) Load(b driver.Binary) (driver.Kernel, error) { return &binary{b}, nil }

// Launch implements driver.Kernel.
func (b *binary) Launch(context.Context, driver.Launch) (*driver.Result, error) {
	return nil, errors.New("devices of a farm measure launches, and do nothing else")
}

// trial implements tune.Trial.
type trial struct {
	launched
	buffers []*buffer
	data    map[string][]byte // what was sent, by digest
}

// Renew implements tune.Trial.
func (t *trial) Renew(buffers []driver.Buffer) {
	for _, b := range buffers {
		if i := slices.IndexFunc(t.buffers, func(own *buffer) bool { return driver.Buffer(own) == b }); i >= 0 {
			t.launched.Buffers[i].Renew = true
		}
	}
}

// Trial implements tune.Measurer.
func (d *Device) Trial(ctx context.Context, k driver.Kernel, l driver.Launch) (tune.Trial, error) {
	b, ok := k.(*binary)
	if !ok {
		return nil, errors.New("the kernel was loaded by another device")
	}
	t := &trial{launched: launched{Name: b.Name, Meta: b.Metadata, Object: b.Object, Grid: l.Grid, Args: []argument{}}}
	var err error
	if t.Code, err = d.contents.describe(ctx, b.Code); err != nil {
		return nil, err
	}
	t.data = map[string][]byte{t.Code.Digest: b.Code}
	for _, v := range l.Args {
		a, err := t.argument(d, v)
		if err != nil {
			return nil, err
		}
		t.Args = append(t.Args, a)
	}
	for _, b := range t.buffers {
		c, data, err := b.content(ctx)
		if err != nil {
			return nil, err
		}
		t.data[c.Digest] = data
		t.launched.Buffers = append(t.launched.Buffers, memory{Name: b.name, Content: c})
	}
	return t, nil
}

// argument is an argument as a task has it.
func (t *trial) argument(d *Device, v any) (argument, error) {
	switch v := v.(type) {
	case *buffer:
		return argument{Type: isBuffer, Buffer: t.place(v)}, nil
	case *driver.TensorMap:
		b, ok := v.Buffer.(*buffer)
		if !ok {
			return argument{}, errors.New("a tensor map is of memory of another device")
		}
		m := *v
		m.Buffer = nil
		return argument{Type: isMap, Buffer: t.place(b), Map: &m}, nil
	case uint64:
		d.mu.Lock()
		at := slices.IndexFunc(d.buffers, func(b *buffer) bool { return v >= b.addr && v <= b.addr+uint64(b.size) })
		var b *buffer
		if at >= 0 {
			b = d.buffers[at]
		}
		d.mu.Unlock()
		if b != nil {
			return argument{Type: isAddress, Buffer: t.place(b), Offset: int64(v - b.addr)}, nil
		}
	}
	return numberOf(v)
}

func (t *trial) place(b *buffer) int {
	if i := slices.Index(t.buffers, b); i >= 0 {
		return i
	}
	t.buffers = append(t.buffers, b)
	return len(t.buffers) - 1
}

// maxMissing is how often contents are sent again for one task.
const maxMissing = 16

// Measure implements tune.Measurer.
func (d *Device) Measure(ctx context.Context, trials []tune.Trial, rounds int, opts bench.Options) (list []tune.Outcome, err error) {
	for range maxMissing {
		list, err = d.measure(ctx, trials, rounds, opts)
		missing, ok := errors.AsType[*missingError](err)
		if !ok {
			break
		}
		for _, t := range trials {
			if data := t.(*trial).data[missing.digest]; data != nil {
				if err := d.contents.again(ctx, missing.digest, data); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	return list, err
}

// measure has a device measure trials, if their contents are there.
func (d *Device) measure(ctx context.Context, trials []tune.Trial, rounds int, opts bench.Options) ([]tune.Outcome, error) {
	r := request{Nonce: rand.Text(), Rounds: rounds, Bench: opts}
	for _, t := range trials {
		r.Trials = append(r.Trials, &t.(*trial).launched)
	}
	body, err := json.Marshal(&r)
	if err != nil {
		return nil, err
	}
	result, err := d.client.Do(ctx, &work.Task{Class: d.class, Body: body})
	if err != nil {
		return nil, d.explain(err)
	}
	if result.Kind == work.GivenUp {
		if len(trials) == 1 {
			return []tune.Outcome{{Failure: "the farm gave it up: " + string(bytes.ReplaceAll(result.Body, []byte("\n"), []byte("; ")))}}, nil
		}
		return nil, diag.Errorf(diag.Pos{}, "the farm gave up measuring the fastest again: %s", result.Body).WithHelp("tune here, without --farm, to see more")
	}
	list, err := decode(result.Body, len(trials))
	if errors.As(err, new(*missingError)) {
		return nil, err
	}
	if err != nil {
		return nil, diag.Errorf(diag.Pos{}, "what the worker %s measured is not understood: %v", result.Worker, err).
			WithHelp("have it run the same version of tritonc")
	}
	return list, nil
}

// explain says what to do about an error of the farm.
func (d *Device) explain(err error) error {
	var untrusted *work.UntrustedError
	switch {
	case errors.As(err, new(*work.NoWorkerError)):
		return diag.Errorf(diag.Pos{}, "the farm has no %s any more", d.of).
			WithHelp("tritonc worker --device starts one; what was measured until then is kept")
	case errors.As(err, &untrusted):
		return diag.Errorf(diag.Pos{}, "%v", untrusted).WithHelp("the table [farm.trusted] of tritonc.toml lists the signers whose results are taken")
	}
	return err
}
