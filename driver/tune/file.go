package tune

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// fileVersion is that of the format.
const fileVersion = 1

// File is what was measured: JSON, to be kept beside the kernel and shared.
type File struct {
	Version int      `json:"version"`
	Entries []*Entry `json:"entries"`
}

// Entry are the times of one kernel for one key on one device.
type Entry struct {
	Kernel string `json:"kernel"`
	// Source is a hash of the kernel's file.
	Source string `json:"source"`
	Key    Key    `json:"key"`
	// Device is the name of the device, Target what the code was compiled for.
	Device string `json:"device"`
	Target string `json:"target"`
	// Measure says how: do_bench, do_bench_cudagraph, or model.
	Measure string `json:"measure"`
	// Tritonc and Backend are the versions that compiled it.
	Tritonc string `json:"tritonc,omitempty"`
	Backend string `json:"backend,omitempty"`
	// Configs that were tried, the fastest first, and those that failed last.
	Configs []Measured `json:"configs"`
}

// Measured is a configuration with its times, or the reason why it has none.
type Measured struct {
	Config Config `json:"config"`
	// Time is the median, Low and High the 20th and the 80th percentile, in
	// microseconds.
	Time float64 `json:"us,omitempty"`
	Low  float64 `json:"us_p20,omitempty"`
	High float64 `json:"us_p80,omitempty"`
	// Error is why the configuration is infinitely slow.
	Error string `json:"error,omitempty"`
}

// OK reports whether it has a time.
func (m *Measured) OK() bool { return m.Error == "" }

// Duration is the time.
func (m *Measured) Duration() time.Duration {
	return time.Duration(math.Round(m.Time * float64(time.Microsecond)))
}

// compare orders by the times as Triton does, and failures last.
func (m *Measured) compare(o *Measured) int {
	switch {
	case m.OK() != o.OK():
		if m.OK() {
			return -1
		}
		return 1
	case !m.OK():
		return 0
	}
	return cmp.Or(cmp.Compare(m.Time, o.Time), cmp.Compare(m.Low, o.Low), cmp.Compare(m.High, o.High))
}

// Best is the fastest configuration, nil where all failed.
func (e *Entry) Best() *Measured {
	if len(e.Configs) == 0 || !e.Configs[0].OK() {
		return nil
	}
	return &e.Configs[0]
}

func (e *Entry) sort() {
	slices.SortStableFunc(e.Configs, func(a, b Measured) int { return a.compare(&b) })
}

// same reports whether two entries tell of the same.
func (e *Entry) same(o *Entry) bool {
	return e.Kernel == o.Kernel && e.Source == o.Source && e.Key.String() == o.Key.String() &&
		e.Device == o.Device && e.Target == o.Target && e.Measure == o.Measure
}

// Read reads a file; name is for the error.
func Read(name string, text []byte) (*File, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	f := &File{}
	err := d.Decode(f)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends too early")
	case err == nil && f.Version != fileVersion:
		err = fmt.Errorf("its version is %d, and this tritonc reads version %d", f.Version, fileVersion)
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a file of tritonc tune: %w", name, err)
	}
	return f, nil
}

func (f *File) check() error {
	for i, e := range f.Entries {
		if e == nil || e.Kernel == "" || len(e.Configs) == 0 {
			return fmt.Errorf("entry %d has no kernel or no configurations", i)
		}
		for k := range e.Configs {
			if m := &e.Configs[k]; m.OK() && !(m.Time > 0) || len(m.Config) == 0 && m.Config == nil {
				return fmt.Errorf("configuration %d of entry %d has neither a time nor an error", k, i)
			}
		}
		e.sort()
	}
	return nil
}

