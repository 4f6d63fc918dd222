package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// Page is what the report itself does not know.
type Page struct {
	// Facts head the page: the device, the grid.
	Facts []Fact
	// Sources are the texts of files by the names that line information has for them.
	// Of other files the page has the numbers of lines alone.
	Sources map[string]string
}

// Fact is a name and what is said of it.
type Fact struct{ Name, Text string }

//go:embed page.html.tmpl
var text string

//go:embed page.css
var style string

var pageTemplate = parse("page", &text)

// parse reads the template of a page, which may have the style of all, when it is needed
// first: parsing takes longer than a program needs to start.
func parse(name string, text *string) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		return template.Must(template.Must(template.New(name).Parse(*text)).New("style").Parse(style)).Lookup(name)
	})
}

// Write writes the page of a report.
func Write(w io.Writer, r *simt.Report, p Page) error {
	return pageTemplate().Execute(w, content(r, p))
}

// view is what the template shows.
type view struct {
	Kernel   string
	Lanes    int
	Facts    []Fact
	Notes    []string // of registers, occupancy, time
	Findings []string
	Roof     *plot
	Columns  []string
	Metrics  []string
	Files    []file
}

// file is a source with its rows.
type file struct {
	Name    string
	Missing bool
	Rows    []row
}

// row is a line of a file, or a gap of lines that are left out.
type row struct {
	Line int
	Text string
	Gap  int
	// Own and Total are the counters in the order of Columns; nil where the line has
	// none.
	Own, Total []uint64
	// Cells are the texts of Own, Heat is its first counter's part of the most.
	Cells []string
	Heat  string
}

// context is how many lines around those that count are shown.
const context = 12

// columns are the raw counters; the lanes are shown as a part of all.
var columns = []string{"instructions", "active lanes", "sectors", "needed", "wavefronts", "needed", "FLOPs", "divergent"}

// metrics are what lines can be compared by; the script computes them.
var metrics = []string{"instructions", "idle lanes", "sectors", "sectors beyond need", "wavefronts", "bank conflicts", "FLOPs", "divergent branches"}

func content(r *simt.Report, p Page) *view {
	v := &view{
		Kernel: visible(r.Kernel), Lanes: max(r.Lanes, 1), Columns: columns, Metrics: metrics,
		Facts: append(slices.Clone(p.Facts), summary(r)...), Roof: plotOf(r.Roofline),
	}
	for i := range v.Facts {
		f := &v.Facts[i]
		f.Name, f.Text = visible(f.Name), visible(f.Text)
	}
	for _, f := range r.Findings {
		v.Findings = append(v.Findings, visible(f.String()))
	}
	most := uint64(1)
	for i := range r.Lines {
		most = max(most, r.Lines[i].Warps)
	}
	for from := 0; from < len(r.Lines); {
		to := from
		for to < len(r.Lines) && r.Lines[to].Loc.File == r.Lines[from].Loc.File {
			to++
		}
		var rows []row
		for i := range r.Lines[from:to] {
			rows = append(rows, counted(&r.Lines[from+i], v.Lanes, most))
		}
		v.Files = append(v.Files, fileOf(r.Lines[from].Loc.File, rows, p.Sources))
		from = to
	}
	sortFiles(v.Files)
	return v
}

// sortFiles has the kernel's own file first, which is the one with most of the lines.
func sortFiles(files []file) {
	slices.SortStableFunc(files, func(a, b file) int { return weight(b) - weight(a) })
}

// weight orders files: those whose text is there come first.
func weight(f file) int {
	n := 0
	for i := range f.Rows {
		if f.Rows[i].Own != nil {
			n++
		}
	}
	if !f.Missing {
		n += 1 << 30
	}
	return n
}

