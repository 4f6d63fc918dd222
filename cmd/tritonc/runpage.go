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
	counted, ok := report.(*simt.Report)
	if !ok {
		return nil
	}
	sizes := make([]string, len(r.grid))
	for i, n := range r.grid {
		sizes[i] = strconv.Itoa(n)
	}
	p := page.Page{
		Facts: []page.Fact{
			{Name: "device", Text: dev.Properties().Name},
			{Name: "grid", Text: strings.Join(sizes, " × ") + " blocks of " + diag.Count(counted.Threads, "thread")},
		},
		Sources: r.sources.text,
	}
	if r.signature != "" {
		p.Facts = append(p.Facts, page.Fact{Name: "signature", Text: r.signature})
	}
	var b bytes.Buffer
	if err := page.Write(&b, counted, p); err != nil {
		return err
	}
	dir, base := filepath.Split(r.flags.html)
	if dir == "" {
		dir = "."
	}
	if err := writeFiles(dir, []outFile{{base, b.Bytes()}}); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "the counters are in %s\n", r.flags.html)
	return nil
}
