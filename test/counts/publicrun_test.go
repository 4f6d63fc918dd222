package counts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/testseed"
)

// A guess is what integers a kernel is given: one for those that are multiples of 16, one for
// the others.
type guess struct{ by16, other int }

// guesses are tried in turn. The one is kept with which llc's code runs to its end and writes the
// most: large enough for masks to pass, small enough that strides keep to the buffers.
var guesses = []guess{{64, 64}, {16, 16}, {32, 3}, {16, 1}, {128, 2}, {0, 0}}

const (
	// publicBytes is the size of each buffer.
	publicBytes = 1 << 20
	// memoryPeriod is after how many bytes their contents repeat.
	memoryPeriod = 1 << 12
	// scalarHalf are the bits of numbers of 16 bits: a half as fp16, a little as bf16.
	scalarHalf = 0x3800
	// publicInstructions bounds what a block may execute while a guess is looked for. Other
	// code for the same guess has a multiple of it.
	publicInstructions = 200_000
)

// publicGrid is small, and has more than one block in each direction.
var publicGrid = sim.Dim(2, 2, 2)

var entryLine = regexp.MustCompile(`(?m)^define ptx_kernel void @[^(]+\((.*?)\) nounwind`)

// parameters are the types of a kernel's parameters: as LLVM IR has them, and as the signature
// does; the latter is "" for memory that the compiler adds.
func (p *publicKernel) parameters(llir string) (types, declared []string, err error) {
	m := entryLine.FindStringSubmatch(llir)
	if m == nil {
		return nil, nil, errors.New("no kernel in the LLVM IR")
	}
	for param := range strings.SplitSeq(m[1], ", ") {
		if strings.Contains(param, "byval") {
			return nil, nil, errors.New("it takes a descriptor")
		}
		types = append(types, strings.Fields(param)[0])
	}
	spec, err := signature.Parse("-s", p.signature)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range spec.Args {
		switch {
		case a.Tuple:
			return nil, nil, errors.New("it takes a tuple")
		case a.Type != "" && (a.Hint != 1 || strings.HasPrefix(a.Type, "*")):
			hint := ""
			if a.Hint == 16 {
				hint = ":16"
			}
			declared = append(declared, a.Type+hint)
		}
	}
	if len(types) < len(declared) || len(types) > len(declared)+2 {
		return nil, nil, fmt.Errorf("%d parameters of %d arguments", len(types), len(declared))
	}
	for len(declared) < len(types) {
		declared = append(declared, "")
	}
	return types, declared, nil
}

// ran is what a launch left.
type ran struct {
	memory   [][]byte
	executed int
}

// launchGuess runs code with arguments of a guess; what memory holds depends on the seed alone.
func launchGuess(c *compiled, types, declared []string, g guess, seed uint64, o sim.Options) (*ran, error) {
	mod, err := sim.Load(c.kernel+".ptx", []byte(c.ptx))
	if err != nil {
		return nil, err
	}
	o.NoChecks, o.Workers, o.Chip = true, 1, sim.H200
	d := sim.New(o)
	var args []any
	var buffers []*sim.Buffer
	for i, typ := range types {
		n := g.integer(declared[i])
		switch typ {
		case "ptr":
			b := d.Alloc(fmt.Sprintf("argument %d", i), publicBytes)
			b.Write(0, memoryOf(seed, i, elementOf(declared[i])))
			buffers = append(buffers, b)
			args = append(args, b)
		case "i1", "i8":
			args = append(args, int8(n&1))
		case "i16":
			args = append(args, int16(n))
		case "i32":
			args = append(args, int32(n))
		case "i64":
			args = append(args, int64(n))
		case "half", "bfloat":
			args = append(args, uint16(scalarHalf))
		case "float":
			args = append(args, float32(0.5))
		case "double":
			args = append(args, 0.5)
		default:
			return nil, fmt.Errorf("a parameter of type %s", typ)
		}
	}
	rep, err := d.Launch(mod, c.kernel, publicGrid, sim.Dim(c.threads), c.shared, args...)
	if err != nil {
		return nil, err
	}
	out := &ran{executed: int(rep.Counters.WarpInstructions)}
	for _, b := range buffers {
		out.memory = append(out.memory, b.Read())
	}
	return out, nil
}

// integer is the integer that a parameter of a declared type is given.
func (g guess) integer(declared string) int {
	if strings.HasSuffix(declared, ":16") {
		return g.by16
	}
	return g.other
}

