package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/internal/fakedevice"
)

// several is a Measurer: several devices, one after the other, each slower than the
// one before by a fifth.
type several struct {
	*fakedevice.Device
	devices int

	mu      sync.Mutex
	next    int
	under   int
	most    int           // calls at a time
	both    chan struct{} // a first call waits, not for ever, until it is closed: by a second beside it
	calls   [][]int       // grids of the trials
	renewed []int         // how many buffers each trial renews
	fails   map[int]bool  // by grid
	lost    error
	bytes   []byte // of what trials of the hooked kernel have
}

type severalTrial struct {
	of      *several
	grid    int
	renewed int
}

func (r *severalTrial) Renew(buffers []driver.Buffer) { r.renewed = len(buffers) }

func (d *several) Trial(_ context.Context, _ driver.Kernel, l driver.Launch) (Trial, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range l.Args {
		if b, ok := a.(driver.Buffer); ok {
			var p [4]byte
			if err := b.Read(0, p[:]); err != nil {
				return nil, err
			}
			d.bytes = append(d.bytes, p[3])
		}
	}
	return &severalTrial{of: d, grid: l.Grid[0]}, nil
}

// Parallel has all devices go once one of them has measured something.
func (d *several) Parallel() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.calls) > 0 {
		return 0
	}
	return d.devices
}

func (d *several) Measure(_ context.Context, trials []Trial, rounds int, _ bench.Options) ([]Outcome, error) {
	d.mu.Lock()
	device := d.next % d.devices
	d.next++
	d.under++
	d.most = max(d.most, d.under)
	if d.both != nil && d.under == 2 {
		close(d.both)
		d.both = nil
	}
	lost, both := d.lost, d.both
	d.mu.Unlock()
	if both != nil {
		select {
		case <-both:
		case <-time.After(20 * time.Second):
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.under--
	var grids []int
	var list []Outcome
	for _, of := range trials {
		r := of.(*severalTrial)
		grids = append(grids, r.grid)
		d.renewed = append(d.renewed, r.renewed)
		o := Outcome{On: fmt.Sprint("device ", device), Took: time.Millisecond}
		if d.fails[r.grid] {
			o.Failure = "no room"
		} else {
			far := r.grid - 8
			us := float64(100+far*far/16) * (1 + 0.2*float64(device))
			o.Times = slices.Repeat(bench.Times{time.Duration(us * 1000)}, rounds)
		}
		list = append(list, o)
	}
	d.calls = append(d.calls, grids)
	return list, lost
}

func newSeveral(n int) *several { return &several{Device: fakedevice.New("ttgir"), devices: n} }

// TestSeveral: several devices measure at a time, and one of them the leaders again,
// until the fastest is known by its times alone.
func TestSeveral(t *testing.T) {
	m := newSeveral(3)
	m.both = make(chan struct{})
	m.fails = map[int]bool{32: true}
	o := options(m, "plain", "x")
	o.Parallel = 1
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	last := m.calls[len(m.calls)-1]
	if r.Again != len(last) || r.Again < 2 || r.On == "" {
		t.Errorf("%d were measured again on %q, in the end %v", r.Again, r.On, last)
	}
	e := r.Entry
	if best := e.Best(); best == nil || best.Config[0].Value != int64(64) || r.Best.Number != 2 {
		t.Errorf("the fastest is %s", summary(e))
	}
	for i := range e.Configs { // all that could seem to be as fast was measured again
		if m := &e.Configs[i]; m.OK() && i < r.Again && !slices.Contains(last, int(512/m.Config[0].Value.(int64))) {
			t.Errorf("%s is among the fastest, and was not measured again: %v", m.Config.Text(), m)
		}
	}
	if f := e.Configs[len(e.Configs)-1]; f.Error == "" || e.Configs[len(e.Configs)-2].OK() {
		t.Errorf("two configurations fail: %s", summary(e))
	}
	if m.most < 2 || m.Live() != 0 {
		t.Errorf("%d were under way at a time; %d bytes are not given back", m.most, m.Live())
	}
}

// TestSeveralLost: what was measured until then is kept when there is no device left.
func TestSeveralLost(t *testing.T) {
	m := newSeveral(2)
	m.lost = errors.New("all devices are gone")
	r, err := Run(t.Context(), options(m, "plain", "x"))
	if !errors.Is(err, m.lost) || r == nil || r.Entry.Best() != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSeveralHooks: trials have the contents that hooks give, and renew them.
func TestSeveralHooks(t *testing.T) {
	m := newSeveral(2)
	if _, err := Run(t.Context(), options(m, "reset", "x", "y")); err != nil {
		t.Fatal(err)
	}
	if len(m.bytes) < 4 {
		t.Fatalf("%d buffers", len(m.bytes))
	}
	for i, b := range m.bytes {
		if want := [2]byte{0, 0x40}[i%2]; b != want { // the last byte of 0 and of 3
			t.Errorf("argument %d of trial %d has %#x, want %#x", i%2, i/2, b, want)
		}
	}
	for i, n := range m.renewed {
		if n != 2 {
			t.Errorf("trial %d renews %d buffers, want 2", i, n)
		}
	}
}

// TestEqualTimes: configurations that take as long come in their own order, whichever
// was measured first.
func TestEqualTimes(t *testing.T) {
	for range 5 {
		m := newSeveral(4)
		m.Props.Simulated = true
		m.devices = 1
		o := options(m, "warned", "x")
		o.Parallel = 1
		o.Grid = func(known *frontend.Variant) ([3]int, error) { return [3]int{8, 1, 1}, nil }
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := summary(r.Entry), "16: 100; 32: 100; 64: 100; 128: 100"; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}
