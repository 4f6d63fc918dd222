package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/sim/npu"
	"github.com/tritonc/tritonc/driver/sim/page"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// sources are texts of files by their names in line information.
type sources struct {
	mu   sync.Mutex
	text map[string]string
}

func (s *sources) add(src *core.Source) {
	name := src.Name
	if name == "" {
		name = filepath.Base(src.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == nil {
		s.text = map[string]string{}
	}
	s.text[name] = string(src.Text)
}

// recordSources keeps the text of the kernel's file and of those that it imports.
func (r *runner) recordSources() {
	r.sources.add(r.src)
	find := r.src.Import
	if find == nil {
		return
	}
	r.src.Import = func(module string) (*core.Source, error) {
		src, err := find(module)
		if src != nil {
			r.sources.add(src)
		}
		return src, err
	}
}

// writePage is --html.
func (r *runner) writePage(report driver.Report, dev driver.Device) error {
	sizes := make([]string, len(r.grid))
	for i, n := range r.grid {
		sizes[i] = strconv.Itoa(n)
	}
	grid := page.Fact{Name: "grid", Text: strings.Join(sizes, " × ") + " programs"}
	if counted, ok := report.(*simt.Report); ok {
		grid.Text = strings.Join(sizes, " × ") + " blocks of " + diag.Count(counted.Threads, "thread")
	}
	p := page.Page{Facts: []page.Fact{{Name: "device", Text: dev.Properties().Name}, grid}, Sources: r.sources.text}
	if r.signature != "" {
		p.Facts = append(p.Facts, page.Fact{Name: "signature", Text: r.signature})
	}
	var b bytes.Buffer
	var err error
	switch counted := report.(type) {
	case *simt.Report:
		err = page.Write(&b, counted, p)
	case *npu.Report:
		err = page.WriteNPU(&b, counted, p)
	default:
		err = fmt.Errorf("--html: there is no page of what the %s counts", dev.Properties().Name)
	}
	if err != nil {
		return err
	}
	return r.writePicture(r.flags.html, b.Bytes(), "the counters are")
}

// writeTimeline is --timeline.
func (r *runner) writeTimeline(report driver.Report) error {
	t, ok := report.(driver.Timeline)
	if !ok {
		return nil // the device was asked before, and launched nothing that it could draw
	}
	var b bytes.Buffer
	if err := t.WriteTimeline(&b); err != nil {
		return err
	}
	return r.writePicture(r.flags.timeline, b.Bytes(), "the timeline is")
}

// writePicture writes a file and says so.
func (r *runner) writePicture(path string, data []byte, what string) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if err := writeFiles(dir, []outFile{{base, data}}); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s in %s\n", what, path)
	return nil
}
