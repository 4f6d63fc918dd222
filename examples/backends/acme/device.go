package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// driver has one device, which is this process.
type driver struct{}

func (driver) Describe(context.Context) (sdk.DeviceFacts, error) {
	return sdk.DeviceFacts{Name: "acme", Version: "1.0", Devices: []sdk.DeviceInfo{
		{Name: "Acme V1", Target: sdk.Target{Backend: "acme", Arch: "v1"}, Memory: memory},
	}}, nil
}

func (driver) Open(context.Context, int, sdk.Target) (sdk.Device, error) {
	return &device{next: 1 << 16}, nil
}

// memory is how many bytes a session may have.
const memory = 1 << 30

type device struct {
	next    uint64 // address
	buffers []*buffer
}

func (*device) Properties() sdk.DeviceProperties {
	return sdk.DeviceProperties{Name: "Acme V1", Stage: "vasm", WarpSize: 1, Multiprocessors: 1, MaxThreads: 1, Memory: memory}
}

func (*device) Close() error { return nil }

type buffer struct {
	addr uint64
	data []byte
}

// Alloc leaves room between buffers, so that no access reaches another one by mistake.
func (d *device) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	if d.next+uint64(size) > memory {
		return nil, sdk.Errorf("%s: the device has no %d bytes left", name, size)
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
	device *device
	params []string
	code   [][]string
}

func (d *device) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	k := &kernel{device: d}
	for line := range strings.Lines(string(b.Code)) {
		words := strings.Fields(line)
		switch {
		case len(words) >= 2 && words[0] == ".kernel":
			k.params = words[2:]
		case len(words) > 0:
			k.code = append(k.code, words)
		}
	}
	if len(k.code) == 0 {
		return nil, sdk.Errorf("%s is not a program for acme:v1", b.Name)
	}
	return k, nil
}

// vector is a value: the bits of each element.
type vector []uint64

func (k *kernel) Launch(ctx context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	if len(l.Args) != len(k.params) {
		return sdk.DeviceResult{}, sdk.Errorf("the kernel has %d parameters, not %d", len(k.params), len(l.Args))
	}
	start := time.Now()
	for program := range l.Grid[0] {
		if err := ctx.Err(); err != nil {
			return sdk.DeviceResult{}, err
		}
		regs := map[string]vector{}
		for i, a := range l.Args {
			var bits [8]byte
			copy(bits[:], a.Scalar)
			regs[k.params[i]] = vector{binary.LittleEndian.Uint64(bits[:])}
			if a.Buffer != nil {
				regs[k.params[i]] = vector{a.Buffer.Addr()}
			}
		}
		for _, words := range k.code {
			if err := k.step(words, regs, uint64(program)); err != nil {
				fault := sdk.Errorf("program %d: %s: %v", program, strings.Join(words, " "), err)
				return sdk.DeviceResult{Time: time.Since(start), Fault: []sdk.Diagnostic{*fault}}, nil
			}
		}
	}
	return sdk.DeviceResult{Time: time.Since(start)}, nil
}

// step runs one instruction.
func (k *kernel) step(words []string, regs map[string]vector, program uint64) error {
	arg := func(i int) vector { return regs[words[i]] }
	number := func(i int) int { n, _ := strconv.Atoi(words[i]); return n }
	op, elem, _ := strings.Cut(words[0], ".")
	switch op {
	case "return":
	case "program":
		regs[words[1]] = vector{program}
	case "const":
		bits := uint64(uint32(number(2)))
		if elem == "f32" {
			f, _ := strconv.ParseFloat(words[2], 32)
			bits = uint64(math.Float32bits(float32(f)))
		}
		regs[words[1]] = vector{bits}
		if len(words) > 3 {
			regs[words[1]] = repeat(bits, number(3))
		}
	case "range":
		v := make(vector, 0, number(3)-number(2))
		for i := number(2); i < number(3); i++ {
			v = append(v, uint64(i))
		}
		regs[words[1]] = v
	case "splat":
		regs[words[1]] = repeat(arg(2)[0], number(3))
	case "load", "store":
		return k.access(op == "load", words, regs)
	default:
		a, b := arg(2), arg(3)
		v := make(vector, len(a))
		for i := range a {
			v[i] = compute(op, elem, a[i], b[i])
		}
		regs[words[1]] = v
	}
	return nil
}

func repeat(bits uint64, n int) vector {
	v := make(vector, n)
	for i := range v {
		v[i] = bits
	}
	return v
}

// compute is one element of an operation.
func compute(op, elem string, a, b uint64) uint64 {
	if op == "addptr" { // of float32
		return a + uint64(int64(int32(b))*4)
	}
	if elem == "i32" {
		x, y := int32(a), int32(b)
		switch op {
		case "less":
			if x < y {
				return 1
			}
			return 0
		case "sub":
			y = -y
			fallthrough
		case "add":
			return uint64(uint32(x + y))
		}
		return uint64(uint32(x * y))
	}
	x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
	switch op {
	case "add":
		x += y
	case "sub":
		x -= y
	case "mul":
		x *= y
	case "div":
		x /= y
	case "max":
		x = max(x, y)
	}
	return uint64(math.Float32bits(x))
}

// access loads "load RESULT POINTERS [MASK]" or stores "store POINTERS VALUES [MASK]".
func (k *kernel) access(load bool, words []string, regs map[string]vector) error {
	pointers, values := regs[words[1]], regs[words[2]]
	if load {
		pointers, values = regs[words[2]], make(vector, len(regs[words[2]]))
		regs[words[1]] = values
	}
	for i, addr := range pointers {
		if len(words) > 3 && regs[words[3]][i]&1 == 0 {
			continue
		}
		at := k.device.find(addr)
		if at == nil {
			return fmt.Errorf("element %d is at 0x%x, where there is no memory", i, addr)
		}
		if load {
			values[i] = uint64(binary.LittleEndian.Uint32(at))
		} else {
			binary.LittleEndian.PutUint32(at, uint32(values[i]))
		}
	}
	return nil
}

// find is the memory of a float32 at an address, or nil.
func (d *device) find(addr uint64) []byte {
	for _, b := range d.buffers {
		if addr >= b.addr && addr+4 <= b.addr+uint64(len(b.data)) {
			return b.data[addr-b.addr:][:4]
		}
	}
	return nil
}
