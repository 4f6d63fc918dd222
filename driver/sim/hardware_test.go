//go:build cuda

package sim

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/hardware"
)

// levelVariable gives the driver's level of optimization where it is not the usual.
const levelVariable = "SIM_LEVEL"

var level = hardware.MaxLevel

// With the build tag cuda every launch of the tests runs on a GPU too, and a
// table of the differences is printed at the end.

func TestMain(m *testing.M) {
	if err := hardware.Open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if text := os.Getenv(levelVariable); text != "" {
		var err error
		if level, err = strconv.Atoi(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	onHardware = repeat
	checkHardware = func(t testing.TB, arg int, got []byte) {
		if !bytes.Equal(lastGPU[arg], got) {
			t.Errorf("argument %d is not what the hardware leaves there", arg)
		}
	}
	code := m.Run()
	if err := writeLaunches(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("| kernel | argument | elements | differ | greatest difference |")
	fmt.Println("|---|---|---|---|---|")
	sort.Slice(table, func(i, k int) bool { return table[i].kernel < table[k].kernel })
	for _, r := range table {
		fmt.Printf("| %s | %s | %d | %d | %s |\n", r.kernel, r.arg, r.n, r.differ, r.worst)
	}
	for _, l := range instLines {
		fmt.Println(l)
	}
	os.Exit(code)
}

type hardwareRow struct {
	kernel, arg string
	n, differ   int
	worst       string
}

var (
	table     []hardwareRow
	instLines []string
	compiled  = map[*Module]*hardware.Module{}
)

// onGPU compiles a module's text for the GPU: without line information, and for
// a PTX version that an older driver takes.
func onGPU(t testing.TB, m *Module) *hardware.Module {
	if h := compiled[m]; h != nil {
		return h
	}
	var b strings.Builder
	for _, line := range strings.SplitAfter(m.src, "\n") {
		switch f := strings.Fields(line); {
		case len(f) > 0 && f[0] == ".loc":
		case len(f) > 0 && f[0] == ".version":
			b.WriteString(".version 8.4\n")
		default:
			b.WriteString(line)
		}
	}
	h, err := hardware.Load(b.String(), level)
	if err != nil {
		t.Fatal(err)
	}
	compiled[m] = h
	return h
}

// halfArgs names the arguments that hold f16.
var halfArgs = map[string]bool{"Y": true, "DX": true, "c": true, "O": true, "h": true}

func gpuArgs(m *Module, kernel string, args []any, before [][]byte) []any {
	f := m.Func(kernel)
	out := make([]any, len(f.Params))
	for i := range f.Params {
		switch {
		case i >= len(args):
			out[i] = nil
		case before[i] != nil:
			out[i] = before[i]
		default:
			v, _, err := encode(args[i])
			if err != nil {
				panic(err)
			}
			out[i] = v
		}
	}
	return out
}

func repeat(t testing.TB, m *Module, kernel string, grid, block [3]int, shared int, args []any, before, after [][]byte, rep *Report) {
	h := onGPU(t, m)
	if err := h.Launch(kernel, grid, block, shared, gpuArgs(m, kernel, args, before)...); err != nil {
		t.Fatal(err)
	}
	countLaunch(kernel, grid, block, rep)
	if strings.HasPrefix(kernel, "k") && len(kernel) > 1 && kernel[1] <= '9' {
		lastGPU = before
		return
	}
	for i, a := range args {
		b, ok := a.(*Buffer)
		if !ok || b == nil {
			continue
		}
		row := hardwareRow{kernel: t.Name(), arg: b.b.Name}
		compareBuffers(&row, before[i], after[i], halfArgs[b.b.Name])
		if row.differ > 0 || strings.ToLower(b.b.Name)[0] == 'o' {
			table = append(table, row)
		}
	}
}

// lastGPU is what the GPU left in the buffers of the latest instruction test.
var lastGPU [][]byte

func compareBuffers(row *hardwareRow, gpu, sim []byte, half bool) {
	worstAbs, worstRel := 0.0, 0.0
	each := func(g, s float64, same bool) {
		row.n++
		if same {
			return
		}
		row.differ++
		d := math.Abs(g - s)
		worstAbs = max(worstAbs, d)
		if s != 0 {
			worstRel = max(worstRel, d/math.Abs(s))
		}
	}
	if half {
		g, s := Slice[uint16](gpu), Slice[uint16](sim)
		for i := range g {
			each(float64(fromHalf(g[i])), float64(fromHalf(s[i])), g[i] == s[i])
		}
	} else if len(gpu)%4 == 0 {
		g, s := Slice[uint32](gpu), Slice[uint32](sim)
		for i := range g {
			each(float64(math.Float32frombits(g[i])), float64(math.Float32frombits(s[i])), g[i] == s[i])
		}
	}
	row.worst = "none"
	if row.differ > 0 {
		row.worst = fmt.Sprintf("%.2g, relative %.2g", worstAbs, worstRel)
	}
}

// single loads a module of one kernel and says whether the GPU's compiler takes
// it: some forms are gone from its generation.
func single(t *testing.T, text, kernel string) *Module {
	m, err := Load("conform.ptx", []byte(strings.Replace(conformHead, "8.0", "8.4", 1)+kernel))
	if err != nil {
		t.Fatal(err)
	}
	h, err := hardware.Load(m.src, hardware.MaxLevel)
	if err != nil {
		t.Logf("%s: %v", text, err)
		return nil
	}
	compiled[m] = h
	return m
}

// TestHardwareInstructions holds every instruction of the suite against the GPU.
func TestHardwareInstructions(t *testing.T) {
	r := newRand(t)
	cases := conforms()
	const n = 4000
	for i := range cases {
		c := &cases[i]
		m := single(t, c.text, c.kernelText(i))
		if m == nil {
			continue
		}
		args, got := runConform(t, m, i, c, r, n)
		compareInstruction(t, c, args, got, unpack(lastGPU[0], ptxBits(c.d)))
		compiled[m].Unload()
		delete(compiled, m)
	}
}

func compareInstruction(t *testing.T, c *conform, args [][]uint64, got, gpu []uint64) {
	ulp := max(c.ulp, c.hw)
	bad, differ := 0, 0
	worst := 0.0
	v := make([]uint64, len(c.src))
	for k := range got {
		for s := range v {
			v[s] = args[s][k]
		}
		if got[k] == gpu[k] || c.skip != nil && c.skip(v) {
			continue
		}
		differ++
		if f := floatFormats[c.d]; f != nil {
			worst = max(worst, f.distance(got[k], gpu[k]))
		}
		if !c.close(got[k], gpu[k], ulp) {
			if bad++; bad <= 3 {
				t.Errorf("%s: operands %s give %s, hardware %s", c.text, c.show(v), showValue(c.d, got[k]), showValue(c.d, gpu[k]))
			}
		}
	}
	if bad > 3 {
		t.Errorf("%s: %d of %d results differ", c.text, bad, len(got))
	}
	if differ > 0 {
		instLines = append(instLines, fmt.Sprintf("| %s | %d of %d | %g |", c.text, differ, len(got), worst))
	}
}

// TestHardwareWarps holds the warp instructions against the GPU.
func TestHardwareWarps(t *testing.T) {
	r := newRand(t)
	cases := warpCases()
	trials := 300
	var dump *os.File
	if path := os.Getenv("DUMP"); path != "" {
		trials = 100
		var err error
		if dump, err = os.Create(path); err != nil {
			t.Fatal(err)
		}
		defer dump.Close()
	}
	for i := range cases {
		c := &cases[i]
		m := single(t, c.text, c.kernelText(i))
		if m == nil {
			continue
		}
		in, got := runWarpCase(t, m, i, c, r, trials)
		gpu := Slice[uint64](lastGPU[1])
		if dump != nil && strings.HasPrefix(c.text, "mma") {
			fmt.Fprintf(dump, "%s\n", c.text)
			dump.Write(Bytes([]uint64{uint64(len(c.in)), uint64(len(c.out)), uint64(len(in)), uint64(len(gpu))}))
			dump.Write(Bytes(in))
			dump.Write(Bytes(gpu))
		}
		bad := 0
		worst := 0.0
		for k := range got {
			if got[k] == gpu[k] || c.out[k%len(c.out)] == "f64" && floatFormats["f64"].isNaN(got[k]) && floatFormats["f64"].isNaN(gpu[k]) {
				continue // payloads of doubles are not modelled
			}
			if bad++; bad <= 3 {
				lane := k / len(c.out)
				t.Logf("%s: operands %x give %x, hardware %x", c.text, in[lane*len(c.in):(lane+1)*len(c.in)], got[k], gpu[k])
			}
			a, b := float64(math.Float32frombits(uint32(got[k]))), float64(math.Float32frombits(uint32(gpu[k])))
			if d := math.Abs(a-b) / max(math.Abs(a), math.Abs(b)); d > worst {
				worst = d
			}
		}
		if bad > 0 {
			instLines = append(instLines, fmt.Sprintf("| %s | %d of %d | relative %.3g |", c.text, bad, len(got), worst))
			t.Errorf("%s: %d of %d results differ from the hardware's, relative %.3g", c.text, bad, len(got), worst)
		}
	}
}

// TestHardwareWarpgroups holds dots of warpgroups against the GPU. With
// DUMP_WGMMA=file it records operands and results.
func TestHardwareWarpgroups(t *testing.T) {
	r := newRand(t)
	forms := wgmmaForms()
	m := loadWgmma(t, forms)
	var dump *os.File
	if path := os.Getenv("DUMP_WGMMA"); path != "" {
		var err error
		if dump, err = os.Create(path); err != nil {
			t.Fatal(err)
		}
		defer dump.Close()
	}
	for i := range forms {
		f := &forms[i]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			_, _, _, got := f.run(t, m, i, r, 20)
			gpu := Slice[uint32](lastGPU[2])
			if dump != nil {
				fmt.Fprintf(dump, "%s\n", f.text())
				for _, b := range lastGPU {
					dump.Write(Bytes([]uint64{uint64(len(b))}))
					dump.Write(b)
				}
			}
			bad, worst := 0, 0.0
			for k := range got {
				if got[k] != gpu[k] {
					bad++
					a, b := float64(math.Float32frombits(got[k])), float64(math.Float32frombits(gpu[k]))
					worst = max(worst, math.Abs(a-b)/max(math.Abs(a), math.Abs(b)))
				}
			}
			if bad > 0 {
				instLines = append(instLines, fmt.Sprintf("| %s | %d of %d | relative %.3g |", f.text(), bad, len(got), worst))
				t.Errorf("%s: %d of %d results differ from the hardware's, relative %.3g", f.text(), bad, len(got), worst)
			}
		})
	}
}

// TestHardwareTensorCopies holds bulk copies of boxes of tensors against the GPU.
func TestHardwareTensorCopies(t *testing.T) {
	r := newRand(t)
	copies := tensorCopies()
	m := loadTensorCopies(t, copies)
	for i := range copies {
		c := &copies[i]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			shared, after, _, _ := c.run(t, m, i, r)
			if gpu := lastGPU[3][:len(shared)]; !bytes.Equal(shared, gpu) {
				t.Errorf("%s: shared memory is\n%x, the hardware's\n%x", c.text(), shared, gpu)
			}
			if gpu := lastGPU[1]; !bytes.Equal(after, gpu) {
				t.Errorf("%s: the second tensor is\n%x, the hardware's\n%x", c.text(), after, gpu)
			}
		})
	}
}
