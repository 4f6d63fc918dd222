//go:build linux

package ascend

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/native"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// launchFacts are what of a kernel's metadata a launch needs. The names are triton-ascend's,
// but for ffts.
type launchFacts struct {
	// MixMode says which cores run the kernel: "aiv", vector cores; "aic", cube cores; "mix".
	MixMode string `json:"mix_mode"`
	// ParallelMode is "simd"; kernels of the SIMT mode have another struct.
	ParallelMode string `json:"parallel_mode"`
	// FFTS says that the struct begins with the address for synchronizing cores.
	FFTS bool `json:"ffts"`
	// WorkspaceSize is the memory of a block in bytes, and LockNum how many locks of eight
	// bytes the kernel has, which hold LockInitValue when a launch begins. None is 0 or less.
	WorkspaceSize int64 `json:"workspace_size"`
	LockNum       int64 `json:"lock_num"`
	LockInitValue int64 `json:"lock_init_value"`
	// AllBlocks says that a block runs several programs of the grid where it has more than the
	// launch has blocks.
	AllBlocks bool `json:"all_blocks_parallel"`
}

// mixModes are the values of MixMode.
var mixModes = []string{"aiv", "aic", "mix"}

// lockSize and mostLocks bound the memory of locks.
const (
	lockSize  = 8
	mostLocks = 1 << 24
)

func readFacts(b *sdk.DeviceBinary) (f launchFacts, err error) {
	if b.Metadata == "" {
		return f, sdk.Errorf("%s comes without metadata, which say how it is launched", b.Name).
			WithHelp("put what tritonc wrote beside it there, the file with the ending .json")
	}
	if err := json.Unmarshal([]byte(b.Metadata), &f); err != nil {
		return f, sdk.Errorf("the metadata of %s: %v", b.Name, err)
	}
	switch {
	case !slices.Contains(mixModes, f.MixMode):
		return f, sdk.Errorf("the metadata of %s have %q as mix_mode, which is one of %s", b.Name, f.MixMode, strings.Join(mixModes, ", "))
	case strings.Contains(f.ParallelMode, "simt"):
		return f, sdk.Errorf("%s is for the SIMT mode of the chip, which the driver of Ascend's NPUs does not launch", b.Name)
	case f.LockNum > mostLocks:
		return f, sdk.Errorf("the metadata of %s have %d as lock_num, which is at most %d", b.Name, f.LockNum, mostLocks)
	}
	f.WorkspaceSize, f.LockNum = max(f.WorkspaceSize, 0), max(f.LockNum, 0)
	return f, nil
}

// devBinary is an rtDevBinary_t.
type devBinary struct {
	magic  uint32
	_      uint32 // version, 0
	data   unsafe.Pointer
	length uint64
}

// Magics of binaries: RT_DEV_BINARY_MAGIC_ELF, and RT_DEV_BINARY_MAGIC_ELF_AIVEC of those
// for vector cores alone.
const (
	magicELF      = 0x43554245
	magicELFAIVec = 0x41415246
)

// kernel is a function of a registered binary. It implements native.Code.
type kernel struct {
	lib     *library
	session *native.Session
	name    string
	facts   launchFacts
	stub    *stub
	own     string // a name that no other has
	ffts    uint64
	// together kernels have all blocks wait for one another.
	together bool
	locks    *native.Region // those in use, then what they hold when a launch begins
}

// Load implements native.Library.
func (l *library) Load(s *native.Session, b *sdk.DeviceBinary) (native.Code, error) {
	facts, err := readFacts(b)
	if err != nil {
		return nil, err
	}
	k := &kernel{lib: l, session: s, name: b.Kernel, facts: facts, together: b.Cooperative}
	if err := k.check(b); err != nil {
		return nil, err
	}
	if err := k.load(b); err != nil {
		return nil, err
	}
	if facts.FFTS {
		var size uint32
		if err := s.Explain("asking where cores synchronize", l.getC2cCtrlAddr(&k.ffts, &size)); err != nil {
			return nil, err
		}
	}
	return k, k.makeLocks()
}

