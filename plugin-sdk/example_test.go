package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// acme is a backend of one stage, whose assembler is a program of the machine.
type acme struct{}

func (acme) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{
		Name: "acme", Version: "1.0", BinaryEnding: "bin",
		Targets: []sdk.TargetFacts{{Pattern: "acme:v*", WarpSize: 1}},
		Options: []sdk.OptionSpec{{Name: "fast", Type: sdk.Bool, Default: "false", Doc: "give up exactness for speed"}},
	}, nil
}

func (acme) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "bin", Binary: true, Doc: "machine code", Run: assemble}}, nil
}

func assemble(ctx context.Context, in *sdk.StageInput) ([]byte, error) {
	var opts struct{ Fast bool }
	if err := in.DecodeOptions(&opts); err != nil {
		return nil, err
	}
	if i := bytes.Index(in.Data, []byte("tt.dot")); i >= 0 {
		return nil, in.Errorf(in.Range(i, i+len("tt.dot")), "there are no dots on %s", in.Target).
			WithHelp("write the sum of products out")
	}
	args := []string{"-"}
	if opts.Fast {
		args = append(args, "-O3")
	}
	res, err := in.RunTool(ctx, sdk.Command{Path: "acme-as", Args: args, Stdin: in.Data}, "1.0")
	if err != nil {
		return nil, err
	}
	if !res.OK() {
		return nil, sdk.Errorf("acme-as refused the kernel (%s)", res.Status()).WithNote("%s", res.Stderr)
	}
	in.Metadata["shared"] = 0
	return res.Stdout, nil
}

// A whole backend: facts, and a stage that runs an assembler.
func ExampleServeBackend() {
	// In a program tritonc-backend-acme this is the first statement of main. Here nobody
	// has started it as a plugin.
	if os.Getenv("TRITONC_BACKEND") != "" {
		sdk.ServeBackend(acme{})
	}
	// Output:
}

// Warnings, log lines and progress need nothing but the context of the call.
func ExampleWarn() {
	stage := sdk.Stage{Name: "asm", Run: func(ctx context.Context, in *sdk.StageInput) ([]byte, error) {
		sdk.ReportProgress(ctx, sdk.Progress{Stage: "asm", Fraction: 0.5, Text: "placing registers"})
		sdk.Logger(ctx).Debug("registers", "used", 17)
		sdk.Warn(ctx, in.Warningf(in.Range(0, 4), "this spills"))
		return in.Data, nil
	}}
	fmt.Println(stage.Name)
	// Output: asm
}

// ramp drives devices that are made up: a kernel, whatever its code, counts its first
// argument's bytes up.
type ramp struct{}

func (ramp) Describe(context.Context) (sdk.DeviceFacts, error) {
	return sdk.DeviceFacts{Name: "acme", Devices: []sdk.DeviceInfo{{Name: "Acme V1", Target: sdk.Target{Backend: "acme", Arch: "v1"}}}}, nil
}

func (ramp) Open(context.Context, int, sdk.Target) (sdk.Device, error) { return rampDevice{}, nil }

type rampDevice struct{}

func (rampDevice) Properties() sdk.DeviceProperties {
	return sdk.DeviceProperties{Name: "Acme V1", Stage: "bin", WarpSize: 1}
}
func (rampDevice) Close() error { return nil }

func (rampDevice) Alloc(_ context.Context, _ string, size int64) (sdk.DeviceBuffer, error) {
	return rampBuffer(make([]byte, size)), nil
}

func (rampDevice) Load(context.Context, sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	return rampKernel{}, nil
}

type rampBuffer []byte

func (b rampBuffer) Addr() uint64 { return 4096 }
func (b rampBuffer) Free() error  { return nil }

func (b rampBuffer) Write(_ context.Context, offset int64, p []byte) error {
	copy(b[offset:], p)
	return nil
}

func (b rampBuffer) Read(_ context.Context, offset int64, p []byte) error {
	copy(p, b[offset:])
	return nil
}

type rampKernel struct{}

func (rampKernel) Launch(_ context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	memory, ok := l.Args[0].Buffer.(rampBuffer)
	if !ok {
		return sdk.DeviceResult{}, sdk.Errorf("the kernel takes memory")
	}
	for i := range memory {
		memory[i] = byte(i)
	}
	return sdk.DeviceResult{}, nil
}

// One program is backend and driver: tritonc run --target acme:v1 needs no other.
func ExampleServe() {
	if os.Getenv("TRITONC_BACKEND") != "" { // in main, without this line
		sdk.Serve(sdk.Plugin{Backend: acme{}, Driver: ramp{}})
	}
	ctx := context.Background()
	dev, err := ramp{}.Open(ctx, 0, sdk.Target{Backend: "acme", Arch: "v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	memory, _ := dev.Alloc(ctx, "x", 4)
	kernel, _ := dev.Load(ctx, sdk.DeviceBinary{Name: "k.bin"})
	_, err = kernel.Launch(ctx, sdk.DeviceLaunch{Grid: [3]int{1, 1, 1}, Args: []sdk.DeviceArg{{Buffer: memory}}})
	got := make([]byte, 4)
	fmt.Println(err, memory.Read(ctx, 0, got), got)
	// Output: <nil> <nil> [0 1 2 3]
}