// summary are the facts of the report.
func summary(r *simt.Report) []Fact {
	k := &r.Counters
	list := []Fact{
		{"instructions", fmt.Sprintf("%d of warps, %.1f%% of the lanes active", k.WarpInstructions, part(k.LaneInstructions, k.WarpInstructions*uint64(max(r.Lanes, 1))))},
		{"global memory", fmt.Sprintf("%d sectors, %d needed", k.GlobalSectors, k.GlobalSectorsNeeded)},
		{"shared memory", fmt.Sprintf("%s per block; %d wavefronts, %d needed", diag.Count(r.Shared, "byte"), k.SharedWavefronts, k.SharedWavefrontsNeeded)},
		{"FLOPs", fmt.Sprintf("%d, and %d of dots", k.FLOPs, k.MatrixFLOPs)},
		{"divergent branches", fmt.Sprint(k.DivergentBranches)},
	}
	if r.Ran < r.Blocks {
		list = append(list, Fact{"counted", fmt.Sprintf("%d of %s", r.Ran, diag.Count(r.Blocks, "block"))})
	}
	if e := r.Estimate; e != nil {
		list = append(
			[]Fact{
				{"estimated time", fmt.Sprintf("%v, for %s", e.Time, e.Bound)},
				{"registers", e.RegisterText()},
				{"occupancy", e.OccupancyText()},
			}, list...)
	}
	if f := r.Roofline; f != nil {
		list = append(list, Fact{"roofline", f.String()})
	}
	return list
}

func part(a, b uint64) float64 { return 100 * float64(a) / float64(max(b, 1)) }

// fileOf makes the rows of a file: lines that count, whose texts it adds, and those around
// them.
func fileOf(name string, lines []row, sources map[string]string) file {
	text, ok := sources[name]
	f := file{Name: visible(name), Missing: !ok}
	var source []string
	if ok {
		source = strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		if n := len(source); n > 0 && source[n-1] == "" {
			source = source[:n-1]
		}
	}
	next := 1 // the first line that has no row
	for i := range lines {
		at := lines[i].Line
		first := max(at-context, next)
		if !ok {
			first = at
		}
		if first > next {
			f.Rows = append(f.Rows, row{Gap: first - next})
		}
		for n := first; n < at; n++ {
			f.Rows = append(f.Rows, plain(n, source))
		}
		lines[i].Text = plain(at, source).Text
		f.Rows = append(f.Rows, lines[i])
		next = at + 1
		last := len(source)
		if i+1 < len(lines) {
			last = min(last, lines[i+1].Line-1)
		}
		for ; next <= min(at+context, last); next++ {
			f.Rows = append(f.Rows, plain(next, source))
		}
	}
	if len(source) >= next {
		f.Rows = append(f.Rows, row{Gap: len(source) - next + 1})
	}
	return f
}

func plain(n int, source []string) row {
	r := row{Line: n}
	if n == 0 {
		r.Text = "(code of no line)"
	}
	if n >= 1 && n <= len(source) {
		r.Text = visible(source[n-1])
	}
	return r
}

// counted is the row of a line that counts, less its text.
func counted(l *simt.LineCount, lanes int, most uint64) row {
	r := row{Line: l.Loc.Line, Own: raw(&l.LineCounters), Total: raw(&l.Total), Heat: fmt.Sprintf("%.3f", float64(l.Warps)/float64(most))}
	for i, n := range r.Own {
		cell := fmt.Sprint(n)
		if i == 1 {
			cell = fmt.Sprintf("%.0f%%", part(n, l.Warps*uint64(lanes)))
		}
		if n == 0 {
			cell = ""
		}
		r.Cells = append(r.Cells, cell)
	}
	return r
}

// raw are the counters in the order of columns.
func raw(c *simt.LineCounters) []uint64 {
	return []uint64{c.Warps, c.Lanes, c.Sectors, c.SectorsNeeded, c.Wavefronts, c.WavefrontsNeeded, c.FLOPs, c.Divergent}
}

// visible writes out what would not show, or would reorder what does.
func visible(text string) string {
	hidden := func(r rune) bool {
		return r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) || r == unicode.ReplacementChar
	}
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