// check refuses what the device cannot launch.
func (k *kernel) check(b *sdk.DeviceBinary) error {
	switch {
	case !bytes.HasPrefix(b.Code, []byte("\x7fELF")):
		return sdk.Errorf("%s is not an ELF file, as the code of Ascend's NPUs is", b.Name)
	case k.name == "":
		return sdk.Errorf("the metadata of %s do not name its kernel", b.Name)
	case b.NumCTAs > 1:
		return sdk.Errorf("kernel %s runs in clusters of %s, and Ascend's NPUs have none", k.name, diag.Count(b.NumCTAs, "block")).WithHelp("num_ctas=1 gives the same results")
	case b.PDL:
		return sdk.Errorf("kernel %s is to start before the one before it has ended (launch_pdl), which Ascend's NPUs do not do", k.name)
	case b.GlobalScratchSize != 0:
		return sdk.Errorf("kernel %s has %s of scratch memory a block, for which kernels of Ascend's NPUs have no parameter", k.name, diag.Count(b.GlobalScratchSize, "byte"))
	}
	return nil
}

// stub stands for a function that is registered: by its address, and by a name of its own.
type stub struct{ _ uint64 }

// stubs are all of this process. The library keeps their addresses, so none is used again.
var stubs struct {
	sync.Mutex
	list []*stub
}

// newStub makes a stub with the name of a kernel and a number.
func newStub(kernel string) (s *stub, name string) {
	stubs.Lock()
	defer stubs.Unlock()
	s = &stub{}
	stubs.list = append(stubs.list, s)
	return s, fmt.Sprintf("%s_%d", kernel, len(stubs.list))
}

// load hands the code to the library.
func (k *kernel) load(b *sdk.DeviceBinary) error {
	s := k.session
	bin := &devBinary{magic: magicELF, data: unsafe.Pointer(&b.Code[0]), length: uint64(len(b.Code))}
	if k.facts.MixMode == "aiv" {
		bin.magic = magicELFAIVec
	}
	var h handle
	err := s.Explain("loading "+b.Name, k.lib.devBinary(bin, &h))
	runtime.KeepAlive(b.Code)
	if err != nil {
		return err
	}
	k.lib.keep(h, b.Code)
	s.AtClose(func() error {
		defer k.lib.keep(h, nil)
		return s.Explain("unloading a kernel", k.lib.devBinaryEnd(h))
	})
	k.stub, k.own = newStub(k.name)
	return s.Explain("finding "+k.name, k.lib.functionOf(h, unsafe.Pointer(k.stub), k.own, k.name, 0))
}

// makeLocks reserves the kernel's locks, and beside them what they begin with, so that a
// stream can set them again before each launch.
func (k *kernel) makeLocks() error {
	size := k.facts.LockNum * lockSize
	if size == 0 {
		return nil
	}
	k.locks = k.session.Region("locks of " + k.own)
	if err := k.locks.Reserve("the locks of "+k.name, 2*size); err != nil {
		return err
	}
	begin := make([]byte, 0, size)
	for range k.facts.LockNum {
		begin = binary.LittleEndian.AppendUint64(begin, uint64(k.facts.LockInitValue))
	}
	return k.session.Explain("copying to the locks of "+k.name, k.lib.Write(k.locks.At+handle(size), begin))
}

// Name implements native.Code.
func (k *kernel) Name() string { return k.name }

// packed is a launch with its arguments. It implements native.Launch.
type packed struct {
	kernel    *kernel
	blocks    uint32
	args      arguments
	workspace int // where its address is among the arguments
}

