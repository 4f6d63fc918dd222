package sim

import (
	"time"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// The chips' rates. docs/simulator.md has the sources.

// pipes are warp instructions a cycle, from results of lanes a cycle.
func pipes(float, double int) [simt.NumClasses]float64 {
	const lanes = 32
	return [simt.NumClasses]float64{
		simt.ClassInteger: 64. / lanes,
		simt.ClassFloat:   float64(float) / lanes,
		simt.ClassHalf:    128. / lanes,
		simt.ClassDouble:  float64(double) / lanes,
		simt.ClassConvert: 64. / lanes,
		simt.ClassSpecial: 16. / lanes,
		simt.ClassWarpOp:  32. / lanes,
	}
}

const launchTime = 2 * time.Microsecond

// sustained is the part of the memory's bandwidth that a copy reaches.
const sustained = 0.91

var (
	ratesA100 = simt.Rates{
		Clock: 1.41e9, Issue: 4, Pipes: pipes(64, 32),
		Dots: 2048, SyncDots: 1, DoubleDots: 128,
		DRAM: 1.555e12 * sustained, PeakDRAM: 1.555e12, L2: 5120 * 1.41e9, FromL2: 64, Wavefronts: 1,
		ALU: 4, Special: 18, Shared: 29, Global: 466, Matrix: 18, Branch: 8, Barrier: 32,
		Registers: 65536, MaxRegisters: 255, Launch: launchTime,
	}
	ratesA10 = simt.Rates{
		Clock: 1.695e9, Issue: 4, Pipes: pipes(128, 2),
		Dots: 1024, SyncDots: 1, DoubleDots: 4,
		DRAM: 0.6e12 * sustained, PeakDRAM: 0.6e12, L2: 2048 * 1.695e9, FromL2: 64, Wavefronts: 1,
		ALU: 4, Special: 18, Shared: 29, Global: 466, Matrix: 18, Branch: 8, Barrier: 32,
		Registers: 65536, MaxRegisters: 255, Launch: launchTime,
	}
	ratesL40 = simt.Rates{
		Clock: 2.49e9, Issue: 4, Pipes: pipes(128, 2),
		Dots: 512, SyncDots: 1, DoubleDots: 4,
		DRAM: 0.864e12 * sustained, PeakDRAM: 0.864e12, L2: 2048 * 2.49e9, FromL2: 64, Wavefronts: 1,
		ALU: 4, Special: 18, Shared: 30, Global: 541, Matrix: 18, Branch: 8, Barrier: 32,
		Registers: 65536, MaxRegisters: 255, Launch: launchTime,
	}
	ratesH200 = simt.Rates{
		Clock: 1.83e9, Issue: 4, Pipes: pipes(128, 64),
		Dots: 4096, SyncDots: 0.62, DoubleDots: 256,
		DRAM: 4.8e12 * sustained, PeakDRAM: 4.8e12, L2: 8448 * 1.83e9, FromL2: 64, Wavefronts: 1,
		ALU: 4, Special: 18, Shared: 29, Global: 478, Matrix: 18, Branch: 8, Barrier: 32,
		Registers: 65536, MaxRegisters: 255, Launch: launchTime,
	}
)