// Add merges entries into the file: what they tell of goes before what is there.
func (f *File) Add(entries ...*Entry) {
	f.Version = fileVersion
	for _, e := range entries {
		at := slices.IndexFunc(f.Entries, e.same)
		if at < 0 {
			f.Entries = append(f.Entries, e)
			continue
		}
		merged := *e
		merged.Configs = slices.Clone(e.Configs)
		for _, m := range f.Entries[at].Configs {
			if !slices.ContainsFunc(e.Configs, func(o Measured) bool { return o.Config.Same(m.Config) }) {
				merged.Configs = append(merged.Configs, m)
			}
		}
		merged.sort()
		f.Entries[at] = &merged
	}
	slices.SortStableFunc(f.Entries, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Device, b.Device),
			cmp.Compare(a.Target, b.Target), cmp.Compare(a.Measure, b.Measure), cmp.Compare(a.Source, b.Source))
	})
}

// Text is the file: the same for the same content.
func (f *File) Text() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(f)
	return b.Bytes(), err
}

// Has reports whether the file has times of a kernel; a nil File has none.
func (f *File) Has(kernel string) bool {
	return f != nil && slices.ContainsFunc(f.Entries, func(e *Entry) bool { return e.Kernel == kernel })
}

// Want says of which launch the times are wanted.
type Want struct {
	Kernel, Source string
	// Key of the launch; nil for that of any.
	Key Key
	// Device by name; "" for any of the target.
	Device, Target string
}

// Mismatch is that a file has no times of what is wanted.
type Mismatch struct {
	// Text says what it has instead.
	Text string
	// Devices of which it has the times, where it is for want of the device alone.
	Devices []string
}

func (e *Mismatch) Error() string { return e.Text }

// Find returns the entries of what is wanted. The error is a *Mismatch.
func (f *File) Find(w Want) ([]*Entry, error) {
	left := f.Entries
	keep := func(ok func(e *Entry) bool, have func(e *Entry) string, format string, args ...any) *Mismatch {
		var kept []*Entry
		var others []string
		for _, e := range left {
			if ok(e) {
				kept = append(kept, e)
			} else if h := have(e); !slices.Contains(others, h) {
				others = append(others, h)
			}
		}
		if len(kept) == 0 {
			return &Mismatch{Text: fmt.Sprintf(format, append(args, strings.Join(others, ", "))...)}
		}
		left = kept
		return nil
	}
	if len(left) == 0 {
		return nil, &Mismatch{Text: "it has no times at all"}
	}
	if err := keep(func(e *Entry) bool { return e.Kernel == w.Kernel }, func(e *Entry) string { return "'" + e.Kernel + "'" },
		"it has no times of '%s', but of %s", w.Kernel); err != nil {
		return nil, err
	}
	if err := keep(func(e *Entry) bool { return e.Source == w.Source }, func(e *Entry) string { return short(e.Source) },
		"its times of '%s' are of another version of the kernel's file, which is %s now and was %s", w.Kernel, short(w.Source)); err != nil {
		return nil, err
	}
	if err := keep(func(e *Entry) bool { return e.Target == w.Target }, func(e *Entry) string { return e.Target },
		"its times of '%s' are not of %s, but of %s", w.Kernel, w.Target); err != nil {
		return nil, err
	}
	if w.Device != "" {
		var devices []string
		for _, e := range left {
			if !slices.Contains(devices, e.Device) {
				devices = append(devices, e.Device)
			}
		}
		if err := keep(func(e *Entry) bool { return e.Device == w.Device }, func(e *Entry) string { return e.Device },
			"its times of '%s' are not of the device %s, but of %s", w.Kernel, w.Device); err != nil {
			err.Devices = devices
			return nil, err
		}
	}
	if w.Key != nil {
		if err := keep(func(e *Entry) bool { return e.Key.String() == w.Key.String() }, func(e *Entry) string { return e.Key.String() },
			"it has no times of '%s' for %s, but for %s", w.Kernel, w.Key); err != nil {
			return nil, err
		}
	}
	return left, nil
}

func short(hash string) string { return hash[:min(len(hash), 8)] }
