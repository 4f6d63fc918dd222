package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/internal/fakedevice"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// scaleSet has hints for both, for one, and for neither; and a second BLOCK.
func scaleSet() *kernel.Set {
	params := []kernel.Param{{Name: "x", Type: "*fp32"}, {Name: "a", Type: "fp32"}, {Name: "n", Type: "i32"}}
	variant := func(name string, block int64, hints ...int) kernel.Variant {
		return kernel.Variant{
			Target: "cuda:80", Stage: "ptx", Hints: hints, Constants: []kernel.Arg{kernel.Named("BLOCK", block)},
			Metadata: fmt.Appendf(nil, `{"name": %q, "num_warps": 4}`, name),
		}
	}
	return &kernel.Set{Name: "scale", Params: params, Variants: []kernel.Variant{
		variant("plain", 128), variant("x16", 128, 16, 0, 0), variant("all16", 128, 16, 0, 16), variant("one", 128, 16, 0, 1),
		variant("large", 1024, 16, 0, 16),
	}}
}

func cuda80() *fakedevice.Device {
	dev := fakedevice.New("ptx")
	dev.Props.Target = sdk.Target{Backend: "cuda", Arch: "80", WarpSize: 32}
	dev.Keep = true
	return dev
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestSetPicksByHints(t *testing.T) {
	for _, tt := range []struct {
		from, n int
		named   []any
		want    string
		passed  int
	}{
		{0, 64, nil, "all16", 3},
		{0, 7, nil, "x16", 3},
		{0, 1, nil, "one", 2},
		{1, 64, nil, "plain", 3},
		{4, 16, nil, "all16", 3},
		{0, 64, []any{kernel.Named("BLOCK", 1024)}, "large", 3},
		{0, 64, []any{kernel.Named("BLOCK", uint8(128))}, "all16", 3},
	} {
		dev := cuda80()
		f := must[*kernel.Function](t)(scaleSet().Load(dev))
		x := must[*kernel.Buffer[float32]](t)(kernel.Alloc[float32](dev, 64))
		args := append([]any{x.Slice(tt.from, 64), kernel.Arg{Value: 0.5}, kernel.Named("n", tt.n)}, tt.named...)
		k, l, err := f.Bind(kernel.Dims(3, 2), args...)
		if err != nil || k == nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if _, err := f.Launch(t.Context(), kernel.Dims(3, 2), args...); err != nil {
			t.Error(err)
		}
		if dev.Loads() != 1 || dev.Loaded().Kernel != tt.want || dev.Loaded().Name != "scale.ptx" {
			t.Errorf("%+v: %d loads, of %s", tt, dev.Loads(), dev.Loaded().Kernel)
		}
		if l.Grid != [3]int{3, 2, 1} || len(l.Args) != tt.passed || l.Args[1] != float32(0.5) || fmt.Sprint(dev.Last()) != fmt.Sprint(l) {
			t.Errorf("%+v: %v, and launched %v", tt, l, dev.Last())
		}
		if _, whole := l.Args[0].(driver.Buffer); whole != (tt.from == 0) || !whole && l.Args[0] != x.Addr()+uint64(4*tt.from) {
			t.Errorf("%+v: %v for memory at %#x", tt, l.Args[0], x.Addr())
		}
	}
}

// A nil buffer is a null pointer, as nil is.
func TestNilBuffer(t *testing.T) {
	dev := cuda80()
	f := must[*kernel.Function](t)(scaleSet().Load(dev))
	for _, x := range []any{nil, (*kernel.Buffer[float32])(nil)} {
		if _, err := f.Launch(t.Context(), kernel.Dims(1), x, 0.5, 16); err != nil || dev.Last().Args[0] != nil {
			t.Errorf("%T: %v, %v", x, dev.Last().Args, err)
		}
	}
}

// An array goes to the device and comes back, and a launch takes it for its type.
func TestUntyped(t *testing.T) {
	dev := cuda80()
	f := must[*kernel.Function](t)(scaleSet().Load(dev))
	x := array.New(array.Named("fp32"), 4).Fill(2)
	u := must[*kernel.Untyped](t)(kernel.Place(dev, "x", x))
	if _, err := f.Launch(t.Context(), kernel.Dims(1), u, 0.5, 16); err != nil {
		t.Error(err)
	}
	y := array.New(array.Named("fp32"), 4)
	y.Unset = true
	if err := u.Fetch(y); err != nil || y.Unset || y.At(3) != 2 {
		t.Errorf("%v, %v", y, err)
	}
	if err := u.Fetch(array.New(array.Named("fp32"), 5)); err == nil {
		t.Error("5 elements come out of 4")
	}
	if err := u.Free(); err != nil || dev.Live() != 0 {
		t.Errorf("%v, %d bytes are left", err, dev.Live())
	}
	for _, err := range []error{u.Free(), u.Fetch(y)} {
		if !errors.Is(err, kernel.ErrFreed) {
			t.Error(err)
		}
	}
	ints := must[*kernel.Untyped](t)(kernel.Place(dev, "x", array.New(array.Named("i32"), 4)))
	if _, err := f.Launch(t.Context(), kernel.Dims(1), ints, 0.5, 16); err == nil || !strings.Contains(err.Error(), "it is a buffer of i32") {
		t.Error(err)
	}
}

func TestBadGrid(t *testing.T) {
	f := must[*kernel.Function](t)(scaleSet().Load(cuda80()))
	none := errors.New("there is no grid")
	for _, grid := range []kernel.Grid{kernel.BadGrid(none), kernel.GridFunc(func(kernel.Constants) kernel.Grid { return kernel.BadGrid(none) })} {
		if _, err := f.Launch(t.Context(), grid, nil, 0.5, 16); !errors.Is(err, none) {
			t.Error(err)
		}
	}
}

func TestGridFunc(t *testing.T) {
	dev := cuda80()
	f := must[*kernel.Function](t)(scaleSet().Load(dev))
	x := must[*kernel.Buffer[float32]](t)(kernel.Alloc[float32](dev, 64))
	grid := kernel.GridFunc(func(c kernel.Constants) kernel.Grid {
		return kernel.Dims((c.Int("n") + c.Int("BLOCK") - 1) / c.Int("BLOCK"))
	})
	for v, says := range map[any]string{
		x:   "argument n: the grid needs an integer, and it is a buffer of fp32",
		1.5: "argument n: the grid needs an integer, and it is 1.5 (float64)",
	} {
		ofN := kernel.GridFunc(func(c kernel.Constants) kernel.Grid { return kernel.Dims(c.Int("n")) })
		if _, err := f.Launch(t.Context(), ofN, x, 1, v); err == nil || err.Error() != says {
			t.Errorf("%v, want %s", err, says)
		}
	}
	if _, err := f.Launch(t.Context(), grid, x, 1, 1000); err != nil || dev.Last().Grid[0] != 8 {
		t.Errorf("%v, %v", dev.Last().Grid, err)
	}
	stream := &struct{ driver.Stream }{}
	if _, err := f.Launch(t.Context(), grid.On(stream), x, 1, 1000); err != nil || dev.Last().Stream != stream {
		t.Errorf("stream %v, %v", dev.Last().Stream, err)
	}
	if _, err := f.Launch(t.Context(), kernel.Dims(1), x, 1, 1000); err != nil || dev.Last().Stream != nil {
		t.Errorf("stream %v, %v", dev.Last().Stream, err)
	}
	grid = kernel.GridFunc(func(c kernel.Constants) kernel.Grid { return kernel.Dims(c.Int("WARPS")) })
	if _, err := f.Launch(t.Context(), grid, x, 1, 1000); err == nil || err.Error() != "the grid asks for WARPS, which the kernel has no number for" {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	dev, other := cuda80(), cuda80()
	f := must[*kernel.Function](t)(scaleSet().Load(dev))
	alloc := must[*kernel.Buffer[float32]](t)
	x, far, freed := alloc(kernel.Alloc[float32](dev, 64)), alloc(kernel.Alloc[float32](other, 64)), alloc(kernel.Alloc[float32](dev, 64))
	ints := must[*kernel.Buffer[int32]](t)(kernel.Alloc[int32](dev, 64))
	if err := freed.Free(); err != nil {
		t.Fatal(err)
	}
	one := kernel.Dims(1)
	for _, tt := range []struct {
		grid kernel.Grid
		args []any
		says string
	}{
		{one, []any{x, 1.0}, "scale lacks arguments: n; it is scale(x: *fp32, a: fp32, n: i32)"},
		{one, []any{x, 1.0, 2, 3}, "scale takes 3 arguments and no more: scale(x: *fp32, a: fp32, n: i32)"},
		{one, []any{x, 1.0, 2, kernel.Named("a", 1)}, "argument a: it is given twice"},
		{one, []any{x, 1.0, 2, kernel.Named("b", 1)}, "argument b: scale has neither such a parameter nor such a constant"},
		{one, []any{x, 1.0, 2, kernel.Named("BLOCK", 64)}, "no variant of scale is compiled for BLOCK=64"},
		{one, []any{x, 1.0, 2, kernel.Named("BLOCK", 1024)}, "argument n: no variant of scale takes 2: it is compiled for multiples of 16"},
		{one, []any{x.Slice(1, 2), 1.0, 16, kernel.Named("BLOCK", 1024)}, "argument x: no variant of scale takes its address"},
		{one, []any{ints, 1.0, 2}, "argument x: it is a buffer of i32, and the kernel takes *fp32"},
		{one, []any{3, 1.0, 2}, "argument x: 3 (int) is not a buffer, and the kernel takes *fp32"},
		{one, []any{[]float32{1}, 1.0, 2}, "argument x: [1] ([]float32) is not a buffer"},
		{one, []any{x, x, 2}, "(*kernel.Buffer[float32]) is not a value of type fp32"},
		{one, []any{x, 1.0, 2.5}, "argument n: 2.5 (float64) is not a value of type i32"},
		{one, []any{x, 1.0, 1 << 31}, "argument n: 2147483648 does not fit into i32"},
		{one, []any{far, 1.0, 2}, "argument x: its buffer is memory of another device"},
		{one, []any{freed, 1.0, 2}, "argument x: the buffer has been freed"},
		{kernel.Dims(), []any{x, 1.0, 2}, "a grid has 1 to 3 dimensions, not 0"},
		{kernel.Dims(1, 2, 3, 4), []any{x, 1.0, 2}, "a grid has 1 to 3 dimensions, not 4"},
		{kernel.Dims(1, 0), []any{x, 1.0, 2}, "grid dimension y is 0: it must be at least 1"},
		{kernel.Dims(-1), []any{x, 1.0, 2}, "grid dimension x is -1"},
	} {
		_, err := f.Launch(t.Context(), tt.grid, tt.args...)
		var arg *kernel.ArgError
		if !errors.As(err, &arg) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
	if n := dev.Launches(); n != 0 {
		t.Errorf("%d launches with wrong arguments", n)
	}
	if _, err := f.Launch(t.Context(), one, freed, 1, 2); !errors.Is(err, kernel.ErrFreed) {
		t.Error(err)
	}
	for _, err := range []error{freed.Free(), freed.Write(make([]float32, 64)), freed.Read(make([]float32, 64))} {
		if !errors.Is(err, kernel.ErrFreed) {
			t.Error(err)
		}
	}
	if err := x.Write(make([]float32, 63)); err == nil || err.Error() != "the buffer has 64 elements, and 63 are copied" {
		t.Error(err)
	}
	if _, err := kernel.Alloc[float32](dev, -1); err == nil {
		t.Error("a buffer of -1 elements")
	}
	if _, err := kernel.Alloc[float32](dev, 1<<30); err == nil || !strings.Contains(err.Error(), "fp32[1073741824] needs 4294967296 bytes") {
		t.Error(err)
	}
}

func TestLoadMistakes(t *testing.T) {
	dev := cuda80()
	dev.Props.Target.Arch = "90"
	if _, err := scaleSet().Load(dev); err == nil || err.Error() != "scale has no code for the fake, which takes ptx for cuda:90:32; it has ptx for cuda:80" {
		t.Error(err)
	}
	dev = cuda80()
	for want, meta := range map[string]string{
		"kernel k on the fake: out of resource: shared memory, Required: 200000, Hardware limit: 166912. Reducing block sizes or `num_stages` may help.": `{"name": "k", "num_warps": 4, "shared": 200000}`,
		"kernel k on the fake: out of resource: threads, Required: 2048, Hardware limit: 1024. Reducing block sizes or `num_stages` may help.":           `{"name": "k", "num_warps": 64}`,
	} {
		s := &kernel.Set{Name: "k", Variants: []kernel.Variant{{Stage: "ptx", Metadata: []byte(meta)}}}
		f := must[*kernel.Function](t)(s.Load(dev))
		_, err := f.Launch(t.Context(), kernel.Dims(1))
		var out *driver.OutOfResources
		if !errors.As(err, &out) || err.Error() != want {
			t.Error(err)
		}
	}
}

// TestElements: what is written is read, and the float types round.
func TestElements(t *testing.T) {
	dev := cuda80()
	roundTrip(t, dev, []float32{1.5, -2, float32(math.Inf(1))})
	roundTrip(t, dev, []int64{math.MinInt64, 7})
	roundTrip(t, dev, []kernel.Bool{0, 1})
	roundTrip(t, dev, []kernel.Float16{kernel.Round[kernel.Float16](0.1), 0x3c00})
	for _, tt := range []struct{ got, want float64 }{
		{kernel.Round[kernel.Float16](0.1).Float64(), 0.0999755859375},
		{kernel.Round[kernel.BFloat16](0.1).Float64(), 0.10009765625},
		{kernel.Round[kernel.Float8E4NV](449).Float64(), 448},
		{kernel.Round[kernel.Float8E4B8](3.3).Float64(), 3.25},
		{kernel.Round[kernel.Float8E4B15](1.9).Float64(), 1.875},
		{kernel.Round[kernel.Float8E5](-3.3).Float64(), -3.5},
		{kernel.Round[kernel.Float8E5B16](3.3).Float64(), 3.5},
		{kernel.BFloat16(0xc000).Float64(), -2},
	} {
		if tt.got != tt.want {
			t.Errorf("%v, want %v", tt.got, tt.want)
		}
	}
	for want, got := range map[string]string{
		"i1": kernel.TypeOf[kernel.Bool]().Name, "i8": kernel.TypeOf[int8]().Name, "u16": kernel.TypeOf[uint16]().Name,
		"u64": kernel.TypeOf[uint64]().Name, "fp64": kernel.TypeOf[float64]().Name, "bf16": kernel.TypeOf[kernel.BFloat16]().Name,
		"fp8e5b16": kernel.TypeOf[kernel.Float8E5B16]().Name,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func roundTrip[T kernel.Element](t *testing.T, dev driver.Device, values []T) {
	t.Helper()
	b := must[*kernel.Buffer[T]](t)(kernel.From(dev, values))
	if got := must[[]T](t)(b.Values()); fmt.Sprint(got) != fmt.Sprint(values) {
		t.Errorf("%v, want %v", got, values)
	}
	part := b.Slice(1, len(values))
	if err := part.Write(values[:part.Len()]); err != nil {
		t.Fatal(err)
	}
	if got := must[[]T](t)(b.Values()); got[0] != values[0] || got[1] != values[0] {
		t.Errorf("%v after a write of the second element", got)
	}
}

// TestScalars: each type of number as the device takes it.
func TestScalars(t *testing.T) {
	type size int
	for _, tt := range []struct {
		typ  string
		v    any
		want any // a string for an error
	}{
		{"u1", true, true},
		{"u1", 2, true},
		{"u1", 1.5, "is not a bool"},
		{"i8", -128, int8(-128)},
		{"u8", 255, uint8(255)},
		{"u8", 256, "256 does not fit into u8"},
		{"i16", true, int16(1)},
		{"u16", uint16(65535), uint16(65535)},
		{"i32", size(7), int32(7)},
		{"u32", uint32(1 << 31), uint32(1 << 31)},
		{"u32", -1, "-1 does not fit into u32"},
		{"i64", uint64(1) << 63, "9223372036854775808 does not fit into i64"},
		{"i64", int64(math.MinInt64), int64(math.MinInt64)},
		{"u64", uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{"u64", -1, "-1 does not fit into u64"},
		{"fp16", 1, uint16(0x3c00)},
		{"fp16", kernel.Float16(0x3c00), uint16(0x3c00)},
		{"bf16", float32(1), uint16(0x3f80)},
		{"fp32", uint64(1) << 63, float32(1 << 63)},
		{"fp32", math.Pi, float32(math.Pi)},
		{"fp64", false, 0.0},
		{"fp64", "text", "text (string) is not a value of type fp64"},
	} {
		dev := cuda80()
		s := &kernel.Set{Name: "k", Params: []kernel.Param{{Name: "p", Type: tt.typ}}, Variants: []kernel.Variant{{Stage: "ptx"}}}
		f := must[*kernel.Function](t)(s.Load(dev))
		for range 2 { // the second time from where the first left it
			_, err := f.Launch(t.Context(), kernel.Dims(1), tt.v)
			if text, ok := tt.want.(string); ok {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%s %v: %v", tt.typ, tt.v, err)
				}
			} else if err != nil || dev.Last().Args[0] != tt.want {
				t.Errorf("%s %v: %T %v, %v", tt.typ, tt.v, dev.Last().Args[0], dev.Last().Args[0], err)
			}
		}
	}
	for _, typ := range []string{"tensordesc<fp16>", "tensordesc<fp17[16]>", "tensordesc<fp16[]>", "tensordesc<fp16[a]>", "tensordesc<"} {
		if err := kernel.CheckType(typ); err == nil || !strings.Contains(err.Error(), "is not the type of a descriptor") {
			t.Errorf("%s: %v", typ, err)
		}
	}
	if _, err := (&kernel.Set{Name: "k", Params: []kernel.Param{{Name: "p", Type: "fp8e5"}}}).Load(cuda80()); err == nil || err.Error() != "argument p: a number of type fp8e5 cannot be passed to a kernel" {
		t.Error(err)
	}
}

func TestDescriptors(t *testing.T) {
	dev := cuda80()
	x := must[*kernel.Buffer[kernel.Float16]](t)(kernel.Alloc[kernel.Float16](dev, 64*40))
	ints := must[*kernel.Buffer[int16]](t)(kernel.Alloc[int16](dev, 64*40))
	params := []kernel.Param{{Name: "d", Type: "tensordesc<fp16[16, 32]>"}, {Name: "n", Type: "i32"}}
	load := func(meta string) *kernel.Function {
		s := &kernel.Set{Name: "k", Params: params, Variants: []kernel.Variant{{Stage: "ptx", Metadata: []byte(meta)}}}
		return must[*kernel.Function](t)(s.Load(dev))
	}
	d := &kernel.Descriptor{Base: x, Shape: []int{64, 40}, Block: []int{16, 32}, NaN: true}
	plain, mapped := load(`{"tensordesc_meta": [null]}`), load(`{"tensordesc_meta": [{"swizzle": 2, "elem_size": 2, "elem_type": 6, "block_size": [16, 32]}]}`)
	if _, err := plain.Launch(t.Context(), kernel.Dims(1), d, 5); err != nil {
		t.Fatal(err)
	}
	want := []any{int64(64), int64(40), int64(40), int64(1), true, int32(64), int32(40), int64(40), int64(1), int32(5)}
	if got := dev.Last().Args; fmt.Sprintf("%T%v", got[0], got[1:]) != fmt.Sprintf("*fakedevice.buffer%v", want) {
		t.Errorf("%T%v", got[0], got[1:])
	}
	d = &kernel.Descriptor{Base: x.Slice(8, 64*40), Shape: []int{63, 32}, Strides: []int{40, 1}, Block: []int{16, 32}}
	if _, err := mapped.Launch(t.Context(), kernel.Dims(1), d, 5); err != nil {
		t.Fatal(err)
	}
	m, ok := dev.Last().Args[0].(*driver.TensorMap)
	if !ok || m.Offset != 16 || fmt.Sprint(m.Shape, m.Strides, m.Box, m.Swizzle, m.NaN) != "[63 32] [80 2] [16 32] 2 false" {
		t.Errorf("%+v", m)
	}
	for _, tt := range []struct {
		d    kernel.Descriptor
		says string
	}{
		{kernel.Descriptor{}, "the descriptor has no memory"},
		{kernel.Descriptor{Base: x}, "a descriptor has 1 to 5 dimensions, not 0"},
		{kernel.Descriptor{Base: x, Shape: []int{64, 41}, Block: []int{16, 32}}, "dimension 0 advances by 82 bytes"},
		{kernel.Descriptor{Base: x, Shape: []int{64, 48}, Block: []int{16, 32}}, "the descriptor's last element is number 3071 of a buffer that has 2560"},
		{kernel.Descriptor{Base: x.Slice(1, 2560), Shape: []int{8, 40}, Block: []int{16, 32}}, "the memory of a descriptor begins at a multiple of 16 bytes"},
		{kernel.Descriptor{Base: x, Shape: []int{64, 40}, Block: []int{16, 12}}, "12 is not a size of a block"},
		{kernel.Descriptor{Base: x, Shape: []int{64, 40}, Block: []int{16, 4}}, "rows of its blocks have 8 bytes"},
		{kernel.Descriptor{Base: x, Shape: []int{64, 40}, Strides: []int{1, 64}, Block: []int{16, 32}}, "the last dimension of a descriptor is contiguous"},
		{kernel.Descriptor{Base: x, Shape: []int{64, 40}, Block: []int{32, 16}}, "it is a descriptor of fp16 in blocks of [32 16], and the kernel takes tensordesc<fp16[16, 32]>"},
		{kernel.Descriptor{Base: ints, Shape: []int{64, 40}, Block: []int{16, 32}}, "it is a descriptor of i16 in blocks of [16 32]"},
		{kernel.Descriptor{Base: x, Shape: []int{64, 40}, Strides: []int{1}, Block: []int{16, 32}}, "the array has 1 stride, and its shape 2"},
	} {
		if _, err := plain.Launch(t.Context(), kernel.Dims(1), &tt.d, 5); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
	if _, err := plain.Launch(t.Context(), kernel.Dims(1), x, 5); err == nil || !strings.Contains(err.Error(), "is not a descriptor, which the kernel takes") {
		t.Error(err)
	}
}

// TestManyGoroutines launches one function from many, each with arguments of its own.
func TestManyGoroutines(t *testing.T) {
	dev := cuda80()
	dev.Keep = false
	f := must[*kernel.Function](t)(scaleSet().Load(dev))
	const goroutines, launches = 8, 200
	dev.Run = func(l driver.Launch) error {
		// The second argument says what the others must be.
		id := int(l.Args[1].(float32))
		if b := l.Args[0].(driver.Buffer); b.Size() != 4*id || l.Grid[0] != id || len(l.Args) == 3 && l.Args[2] != int32(id) {
			return fmt.Errorf("launch %d has %d bytes, grid %v, arguments %v", id, b.Size(), l.Grid, l.Args)
		}
		return nil
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range launches {
				id := 1 + g*launches + i
				x, err := kernel.Alloc[float32](dev, id)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := f.Launch(context.Background(), kernel.Dims(id), x, id, id); err != nil {
					t.Error(err)
				}
				if err := x.Free(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if dev.Launches() != goroutines*launches || dev.Live() != 0 || dev.Loads() != 3 {
		t.Errorf("%d launches, %d bytes left, %d loads", dev.Launches(), dev.Live(), dev.Loads())
	}
}

// TestNothingIsLeft launches 10,000 times, and looks at both memories.
func TestNothingIsLeft(t *testing.T) {
	dev := cuda80()
	dev.Keep = false
	f := must[*kernel.Function](t)(scaleSet().Load(dev))
	launch := func(n int) {
		for i := range n {
			x := must[*kernel.Buffer[float32]](t)(kernel.From(dev, make([]float32, 1000)))
			if _, err := f.Launch(t.Context(), kernel.Dims(1), x, 1.5, i); err != nil {
				t.Fatal(err)
			}
			if err := x.Free(); err != nil {
				t.Fatal(err)
			}
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	launch(100)
	before := heap()
	launch(10_000)
	if after := heap(); after > before+64<<10 {
		t.Errorf("10,000 launches leave %d bytes of heap", after-before)
	}
	if dev.Live() != 0 {
		t.Errorf("they leave %d bytes on the device", dev.Live())
	}
}

func BenchmarkSetLaunch(b *testing.B) {
	dev := cuda80()
	dev.Keep = false
	f := must[*kernel.Function](b)(scaleSet().Load(dev))
	x := must[*kernel.Buffer[float32]](b)(kernel.Alloc[float32](dev, 64))
	n := 4096
	b.ReportAllocs()
	for b.Loop() {
		n += 16 // no two launches are the same
		if _, err := f.Launch(context.Background(), kernel.Dims(n/128), x, float32(0.5), n); err != nil {
			b.Fatal(err)
		}
	}
}

// peered is a device whose kernels access memory of one other.
type peered struct {
	*fakedevice.Device
	peer driver.Device
}

func (d *peered) Reaches(other driver.Device) bool { return other == d.peer }

// TestPeers: memory of another device is an argument where the device says so.
func TestPeers(t *testing.T) {
	near, far := cuda80(), cuda80()
	dev := &peered{cuda80(), near}
	f := must[*kernel.Function](t)(scaleSet().Load(dev))
	for _, d := range []driver.Device{dev, near, far} {
		x := must[*kernel.Buffer[float32]](t)(kernel.Alloc[float32](d, 64))
		var wrong *kernel.ArgError
		if _, err := f.Launch(t.Context(), kernel.Dims(1), x, 1.0, 2); errors.As(err, &wrong) != (d == far) {
			t.Error(err)
		}
	}
	if n := dev.Launches(); n != 2 {
		t.Errorf("%d launches", n)
	}
}
