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
	Threads  int           `json:"threads"`
	Shared   int           `json:"shared"`
	Estimate *estimateJSON `json:"estimate,omitempty"`
	Roofline *rooflineJSON `json:"roofline,omitempty"`
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
	FLOPs                  uint64            `json:"flops"`
}

// estimateJSON has times in nanoseconds, and what a block takes in cycles.
type estimateJSON struct {
	Time      int64   `json:"time_ns"`
	Bound     string  `json:"bound"`
	Registers int     `json:"registers"`
	Spilled   int     `json:"registers_spilled"`
	Exact     bool    `json:"registers_exact"`
	Resident  int     `json:"blocks_per_multiprocessor"`
	Occupancy float64 `json:"occupancy"`
	Limit     string  `json:"occupancy_limit"`
	Latency   float64 `json:"block_latency"`
	Issue     float64 `json:"block_issue"`
	Pipe      float64 `json:"block_arithmetic"`
	Dots      float64 `json:"block_dots"`
	Shared    float64 `json:"block_shared"`
	FromL2    float64 `json:"block_from_l2"`
	L2        int64   `json:"l2_ns"`
	DRAM      int64   `json:"dram_ns"`
}

// rooflineJSON has operations and bytes a second.
type rooflineJSON struct {
	FLOPs     float64 `json:"flops"`
	Bytes     float64 `json:"bytes"`
	Intensity float64 `json:"flops_per_byte"`
	Unit      string  `json:"unit"`
	Peak      float64 `json:"peak"`
	Bandwidth float64 `json:"bandwidth"`
	Ridge     float64 `json:"ridge"`
	Roof      float64 `json:"roof"`
	Reached   float64 `json:"reached"`
}

type placeJSON struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col,omitempty"`
}

type lineJSON struct {
	placeJSON
	lineCountersJSON
	// Total has what was inlined at the line, too.
	Total lineCountersJSON `json:"total"`
}

// lineCountersJSON has the fields of LineCounters.
type lineCountersJSON struct {
	Warps            uint64 `json:"warp_instructions"`
	Lanes            uint64 `json:"lane_instructions"`
	Sectors          uint64 `json:"global_sectors"`
	SectorsNeeded    uint64 `json:"global_sectors_needed"`
	Wavefronts       uint64 `json:"shared_wavefronts"`
	WavefrontsNeeded uint64 `json:"shared_wavefronts_needed"`
	FLOPs            uint64 `json:"flops"`
	Divergent        uint64 `json:"divergent_branches"`
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
		Kernel: r.Kernel, Blocks: r.Blocks, Ran: r.Ran, Threads: r.Threads, Shared: r.Shared,
		Counters: countersJSON{
			WarpInstructions: k.WarpInstructions, LaneInstructions: k.LaneInstructions,
			ByClass:       map[string]uint64{},
			GlobalSectors: k.GlobalSectors, GlobalSectorsNeeded: k.GlobalSectorsNeeded,
			WaveSectors: k.WaveSectors, L2Misses: k.L2Misses,
			SharedWavefronts: k.SharedWavefronts, SharedWavefrontsNeeded: k.SharedWavefrontsNeeded,
			BytesRead: map[string]uint64{}, BytesWritten: map[string]uint64{},
			Atomics: k.Atomics, BarrierArrivals: k.Barriers,
			DivergentBranches: k.DivergentBranches, MatrixFLOPs: k.MatrixFLOPs, FLOPs: k.FLOPs,
		},
		Lines: []lineJSON{}, Findings: []findingJSON{},
	}
	if e := r.Estimate; e != nil {
		out.Estimate = &estimateJSON{
			int64(e.Time), e.Bound, e.Registers, e.Spilled, e.Exact, e.Resident, e.Occupancy, e.Limit,
			e.Latency, e.Issue, e.Pipe, e.Dots, e.Shared, e.FromL2, int64(e.L2), int64(e.DRAM),
		}
	}
	if f := r.Roofline; f != nil {
		out.Roofline = &rooflineJSON{
			f.FLOPs, f.Bytes, f.Intensity(), f.Unit, f.Peak, f.Bandwidth, f.Ridge(), f.Roof(), f.Reached,
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
		out.Lines = append(out.Lines, lineJSON{place(l.Loc), lineCountersJSON(l.LineCounters), lineCountersJSON(l.Total)})
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
