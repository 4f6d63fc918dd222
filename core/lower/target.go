package lower

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// Target is a GPU: what every one of them has to say for itself. What else a
// chip can do is in its Capabilities. All methods append to the
// block of b. Values are scalars of one thread; package lower knows which
// thread holds which element.
type Target interface {
	// Triple and DataLayout name the LLVM target. Called once, first.
	Triple() string
	DataLayout() string
	// Banks describes shared memory. Called for layout conversions.
	Banks() layout.Banks

	// DefineKernel sets calling convention and attributes of an entry function.
	// Called once per kernel, after its body is built.
	DefineKernel(f *llir.Func, k Kernel)
	// ThreadID is the index of the thread in its program, an i32 of which the
	// Func knows the zero bits. Called at the start of each function.
	ThreadID(b *llir.Builder, threads int) llir.Value
	// ProgramID and NumPrograms are i32; axis counts from 0.
	ProgramID(b *llir.Builder, axis int) llir.Value
	NumPrograms(b *llir.Builder, axis int) llir.Value

	// Barrier waits for all threads of the program; shared memory written
	// before is visible after.
	Barrier(b *llir.Builder)
	// ShuffleIndex gives the i32 that the lane with the given number holds. All
	// lanes of the warp come here together.
	ShuffleIndex(b *llir.Builder, v, lane llir.Value) llir.Value

	// Capabilities are what the target does itself. Called once per module.
	Capabilities() Capabilities
}

// Capabilities are the parts of a lowering for which some chips have
// instructions. Package lower does what a nil field stands for, as the field's
// comment says (defaults.go).
type Capabilities struct {
	// Memory accesses memory. Nil: LLVM's loads and stores, one for each access,
	// in a branch where it is masked; cache hints are dropped.
	Memory Memory
	// Warp moves and combines values between lanes. Nil: by ShuffleIndex.
	Warp WarpOps
	// Matrix multiplies tiles. Nil: none, so that the passes must leave each
	// thread the operands of its part of a dot; it is computed by multiply-adds.
	Matrix MatrixUnit
	// Tiles moves tiles of shared memory. Nil: each thread accesses its elements.
	Tiles TileMemory
	// Copies copies from global to shared memory while the program goes on. Nil:
	// a load and a store in the place where a copy starts.
	Copies AsyncCopies
	// Atomics accesses global memory atomically. Nil: LLVMAtomics{}.
	Atomics Atomics
	// Math has instructions for single operations. Nil: LLVM's instructions and
	// intrinsics, and package devmath.
	Math Math
	// NarrowFloats converts floats of 8 and 4 bits. Nil: integer arithmetic.
	NarrowFloats NarrowFloats
	// Asm takes inline assembly. Nil: a kernel with assembly is refused.
	Asm InlineAsm
	// Reports prints and asserts. Nil: a kernel that prints is refused, and a
	// failed assertion traps without a message.
	Reports Reports
	// Groups has groups of warps run code of their own. Nil: a kernel that asks for
	// it is refused.
	Groups WarpGroups
	// Clusters runs programs of several CTAs. Nil: a program is one.
	Clusters Clusters
	// VendorOps lowers operations of the vendor's own. Nil: there are none.
	VendorOps VendorOps
	// Descriptors lets kernels have parameters that are descriptors. Nil: such a kernel
	// is refused.
	Descriptors DescriptorParams
	// Residents says what several programs at once leave to each. Nil: a program takes
	// as little shared memory as it can.
	Residents Residents
}

// Residents knows how many programs share what a multiprocessor has.
type Residents interface {
	// SharedRoom is how many bytes of shared memory a program of so many threads, with
	// dots or without, takes while no fewer run at once than other limits allow.
	// Called once per module.
	SharedRoom(threads int, dots bool) int
	// ThreadRegisters is how many registers of 32 bits each of a program's threads may
	// have, or, without all, has while a quarter of the multiprocessor's threads are there; 0
	// sets no limit.
	ThreadRegisters(threads int, all bool) int
}

// DescriptorParams lets kernels have parameters that are descriptors.
type DescriptorParams interface {
	// DescriptorParam says how the host passes parameter i of a kernel, a pointer to
	// what the target keeps of a descriptor. Called before the kernel has a body.
	DescriptorParam(f *llir.Func, i int)
}

