//go:build cuda

package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/hardware"
	"github.com/tritonc/tritonc/internal/hardware/ncu"
)

// profiled are the tests whose launches TestProfile compares: those of the reference
// kernels, of the generation without bulk copies.
const profiled = "^Test(VectorAdd|RowSoftmax|LayerNormForward|LayerNormBackward|CumsumRows|RowMinSplit|ProdMid|Reductions|" +
	"ReduceTuple|Scans|Sorts|Casts|Promotions|ControlFlow|Calls|Shapes|Atomics|BlockPointers|Descriptors|Maths|Libdevice|" +
	"Randoms|InlineAssembly|Hints|Transpose|Matmul|MatmulDescriptors|FlashForwardCausal|Sgemm)$/^[.]$"

// launchesFile is where a process that ncu watches leaves what the simulator counted.
const launchesFile = "SIM_LAUNCHES"

// launched are the launches so far, in the order in which the GPU had them.
var launched []ncu.Launch

func countLaunch(kernel string, grid, block [3]int, rep *Report) {
	c := &rep.Counters
	launched = append(launched, ncu.Launch{Kernel: kernel, Case: trafficCase, Grid: grid, Block: block, Values: map[string]float64{
		ncu.SectorsRead:       float64(c.GlobalSectorsRead - c.GlobalSectorsBulkRead),
		ncu.SectorsWritten:    float64(c.GlobalSectors - c.GlobalSectorsRead - c.GlobalSectorsAtomic - c.GlobalSectorsBulkWritten),
		ncu.SectorsAtomic:     float64(c.GlobalSectorsAtomic),
		ncu.WavefrontsRead:    float64(c.SharedWavefrontsRead),
		ncu.WavefrontsWritten: float64(c.SharedWavefronts - c.SharedWavefrontsRead - c.SharedWavefrontsCopied - c.SharedWavefrontsAtomic),
		ncu.WavefrontsAtomic:  float64(c.SharedWavefrontsAtomic),
		ncu.Conflicts:         float64(c.SharedWavefronts - c.SharedWavefrontsNeeded),
	}})
}

func writeLaunches() error {
	path := os.Getenv(launchesFile)
	if path == "" {
		return nil
	}
	text, err := json.Marshal(launched)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// TestProfile runs the reference kernels and single accesses under ncu, whose path
// NCU gives, and holds the simulator's counters against the hardware's. ncu needs
// leave to read the GPU's performance counters. NCU_METRICS names more metrics to
// have, NCU_KEEP a folder for what was counted.
func TestProfile(t *testing.T) {
	tool := os.Getenv("NCU")
	if tool == "" {
		t.Skip("NCU does not name Nsight Compute's command")
	}
	list, err := exec.Command(tool, "--query-metrics").Output()
	if err != nil {
		t.Fatalf("%s --query-metrics: %v", tool, err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) > 0 {
			known[f[0]] = true
		}
	}
	metrics := ncu.Metrics(known)
	if len(metrics) == 0 {
		t.Fatal("ncu knows none of the metrics")
	}
	if more := os.Getenv("NCU_METRICS"); more != "" {
		metrics = append(metrics, strings.Split(more, ",")...)
	}
	t.Logf("metrics: %s", strings.Join(metrics, " "))
	for _, c := range []struct {
		name, run string
		level     int
		allowed   int // counters that differ
	}{
		{"accesses", "^TestTraffic$", hardware.MaxLevel, len(unexplained)},
		// The simulator counts what the PTX does.
		{"kernels", profiled, 0, 0},
		// An optimizing assembler joins accesses and leaves some out, here of sgemm,
		// block_ptrs and prod_mid.
		{"optimized", profiled, hardware.MaxLevel, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			fmt.Printf("%s, at level %d of optimization:\n", c.name, c.level)
			bad, all := profile(t, tool, metrics, c.name, c.run, c.level)
			t.Logf("%d counters of %d differ too much", bad, all)
			if bad > c.allowed {
				t.Errorf("%d may", c.allowed)
			}
		})
	}
}

// profile runs tests under ncu, prints the table of what was counted, and returns
// how many rows are bad, of how many.
func profile(t *testing.T, tool string, metrics []string, name, run string, level int) (bad, all int) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("NCU_KEEP")
	if dir == "" {
		dir = t.TempDir()
	}
	table, counts := filepath.Join(dir, name+".csv"), filepath.Join(dir, name+".json")
	cmd := exec.Command(tool, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
		"--metrics", strings.Join(metrics, ","), "--log-file", table, self, "-test.run", run)
	cmd.Env = append(os.Environ(), launchesFile+"="+counts, fmt.Sprintf("%s=%d", levelVariable, level))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	var sim []ncu.Launch
	text, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &sim); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gpu, err := ncu.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ncu.Compare(sim, gpu, ncu.Checks)
	if err != nil {
		t.Fatal(err)
	}
	if bad, err = ncu.WriteTable(os.Stdout, rows); err != nil {
		t.Fatal(err)
	}
	return bad, len(rows)
}
