package simt

import (
	"encoding/json"
	"io"
)

// reportJSON is the JSON of a report. Its names are an interface: scripts read
// them.
type reportJSON struct {
	Kernel   string        `json:"kernel"`
	Blocks   int           `json:"blocks"`
	Ran      int           `json:"blocks_counted"`
	Estimate *estimateJSON `json:"estimate,omitempty"`
	Counters countersJSON  `json:"counters"`
	Lines    []lineJSON    `json:"lines"`
	Findings []findingJSON `json:"findings"`
}

type countersJSON struct {
	WarpInstructions       uint64            `json:"warp_instructions"`
	LaneInstructions       uint64            `json:"lane_instructions"`
	ByClass                map[string]uint64 `json:"warp_instructions_by_class"`
	GlobalSectors          uint64            `json:"global_sectors"`
	GlobalSectorsNeeded    uint64            `json:"global_sectors_needed"`
	WaveSectors            uint64            `json:"wave_sectors"`
	L2Misses               uint64            `json:"l2_misses"`
	SharedWavefronts       uint64            `json:"shared_wavefronts"`
	SharedWavefrontsNeeded uint64            `json:"shared_wavefronts_needed"`
	BytesRead              map[string]uint64 `json:"bytes_read"`
	BytesWritten           map[string]uint64 `json:"bytes_written"`
	Atomics                uint64            `json:"atomics"`
	BarrierArrivals        uint64            `json:"barrier_arrivals"`
	DivergentBranches      uint64            `json:"divergent_branches"`
	MatrixFLOPs            uint64            `json:"matrix_flops"`
}

// estimateJSON has times in nanoseconds, and what a block takes in cycles.
type estimateJSON struct {
	Time      int64   `json:"time_ns"`
	Bound     string  `json:"bound"`
	Registers int     `json:"registers"`
	Spilled   int     `json:"registers_spilled"`
	Resident  int     `json:"blocks_per_multiprocessor"`
	Latency   float64 `json:"block_latency"`
	Issue     float64 `json:"block_issue"`
	Pipe      float64 `json:"block_arithmetic"`
	Dots      float64 `json:"block_dots"`
	Shared    float64 `json:"block_shared"`
	FromL2    float64 `json:"block_from_l2"`
	L2        int64   `json:"l2_ns"`
	DRAM      int64   `json:"dram_ns"`
}

type placeJSON struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col,omitempty"`
}

type lineJSON struct {
	placeJSON
	WarpInstructions uint64 `json:"warp_instructions"`
	LaneInstructions uint64 `json:"lane_instructions"`
}

type findingJSON struct {
	Kind    string      `json:"kind"`
	Message string      `json:"message"`
	Where   []placeJSON `json:"where"` // and its call sites
	Block   [3]int      `json:"block"`
	Warp    int         `json:"warp"` // -1: the whole block
	Lane    int         `json:"lane"`
	Address uint64      `json:"address"`
	Count   int         `json:"count"`
	// Line and Instruction are those of the program text.
	Line        int    `json:"line"`
	Instruction string `json:"instruction"`
}

// WriteJSON prints the report for programs: one object on one line.
func (r *Report) WriteJSON(w io.Writer) error {
	k := &r.Counters
	out := reportJSON{
		Kernel: r.Kernel, Blocks: r.Blocks, Ran: r.Ran,
		Counters: countersJSON{
			WarpInstructions: k.WarpInstructions, LaneInstructions: k.LaneInstructions,
			ByClass:       map[string]uint64{},
			GlobalSectors: k.GlobalSectors, GlobalSectorsNeeded: k.GlobalSectorsNeeded,
			WaveSectors: k.WaveSectors, L2Misses: k.L2Misses,
			SharedWavefronts: k.SharedWavefronts, SharedWavefrontsNeeded: k.SharedWavefrontsNeeded,
			BytesRead: map[string]uint64{}, BytesWritten: map[string]uint64{},
			Atomics: k.Atomics, BarrierArrivals: k.Barriers,
			DivergentBranches: k.DivergentBranches, MatrixFLOPs: k.MatrixFLOPs,
		},
		Lines: []lineJSON{}, Findings: []findingJSON{},
	}
	if e := r.Estimate; e != nil {
		out.Estimate = &estimateJSON{
			int64(e.Time), e.Bound, e.Registers, e.Spilled, e.Resident,
			e.Latency, e.Issue, e.Pipe, e.Dots, e.Shared, e.FromL2, int64(e.L2), int64(e.DRAM),
		}
	}
	for class, n := range k.ByClass {
		out.Counters.ByClass[Classes[class]] = n
	}
	for s := SpaceGlobal; s <= SpaceParam; s++ {
		out.Counters.BytesRead[s.String()] = k.BytesRead[s]
		out.Counters.BytesWritten[s.String()] = k.BytesWritten[s]
	}
	place := func(l Loc) placeJSON { return placeJSON{l.File, l.Line, l.Col} }
	for _, l := range r.Lines {
		out.Lines = append(out.Lines, lineJSON{place(l.Loc), l.Warps, l.Lanes})
	}
	for _, f := range r.Findings {
		j := findingJSON{
			Kind: f.Kind.String(), Message: f.Message, Where: []placeJSON{}, Block: f.Block, Warp: f.Warp, Lane: f.Lane,
			Address: f.Addr, Count: f.Count, Line: f.Line, Instruction: f.Inst,
		}
		for _, l := range f.Where {
			j.Where = append(j.Where, place(l))
		}
		out.Findings = append(out.Findings, j)
	}
	return json.NewEncoder(w).Encode(&out) // maps come out sorted
}
