package kerneltest

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/internal/inprocess"
	"github.com/tritonc/tritonc/internal/sass"
	"github.com/tritonc/tritonc/internal/warpwide"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// inProcess is a backend without a process around it. It remembers what it
// made, since tests run one kernel on many inputs.
type inProcess struct {
	inprocess.Backend
	settings map[string]string
	store    store

	mu   sync.Mutex
	made map[string]sdk.RunStagesResponse
	// gpu reports that kernels pass the stage ttgir.
	gpu bool
}

// maxMade bounds what is remembered: there are suites of many kernels.
const maxMade = 256

// newInProcess runs b with the settings that the environment has for it.
func newInProcess(b inprocess.Kit) *inProcess {
	p := &inProcess{Backend: inprocess.Backend{Kit: b}, settings: map[string]string{}, store: store(os.Getenv(StoreEnv)), made: map[string]sdk.RunStagesResponse{}}
	facts, err := b.Describe(context.Background())
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for _, s := range facts.Settings {
		for _, env := range s.Env {
			if v := os.Getenv(env); v != "" && p.settings[s.Name] == "" {
				p.settings[s.Name] = v
			}
		}
	}
	return p
}

// platform is a backend with the devices that run what it makes.
type platform struct {
	backend *inProcess
	open    OpenDevice
}

// OpenDevice makes the device of a target ready. Printed receives what kernels
// print.
type OpenDevice func(ctx context.Context, target core.Target, printed io.Writer) (driver.Device, error)

var platforms struct {
	sync.Mutex
	list []platform
}

// AddBackend has kernels for the targets of a backend compiled by it, in this
// process, and run on the devices that open makes. Without it there are NVIDIA's
// backend and the simulated devices.
func AddBackend(b inprocess.Kit, open OpenDevice) {
	platforms.Lock()
	defer platforms.Unlock()
	platforms.list = append(platforms.list, platform{newInProcess(b), open})
}

// everywhere is the target that Everywhere set, and withoutOptions the options.
var (
	everywhere     string
	withoutOptions []string
)

// Everywhere has all kernels compiled for a target, whatever target they name, and without
// the options of theirs that it lacks. It is for TestMain.
func Everywhere(target string, without ...string) { everywhere, withoutOptions = target, without }

var nvidiaPlatform = sync.OnceValue(func() *platform { return &platform{backend: newInProcess(nvidia.New())} })

// platformOf is the platform of a target: NVIDIA's where no other supports it, so
// that there is one to say what is wrong with the target.
func platformOf(target core.Target) *platform {
	platforms.Lock()
	defer platforms.Unlock()
	for i := range platforms.list {
		p := &platforms.list[i]
		facts, err := p.backend.Facts(context.Background())
		if err != nil {
			panic("BUG: " + err.Error())
		}
		if _, ok := facts.For(target); ok {
			return p
		}
	}
	return nvidiaPlatform()
}

// SelectBackend is the Select of core.Options.
func SelectBackend(_ context.Context, target core.Target) (core.Backend, core.Target, error) {
	b := platformOf(target).backend
	facts, err := b.Facts(context.Background())
	if err != nil {
		return nil, target, err
	}
	if row, ok := facts.For(target); ok && target.WarpSize == 0 {
		target.WarpSize = row.WarpSize
	}
	return b, target, nil
}

// ParseOptions implements core.Backend.
func (b *inProcess) ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	return stored(b, "ParseOptions", &req, &req.Settings, func() (sdk.ParseOptionsResponse, error) {
		return b.Backend.ParseOptions(ctx, req)
	})
}