// Clusters runs each program as several CTAs that may read one another's shared
// memory. Its methods are called in modules of such programs alone.
type Clusters interface {
	// Rank is the index of the CTA in its cluster of ctas, an i32 of which the
	// Func knows the zero bits. Called at the start of each function.
	Rank(b *llir.Builder, ctas int) llir.Value
	// ClusterID and NumClusters are ProgramID and NumPrograms.
	ClusterID(b *llir.Builder, axis int) llir.Value
	NumClusters(b *llir.Builder, axis int) llir.Value
	// ClusterBarrier waits for all threads of the cluster; what they wrote before
	// is visible to all after.
	ClusterBarrier(b *llir.Builder)
	// LoadRemote loads a.Count elements from where the CTA of a rank has in its
	// shared memory what is at a.Ptr in this one's. A load has no mask.
	LoadRemote(b *llir.Builder, a *Access, rank llir.Value) []llir.Value
}

// Memory accesses memory.
type Memory interface {
	// LoadGlobal and StoreGlobal access a.Count elements at once. An error is a
	// combination that the hardware refuses, told to the user.
	LoadGlobal(b *llir.Builder, a *Access) ([]llir.Value, error)
	StoreGlobal(b *llir.Builder, a *Access, vals []llir.Value) error
	// LoadShared and StoreShared access a.Count elements of shared memory. A load
	// has no mask.
	LoadShared(b *llir.Builder, a *Access) []llir.Value
	StoreShared(b *llir.Builder, a *Access, vals []llir.Value)
}

// WarpOps moves and combines values between the lanes of a warp.
type WarpOps interface {
	// ShuffleXor gives the i32 that the lane whose number differs by mask holds.
	ShuffleXor(b *llir.Builder, v llir.Value, mask int) llir.Value
	// ReduceWarp combines an i32 over all lanes in one instruction, where the
	// target has one for the operation; nil where it lacks one. Called before the
	// shuffles of a reduction are built.
	ReduceWarp(b *llir.Builder, combine *ir.OpDef, v llir.Value) llir.Value
}

// MatrixUnit multiplies tiles that are spread over a warp. Which dots come to it, and
// in which layouts, the passes decided before, by their own interface to the unit.
type MatrixUnit interface {
	// MatrixInstrs are the instructions for a dot, the best first; the error
	// says why there is none. Called for each dot of which no thread can
	// compute its part alone.
	MatrixInstrs(p Product) ([]*MatrixInstr, error)
}

// TileMemory moves tiles of shared memory by all lanes of a warp together.
type TileMemory interface {
	// TileLoads are the instructions that load tiles of elements of so many bytes
	// from shared memory, the best first. Called for each load of a buffer.
	TileLoads(elemBytes int) []TileLoad
	// TileStores are those that store tiles. Called for each store to a buffer.
	TileStores(elemBytes int) []TileStore
}

// AsyncCopies copies from global to shared memory while the program goes on.
type AsyncCopies interface {
	// CopyAsync starts a copy, CommitCopies closes a group of them, and
	// WaitCopies waits until at most n groups are in flight.
	CopyAsync(b *llir.Builder, c *Copy) error
	CommitCopies(b *llir.Builder)
	WaitCopies(b *llir.Builder, n int)
}

// Atomics accesses global memory atomically.
type Atomics interface {
	// AtomicWidth is the number of neighbouring elements that one atomic
	// read-modify-write can update, a power of two; op is a number of tt.RMWOps.
	AtomicWidth(op int64, elem llir.Type) int
	// AtomicRMW and AtomicCAS give the old values, zeros where the mask is false.
	// A CAS has one element.
	AtomicRMW(b *llir.Builder, a *Atomic) ([]llir.Value, error)
	AtomicCAS(b *llir.Builder, a *Atomic) (llir.Value, error)
}

// Math has instructions for operations on elements.
type Math interface {
	// Elementwise lowers one element of a pure operation for which the target
	// has a better instruction; nil leaves it to package lower. Called for
	// every element of every elementwise operation.
	Elementwise(b *llir.Builder, op *ir.Operation, result llir.Type, args []llir.Value) llir.Value
	// Elements is Elementwise for all elements that a thread has, operand by operand,
	// where the target is better with them together; nil leaves it to Elementwise.
	// Called for functions of device libraries and roundings to narrower floats.
	Elements(b *llir.Builder, op *ir.Operation, args [][]llir.Value) []llir.Value
	// Packs reports whether the target computes two floats of a type in
	// one instruction. Called for sums, products and the like.
	Packs(t llir.Type) bool
}

