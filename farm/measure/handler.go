package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tritonc/tritonc/core/span"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/work"
)

// Handler measures by one device. It implements work.Handler; its worker does one task at
// a time.
type Handler struct {
	// Type is that of the device.
	Type *Type
	// Open opens the device: at the first task, and after it was lost.
	Open func(ctx context.Context) (driver.Device, error)
	// Contents are those of the farm.
	Contents *Contents
	// On names the device and its machine, for people.
	On string
	// Lost is called once when the device cannot be opened: the worker is to end.
	Lost func(err error)

	mu     sync.Mutex
	device driver.Device // nil: it is to be opened
	loaded int           // kernels
	lost   sync.Once
}

// maxLoaded is how many kernels a device may hold, of those that are not needed any more:
// it gives them back when it is closed.
const maxLoaded = 256

// announceEvery is how often a worker says which type its device is: what it said lies in
// a bucket that forgets.
const announceEvery = 5 * time.Minute

// Announce tells clients of the type until ctx ends. It returns when they know for the
// first time; the error is that of the first time.
func (h *Handler) Announce(ctx context.Context, q *work.Queue) error {
	class := h.Type.class()
	if err := q.Announce(ctx, class); err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(announceEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = q.Announce(ctx, class) // it is told again soon
			}
		}
	}()
	return nil
}

// Class implements work.Handler.
func (h *Handler) Class(_ context.Context, target string) (*work.Class, error) {
	own := h.Type.class()
	if target != own.Target {
		return nil, work.ErrOther
	}
	return own, nil
}

// Do implements work.Handler.
func (h *Handler) Do(ctx context.Context, t *work.Task) (work.Kind, []byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var r request
	err := json.Unmarshal(t.Body, &r)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return "", nil, fmt.Errorf("the task is not understood: %w", err)
	}
	m := &measuring{Handler: h, request: &r, kernels: make([]driver.Kernel, len(r.Trials)), outcomes: make([]outcome, len(r.Trials))}
	in, s := span.Start(ctx, "measure", span.String("tritonc.device", h.On), span.Int("tritonc.trials", len(r.Trials)))
	err = m.all(in)
	s.End(err)
	if missing, ok := errors.AsType[*missingError](err); ok {
		body, err := json.Marshal(response{On: h.On, Missing: missing.digest, Outcomes: []outcome{}})
		return work.Measured, body, err
	}
	if err != nil || ctx.Err() != nil || h.loaded > maxLoaded {
		h.close()
	}
	if err != nil {
		return "", nil, err
	}
	for i := range m.outcomes {
		m.outcomes[i].Times = thin(m.outcomes[i].Times)
	}
	body, err := json.Marshal(response{On: h.On, Outcomes: m.outcomes})
	return work.Measured, body, err
}

// Close gives the device back.
func (h *Handler) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.close()
}

// closeWait is how long a device may take to end.
const closeWait = 10 * time.Second

// close gives the device back. One that does not end, as with a kernel that hangs, is lost.
func (h *Handler) close() {
	if h.device == nil {
		return
	}
	d := h.device
	h.device, h.loaded = nil, 0
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = d.Close() // it may be lost already
	}()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		h.lose(errors.New("it does not end what it does"))
	}
}

// lose says that the device is lost.
func (h *Handler) lose(err error) { h.lost.Do(func() { h.Lost(err) }) }

// open opens the device, if it is not open.
func (h *Handler) open(ctx context.Context) error {
	if h.device != nil {
		return nil
	}
	d, err := h.Open(ctx)
	if err == nil && d.Properties() != h.Type.Properties {
		_ = d.Close()
		err = fmt.Errorf("the device has become another, %s", d.Properties().Name)
	}
	if err != nil {
		if ctx.Err() == nil {
			h.lose(err)
		}
		return fmt.Errorf("the device cannot be opened: %w", err)
	}
	h.device = d
	return nil
}

// measuring is one task under way.
type measuring struct {
	*Handler
	request  *request
	kernels  []driver.Kernel // nil: to be loaded
	outcomes []outcome
}

