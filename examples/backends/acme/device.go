package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// driver has a device for each target, which is this process.
type driver struct{}

func (driver) Describe(context.Context) (sdk.DeviceFacts, error) {
	return sdk.DeviceFacts{
		Name: "acme", Version: version,
		Devices: []sdk.DeviceInfo{
			{Name: "Acme V1", Target: sdk.Target{Backend: "acme", Arch: "v1"}, Memory: memory},
		},
	}, nil
}

func (driver) Open(_ context.Context, number int, _ sdk.Target) (sdk.Device, error) {
	if number != 0 {
		return nil, sdk.Errorf("there is no device %d, only 0", number)
	}
	return &device{next: 1 << 16}, nil
}

// memory is how many bytes a session may have.
const memory = 1 << 30

// device is a session.
type device struct {
	next    uint64 // address
	buffers []*buffer
}

func (*device) Properties() sdk.DeviceProperties {
	return sdk.DeviceProperties{
		Name: "acme vector machine", Stage: "vasm",
		WarpSize: 1, Multiprocessors: 1, MaxThreads: 1, Memory: memory,
	}
}

func (*device) Close() error { return nil }

type buffer struct {
	addr uint64
	data []byte
}

// Alloc leaves room between buffers, so that an access out of bounds reaches none.
func (d *device) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	if size > memory || d.next+uint64(size) > memory {
		return nil, sdk.Errorf("%s: the device lacks %d bytes", name, size)
	}
	b := &buffer{d.next, make([]byte, size)}
	d.next += (uint64(size)/4096 + 2) * 4096
	d.buffers = append(d.buffers, b)
	return b, nil
}

func (b *buffer) Addr() uint64 { return b.addr }
func (b *buffer) Free() error  { b.data = nil; return nil }

func (b *buffer) Write(_ context.Context, offset int64, p []byte) error {
	copy(b.data[offset:], p)
	return nil
}

func (b *buffer) Read(_ context.Context, offset int64, p []byte) error {
	copy(p, b.data[offset:])
	return nil
}

// kernel is a loaded program: its parameters, and its instructions as words.
type kernel struct {
	device     *device
	parameters []string
	code       [][]string
}

func (d *device) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	k := &kernel{device: d}
	for line := range strings.Lines(string(b.Code)) {
		k.code = append(k.code, strings.Fields(line))
	}
	if len(k.code) == 0 || len(k.code[0]) < 2 || k.code[0][0] != ".kernel" {
		return nil, sdk.Errorf("%s is not a program of acme's vector machine", b.Name)
	}
	k.parameters, k.code = k.code[0][2:], k.code[1:]
	return k, nil
}

// vector is a value: the bits of each element. A scalar has one.
type vector []uint64

func (k *kernel) Launch(ctx context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	if len(l.Args) != len(k.parameters) {
		return sdk.DeviceResult{}, sdk.Errorf("the kernel has %d parameters, not %d", len(k.parameters), len(l.Args))
	}
	start := time.Now()
	for program := range l.Grid[0] * l.Grid[1] * l.Grid[2] {
		if err := ctx.Err(); err != nil {
			return sdk.DeviceResult{}, err
		}
		registers := map[string]vector{}
		for i, a := range l.Args {
			bits := binary.LittleEndian.Uint64(slices.Concat(a.Scalar, make([]byte, 8)))
			if a.Buffer != nil {
				bits = a.Buffer.Addr()
			}
			registers[k.parameters[i]] = vector{bits}
		}
		for _, words := range k.code {
			if err := k.step(words, registers, program%l.Grid[0]); err != nil {
				fault := sdk.Errorf("program %d: %s: %v", program, strings.Join(words, " "), err)
				return sdk.DeviceResult{Time: time.Since(start), Fault: []sdk.Diagnostic{*fault}}, nil
			}
		}
	}
	return sdk.DeviceResult{Time: time.Since(start)}, nil
}

// step runs an instruction: its name, the register of the result, arguments.
func (k *kernel) step(words []string, registers map[string]vector, program int) error {
	argument := func(i int) vector { return registers[words[i]] }
	integer := func(i int) uint64 { n, _ := strconv.ParseUint(words[i], 0, 32); return n }
	count := func() int { // of a value that may be a scalar
		if len(words) < 4 {
			return 1
		}
		return int(integer(3))
	}
	var result vector
	switch words[0] {
	case "store":
		return k.store(argument(1), argument(2), words[3:], registers)
	case "load":
		var err error
		if result, err = k.load(argument(2), words[3:], registers); err != nil {
			return err
		}
	case "program":
		result = vector{uint64(program)}
	case "const":
		result = slices.Repeat(vector{integer(2)}, count())
	case "splat":
		result = slices.Repeat(argument(2), count())
	case "range":
		for i := integer(2); i < integer(3); i++ {
			result = append(result, i)
		}
	default:
		a, b := argument(2), argument(3)
		for i := range a {
			result = append(result, compute(words[0], a[i], b[i]))
		}
	}
	registers[words[1]] = result
	return nil
}

// compute returns an element of an operation's result.
func compute(op string, a, b uint64) uint64 {
	m, n := int32(a), int32(b)
	x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
	switch op {
	case "addptr": // of float32
		return a + uint64(4*int64(n))
	case "less.i32":
		if m < n {
			return 1
		}
		return 0
	case "add.i32":
		m += n
	case "sub.i32":
		m -= n
	case "mul.i32":
		m *= n
	case "add.f32":
		m = int32(math.Float32bits(x + y))
	case "sub.f32":
		m = int32(math.Float32bits(x - y))
	case "mul.f32":
		m = int32(math.Float32bits(x * y))
	case "div.f32":
		m = int32(math.Float32bits(x / y))
	}
	return uint64(uint32(m))
}

// load reads what the optional mask lets it; elsewhere the result is that of the
// optional third argument, or 0.
func (k *kernel) load(pointers vector, more []string, registers map[string]vector) (vector, error) {
	result := make(vector, len(pointers))
	if len(more) > 1 {
		copy(result, registers[more[1]])
	}
	err := k.access(pointers, more, registers, func(i int, at []byte) {
		result[i] = uint64(binary.LittleEndian.Uint32(at))
	})
	return result, err
}

func (k *kernel) store(pointers, values vector, more []string, registers map[string]vector) error {
	return k.access(pointers, more, registers, func(i int, at []byte) {
		binary.LittleEndian.PutUint32(at, uint32(values[i]))
	})
}

// access calls do with the memory that each pointer points to.
func (k *kernel) access(pointers vector, mask []string, registers map[string]vector, do func(i int, at []byte)) error {
	for i, addr := range pointers {
		if len(mask) > 0 && registers[mask[0]][i]&1 == 0 {
			continue
		}
		n := slices.IndexFunc(k.device.buffers, func(b *buffer) bool {
			return addr >= b.addr && addr+4 <= b.addr+uint64(len(b.data))
		})
		if n < 0 {
			return fmt.Errorf("element %d is at 0x%x, where there is no memory", i, addr)
		}
		b := k.device.buffers[n]
		do(i, b.data[addr-b.addr:][:4])
	}
	return nil
}