// AddStages implements core.Backend.
func (b *inProcess) AddStages(ctx context.Context, req sdk.AddStagesRequest) (wire.AddStagesResponse, error) {
	resp, err := stored(b, "AddStages", &req, &req.Settings, func() (wire.AddStagesResponse, error) {
		return b.Backend.AddStages(ctx, req)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gpu = slices.ContainsFunc(resp.Stages, func(s sdk.Stage) bool { return s.Name == "ttgir" })
	return resp, err
}

// stored is a call whose answer the store may know. The request goes there
// without its settings, which it gets only for the call itself.
func stored[Q, R any](b *inProcess, method string, req *Q, settings *map[string]string, call func() (R, error)) (R, error) {
	*settings = nil
	var resp R
	if known, err := b.store.get(method, req, &resp); known || err != nil {
		return resp, err
	}
	question := *req
	*settings = b.settings
	resp, err := call()
	if err != nil {
		return resp, err
	}
	return resp, b.store.put(method, &question, resp)
}

// RunStages implements core.Backend.
func (b *inProcess) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	text, err := json.Marshal(req)
	if err != nil {
		return sdk.RunStagesResponse{}, err
	}
	key := string(text)
	b.mu.Lock()
	resp, known := b.made[key]
	gpu := b.gpu
	b.mu.Unlock()
	if known {
		return resp, nil
	}
	if gpu && (req.First == "ttir" || req.First == "ttgir") {
		req.Want = append(slices.Clone(req.Want), "ttgir")
	}
	if resp, err = b.runStages(ctx, req); err != nil {
		return resp, err
	}
	noteOperations(req.Input)
	noteOperations(resp.Artifact("ttgir"))
	b.mu.Lock()
	if len(b.made) == maxMade {
		clear(b.made)
	}
	b.made[key] = resp
	b.mu.Unlock()
	return resp, nil
}

// runStages has the stages run, unless the store has what comes of them.
func (b *inProcess) runStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	asked := req
	if b.store != "" {
		req = widen(req)
	}
	resp, err := stored(b, "RunStages", &req, &req.Settings, func() (sdk.RunStagesResponse, error) {
		return b.Backend.RunStages(ctx, req)
	})
	if err != nil {
		return resp, err
	}
	ptx := string(resp.Artifact("ptx"))
	if faults := append(sass.Confused(ptx), sass.Forgotten(ptx)...); len(faults) > 0 {
		return resp, fmt.Errorf("an assembler confuses dots of this PTX (internal/sass):\n%s", strings.Join(faults, "\n"))
	}
	if b.store == "" {
		return resp, nil
	}
	if err := wholeWarps(ctx, req.Target.Arch, resp.Artifact(storedBinary)); err != nil {
		return resp, err
	}
	resp, whole := narrow(resp, asked)
	if !whole {
		return resp, fmt.Errorf("BUG: the backend was asked for %v and %s, and made less", req.Want, req.Last)
	}
	return resp, nil
}

// wholeWarps refuses machine code in which only some lanes of a warp do what all
// have to: on the inputs of a test it may still be right. A device runs what passed
// here.
func wholeWarps(ctx context.Context, arch string, code []byte) error {
	if !bytes.HasPrefix(code, []byte(elf.ELFMAG)) {
		return nil // another backend's, or none
	}
	_, partial, err := warpwide.Read(code)
	if d, _ := onDevice(); err != nil || len(partial) == 0 || d != nil {
		return err
	}
	// It is harmless where all lanes have the same predicate.
	tool, err := sass.Nvdisasm()
	if err != nil {
		return fmt.Errorf("only some lanes of a warp may do %v, and what decides cannot be seen: %w", partial, err)
	}
	apart, err := sass.Apart(ctx, tool, sass.Arch(arch), []sass.Cubin{{Name: "machine code", Code: code}})
	if err == nil && len(apart) > 0 {
		err = fmt.Errorf("only some lanes of a warp do %v (internal/warpwide):\n%s", partial, strings.Join(apart, "\n"))
	}
	return err
}

// Select is the Select of core.Options that has the backend run in this process.
func Select(ctx context.Context, target core.Target) (core.Backend, core.Target, error) {
	return SelectBackend(ctx, target)
}
