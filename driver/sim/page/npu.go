package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/npu"
)

//go:embed npu.html.tmpl
var npuText string

var npuTemplate = parse("npu", &npuText)

// npuView is what the template of a simulated NPU shows.
type npuView struct {
	Kernel   string
	Facts    []Fact
	Findings []string
	Timeline template.HTML
	Columns  []string
	Files    []file
}

// WriteNPU writes the page of a report of a simulated NPU.
func WriteNPU(w io.Writer, r *npu.Report, p Page) error {
	var drawn strings.Builder
	if err := r.WriteTimeline(&drawn); err != nil {
		return err
	}
	pipes := r.PipesUsed()
	v := &npuView{
		Kernel:   visible(r.Kernel),
		Timeline: template.HTML(drawn.String()), // of our own making, with its texts escaped
	}
	for _, f := range append(append([]Fact{}, p.Facts...), npuFacts(r)...) {
		v.Facts = append(v.Facts, Fact{visible(f.Name), visible(f.Text)})
	}
	for _, f := range r.Findings {
		v.Findings = append(v.Findings, visible(fmt.Sprintf("%s: %s: %s", f.Loc, f.Kind, f.Message)))
	}
	for _, pipe := range pipes {
		v.Columns = append(v.Columns, pipe.String())
	}
	v.Columns = append(v.Columns, "bytes in", "bytes out")
	lines := r.Lines()
	most := 1.0
	for i := range lines {
		if lines[i].File != "" { // else the start of programs would outshine all
			most = max(most, total(&lines[i], pipes))
		}
	}
	var names []string
	rows := map[string][]row{}
	for i := range lines {
		l := &lines[i]
		if rows[l.File] == nil {
			names = append(names, l.File)
		}
		n := row{Line: l.Line, Own: []uint64{0}, Heat: fmt.Sprintf("%.3f", min(total(l, pipes)/most, 1))}
		for _, pipe := range pipes {
			n.Cells = append(n.Cells, cell(fmt.Sprintf("%.0f", l.Cycles[pipe])))
		}
		n.Cells = append(n.Cells, cell(fmt.Sprint(l.In)), cell(fmt.Sprint(l.Out)))
		rows[l.File] = append(rows[l.File], n)
	}
	for _, name := range names {
		v.Files = append(v.Files, fileOf(name, rows[name], p.Sources))
	}
	sortFiles(v.Files)
	return npuTemplate().Execute(w, v)
}

// total is how long a line kept the pipes busy.
func total(l *npu.Line, pipes []npu.Pipe) (n float64) {
	for _, p := range pipes {
		n += l.Cycles[p]
	}
	return n
}

func cell(text string) string {
	if text == "0" {
		return ""
	}
	return text
}

// npuFacts are those of the report.
func npuFacts(r *npu.Report) []Fact {
	list := []Fact{
		{"simulated time", fmt.Sprintf("%.0f cycles, %v", r.Cycles, r.Time())},
		{"programs", fmt.Sprintf("%d on %s", r.Programs, diag.Count(len(r.CoreCycles), "core"))},
		{"instructions", fmt.Sprint(r.Instructions)},
		{"global memory", fmt.Sprintf("%s read, %d written", diag.Count(int(r.In), "byte"), r.Out)},
	}
	for s, n := range r.Used {
		if n > 0 {
			list = append(list, Fact{npu.Space(s).String(), fmt.Sprintf("%s of a core, %.1f %% of it", diag.Count(n, "byte"), 100*float64(n)/float64(r.Sizes[s]))})
		}
	}
	for _, p := range r.PipesUsed() {
		list = append(list, Fact{"pipe " + p.String(), fmt.Sprintf("%.1f %% of the time of all cores", 100*r.Busy(p))})
	}
	return list
}
