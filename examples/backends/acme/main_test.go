package main

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// target is the first one.
var target = sdk.Target{Backend: "acme", Arch: "v1", WarpSize: 1}

// ttir doubles 16 numbers.
const ttir = `module {
  tt.func public @double(%x: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %1 = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %3 = tt.load %2 : tensor<16x!tt.ptr<f32>>
    %4 = arith.addf %3, %3 : tensor<16xf32>
    tt.store %2, %4 : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}
`

// compileText asks the backend as tritonc does.
func compileText(t *testing.T, input string) ([]byte, error) {
	resp, err := sdktest.Start(t, backend{}).RunStages(t.Context(), sdk.RunStagesRequest{
		Target: target, OptionsJSON: `{"num_warps":1}`, First: "vasm", Last: "vasm",
		Input: []byte(input), InputName: "k.ttir",
	})
	return resp.Artifact("vasm"), err
}

// TestRun compiles a kernel and runs it.
func TestRun(t *testing.T) {
	code, err := compileText(t, ttir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := sdktest.StartDevices(t, driver{}).Open(t.Context(), 0, target)
	if err != nil {
		t.Fatal(err)
	}
	k, err := d.Load(t.Context(), sdk.DeviceBinary{Name: "double.vasm", Code: code})
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Alloc(t.Context(), "x", 64)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 16)
	for i := range x {
		x[i] = float32(i)
	}
	if err := b.Write(t.Context(), 0, encode(x)); err != nil {
		t.Fatal(err)
	}
	result, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{1, 1, 1}, Args: []sdk.DeviceArg{{Buffer: b}}})
	if err != nil || len(result.Fault) > 0 {
		t.Fatal(err, result.Fault)
	}
	got, want := make([]byte, 64), make([]float32, 16)
	for i := range want {
		want[i] = 2 * x[i]
	}
	if err := b.Read(t.Context(), 0, got); err != nil || !bytes.Equal(got, encode(want)) {
		t.Errorf("got %x (%v), want %x", got, err, encode(want))
	}
}

func encode(x []float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, x)
	return b
}

// TestRefused holds that a mistake has its place.
func TestRefused(t *testing.T) {
	_, err := compileText(t, strings.Replace(ttir, "arith.addf %3, %3", "math.exp %3", 1))
	if err == nil || !strings.Contains(err.Error(), "k.ttir:7:5: error: acme's vector machine has no math.exp") {
		t.Errorf("an operation that the machine lacks: %v", err)
	}
}
