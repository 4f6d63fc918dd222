package mlircpu

import (
	"fmt"
	"math"
	"strings"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/driver"
)

// writer writes a module around a kernel.
type writer struct {
	strings.Builder
	k *kernel
	l *driver.Launch
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, "    "+format+"\n", args...) }

// program is a module with the kernel and a function main, which reads the memory of the
// arguments from the standard input, runs the kernel for each place of a grid, and writes
// the memory to the standard output; data is that memory.
func (k *kernel) program(l *driver.Launch) (program string, data []byte, err error) {
	w := &writer{k: k, l: l}
	w.WriteString(k.module)
	w.WriteString("  func.func private @read(i32, i64, i64) -> i64\n  func.func private @write(i32, i64, i64) -> i64\n")
	if k.together {
		if err := w.thread(); err != nil {
			return "", nil, err
		}
	}
	w.WriteString("  func.func @main() {\n")
	w.line("%%in = arith.constant 0 : i32\n%%out = arith.constant 1 : i32")
	names, types, err := w.arguments()
	if err != nil {
		return "", nil, err
	}
	for i, a := range l.Args {
		if mem, ok := a.(*buffer); ok && len(mem.data) > 0 {
			data = append(data, mem.data...)
			w.line("%%r%d = func.call @read(%%in, %%q%d, %%l%d) : (i32, i64, i64) -> i64", i, i, i)
		}
	}
	if k.together {
		w.threads()
	} else {
		for i := range l.Grid {
			w.line("scf.for %%g%d = %%c0 to %%n%d step %%c1 {\n%%x%d = arith.index_cast %%g%d : index to i32", i, i, i, i)
		}
		w.call(names, types)
		w.line("}\n}\n}")
	}
	for i, a := range l.Args {
		if mem, ok := a.(*buffer); ok && len(mem.data) > 0 {
			w.line("%%w%d = func.call @write(%%out, %%q%d, %%l%d) : (i32, i64, i64) -> i64", i, i, i)
		}
	}
	w.WriteString("    return\n  }\n}\n")
	return w.String(), data, nil
}

// arguments writes the arguments of the kernel and the sizes of the grid, %s0 to %s2, and
// returns their names and types. Their memory is at %q and has %l bytes, by number.
func (w *writer) arguments() (names, types []string, err error) {
	k := w.k
	w.line("%%c0 = arith.constant 0 : index\n%%c1 = arith.constant 1 : index")
	for i, a := range w.l.Args {
		t := k.params[i]
		word := text.TypeString(k.ctx, t)
		types, names = append(types, word), append(names, fmt.Sprintf("%%a%d", i))
		m := linalg.MemRefOf(k.ctx, t)
		if m == nil {
			bits, err := bitsOf(a)
			if err != nil {
				return nil, nil, fmt.Errorf("argument %d of kernel %s: %w", i, k.name, err)
			}
			width := ir.BitWidth(t)
			w.line("%%i%d = arith.constant %d : i%d", i, int64(bits<<(64-width))>>(64-width), width)
			if ir.IsFloat(t) {
				w.line("%%a%d = arith.bitcast %%i%d : i%d to %s", i, i, width, word)
			} else {
				names[i] = fmt.Sprintf("%%i%d", i)
			}
			continue
		}
		n := 0
		if mem, ok := a.(*buffer); ok {
			n = len(mem.data)
		} else if a != nil {
			return nil, nil, fmt.Errorf("argument %d of kernel %s is not memory", i, k.name)
		}
		size := max(ir.BitWidth(m.Elem), 8) / 8
		if k.together {
			w.line("%%m%d = memref.get_global @m%d : memref<%dxi8>", i, i, n)
		} else {
			w.line("%%m%d = memref.alloc() {alignment = 64 : i64} : memref<%dxi8>", i, n)
		}
		w.line("%%p%d = memref.extract_aligned_pointer_as_index %%m%d : memref<%dxi8> -> index", i, i, n)
		w.line("%%q%d = arith.index_cast %%p%d : index to i64\n%%l%d = arith.constant %d : i64", i, i, i, n)
		elem := text.TypeString(k.ctx, m.Elem)
		w.line("%%v%d = memref.view %%m%d[%%c0][] : memref<%dxi8> to memref<%dx%s>", i, i, n, n/size, elem)
		w.line("%%a%d = memref.cast %%v%d : memref<%dx%s> to %s", i, i, n/size, elem, word)
	}
	for i, n := range w.l.Grid {
		w.line("%%n%d = arith.constant %d : index\n%%s%d = arith.constant %d : i32", i, n, i, n)
		names, types = append(names, fmt.Sprintf("%%s%d", i)), append(types, "i32")
	}
	return names, types, nil
}

// call writes the call of the kernel for the program at %x0, %x1, %x2.
func (w *writer) call(names, types []string) {
	for i := range w.l.Grid {
		names, types = append(names, fmt.Sprintf("%%x%d", i)), append(types, "i32")
	}
	w.line("func.call @%s(%s) : (%s) -> ()", w.k.name, strings.Join(names, ", "), strings.Join(types, ", "))
}

