package gpu64

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/internal/gpu64/mfma"
	"github.com/tritonc/tritonc/internal/llirdevice"
	"github.com/tritonc/tritonc/internal/llirsim"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// intrinsics says what those of the target do.
var intrinsics = &llirsim.Target{
	Lanes: Lanes,
	Thread: map[string]func(*llirsim.Thread, []uint64) uint64{
		"llvm.amdgcn.workitem.id.x":   func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Index) },
		"llvm.amdgcn.workgroup.id.x":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[0]) },
		"llvm.amdgcn.workgroup.id.y":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[1]) },
		"llvm.amdgcn.workgroup.id.z":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[2]) },
		"llvm.amdgcn.implicitarg.ptr": func(*llirsim.Thread, []uint64) uint64 { return llirdevice.Grid },
	},
	Warp: map[string]func([][]uint64) []uint64{
		"llvm.amdgcn.ds.bpermute": func(args [][]uint64) []uint64 {
			out := make([]uint64, len(args))
			for i, a := range args {
				out[i] = args[a[0]/4%Lanes][1]
			}
			return out
		},
	},
	Wide:     mfma.Simulated(),
	Barrier:  "llvm.amdgcn.s.barrier",
	Ordering: map[string]bool{"llvm.amdgcn.s.waitcnt": true},
}

// Platform is the backend with its simulated devices, which execute what this
// backend lowered.
type Platform struct {
	*backend.Backend

	mu      sync.Mutex
	lowered map[[sha256.Size]byte]*lower.Result // by the text of the LLVM IR
}

// mostLowered bounds what a Platform remembers.
const mostLowered = 4096

// NewPlatform makes a backend and its devices.
func NewPlatform() *Platform {
	p := &Platform{lowered: make(map[[sha256.Size]byte]*lower.Result)}
	p.Backend = New(func(llir []byte, r *lower.Result) {
		key := sha256.Sum256(llir)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.lowered) == mostLowered {
			clear(p.lowered)
		}
		p.lowered[key] = r
	})
	return p
}

// Open makes a device. Nothing prints.
func (p *Platform) Open(context.Context, sdk.Target, io.Writer) (driver.Device, error) {
	c := &llirdevice.Config{
		Stage: StageLLIR, Lowered: p.find, Intrinsics: intrinsics,
		MaxThreads: Lanes * device.MaxWarps, MaxShared: int(device.SharedMemory),
	}
	return c.Open(), nil
}

// find is what the LLVM IR of a binary was printed from.
func (p *Platform) find(b driver.Binary) (*lower.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.lowered[sha256.Sum256(b.Code)]
	if r == nil {
		return nil, fmt.Errorf("%s is not LLVM IR that this process has lowered", b.Name)
	}
	return r, nil
}