// elementOf is the type of what a declared pointer points to, "" for memory that the
// compiler adds.
func elementOf(declared string) string {
	what, _, _ := strings.Cut(declared, ":")
	return strings.TrimLeft(what, "*")
}

// memoryOf is what the memory of the i-th parameter holds.
func memoryOf(seed uint64, i int, element string) []byte {
	return contents(rand.New(rand.NewPCG(seed, uint64(i))), element, publicBytes)
}

// contents are small numbers of a type: floating-point ones about 1, integers from 1 to 3,
// since kernels divide by them.
func contents(r *rand.Rand, typ string, n int) []byte {
	period := make([]byte, memoryPeriod)
	for i := 0; i+8 <= len(period); {
		f := float32(r.NormFloat64())
		switch typ {
		case "fp16":
			binary.LittleEndian.PutUint16(period[i:], uint16(0x3000+r.IntN(0x0C00)|r.IntN(2)<<15))
			i += 2
		case "bf16":
			binary.LittleEndian.PutUint16(period[i:], uint16(math.Float32bits(f)>>16))
			i += 2
		case "fp32":
			binary.LittleEndian.PutUint32(period[i:], math.Float32bits(f))
			i += 4
		case "fp64":
			binary.LittleEndian.PutUint64(period[i:], math.Float64bits(float64(f)))
			i += 8
		case "fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16":
			period[i] = byte(0x20+r.IntN(0x18)) | byte(r.IntN(2)<<7)
			i++
		case "i64", "u64":
			binary.LittleEndian.PutUint64(period[i:], uint64(1+r.IntN(3)))
			i += 8
		case "i32", "u32":
			binary.LittleEndian.PutUint32(period[i:], uint32(1+r.IntN(3)))
			i += 4
		case "i16", "u16":
			binary.LittleEndian.PutUint16(period[i:], uint16(1+r.IntN(3)))
			i += 2
		default: // i8, i1, and what the compiler adds
			period[i] = byte(r.IntN(2))
			i++
		}
	}
	return bytes.Repeat(period, n/len(period)+1)[:n]
}

// execute runs both ways, and fills in the row. Without fusion the bytes that they leave are to
// be equal; with it, as compiled by default, instructions are counted.
func (p *publicKernel) execute(t testing.TB, root string, r *publicRow, k, d *compiled) {
	types, declared, err := p.parameters(k.llir)
	if err != nil {
		r.launch = err.Error()
		return
	}
	h := fnv.New64a()
	h.Write([]byte(p.String()))
	seed := testseed.Seed() ^ h.Sum64()
	g, most, err := bestGuess(k, types, declared, seed)
	if err != nil {
		r.launch = err.Error()
		return
	}
	r.launch = fmt.Sprintf("integers %d and %d", g.by16, g.other)
	o := sim.Options{MaxInstructions: 4 * publicInstructions}
	second, err := launchGuess(d, types, declared, g, seed, o)
	if err != nil {
		r.outcome = "direct stops: " + firstLine(kerneltest.Text(err))
		return
	}
	r.executed = [2]int{most, second.executed}
	k, d, err = p.both(t.Context(), root, map[string]any{"enable_fp_fusion": false})
	if err != nil {
		r.outcome = "without fusion: " + firstLine(kerneltest.Text(err))
		return
	}
	a, err := launchGuess(k, types, declared, g, seed, o)
	b, err2 := launchGuess(d, types, declared, g, seed, o)
	if err := errors.Join(err, err2); err != nil {
		r.outcome = "without fusion: " + firstLine(kerneltest.Text(err))
		return
	}
	r.outcome = a.differs(b)
	for o.Seed = range 4 { // guessed indices may have threads write the same memory
		if r.outcome == "equal" {
			return
		}
		o.Random = true
		other, err := launchGuess(k, types, declared, g, seed, o)
		if err != nil || a.differs(other) != "equal" {
			r.outcome, r.launch = "compiled", r.launch+", by which memory depends on the order of warps"
			return
		}
	}
}

// differs says where memory differs, or "equal".
func (a *ran) differs(b *ran) string {
	for i, x := range a.memory {
		if y := b.memory[i]; !bytes.Equal(x, y) {
			at := 0
			for x[at] == y[at] {
				at++
			}
			return fmt.Sprintf("other bytes: buffer %d at %d: % x, by llc % x", i, at, y[at&^7:at&^7+8], x[at&^7:at&^7+8])
		}
	}
	return "equal"
}
