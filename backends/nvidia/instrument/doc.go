// Package instrument has the pass that adds checks of concurrent accesses to a kernel,
// Triton's concurrency sanitizer:
//
//	tritoninstrument-concurrency-sanitizer
//
// # Model
//
// A program is up to 16 threads: the default region of ttg.warp_specialize, or a kernel
// without it, is thread 0, and partition i is thread i+1. What a thread starts and does
// not wait for belongs to a peer of it: copies by TMA to thread 16+i, and the matrix unit
// of tensor memory to thread 32+i. Sets of threads are masks of 64 bits.
//
// For each buffer the program keeps who sees its last write, and which reads each thread
// sees. A thread may read a buffer if it sees the last write, and write it if it sees all
// reads, too. What a thread sees goes with its arrivals to an mbarrier, and from there to
// the threads that wait for it; partitions begin with what the thread that starts them sees,
// which sees what they do when they are done. Copies by cp.async, dots of wgmma and stores by TMA are
// waited for by number instead: they count as staged, and then by how many groups were
// committed after them.
//
// # State
//
// B buffers in a memory space and K mbarriers, each rounded up to a power of two, have
//
//	buffers          tensor  B x i64       addresses
//	barriers         tensor  K x i64       addresses
//	writeVisibility  global  B x i64       threads that see the last write
//	readVisibility   global  B x 64 x i64  whose reads each thread sees
//	writeTracking    global  B x K x i8    whether an mbarrier passes the last write on
//	readTracking     global  B x K x i64   whose reads an mbarrier passes on
//	barrierStates    global  K x i32       phase, arrivals at the start and still to come
//	waiting          global  K x i32       for each thread, whether and for which phase it waits
//	commits          global  B x 16 x i8   of each thread: -1 staged, n the n-th last group
//	lock             global  i32
//
// The tables in global memory belong to a program. Each thread of the GPU holds a whole
// table in its registers while it works on it; operations that change tables run under
// the lock.
//
// # Calls
//
// The checks are private functions of the module, one for each combination of types and
// number of warps. They have Triton's names, __triton_consan_…, and its order of
// arguments, but for the two of the end of partitions, which Triton lacks.
package instrument
