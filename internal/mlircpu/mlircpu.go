package mlircpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// Stage is the stage whose artifact the device runs.
const Stage = "ttadapter"

// The programs of MLIR, of Debian's package mlir-22-tools.
const (
	opt    = "mlir-opt-22"
	runner = "mlir-runner-22"
)

// Pipeline lowers a module of the stage to LLVM's dialect by passes of MLIR alone. Floats of 8
// bits, of which LLVM has none, are computed by functions of MLIR's runtime, and with them
// all other floats of the module.
func Pipeline(module string) []string {
	passes := []string{
		"--convert-elementwise-to-linalg", "--one-shot-bufferize=allow-return-allocs-from-loops", "--convert-linalg-to-loops",
		"--expand-strided-metadata", "--lower-affine", "--convert-scf-to-cf", "--expand-strided-metadata", "--lower-affine",
	}
	if strings.Contains(module, "f8E") {
		passes = append(passes, "--convert-arith-to-apfloat")
	}
	return append(passes,
		"--arith-expand", "--memref-expand", "--convert-math-to-llvm", "--convert-math-to-libm", "--convert-arith-to-llvm",
		"--convert-index-to-llvm", "--finalize-memref-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm", "--reconcile-unrealized-casts",
	)
}

// Missing says which of MLIR's tools is not installed; "" if all are.
func Missing() string {
	for _, tool := range []string{opt, runner} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Sprintf("%s is not installed (Debian's package mlir-22-tools)", tool)
		}
	}
	if _, err := libraries(); err != nil {
		return err.Error()
	}
	return ""
}

// libraries are those of MLIR's runner, beside its tools.
func libraries() (string, error) {
	path, err := exec.LookPath(opt)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	var libs []string
	for _, name := range []string{"libmlir_runner_utils.so*", "libmlir_c_runner_utils.so*", "libmlir_apfloat_wrappers.so*"} {
		pattern := filepath.Join(filepath.Dir(path), "..", "lib", name)
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			return "", fmt.Errorf("there is no %s (Debian's package mlir-22-tools)", pattern)
		}
		libs = append(libs, found[0])
	}
	return strings.Join(libs, ","), nil
}

type device struct {
	target target.Target
	next   uint64
	bufs   map[uint64]*buffer
}

// Open makes the device ready. It is for one goroutine.
func Open(t target.Target) (driver.Device, error) {
	if why := Missing(); why != "" {
		return nil, errors.New(why)
	}
	return &device{target: t, next: 4096, bufs: make(map[uint64]*buffer)}, nil
}

func (d *device) Properties() driver.Properties {
	return driver.Properties{
		Name: "MLIR on the CPU", Stage: Stage, Target: d.target, WarpSize: 32, Multiprocessors: 1, MaxThreads: 2048, MaxShared: 1 << 30,
		Memory: 1 << 32, Simulated: true,
	}
}

func (d *device) Close() error { return nil }

// buffer is memory of a launch. Its address is a number that no other has.
type buffer struct {
	dev  *device
	addr uint64
	data []byte
}

// poison is what is in memory that nobody wrote: a NaN of every type.
const poison = 0xff

func (d *device) Alloc(_ string, size int) (driver.Buffer, error) {
	b := &buffer{dev: d, addr: d.next, data: bytes.Repeat([]byte{poison}, size)}
	d.next += uint64(size) + 4096
	d.bufs[b.addr] = b
	return b, nil
}

func (b *buffer) Addr() uint64                 { return b.addr }
func (b *buffer) Size() int                    { return len(b.data) }
func (b *buffer) Read(off int, p []byte) error { copy(p, b.data[off:]); return nil }
func (b *buffer) Write(off int, p []byte) error {
	copy(b.data[off:], p)
	return nil
}

func (b *buffer) Free() error {
	delete(b.dev.bufs, b.addr)
	return nil
}

type kernel struct {
	name   string
	module string // without its last brace
	params []ir.Type
	ctx    *ir.Context
	// together is set where programs wait for one another: each is a thread.
	together bool
}

func (d *device) Load(b driver.Binary) (driver.Kernel, error) {
	ctx := dialect.NewContext(linalg.Dialects()...)
	f, err := text.ParseFile(ctx, b.Name, b.Code)
	if err != nil {
		return nil, err
	}
	k := &kernel{ctx: ctx}
	for op := range f.Op.Body().Ops() {
		switch {
		case !op.Is(linalg.Func):
		case linalg.AsFunc(op).SymName() == adapter.SyncFunction:
			k.together = true
			op.Erase()
		default:
			k.name = linalg.AsFunc(op).SymName()
			for _, v := range linalg.AsFunc(op).Body().First().Args() {
				k.params = append(k.params, v.Type())
			}
		}
	}
	k.module = strings.TrimSuffix(strings.TrimSpace(string(text.Append(nil, f.Op, text.Options{}))), "}")
	return k, nil
}

// gridArguments are those that follow the kernel's own.
const gridArguments = 6

func (k *kernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	if want := len(k.params) - gridArguments; len(l.Args) != want {
		return nil, fmt.Errorf("kernel %s takes %d arguments, given %d", k.name, want, len(l.Args))
	}
	libs, err := libraries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mlircpu")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program, data, err := k.program(&l)
	if err != nil {
		return nil, err
	}
	lowered, memory := filepath.Join(dir, "lowered.mlir"), filepath.Join(dir, "memory")
	lower := exec.CommandContext(ctx, opt, append([]string{"-", "-o", lowered}, Pipeline(program)...)...)
	lower.Stdin = strings.NewReader(program)
	if out, err := lower.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", opt, err, out)
	}
	if err := os.WriteFile(memory, data, 0o600); err != nil {
		return nil, err
	}
	stdin, err := os.Open(memory)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	start := time.Now()
	var stderr bytes.Buffer
	// -O0, as LLVM takes minutes for the loops of a sort, nested by its dimensions of 2.
	run := exec.CommandContext(ctx, runner, lowered, "-e", "main", "-entry-point-result=void", "-O0", "-shared-libs="+libs)
	run.Stdin, run.Stderr = stdin, &stderr
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", runner, err, stderr.Bytes())
	}
	if len(out) != len(data) {
		return nil, fmt.Errorf("%s wrote %d bytes of %d:\n%s", runner, len(out), len(data), out)
	}
	for _, a := range l.Args {
		if b, ok := a.(*buffer); ok {
			out = out[copy(b.data, out):]
		}
	}
	return &driver.Result{Time: time.Since(start)}, nil
}