// mostThreads is how many programs may wait for one another.
const mostThreads = 256

// barrierSize is more than a pthread_barrier_t has.
const barrierSize = 256

// programs is how many there are.
func (w *writer) programs() int {
	n := 1
	for _, size := range w.l.Grid {
		n *= size
	}
	return n
}

// thread writes a function that runs the program of a number, and the one by which programs
// wait for one another, by the threads of the C library. What they share is global.
func (w *writer) thread() error {
	if n := w.programs(); n > mostThreads {
		return fmt.Errorf("kernel %s has all programs wait for one another, and a grid has %d: at most %d run at a time", w.k.name, n, mostThreads)
	}
	for i, a := range w.l.Args {
		if linalg.MemRefOf(w.k.ctx, w.k.params[i]) != nil {
			n := 0
			if mem, ok := a.(*buffer); ok {
				n = len(mem.data)
			}
			w.line("memref.global \"private\" @m%d : memref<%dxi8> = uninitialized {alignment = 64 : i64}", i, n)
		}
	}
	w.line("memref.global \"private\" @barrier : memref<%dxi8> = uninitialized {alignment = 64 : i64}", barrierSize)
	w.line("memref.global \"private\" @threads : memref<%dxi64> = uninitialized {alignment = 64 : i64}", w.programs())
	w.line("func.func private @pthread_create(i64, i64, (i64) -> i64, i64) -> i32\nfunc.func private @pthread_join(i64, i64) -> i32")
	w.line("func.func private @pthread_barrier_init(i64, i64, i32) -> i32\nfunc.func private @pthread_barrier_wait(i64) -> i32")
	w.line("func.func @%s() {", adapter.SyncFunction)
	w.barrier()
	w.line("%%b2 = func.call @pthread_barrier_wait(%%b1) : (i64) -> i32\nreturn\n}")

	w.line("func.func @program(%%number: i64) -> i64 {")
	names, types, err := w.arguments()
	if err != nil {
		return err
	}
	w.line("%%y = arith.index_cast %%number : i64 to index\n%%g0 = arith.remsi %%y, %%n0 : index\n%%z = arith.divsi %%y, %%n0 : index")
	w.line("%%g1 = arith.remsi %%z, %%n1 : index\n%%g2 = arith.divsi %%z, %%n1 : index")
	for i := range w.l.Grid {
		w.line("%%x%d = arith.index_cast %%g%d : index to i32", i, i)
	}
	w.call(names, types)
	w.line("return %%number : i64\n}")
	return nil
}

// barrier writes %b1, where programs wait for one another.
func (w *writer) barrier() {
	w.line("%%b = memref.get_global @barrier : memref<%dxi8>\n%%b0 = memref.extract_aligned_pointer_as_index %%b : memref<%dxi8> -> index", barrierSize, barrierSize)
	w.line("%%b1 = arith.index_cast %%b0 : index to i64")
}

// threads writes what runs all programs at a time.
func (w *writer) threads() {
	n := w.programs()
	w.barrier()
	w.line("%%zero = arith.constant 0 : i64\n%%all = arith.constant %d : i32\n%%most = arith.constant %d : index\n%%c8 = arith.constant 8 : index", n, n)
	w.line("%%b2 = func.call @pthread_barrier_init(%%b1, %%zero, %%all) : (i64, i64, i32) -> i32")
	w.line("%%t = memref.get_global @threads : memref<%dxi64>\n%%t0 = memref.extract_aligned_pointer_as_index %%t : memref<%dxi64> -> index", n, n)
	w.line("%%f = func.constant @program : (i64) -> i64")
	w.line("scf.for %%i = %%c0 to %%most step %%c1 {\n%%t1 = arith.muli %%i, %%c8 : index\n%%t2 = arith.addi %%t0, %%t1 : index\n%%t3 = arith.index_cast %%t2 : index to i64")
	w.line("%%number = arith.index_cast %%i : index to i64\n%%made = func.call @pthread_create(%%t3, %%zero, %%f, %%number) : (i64, i64, (i64) -> i64, i64) -> i32\n}")
	w.line("scf.for %%i = %%c0 to %%most step %%c1 {\n%%h = memref.load %%t[%%i] : memref<%dxi64>\n%%joined = func.call @pthread_join(%%h, %%zero) : (i64, i64) -> i32\n}", n)
}

// bitsOf are the bits of a scalar argument.
func bitsOf(a any) (uint64, error) {
	switch x := a.(type) {
	case bool:
		if x {
			return 1, nil
		}
		return 0, nil
	case int8:
		return uint64(x), nil
	case uint8:
		return uint64(x), nil
	case int16:
		return uint64(x), nil
	case uint16:
		return uint64(x), nil
	case int32:
		return uint64(x), nil
	case uint32:
		return uint64(x), nil
	case int64:
		return uint64(x), nil
	case uint64:
		return x, nil
	case float32:
		return uint64(math.Float32bits(x)), nil
	case float64:
		return math.Float64bits(x), nil
	}
	return 0, fmt.Errorf("a kernel takes memory, integers of a size, floats and booleans, not a %T", a)
}
