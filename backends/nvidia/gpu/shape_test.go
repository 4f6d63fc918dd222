package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/driver/sim"
)

// infer applies f to an encoding in text form.
func infer(t *testing.T, enc string, f func(layout.Encoding) (layout.Encoding, error)) string {
	t.Helper()
	ctx := dialect.NewContext()
	a, err := text.ParseAttr(ctx, enc)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f(a.(*encoding.Attr).Layout)
	if err != nil {
		t.Skip(err) // no encoding for this combination: nothing to lower
	}
	return text.AttrString(ctx, encoding.Of(ctx, e))
}

// Operations that only rename registers: transposition, reshape, join and
// split, against the same on a slice.
func TestShapes(t *testing.T) {
	r := newRand(t)
	const m, n = 32, 64
	for i := range 24 {
		src := randomBlocked(r, 2)
		var result, op string
		var shape []int
		var want func(p int) int // index of the source element at index p of the result
		switch i % 4 {
		case 0:
			result = infer(t, src, func(e layout.Encoding) (layout.Encoding, error) {
				return layout.Trans(e, []int64{m, n}, []int{1, 0})
			})
			shape = []int{n, m}
			op = "%w = tt.trans %v {order = array<i32: 1, 0>} : tensor<32x64xf32, SRC> -> tensor<64x32xf32, DST>\n"
			want = func(p int) int { return p%m*n + p/m }
		case 1:
			result = infer(t, src, func(e layout.Encoding) (layout.Encoding, error) {
				return layout.Reshape(e, []int64{m, n}, []int64{128, 16})
			})
			shape = []int{128, 16}
			op = "%w = tt.reshape %v : tensor<32x64xf32, SRC> -> tensor<128x16xf32, DST>\n"
			want = func(p int) int { return p }
		case 2, 3:
			// join v with 2v, split again, subtract: v.
			joined := infer(t, src, func(e layout.Encoding) (layout.Encoding, error) { return layout.Join(e, []int64{m, n}) })
			result, shape = src, []int{m, n}
			op = strings.ReplaceAll(`%d = arith.addf %v, %v : tensor<32x64xf32, SRC>
    %j = tt.join %v, %d : tensor<32x64xf32, SRC> -> tensor<32x64x2xf32, JOINED>
    %a, %b = tt.split %j : tensor<32x64x2xf32, JOINED> -> tensor<32x64xf32, SRC>
    %w = arith.subf %b, %a : tensor<32x64xf32, SRC>
`, "JOINED", joined)
			want = func(p int) int { return p }
		}
		src2 := moduleOf("  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>) {" +
			indices("i", m, n, "SRC") + pointers("x", "x", "i", "32x64", "f32", "SRC") +
			"    %v = tt.load %x_p : tensor<32x64x!tt.ptr<f32>, SRC>\n    " + op +
			indices("q", shape[0], shape[1], "DST") + pointers("o", "o", "q", fmt.Sprintf("%dx%d", shape[0], shape[1]), "f32", "DST") +
			fmt.Sprintf("    tt.store %%o_p, %%w : tensor<%dx%dx!tt.ptr<f32>, DST>\n    tt.return\n  }\n", shape[0], shape[1]))
		src2 = strings.NewReplacer("SRC", src, "DST", result).Replace(src2)
		k := build(t, "shape.ttgir", src2, 80)
		d := sim.New(sim.Options{})
		x := randn(r, m*n)
		o := d.Alloc("o", 4*m*n)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
		for p, v := range sim.Download[float32](o) {
			if v != x[want(p)] {
				t.Fatalf("case %d: element %d is %v, want %v\n%s", i%4, p, v, x[want(p)], src2)
			}
		}
	}
}

// Tensors as arguments and results of a function that is not inlined, which
// needs shared memory of its own.
func TestCallTensors(t *testing.T) {
	r := newRand(t)
	enc := "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
	k := build(t, "call.ttgir", moduleOf(strings.NewReplacer("T", "tensor<512xf32, "+enc+">", "I", "tensor<512xi32, "+enc+">", "P", "tensor<512x!tt.ptr<f32>, "+enc+">").Replace(`
  tt.func private @f(%x: T, %s: f32) -> (T, f32) attributes {noinline = true} {
    %b = tt.splat %s : f32 -> T
    %y = arith.mulf %x, %b : T
    %m = "tt.reduce"(%y) <{axis = 0 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %z = arith.maxnumf %p, %q : f32
      tt.reduce.return %z : f32
    }) : (T) -> f32
    tt.return %y, %m : T, f32
  }
  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : I
    %xs = tt.splat %x : !tt.ptr<f32> -> P
    %xp = tt.addptr %xs, %r : P, I
    %v = tt.load %xp : P
    %t = "tt.reduce"(%v) <{axis = 0 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %z = arith.addf %p, %q : f32
      tt.reduce.return %z : f32
    }) : (T) -> f32
    %two = arith.constant 2.0 : f32
    %c:2 = tt.call @f(%v, %two) : (T, f32) -> (T, f32)
    %d:2 = tt.call @f(%c#0, %c#1) : (T, f32) -> (T, f32)
    %sum = arith.addf %d#1, %t : f32
    %ss = tt.splat %sum : f32 -> T
    %w = arith.addf %d#0, %ss : T
    %os = tt.splat %o : !tt.ptr<f32> -> P
    %op = tt.addptr %os, %r : P, I
    tt.store %op, %w : P
    tt.return
  }
`)), 80)
	x := randn(r, 512)
	d := sim.New(sim.Options{})
	o := d.Alloc("o", 4*512)
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
	total, top := 0.0, x[0]
	for _, v := range x {
		total += float64(v)
		top = max(top, v)
	}
	top *= 2
	want := make([]float64, 512)
	for i, v := range x {
		want[i] = 2*float64(v)*float64(top) + float64(top)*float64(top) + total
	}
	near(t, "o", sim.Download[float32](o), want, 1e-5, 1e-3)
}
