package nvidia

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/backend"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Settings that name NVIDIA's files, beside those of tools, and one of tensor memory.
var (
	settingLibdevice = sdk.SettingSpec{Name: "libdevice", Env: []string{"TRITON_LIBDEVICE_PATH"}, Doc: "path of CUDA's library libdevice.10.bc"}
	settingCUDA      = sdk.SettingSpec{Name: "cuda", Env: []string{"CUDA_HOME", "CUDA_PATH"}, Doc: "folder of a CUDA toolkit, whose bin/ has ptxas"}
	settingRows16    = sdk.SettingSpec{Name: "tmem_16x256", Env: []string{"TRITON_PREFER_TMEM_16x256_LAYOUT"}, Doc: "1: accumulators in tensor memory are read and written 16 rows by 256 bits at once, where that fits"}
)

var settings = []sdk.SettingSpec{settingLibdevice, settingCUDA, settingRows16}

// minPtxasMajor: older ones do not know sm_90a. One that the user names counts
// all the same.
const minPtxasMajor = 12

// ptxasKind is NVIDIA's assembler, which takes minutes for the largest public
// kernels.
var ptxasKind = &backend.ToolKind{
	Name: "ptxas",
	Setting: sdk.SettingSpec{
		Name: "ptxas", Env: []string{"TRITON_PTXAS_PATH", "TRITONC_PTXAS"}, Doc: "path of NVIDIA's assembler ptxas",
	},
	Alone:   true,
	Folders: []string{settingCUDA.Name},
	Places:  ptxasPlaces,
	Version: func(text string) (string, bool) { return backend.WordAfter(text, ", V") },
	Refuse: func(major int) string {
		if major < minPtxasMajor {
			return fmt.Sprintf("version %d.0 or newer is needed", minPtxasMajor)
		}
		return ""
	},
	Help:   "install NVIDIA's CUDA toolkit, or run make toolchain, or name one with TRITONC_PTXAS",
	Limits: backend.Limits{Time: 10 * time.Minute, Memory: 16 << 30},
}

func ptxasPlaces(settings map[string]string) (programs, folders []string) {
	programs = backend.InPath("ptxas")
	if dir := settings[settingCUDA.Name]; dir != "" {
		programs = append(programs, filepath.Join(dir, "bin", "ptxas"))
	}
	programs = append(programs, "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas", "/usr/lib/cuda/bin/ptxas")
	const folder = "/usr/local"
	var versions []string
	entries, _ := os.ReadDir(folder) // there may be none, as there may be no toolkit in it
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "cuda-") {
			versions = append(versions, filepath.Join(folder, e.Name(), "bin", "ptxas"))
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return strings.Compare(b, a) })
	return append(programs, versions...), []string{folder}
}

// llcPTXVersions are those of LLVM 22's features +ptxNN that make sense for our
// targets, ascending.
var llcPTXVersions = []int{70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90}

// ptxVersionAlone is used when PTX is asked for and no ptxas is there to decide:
// that of CUDA 12.4, which drivers since early 2024 read.
const ptxVersionAlone = 84

// ptxVersion is the PTX ISA version that a ptxas reads, 84 for 8.4. NVIDIA counts
// it apart from CUDA's own.
func ptxVersion(ptxas *backend.Tool) int {
	switch {
	case ptxas.Major >= 13:
		return 90 + 10*(ptxas.Major-13) + ptxas.Minor
	case ptxas.Major == 12 && ptxas.Minor >= 6:
		return 79 + ptxas.Minor
	case ptxas.Major == 12:
		return 80 + ptxas.Minor
	default:
		return 70 + ptxas.Minor
	}
}

// ptxVersionFor is the newest PTX ISA version that ptxas reads and llc writes.
func ptxVersionFor(ptxas *backend.Tool) int {
	best := llcPTXVersions[0]
	for _, v := range llcPTXVersions {
		if v <= ptxVersion(ptxas) {
			best = v
		}
	}
	return best
}
