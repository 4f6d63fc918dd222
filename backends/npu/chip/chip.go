// Package chip says what is known of Ascend chips: their cores and buffers, and what
// work costs on them.
//
//	Chip, All, Of   the table of chips
//	Costs, CostsOf  rates and latencies, read from costs.tsv with their sources
//
// The sizes are those of the vendor's AscendNPU-IR
// (bishengir/include/bishengir/Dialect/HACC/Targets/NPUTargetSpec.td). The package
// imports the standard library only, so that a simulator may have it, too.
package chip

import "strings"

// Backend is the backend's part of a target, "npu" in "npu:ascend910b3".
const Backend = "npu"

// Alignments of buffers, in bytes.
const (
	AlignUB  = 32
	AlignL1  = 32
	AlignL0C = 512
)

// MaxBlocks is how many programs a launch may have: the product of the grid's sizes.
const MaxBlocks = 65535

// Chip is one chip. Sizes are in bytes, and those of one core.
type Chip struct {
	Name   string // as targets have it: "ascend910b3"
	Vendor string // as the vendor's tools have it: "Ascend910B3"
	Arch   string // of the cores: "dav-c220"
	// UB is the unified buffer of a vector core, the others are those of a cube core.
	UB, L1, L0A, L0B, L0C int
	Cubes, Vectors        int // cores
}

// Target is the chip's target, npu:ascend910b3.
func (c *Chip) Target() string { return Backend + ":" + c.Name }

// family is a row of the table: chips that differ in their names alone.
type family struct {
	names          []string // the vendor's, without "Ascend"
	arch           string
	ub, l1, l0c    int
	cubes, vectors int
}

const (
	kib = 1 << 10
	l0  = 64 * kib // L0A and L0B of every chip
)

var families = []family{
	{[]string{"910B1", "910B2", "910B2C"}, "dav-c220", 192 * kib, 512 * kib, 128 * kib, 24, 48},
	{[]string{"910B3", "910B4", "910B4_1"}, "dav-c220", 192 * kib, 512 * kib, 128 * kib, 20, 40},
	{[]string{"910_9362", "910_9363", "910_9372"}, "dav-c220", 192 * kib, 512 * kib, 128 * kib, 20, 40},
	{[]string{"910_9381", "910_9382", "910_9391", "910_9392"}, "dav-c220", 192 * kib, 512 * kib, 128 * kib, 24, 48},
	{[]string{"310B1", "310B2", "310B3", "310B4"}, "dav-m300", 256 * kib, 1024 * kib, 128 * kib, 1, 1},
	// 8 of the 256 KiB of UB are the vendor's own.
	{[]string{"950PR_950z"}, "dav-c310", 248 * kib, 512 * kib, 256 * kib, 4, 8},
	{[]string{"950DT_950x", "950DT_950y"}, "dav-c310", 248 * kib, 512 * kib, 256 * kib, 8, 16},
	{[]string{
		"950PR_9579", "950PR_957b", "950PR_957c", "950PR_957d", "950DT_9571", "950DT_9572", "950DT_9573",
		"950DT_9574", "950DT_9575", "950DT_9576", "950DT_9577", "950DT_9578",
	}, "dav-c310", 248 * kib, 512 * kib, 256 * kib, 28, 56},
	{[]string{
		"950PR_9589", "950PR_958b", "950DT_9581", "950DT_9582", "950DT_9583", "950DT_9584", "950DT_9585",
		"950DT_9586", "950DT_9587", "950DT_9588",
	}, "dav-c310", 248 * kib, 512 * kib, 256 * kib, 32, 64},
	{[]string{
		"950PR_9599", "950DT_9591", "950DT_9592", "950DT_9595", "950DT_9596", "950DT_95A1", "950DT_95A2",
	}, "dav-c310", 248 * kib, 512 * kib, 256 * kib, 36, 72},
}

// All returns the chips in the order of the table.
func All() []*Chip {
	var list []*Chip
	for _, f := range families {
		for _, name := range f.names {
			vendor := "Ascend" + name
			list = append(list, &Chip{
				Name: strings.ToLower(vendor), Vendor: vendor, Arch: f.arch,
				UB: f.ub, L1: f.l1, L0A: l0, L0B: l0, L0C: f.l0c, Cubes: f.cubes, Vectors: f.vectors,
			})
		}
	}
	return list
}

// Of returns the chip of that name in any case, as both targets and the vendor's tools
// have it, or nil. The vendor also writes a hyphen where names have an underscore.
func Of(name string) *Chip {
	name = strings.ReplaceAll(name, "-", "_")
	for _, c := range All() {
		if strings.EqualFold(name, c.Name) {
			return c
		}
	}
	return nil
}
