package nvidia

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// The stage llir ends in a row of data: what LLVM's optimizer does to the kernel
// before llc. llvmpasses.tsv has the choices with what each costs and gains over
// the reference kernels, measured by test/counts (make performance); the
// choice follows from it.

//go:embed llvmpasses.tsv
var llvmTable string

// llvmChoice is a row of the table. Numbers are relative to the first choice,
// geometric means over kernels but for Compile, the ratio of sums.
type llvmChoice struct {
	Name, Passes string  // Passes in the grammar of opt -passes; "" for none
	SASS, Warp   float64 // instructions of the machine code; executed by warps in the simulator
	Kernel       float64 // time of kernels on a GPU; NaN where it was not measured
	Compile      float64 // time of opt, llc and ptxas
}

// llvmChoiceNames are the names in the table, for option llvm_passes.
var llvmChoiceNames = []string{"none", "short", "O3"}

// llvmChoices is the table, read when it is first asked for.
var llvmChoices = sync.OnceValue(func() []llvmChoice {
	rows, err := readLLVMTable(llvmTable)
	if err != nil {
		panic("BUG: llvmpasses.tsv: " + err.Error())
	}
	return rows
})

func readLLVMTable(text string) ([]llvmChoice, error) {
	var rows []llvmChoice
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("%q has %s, not 6", line, diag.Count(len(f), "column"))
		}
		r := llvmChoice{Name: f[0]}
		if f[1] != "-" {
			r.Passes = f[1]
		}
		for i, to := range []*float64{&r.SASS, &r.Warp, &r.Kernel, &r.Compile} {
			if f[2+i] == "-" && to == &r.Kernel {
				*to = math.NaN()
				continue
			}
			var err error
			if *to, err = strconv.ParseFloat(f[2+i], 64); err != nil {
				return nil, err
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// llvmWorth is how much better code must be to be worth any time of the compiler.
const llvmWorth = 0.02

// bestLLVMChoice is the choice that compiles fastest of those whose code is as
// good as the best, but for llvmWorth: by the time of kernels where all of it was
// measured, else by instructions, both those of the code and those executed.
func bestLLVMChoice(rows []llvmChoice) *llvmChoice {
	costs := []func(*llvmChoice) float64{func(r *llvmChoice) float64 { return r.Kernel }}
	if slices.ContainsFunc(rows, func(r llvmChoice) bool { return math.IsNaN(r.Kernel) }) {
		costs = []func(*llvmChoice) float64{
			func(r *llvmChoice) float64 { return r.SASS },
			func(r *llvmChoice) float64 { return r.Warp },
		}
	}
	good := slices.Repeat([]bool{true}, len(rows))
	for _, cost := range costs {
		least := math.Inf(1)
		for i := range rows {
			least = min(least, cost(&rows[i]))
		}
		for i := range rows {
			good[i] = good[i] && cost(&rows[i]) <= least*(1+llvmWorth)
		}
	}
	best := -1
	for i := range rows {
		if good[i] && (best < 0 || rows[i].Compile < rows[best].Compile) {
			best = i
		}
	}
	if best < 0 { // each is worse than another in something
		best = 0
	}
	return &rows[best]
}

// llvmChoiceFor is what option llvm_passes asks for.
func llvmChoiceFor(name string) *llvmChoice {
	rows := llvmChoices()
	if i := slices.IndexFunc(rows, func(r llvmChoice) bool { return r.Name == name }); i >= 0 {
		return &rows[i]
	}
	return bestLLVMChoice(rows)
}

// why says what the choice follows from.
func (r *llvmChoice) why(asked string) string {
	if asked == r.Name {
		return "asked for"
	}
	rows := llvmChoices()
	words := make([]string, len(rows))
	for i := range rows {
		words[i] = fmt.Sprintf("%s %.3f/%.3f/%.2f", rows[i].Name, rows[i].SASS, rows[i].Warp, rows[i].Compile)
		if !math.IsNaN(rows[i].Kernel) {
			words[i] = fmt.Sprintf("%s %.3f/%.2f", rows[i].Name, rows[i].Kernel, rows[i].Compile)
		}
	}
	what := "machine code / instructions executed / time of compiling"
	if !math.IsNaN(rows[0].Kernel) {
		what = "time of kernels / of compiling"
	}
	return "measured over the reference kernels, " + what + ": " + strings.Join(words, ", ")
}

// llvmRow shows which of LLVM's own passes end the stage llir.
func llvmRow(o options) sdk.PassRow {
	choice := llvmChoiceFor(o.LLVMPasses)
	passes := choice.Passes
	if passes == "" {
		passes = "none"
	}
	return sdk.PassRow{
		Name: "llvm-passes", Options: passes,
		Doc: "LLVM's optimizer over the kernel, by opt", Why: choice.why(o.LLVMPasses),
	}
}
