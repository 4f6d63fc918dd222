package launch

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// memory is a device that has room for some buffers.
type memory struct {
	driver.Device
	room int
	live int
}

type memoryBuffer struct {
	driver.Buffer
	of   *memory
	addr uint64
	data []byte
}

var errNoRoom = errors.New("no room")

func (m *memory) Alloc(_ string, size int) (driver.Buffer, error) {
	if m.live == m.room {
		return nil, errNoRoom
	}
	m.live++
	return &memoryBuffer{of: m, addr: uint64(m.live) << 20, data: make([]byte, size)}, nil
}

func (b *memoryBuffer) Addr() uint64                  { return b.addr }
func (b *memoryBuffer) Write(off int, p []byte) error { copy(b.data[off:], p); return nil }
func (b *memoryBuffer) Read(off int, p []byte) error  { copy(p, b.data[off:]); return nil }
func (b *memoryBuffer) Free() error                   { b.of.live--; return nil }

// adder adds one to each byte of its first argument.
type adder struct{}

func (adder) Launch(_ context.Context, l driver.Launch) (*driver.Result, error) {
	for i := range l.Args[0].(*memoryBuffer).data {
		l.Args[0].(*memoryBuffer).data[i]++
	}
	return &driver.Result{}, nil
}

func TestPlace(t *testing.T) {
	i8 := array.Named("i8")
	x, y := array.Of(i8, 1, 2, 3, 4), array.Of(i8, 5)
	dev := &memory{room: 1}
	there := &memoryBuffer{addr: 0x7000}
	k := &Kernel{device: dev, loaded: adder{}, args: []passed{
		{"x", x, ""}, {"middle", &View{x, 2}, ""}, {"again", &View{x, 0}, ""}, {"y", y, ""}, {"part", &View{y, 3}, ""}, {"n", int64(7), "i32"},
	}}
	p, err := k.Place([3]int{4, 1, 1}, func(a *array.Array) driver.Buffer {
		if a == y {
			return there
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{p.own[x], uint64(1<<20 + 2), p.own[x], there, uint64(0x7003), int32(7)}
	if !slices.Equal(p.Launch.Args, want) || p.Launch.Grid != [3]int{4, 1, 1} {
		t.Errorf("launched as %v, want %v", p.Launch, want)
	}
	for range 2 {
		if _, err := p.Kernel.Launch(t.Context(), p.Launch); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Fetch(); err != nil || !slices.Equal(x.Ints(), []int64{3, 4, 5, 6}) {
		t.Errorf("fetched %v, %v", x.Ints(), err)
	}
	if p.Free(); dev.live != 0 {
		t.Errorf("%d buffers are left", dev.live)
	}
	if _, err := k.Place([3]int{1, 1, 1}, nil); !errors.Is(err, errNoRoom) || dev.live != 0 {
		t.Errorf("without room for y: %v, %d buffers are left", err, dev.live)
	}
	if _, err := k.Run(t.Context(), [3]int{1, 1, 1}); !errors.Is(err, errNoRoom) {
		t.Errorf("a run without room: %v", err)
	}
}