// NarrowFloats converts floats of 8 and 4 bits.
type NarrowFloats interface {
	// ConvertFloats converts a thread's elements between formats of which at
	// least one is not LLVM's; rounding is a number of tt.RoundingModes. Nil
	// where the target cannot.
	ConvertFloats(b *llir.Builder, from, to ir.FloatKind, rounding int64, x []llir.Value) []llir.Value
	// UnpackE2M1 converts bytes, of two 4-bit floats each, to f16 or bf16: of
	// every byte the low nibble and then the high one. Nil leaves it to package
	// lower.
	UnpackE2M1(b *llir.Builder, to llir.Type, x []llir.Value) []llir.Value
}

// InlineAsm takes inline assembly.
type InlineAsm interface {
	// AsmConstraint reports whether an operand of inline assembly can be of the
	// kind that LLVM's constraint with this letter asks for.
	AsmConstraint(letter rune) bool
}

// Reports prints and asserts on the device.
type Reports interface {
	// Print writes one line of text and values.
	Print(b *llir.Builder, parts []PrintPart) error
	// Assert stops the program when cond, an i1, is false.
	Assert(b *llir.Builder, cond llir.Value, a Assertion)
}

// Kernel says what an entry function is launched with.
type Kernel struct {
	Threads int // of one CTA
	Shared  int // bytes of shared memory of one CTA
	MaxRegs int // registers a thread may use; 0: no limit
	NumCTAs int // of the cluster that a program is
	// Registers is an estimate of what the kernel keeps in registers; nil if it is
	// too large to tell.
	Registers *llir.Registers
	Matrix    bool // it has dots by matrix instructions
	Uneven    bool // loops of dots run more often in some programs than in others
	InParts   bool // its tiles are larger than its registers, and go through them part by part
}

// Access is one wide memory access of a thread.
type Access struct {
	// Ptr + Offset bytes is the address of the first element, aligned to the
	// whole access.
	Ptr    llir.Value
	Offset int64
	// Elem is the type of an element in memory and Count their number, a power
	// of two; together at most 16 bytes.
	Elem  llir.Type
	Count int
	// Mask, an i1, predicates the access; nil is always.
	Mask llir.Value
	// Other holds what each element is where the mask is false; nil is anything, and
	// Unread says that nobody reads it.
	Other  []llir.Value
	Unread bool
	// Cache and Evict are tt.CacheModifier and tt.EvictionPolicy numbers.
	Cache, Evict int64
	Volatile     bool
}

// Copy is one asynchronous copy of a thread.
type Copy struct {
	// From is what is read; its Mask zeroes the destination where it is false.
	From Access
	// To + ToOffset bytes is where it goes in shared memory.
	To       llir.Value
	ToOffset int64
	// Owner, an i1, is false in threads that only hold replicas; nil is true.
	Owner llir.Value
	// Consecutive is set where the lanes of every warp write one after the other.
	Consecutive bool
	// Crowded is set where the program's threads hold large tensors, so that few registers
	// are left to them.
	Crowded bool
}

// Atomic is one atomic access of a thread.
type Atomic struct {
	// Ptr + Offset bytes is the address of the first element.
	Ptr    llir.Value
	Offset int64
	Elem   llir.Type
	// Values are the operands, one for each element.
	Values []llir.Value
	// Compare is the expected value of a compare-and-swap.
	Compare llir.Value
	// Mask, an i1, predicates the access; nil is always.
	Mask llir.Value
	// Op, Sem and Scope are numbers of tt's enumerations.
	Op, Sem, Scope int64
}

// PrintPart is a piece of a printed line: a text, or a value.
type PrintPart struct {
	Text   string
	Value  llir.Value // nil for a text
	Signed bool
	Hex    bool
	Width  int // least number of characters, 0 for any
}

// Assertion is what a failed assertion reports.
type Assertion struct {
	Message  string
	File     string
	Line     int
	Function string
}
