package chip

import (
	_ "embed"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"
)

// Costs are the rates and latencies of a chip. Cycles are those of its clock; bytes and
// multiply-adds are per cycle. The tags are the constants of costs.tsv.
type Costs struct {
	ClockMHz float64 `cost:"clock"`
	// Between HBM or L2 and the buffers of an AI core, which is a cube core with its
	// vector cores.
	HBMRead  float64 `cost:"hbm_read"`
	HBMWrite float64 `cost:"hbm_write"`
	L2Read   float64 `cost:"l2_read"`
	L2Write  float64 `cost:"l2_write"`
	// Of a vector core: from UB to global memory, between UB and the vector unit, and
	// what the vector unit takes of each operand.
	UBToGM float64 `cost:"ub_to_gm"`
	UB     float64 `cost:"ub"`
	Vector float64 `cost:"vector"`
	// What a reduction of elements that lie next to one another takes, in times of an
	// operation on as many elements.
	Reduce float64 `cost:"reduce"`
	// Of a cube core.
	L1ToL0A float64 `cost:"l1_to_l0a"`
	L1ToL0B float64 `cost:"l1_to_l0b"`
	// Multiply-adds of a cube core, by the bits of the operands.
	Cube8  float64 `cost:"cube_8"`
	Cube16 float64 `cost:"cube_16"`
	Cube32 float64 `cost:"cube_32"`
	// Cycles before the first byte, element or product, and before a program begins.
	DMAStart    float64 `cost:"dma_start"`
	VectorStart float64 `cost:"vector_start"`
	CubeStart   float64 `cost:"cube_start"`
	BlockStart  float64 `cost:"block_start"`
	// Sync is how long cores take to go on when the last one has come.
	Sync float64 `cost:"sync"`
	// Scalar is how long an instruction of the scalar unit takes.
	Scalar float64 `cost:"scalar"`
}

// Cost is a row of costs.tsv.
type Cost struct {
	Chips    []string // patterns of names, as path.Match has them
	Constant string
	Value    float64
	Unit     string
	Source   string // an address, or Assumed
	Note     string
}

// Assumed is the source of a constant that no public figure is known of.
const Assumed = "assumed"

//go:embed costs.tsv
var costsTSV string

// Table returns the rows of costs.tsv.
func Table() []Cost {
	var rows []Cost
	for line := range strings.Lines(costsTSV) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			panic(fmt.Sprintf("BUG: costs.tsv: %d columns in %q", len(f), line))
		}
		v, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			panic("BUG: costs.tsv: " + err.Error())
		}
		rows = append(rows, Cost{strings.Split(f[0], ","), f[1], v, f[3], f[4], f[5]})
	}
	return rows
}

// holds reports whether the row is about a chip.
func (c *Cost) holds(name string) bool {
	for _, p := range c.Chips {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// CostsOf returns the costs of a chip.
func CostsOf(c *Chip) Costs {
	var costs Costs
	v := reflect.ValueOf(&costs).Elem()
	table := Table()
	for i := range v.NumField() {
		constant := v.Type().Field(i).Tag.Get("cost")
		found := false
		for k := range table {
			if row := &table[k]; row.Constant == constant && row.holds(c.Name) {
				v.Field(i).SetFloat(row.Value)
				found = true
				break
			}
		}
		if !found {
			panic("BUG: costs.tsv has no " + constant + " of " + c.Name)
		}
	}
	return costs
}
