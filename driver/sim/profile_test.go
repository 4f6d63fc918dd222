//go:build cuda

package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/hardware/ncu"
)

// profiled are the tests whose launches TestProfile compares: those of the reference
// kernels.
const profiled = "^Test(VectorAdd|RowSoftmax|LayerNormForward|LayerNormBackward|CumsumRows|RowMinSplit|ProdMid|Reductions|" +
	"ReduceTuple|Scans|Sorts|Casts|Promotions|ControlFlow|Calls|Shapes|Atomics|BlockPointers|Descriptors|Maths|Libdevice|" +
	"Randoms|InlineAssembly|Hints|Transpose|Matmul|MatmulDescriptors|FlashForwardCausal|Sgemm)$"

// launchesFile is where a process that ncu watches leaves what the simulator counted.
const launchesFile = "SIM_LAUNCHES"

// launched are the launches so far, in the order in which the GPU had them.
var launched []ncu.Launch

func countLaunch(kernel string, grid, block [3]int, rep *Report) {
	c := &rep.Counters
	launched = append(launched, ncu.Launch{Kernel: kernel, Grid: grid, Block: block, Values: map[string]float64{
		ncu.SectorsRead:       float64(c.GlobalSectorsRead),
		ncu.SectorsWritten:    float64(c.GlobalSectors - c.GlobalSectorsRead),
		ncu.WavefrontsRead:    float64(c.SharedWavefrontsRead),
		ncu.WavefrontsWritten: float64(c.SharedWavefronts - c.SharedWavefrontsRead),
		ncu.Wavefronts:        float64(c.SharedWavefronts),
		ncu.Conflicts:         float64(c.SharedWavefronts - c.SharedWavefrontsNeeded),
		ncu.WaveSectors:       float64(c.WaveSectors),
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

// TestProfile runs the reference kernels under ncu, whose path NCU gives, and holds
// the simulator's counters against the hardware's. ncu needs leave to read the GPU's
// performance counters.
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
	t.Logf("metrics: %s", strings.Join(metrics, " "))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	table, counts := filepath.Join(dir, "ncu.csv"), filepath.Join(dir, "launches.json")
	cmd := exec.Command(tool, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
		"--metrics", strings.Join(metrics, ","), "--log-file", table, self, "-test.run", profiled)
	cmd.Env = append(os.Environ(), launchesFile+"="+counts)
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
	bad, err := ncu.WriteTable(os.Stdout, rows)
	if err != nil {
		t.Fatal(err)
	}
	if bad > 0 {
		t.Errorf("%d counters of %d differ too much", bad, len(rows))
	}
}
