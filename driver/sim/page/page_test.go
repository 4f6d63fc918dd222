package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/sim/simt"
	"github.com/tritonc/tritonc/internal/golden"
)

// report is of a kernel with two lines in one file, one in another that has no text.
func report() *simt.Report {
	line := func(file string, n int, c simt.LineCounters, more uint64) simt.LineCount {
		total := c
		total.Warps += more
		total.Lanes += 32 * more
		return simt.LineCount{Loc: simt.Loc{File: file, Line: n}, LineCounters: c, Total: total}
	}
	return &simt.Report{
		Kernel: "k", Lanes: 32, Threads: 128, Shared: 64, Blocks: 4, Ran: 4,
		Counters: simt.Counters{WarpInstructions: 40, LaneInstructions: 1200, GlobalSectors: 96, GlobalSectorsNeeded: 12, SharedWavefronts: 6, SharedWavefrontsNeeded: 3, FLOPs: 640, DivergentBranches: 3},
		Estimate: &simt.Estimate{Time: 2500 * time.Nanosecond, Registers: 40, Exact: true, Resident: 3, Occupancy: 0.1875, Limit: "shared memory", Bound: "latency"},
		Roofline: &simt.Roofline{FLOPs: 640, Bytes: 3072, Unit: "f32", Peak: 19.5e12, Bandwidth: 1.5e12, Reached: 256e6},
		Lines: []simt.LineCount{
			line("k.py", 3, simt.LineCounters{Warps: 20, Lanes: 640, Sectors: 96, SectorsNeeded: 12}, 0),
			line("k.py", 40, simt.LineCounters{Warps: 10, Lanes: 240, Wavefronts: 6, WavefrontsNeeded: 3, Divergent: 3}, 10),
			line("lib.py", 7, simt.LineCounters{Warps: 10, Lanes: 320, FLOPs: 640}, 0),
		},
	}
}

func source(lines int) string {
	var b strings.Builder
	for range lines {
		b.WriteString("x = 1\n")
	}
	return b.String()
}

func render(t *testing.T, r *simt.Report, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPage: the whole page; look at a changed one in a browser.
func TestPage(t *testing.T) {
	golden.Run(t, "testdata", func(c *golden.Case) {
		c.Want("page.html", render(t, report(), Page{
			Facts:   []Fact{{"device", "simulated A100"}, {"grid", "4 × 1 × 1 blocks of 128 threads"}},
			Sources: map[string]string{"k.py": c.Input("k.py")},
		}))
	})
}

// elements parses a page, whose tags must be closed, and calls f for each element with
// what its text is.
func elements(t *testing.T, page string, f func(name string, attr []xml.Attr, text string)) {
	t.Helper()
	// The script is not XML.
	page = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "<script></script>")
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	type open struct {
		e    xml.StartElement
		text strings.Builder
	}
	var stack []*open
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		switch token := token.(type) {
		case xml.StartElement:
			stack = append(stack, &open{e: token.Copy()})
		case xml.CharData:
			if len(stack) > 0 {
				stack[len(stack)-1].text.Write(token)
			}
		case xml.EndElement:
			top := stack[len(stack)-1]
			if top.e.Name.Local != token.Name.Local {
				t.Fatalf("<%s> is closed by </%s>", top.e.Name.Local, token.Name.Local)
			}
			stack = stack[:len(stack)-1]
			f(top.e.Name.Local, top.e.Attr, top.text.String())
		}
	}
	if len(stack) > 0 {
		t.Fatalf("<%s> is never closed", stack[len(stack)-1].e.Name.Local)
	}
}

// hostile is text that would end every context it may stand in.
const hostile = `</script><script>alert(1)</script>"'><img src=x onerror=alert(1)><!-- {{.}} -->]]>&amp;` + "\u202e\x00\x1b[31m`${alert(1)}`"

