package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/manifest"
)

// WithPin returns the file's text with a pin of target in the place of the one that
// it has, or as a new line. The rest of the text stays as it is.
func (f *File) WithPin(target string, ref manifest.Ref) ([]byte, error) {
	value := fmt.Sprintf("%q", ref)
	if ref.SHA256 != "" {
		value = fmt.Sprintf("{ name = %q, version = %q, sha256 = %q }", ref.Name, ref.Version, ref.SHA256)
		if ref.Version == "" {
			value = fmt.Sprintf("{ name = %q, sha256 = %q }", ref.Name, ref.SHA256)
		}
	}
	line := fmt.Sprintf("%q = %s\n", target, value)
	byHand := func(pos diag.Pos) error {
		pos.File = f.Path
		return diag.Errorf(pos, "the pins are written in a form that is not edited here").
			WithHelp("in the table [%s] the line is\n  %s", backends, line)
	}
	text := string(f.text)
	for i := range f.entries {
		e := &f.entries[i]
		switch {
		case len(e.path) < 2 || e.path[0].name != backends || e.path[1].name != target:
		case e.pin == span{}:
			return nil, byHand(e.path[1].pos)
		default:
			return f.checked(text[:e.pin.from]+value+text[e.pin.to:], target, ref)
		}
	}
	last := f.lastOfTable()
	pins := slices.IndexFunc(f.entries, func(e entry) bool { return e.path[0].name == backends })
	switch {
	case last != nil:
		before := text[:last.end]
		if !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		text = before + line + text[last.end:]
	case pins >= 0:
		return nil, byHand(f.entries[pins].path[0].pos)
	default:
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if text != "" {
			text += "\n"
		}
		text += "[" + backends + "]\n" + line
	}
	return f.checked(text, target, ref)
}

// lastOfTable is the last entry of the table that begins with the line [backends].
func (f *File) lastOfTable() *entry {
	var last *entry
	for i := range f.entries {
		e := &f.entries[i]
		switch {
		case e.line && len(e.path) == 1 && e.path[0].name == backends:
			last = e
		case e.line && last != nil:
			return last
		case last != nil:
			last = e
		}
	}
	return last
}

// checked returns a text that has the pin.
func (f *File) checked(text, target string, ref manifest.Ref) ([]byte, error) {
	now, err := Parse(f.Path, []byte(text))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(now.Pins, func(p Pin) bool { return p.Target == target && p.Ref == ref }) {
		return nil, diag.Errorf(diag.Pos{File: f.Path}, "the pin of %s cannot be written", target)
	}
	return []byte(text), nil
}