// Prepare implements native.Code.
func (k *kernel) Prepare(l *sdk.DeviceLaunch) (native.Launch, error) {
	p := &packed{kernel: k, blocks: 1}
	for i, n := range l.Grid {
		switch {
		case n < 1:
			return nil, sdk.Errorf("kernel %s: grid dimension %c is %d: it must be at least 1", k.name, "xyz"[i], n)
		case k.facts.AllBlocks && n <= math.MaxInt32/int(p.blocks):
		case n > chip.MaxBlocks/int(p.blocks):
			return nil, sdk.Errorf("kernel %s: a grid of %d x %d x %d has more blocks than the %d that a launch may have", k.name, l.Grid[0], l.Grid[1], l.Grid[2], chip.MaxBlocks).
				WithHelp("give a program more work, in a loop over its part")
		}
		p.blocks *= uint32(n)
	}
	if kind, cores := k.cores(); k.together && int(p.blocks) > cores {
		return nil, sdk.Errorf("kernel %s has all blocks wait for one another, and a grid of %d x %d x %d has %d: each needs a core of its own, and the %s has %s",
			k.name, l.Grid[0], l.Grid[1], l.Grid[2], p.blocks, k.session.Device.Name, diag.Count(cores, kind)).
			WithHelp("launch at most %d, each with a loop over its part of the work", cores)
	} else if k.facts.AllBlocks {
		p.blocks = min(p.blocks, uint32(cores))
	}
	if k.facts.FFTS {
		p.args.address(k.ffts)
	}
	locks := handle(0)
	if k.locks != nil {
		locks = k.locks.At
	}
	p.args.address(uint64(locks))
	p.workspace = p.args.address(0)
	for i := range l.Args {
		value, size, wrong := k.session.Argument(&l.Args[i])
		if wrong == "" && !slices.Contains([]int{1, 2, 4, 8}, size) {
			wrong = "a number has " + diag.Count(size, "byte")
		}
		if wrong != "" {
			return nil, sdk.Errorf("argument %d of kernel %s: %s", i, k.name, wrong)
		}
		p.args.put(value[:size])
	}
	for _, n := range l.Grid {
		p.args.number(uint32(n))
	}
	p.args.end()
	return p, nil
}

// cores are the kind of cores that run a block of the kernel each, and how many the device has.
func (k *kernel) cores() (kind string, n int) {
	n = k.session.Device.Multiprocessors
	if c := chip.Of(k.session.Device.Target.Arch); k.facts.MixMode == "aiv" && c != nil {
		return "vector core", n * c.Vectors / c.Cubes
	}
	return "AI core", n
}

// workspaces is the region for the memory of blocks.
const workspaces = "workspace"

// Reserve implements native.Launch.
func (p *packed) Reserve() error {
	k := p.kernel
	size := k.facts.WorkspaceSize
	if size == 0 {
		return nil
	}
	if size > math.MaxInt64/int64(p.blocks) {
		return sdk.Errorf("the workspace of kernel %s for %s has more bytes than there are addresses", k.name, diag.Count(int(p.blocks), "block"))
	}
	r := k.session.Region(workspaces)
	if err := r.Reserve("the workspace of "+k.name, size*int64(p.blocks)); err != nil {
		return err
	}
	p.args.set(p.workspace, uint64(r.At))
	return nil
}

// Ready implements native.Launch: the locks begin as they should.
func (p *packed) Ready() error {
	k := p.kernel
	if k.locks == nil {
		return nil
	}
	size := uintptr(k.facts.LockNum * lockSize)
	return k.session.Explain("setting the locks of "+k.name,
		k.lib.memcpyAsync(k.locks.At, size, k.locks.At+size, size, deviceToDevice, k.session.Stream))
}

// Start implements native.Launch. The library copies the arguments.
func (p *packed) Start() error {
	k := p.kernel
	code := k.lib.kernelLaunch(unsafe.Pointer(k.stub), p.blocks, unsafe.Pointer(&p.args[0]), uint32(len(p.args)), nil, k.session.Stream)
	runtime.KeepAlive(p)
	return k.session.Explain("launching "+k.name, code)
}
