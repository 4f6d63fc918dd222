package counts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// A row is what is known of one kernel for one target, from one compiler.
// Numbers that could not be had are -1.
type row struct {
	target, job string
	ptx         int // instructions of the text
	// by ptxas
	sass, regs, spills int
	// by the simulator, for the launch of shapeOf
	warp, sectors, passes, needed, exchanges, barriers int
}

// columns are the names of a row's numbers, in the order of numbers.
var columns = []string{"ptx", "sass", "regs", "spills", "warp", "sectors", "passes", "needed", "exchanges", "barriers"}

func (r *row) numbers() []*int {
	return []*int{&r.ptx, &r.sass, &r.regs, &r.spills, &r.warp, &r.sectors, &r.passes, &r.needed, &r.exchanges, &r.barriers}
}

// newRow has no number yet.
func newRow(target, job string) row {
	r := row{target: target, job: job}
	for _, n := range r.numbers() {
		*n = -1
	}
	return r
}

// ptxInstructions counts the instructions of PTX: statements that are neither
// directives nor labels.
func ptxInstructions(text string) int {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ".loc") || strings.HasPrefix(line, ".file") || strings.HasSuffix(line, ":") {
			continue
		}
		b.WriteString(line + "\n")
	}
	text = b.String()
	_, body, _ := strings.Cut(text, "{")
	body, _, _ = strings.Cut(body, ".section")
	n := 0
	for s := range strings.SplitSeq(body, ";") {
		s = strings.TrimLeft(s, "{} \t\n")
		if s != "" && s[0] != '.' && !strings.Contains(s, ".visible") {
			n++
		}
	}
	return n
}

// simulate counts a launch.
func (r *row) simulate(t testing.TB, k *compiled, shared int, s shape) error {
	t.Helper()
	mod, err := sim.Load(k.kernel+".ptx", []byte(k.ptx))
	if err != nil {
		return err
	}
	d := sim.New(sim.Options{NoChecks: true, Workers: 1, Chip: sim.H200})
	rep, err := s.launch(d, mod, k, shared)
	if err != nil {
		return err
	}
	c := &rep.Counters
	r.warp, r.sectors, r.barriers = int(c.WarpInstructions), int(c.GlobalSectors), int(c.Barriers)
	r.passes, r.needed = int(c.SharedWavefronts), int(c.SharedWavefrontsNeeded)
	r.exchanges = int(c.ByClass[simt.ClassWarpOp])
	return nil
}

// scratchBytes is the scratch memory of a program: room for the maps of four
// descriptors, of which no kernel here makes as many. Triton's PTX does not say.
const scratchBytes = 4 * 128

// launch runs k on arguments of the shape's own, and scratch memory after them.
func (s shape) launch(d *sim.Device, mod *sim.Module, k *compiled, shared int) (*sim.Report, error) {
	scratch := d.Alloc("scratch memory", scratchBytes*s.grid[0]*s.grid[1]*s.grid[2])
	return d.Launch(mod, k.kernel, s.grid, sim.Dim(k.threads), shared, append(s.args(d), scratch)...)
}

// toolchain finds a program of CUDA where scripts/toolchain.sh puts it, or "".
func toolchain(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(cache, "tritonc", "toolchain", "bin", name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

var (
	usedRegisters = regexp.MustCompile(`Used (\d+) registers`)
	spillStores   = regexp.MustCompile(`(\d+) bytes spill stores`)
	ptxVersion    = regexp.MustCompile(`\.version \d+\.\d+`)
	machineLine   = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);`)
)

// assemble asks ptxas and returns its user time in seconds.
func (r *row) assemble(t testing.TB, ptx string) (float64, error) {
	t.Helper()
	cubin, seconds, err := r.toCubin(t.Context(), t, ptx)
	if err != nil {
		return 0, err
	}
	sass, err := exec.Command(toolchain("cuobjdump"), "-sass", cubin).Output()
	if err != nil {
		return 0, fmt.Errorf("cuobjdump: %w", err)
	}
	r.sass = machineInstructions(string(sass))
	return seconds, nil
}

// toCubin asks ptxas, notes what it says of registers, and returns the file with the machine
// code and ptxas' user time in seconds.
func (r *row) toCubin(ctx context.Context, t testing.TB, ptx string) (string, float64, error) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
	// ptxas 12.4 reads up to 8.4.
	ptx = ptxVersion.ReplaceAllString(ptx, ".version 8.4")
	if err := os.WriteFile(in, []byte(ptx), 0o666); err != nil {
		return "", 0, err
	}
	arch := "sm_" + strings.TrimPrefix(r.target, "cuda:")
	if strings.Contains(ptx, ".target sm_90a") {
		arch = "sm_90a"
	}
	cmd := exec.CommandContext(ctx, toolchain("ptxas"), "-v", "-arch="+arch, "-o", out, in)
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", 0, fmt.Errorf("ptxas: %w", ctx.Err())
	}
	if err != nil {
		return "", 0, fmt.Errorf("ptxas: %s", said)
	}
	for _, m := range []struct {
		re *regexp.Regexp
		to *int
	}{{usedRegisters, &r.regs}, {spillStores, &r.spills}} {
		most := 0
		for _, found := range m.re.FindAllSubmatch(said, -1) {
			n, _ := strconv.Atoi(string(found[1]))
			most = max(most, n)
		}
		*m.to = most
	}
	return out, cmd.ProcessState.UserTime().Seconds(), nil
}

// assemblerEnv names the ptxas whose instructions are counted, in place of the
// one that scripts/toolchain.sh provides: the one that Triton brings, say.
const assemblerEnv = "TRITONC_PTXAS"

var executed = regexp.MustCompile(`I\s+refs:\s+([\d,]+)`)

// assemblerInstructions counts what ptxas executes for a text, by valgrind. A
// processor's time for it depends on what else runs; this hardly does.
func assemblerInstructions(t testing.TB, ptx, arch string) int {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "k.ptx")
	if err := os.WriteFile(in, []byte(ptxVersion.ReplaceAllString(ptx, ".version 8.4")), 0o666); err != nil {
		t.Fatal(err)
	}
	ptxas := os.Getenv(assemblerEnv)
	if ptxas == "" {
		ptxas = toolchain("ptxas")
	}
	said, err := exec.Command("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file="+os.DevNull,
		ptxas, "-arch="+arch, "-o", filepath.Join(dir, "k.cubin"), in).CombinedOutput()
	if err != nil {
		t.Fatalf("valgrind: %v\n%s", err, said)
	}
	m := executed.FindSubmatch(said)
	if m == nil {
		t.Fatalf("valgrind counts nothing:\n%s", said)
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(string(m[1]), ",", ""))
	return n
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// machineInstructions counts what cuobjdump lists, without the filling after the
// last instruction: NOPs, and the branch to itself before them.
func machineInstructions(sass string) int {
	n := 0
	for line := range strings.Lines(sass) {
		if m := machineLine.FindStringSubmatch(line); m != nil && m[1] != "NOP" {
			n++
		}
	}
	return n
}