// all measures the trials, round by round. The error is the machine's.
func (m *measuring) all(ctx context.Context) error {
	for range m.request.Rounds {
		for i := range m.request.Trials {
			if m.outcomes[i].Failure != "" {
				continue
			}
			if err := m.one(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// one measures a trial once.
func (m *measuring) one(ctx context.Context, i int) error {
	if err := m.open(ctx); err != nil {
		return err
	}
	t, o := m.request.Trials[i], &m.outcomes[i]
	p := &placed{of: t}
	if err := p.read(ctx, m.Contents); err != nil {
		return err
	}
	began := time.Now()
	times, err := m.measure(ctx, i, p)
	o.Took += time.Since(began)
	p.free()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		o.Times = append(o.Times, times...)
		return nil
	}
	var fault *driver.Fault
	isFault, simulated := errors.As(err, &fault), m.device.Properties().Simulated
	switch {
	case isFault && !simulated:
		m.reopen() // its memory is gone
	case !isFault && !m.alive():
		return err // the device's own trouble: another one may do it
	}
	o.Times, o.Failure = nil, tune.Reason(err)
	return nil
}

// reopen has the device opened anew, and kernels loaded anew.
func (m *measuring) reopen() {
	m.close()
	clear(m.kernels)
}

// alive reports whether the device still has memory to give.
func (m *measuring) alive() bool {
	b, err := m.device.Alloc("probe", alignment)
	if err != nil {
		return false
	}
	p := make([]byte, alignment)
	err = errors.Join(b.Write(0, p), b.Read(0, p))
	return errors.Join(err, b.Free()) == nil
}

// measure places a trial and measures it.
func (m *measuring) measure(ctx context.Context, i int, p *placed) (bench.Times, error) {
	t, dev := p.of, m.device
	if m.kernels[i] == nil {
		meta := t.Meta
		meta.Object = t.Object
		k, err := dev.Load(driver.Binary{Name: t.Name, Code: p.code, Metadata: meta})
		if err != nil {
			return nil, err
		}
		m.kernels[i] = k
		m.loaded++
	}
	l, err := p.place(dev)
	if err != nil {
		return nil, err
	}
	for _, b := range t.Buffers {
		if b.Renew {
			return bench.MeasureHooked(ctx, dev, p, m.kernels[i], l, m.request.Bench)
		}
	}
	return bench.Measure(ctx, dev, m.kernels[i], l, m.request.Bench)
}

// placed is a trial's memory on a device.
type placed struct {
	of      *launched
	code    []byte
	data    [][]byte // nil: undefined
	buffers []driver.Buffer
}

// read reads the contents.
func (p *placed) read(ctx context.Context, from *Contents) (err error) {
	if p.code, err = from.get(ctx, &p.of.Code); err != nil {
		return err
	}
	for i := range p.of.Buffers {
		data, err := from.get(ctx, &p.of.Buffers[i].Content)
		if err != nil {
			return err
		}
		p.data = append(p.data, data)
	}
	return nil
}

// place allocates and fills the memory.
func (p *placed) place(dev driver.Device) (driver.Launch, error) {
	l := driver.Launch{Grid: p.of.Grid, Args: make([]any, len(p.of.Args))}
	for i := range p.of.Buffers {
		m := &p.of.Buffers[i]
		b, err := dev.Alloc(m.Name, m.Content.Size)
		if err != nil {
			return l, err
		}
		p.buffers = append(p.buffers, b)
		if p.data[i] != nil {
			if err := b.Write(0, p.data[i]); err != nil {
				return l, err
			}
		}
	}
	for i := range p.of.Args {
		v, err := p.argument(&p.of.Args[i])
		if err != nil {
			return l, err
		}
		l.Args[i] = v
	}
	return l, nil
}

func (p *placed) argument(a *argument) (any, error) {
	switch a.Type {
	case isBuffer:
		return p.buffers[a.Buffer], nil
	case isAddress:
		return p.buffers[a.Buffer].Addr() + uint64(a.Offset), nil
	case isMap:
		m := *a.Map
		m.Buffer = p.buffers[a.Buffer]
		return &m, m.Check()
	}
	return a.number()
}

func (p *placed) free() {
	for _, b := range p.buffers {
		_ = b.Free() // the device may be lost
	}
}

// Before implements bench.Hooks: what is to be renewed gets its contents.
func (p *placed) Before(context.Context) error {
	for i, m := range p.of.Buffers {
		if m.Renew && p.data[i] != nil {
			if err := p.buffers[i].Write(0, p.data[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// After implements bench.Hooks.
func (p *placed) After(context.Context) error { return nil }
