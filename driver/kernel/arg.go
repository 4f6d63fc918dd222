package kernel

import (
	"fmt"
	"math"
	"reflect"

	"github.com/tritonc/tritonc/driver"
)

// Arg is an argument by name.
type Arg struct {
	// Name of the parameter; "" where it is the next one in order.
	Name string
	// Value is what a launch takes for the parameter.
	Value any
	// Type is the type of a number as a signature has it, where the caller says
	// so: "i64", "fp16". "": what Triton gives to such a value.
	Type string
}

// Named is an argument by name.
func Named(name string, value any) Arg { return Arg{Name: name, Value: value} }

// ArgError is a wrong argument.
type ArgError struct {
	Name string // of the parameter; "" where it is about all
	Text string
	Help string
	Err  error // of the device, if it is one
	// Missing are the parameters that no argument was given for.
	Missing []string
}

// Unwrap gives what the device said.
func (e *ArgError) Unwrap() error { return e.Err }

func (e *ArgError) Error() string {
	if e.Name == "" {
		return e.Text
	}
	return fmt.Sprintf("argument %s: %s", e.Name, e.Text)
}

func wrongArg(name, format string, args ...any) *ArgError {
	return &ArgError{Name: name, Text: fmt.Sprintf(format, args...)}
}

// Integer reads an integer of any Go type. One above the greatest int64 is big, and
// comes as its bits.
func Integer(v any) (n int64, big, ok bool) {
	switch v := v.(type) {
	case int:
		return int64(v), false, true
	case int32:
		return int64(v), false, true
	case int64:
		return v, false, true
	case uint64:
		return int64(v), v > math.MaxInt64, true
	case nil, bool, float32, float64, Memory, *Descriptor:
		return 0, false, false
	case interface{ Float64() float64 }: // Float's are integers to Go
		return 0, false, false
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int(), false, true
	case r.CanUint():
		return int64(r.Uint()), r.Uint() > math.MaxInt64, true
	}
	return 0, false, false
}

// Number reads a floating-point number of any Go type, or of Float's.
func Number(v any) (x float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case interface{ Float64() float64 }:
		return v.Float64(), true
	case nil, bool, int, int32, int64, Memory, *Descriptor:
		return 0, false
	}
	if r := reflect.ValueOf(v); r.CanFloat() {
		return r.Float(), true
	}
	return 0, false
}

// scalar says how a number is passed.
type scalar uint8

const (
	noScalar scalar = iota
	isBool
	isI8
	isU8
	isI16
	isU16
	isI32
	isU32
	isI64
	isU64
	isFP16
	isBF16
	isFP32
	isFP64
)

// scalars are the types of numbers that kernels take.
var scalars = map[string]scalar{
	"u1": isBool, "i1": isBool, "i8": isI8, "u8": isU8, "i16": isI16, "u16": isU16, "i32": isI32, "u32": isU32,
	"i64": isI64, "u64": isU64, "fp16": isFP16, "bf16": isBF16, "fp32": isFP32, "fp64": isFP64,
}

var ranges = [...]struct{ least, most int64 }{
	isI8: {math.MinInt8, math.MaxInt8}, isU8: {0, math.MaxUint8}, isI16: {math.MinInt16, math.MaxInt16}, isU16: {0, math.MaxUint16},
	isI32: {math.MinInt32, math.MaxInt32}, isU32: {0, math.MaxUint32}, isI64: {math.MinInt64, math.MaxInt64},
}

// Scalar is a number as a device takes it for a parameter of a type: "i32", "fp16".
func Scalar(name, typ string, v any) (any, error) {
	s := scalars[typ]
	if s == noScalar {
		return nil, wrongArg(name, "a number of type %s cannot be passed to a kernel", typ)
	}
	return s.pass(name, typ, v, nil)
}

// pass is a number as a device takes it. Old, the number that was passed in the same
// place before, is returned where it is the same: it need not be allocated.
func (s scalar) pass(name, typ string, v, old any) (any, error) {
	switch s {
	case isBool:
		return passBool(name, v)
	case isFP16, isBF16, isFP32, isFP64:
		return s.passFloat(name, typ, v, old)
	}
	n, big, ok := Integer(v)
	if b, isB := v.(bool); isB {
		ok = true
		if b {
			n = 1
		}
	}
	if !ok {
		return nil, wrongArg(name, "%v (%T) is not a value of type %s", v, v, typ)
	}
	if s == isU64 && (n < 0 && !big) || s != isU64 && (big || n < ranges[s].least || n > ranges[s].most) {
		return nil, wrongArg(name, "%v does not fit into %s", v, typ)
	}
	switch s {
	case isI32:
		return keep(old, int32(n)), nil
	case isI64:
		return keep(old, n), nil
	case isU32:
		return keep(old, uint32(n)), nil
	case isU64:
		return keep(old, uint64(n)), nil
	case isI16:
		return keep(old, int16(n)), nil
	case isU16:
		return keep(old, uint16(n)), nil
	case isI8:
		return int8(n), nil // Go allocates nothing for a byte
	}
	return uint8(n), nil
}

// keep returns old if it is v.
func keep[T comparable](old any, v T) any {
	if o, ok := old.(T); ok && o == v {
		return old
	}
	return v
}

func passBool(name string, v any) (any, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	if n, _, ok := Integer(v); ok {
		return n != 0, nil
	}
	return nil, wrongArg(name, "%v (%T) is not a bool", v, v)
}

func (s scalar) passFloat(name, typ string, v, old any) (any, error) {
	x, ok := Number(v)
	if !ok {
		switch n, big, isInt := Integer(v); {
		case big:
			x, ok = float64(uint64(n)), true
		case isInt:
			x, ok = float64(n), true
		case v == true:
			x, ok = 1, true
		case v == false:
			ok = true
		}
	}
	if !ok {
		return nil, wrongArg(name, "%v (%T) is not a value of type %s", v, v, typ)
	}
	switch s {
	case isFP16:
		return keep(old, uint16(fp16.Bits(x))), nil
	case isBF16:
		return keep(old, uint16(bf16.Bits(x))), nil
	case isFP32:
		if o, ok := old.(float32); ok && math.Float32bits(o) == math.Float32bits(float32(x)) {
			return old, nil
		}
		return float32(x), nil
	}
	if o, ok := old.(float64); ok && math.Float64bits(o) == math.Float64bits(x) {
		return old, nil
	}
	return x, nil
}

// passMemory is a buffer as a device takes it: whole, or by the address inside.
func passMemory(name string, dev driver.Device, m *memory) (any, error) {
	if err := m.usable(name, dev); err != nil {
		return nil, err
	}
	if m.from == 0 {
		return m.buffer, nil
	}
	return m.Addr(), nil
}

// usable checks that memory can be given to a launch.
func (m *memory) usable(name string, dev driver.Device) error {
	switch {
	case m.freed.Load():
		e := wrongArg(name, "%v", ErrFreed)
		e.Err = ErrFreed
		return e
	case m.device != dev && !reaches(dev, m.device):
		return wrongArg(name, "its buffer is memory of another device, the %s; the kernel is loaded on the %s, which another Open made",
			m.device.Properties().Name, dev.Properties().Name)
	}
	return nil
}

// reaches reports whether kernels of a device can access memory of another one.
func reaches(dev, other driver.Device) bool {
	p, ok := dev.(driver.Peer)
	return ok && p.Reaches(other)
}