func TestHostile(t *testing.T) {
	r := report()
	r.Kernel = hostile
	r.Lines[0].Loc.File, r.Lines[1].Loc.File = hostile, hostile
	r.Lines[2].Loc.File = "javascript:alert(1)"
	r.Findings = []*simt.Finding{{Message: hostile, Inst: hostile, Where: []simt.Loc{{File: hostile, Line: 1}}}}
	r.Estimate.Bound, r.Estimate.Limit, r.Roofline.Unit = hostile, hostile, hostile
	got := render(t, r, Page{
		Facts:   []Fact{{hostile, hostile}},
		Sources: map[string]string{hostile: strings.Repeat(hostile+"\n", 60), "javascript:alert(1)": hostile},
	})
	count := map[string]int{}
	shown := 0
	elements(t, got, func(name string, attr []xml.Attr, text string) {
		count[name]++
		for _, a := range attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" || a.Name.Local == "href" {
				t.Errorf("<%s %s=%q>", name, a.Name.Local, a.Value)
			}
		}
		if name == "td" && strings.Contains(text, "<img src=x onerror=alert(1)>") && strings.Contains(text, "⟨U+202E⟩⟨U+0000⟩⟨U+001B⟩[31m") {
			shown++
		}
	})
	if count["script"] != 1 || count["img"] != 0 {
		t.Errorf("elements %v", count)
	}
	if shown < 40 {
		t.Errorf("%d lines are shown as they are", shown)
	}
	if strings.ContainsAny(got, "\u202e\x00\x1b") {
		t.Error("characters that do not show are in the page")
	}
}

// TestNoNetwork: the page fetches nothing.
func TestNoNetwork(t *testing.T) {
	got := render(t, report(), Page{})
	for _, bad := range []string{"http:", "https:", "//cdn", "@import", "url(", "src=", "href=", "fetch(", "XMLHttp", "import("} {
		if strings.Contains(got, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(got, `content="default-src 'none';`) {
		t.Error("no policy forbids it")
	}
}

// TestRows holds which lines are shown, and what of them.
func TestRows(t *testing.T) {
	r := report()
	v := content(r, Page{Sources: map[string]string{"k.py": source(60)}})
	if len(v.Files) != 2 || v.Files[0].Name != "k.py" || !v.Files[1].Missing {
		t.Fatalf("files %+v", v.Files)
	}
	var lines, gaps []int
	for _, row := range v.Files[0].Rows {
		if row.Gap > 0 {
			gaps = append(gaps, row.Gap)
		} else {
			lines = append(lines, row.Line)
		}
	}
	if !slices.Equal(gaps, []int{12, 8}) || lines[0] != 1 || lines[14] != 15 || lines[15] != 28 || lines[len(lines)-1] != 52 {
		t.Errorf("lines %v, gaps %v", lines, gaps)
	}
	if slices.ContainsFunc(v.Facts, func(f Fact) bool { return f.Name == "counted" }) {
		t.Error("a launch that is counted whole says so")
	}
	r.Blocks = 400
	if s := summary(r); !slices.Contains(s, Fact{"counted", "4 of 400 blocks"}) {
		t.Errorf("facts %v", s)
	}
	row := v.Files[0].Rows[2]
	if row.Line != 3 || row.Heat != "1.000" || !slices.Equal(row.Cells, []string{"20", "100%", "96", "12", "", "", "", ""}) {
		t.Errorf("row %+v", row)
	}
	for _, row := range v.Files[0].Rows {
		if row.Line == 40 && (row.Cells[1] != "75%" || row.Total[0] != 20 || row.Own[0] != 10) {
			t.Errorf("row %+v", row)
		}
	}
	// A line that the text does not have, and a text without an end of line.
	r.Lines[1].Loc.Line = 1 << 30
	v = content(r, Page{Sources: map[string]string{"k.py": "a\nb\nc"}})
	if rows := v.Files[0].Rows; len(rows) > 3+1+context+1 || rows[2].Text != "c" {
		t.Errorf("rows %+v", rows)
	}
}

func TestPlot(t *testing.T) {
	for _, f := range []*simt.Roofline{
		{FLOPs: 1, Bytes: 1e12, Unit: "f32", Peak: 1e12, Bandwidth: 1e12, Reached: 1},
		{FLOPs: 1e18, Bytes: 1, Unit: "f16 dots", Peak: 989e12, Bandwidth: 4.8e12, Reached: 600e12},
		{FLOPs: 100, Bytes: 100, Unit: "f64", Peak: 9.7e12, Bandwidth: 1.5e12},
	} {
		p := plotOf(f)
		if p.X < p.Left || p.X > p.Width || p.Y < 0 || p.Y > p.Bottom || p.Reached < 0 || p.Reached > p.Bottom || len(p.Ticks) > 60 {
			t.Errorf("%s: %+v", f, p)
		}
		if (p.Reached == 0) != (f.Reached == 0) {
			t.Errorf("%s: reached is drawn at %d", f, p.Reached)
		}
	}
	if plotOf(nil) != nil {
		t.Error("nothing is drawn of nothing")
	}
}
