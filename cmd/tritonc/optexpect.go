package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// An announced diagnostic is one that a comment in a file announces, in MLIR's
// notation: expected-error@+1 {{text}}.
type announced struct {
	severity diag.Severity
	line     int            // 0: of no line
	text     string         // that the message contains
	pattern  *regexp.Regexp // that it matches, instead
	at       int            // the line of the comment
	met      bool
}

var expectedComment = lazily(`expected-(error|note|remark|warning)(-re)? *(@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}$`)

// announcements reads the comments of a text. Several may stand in lines of their own
// above or below the one line that they are about.
func announcements(name string, src []byte) ([]*announced, error) {
	var all, below []*announced
	number, last := 0, 0 // last is the last line without such a comment
	for line := range strings.Lines(string(src)) {
		number++
		m := expectedComment().FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		if m == nil {
			last = number
			for _, e := range below {
				e.line = number
			}
			below = nil
			continue
		}
		e := &announced{severity: severities[m[1]], line: number, text: m[5], at: number}
		if m[2] != "" {
			p, err := expectedPattern(m[5])
			if err != nil {
				return nil, diag.Errorf(diag.Pos{File: name, Line: number}, "%v", err).WithSource(string(src))
			}
			e.pattern = p
		}
		switch where := m[4]; where {
		case "":
		case "unknown":
			e.line = 0
		case "above":
			e.line = last
		case "below":
			below = append(below, e)
		default:
			offset, err := strconv.Atoi(where)
			if err != nil {
				return nil, diag.Errorf(diag.Pos{File: name, Line: number}, "%s is not a number of lines", where).WithSource(string(src))
			}
			e.line += offset
		}
		all = append(all, e)
	}
	return all, nil
}

var severities = map[string]diag.Severity{
	"error": diag.Error, "warning": diag.Warning, "note": diag.Note, "remark": diag.Remark,
}

// expectedPattern makes a regular expression of text that has some in {{braces}}.
func expectedPattern(text string) (*regexp.Regexp, error) {
	var b strings.Builder
	for text != "" {
		plain, rest, ok := strings.Cut(text, "{{")
		b.WriteString(regexp.QuoteMeta(plain))
		if !ok {
			break
		}
		expr, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, fmt.Errorf("found start of regex with no end '}}'")
		}
		b.WriteString("(" + expr + ")")
		text = after
	}
	return regexp.Compile(b.String())
}

// checkExpected compares diagnostics with those that comments announce, and returns
// what differs. With onlyExpected diagnostics that nothing announces may come.
func checkExpected(name string, src []byte, got diag.List, onlyExpected bool) error {
	expected, err := announcements(name, src)
	if err != nil {
		return err
	}
	var wrong diag.List
	for _, d := range flatNotes(got) {
		if !meets(expected, d) && !onlyExpected {
			w := diag.Errorf(d.Pos, "unexpected %s: %s", d.Severity, d.Message)
			w.Line, w.EndCol = d.Line, d.EndCol
			wrong = append(wrong, w)
		}
	}
	for _, e := range expected {
		if !e.met {
			d := diag.Errorf(diag.Pos{File: name, Line: e.at}, "expected %s \"%s\" was not produced", e.severity, e.text)
			wrong = append(wrong, d.WithSource(string(src)))
		}
	}
	return wrong.Err()
}

// meets marks the first announced diagnostic that d is.
func meets(expected []*announced, d *diag.Diagnostic) bool {
	for _, e := range expected {
		switch {
		case e.met || e.severity != d.Severity || e.line != d.Pos.Line:
		case e.pattern != nil && e.pattern.MatchString(d.Message), e.pattern == nil && strings.Contains(d.Message, e.text):
			e.met = true
			return true
		}
	}
	return false
}

// flatNotes is a list with the notes of each diagnostic after it.
func flatNotes(list diag.List) diag.List {
	var flat diag.List
	for _, d := range list {
		flat = append(flat, d)
		for i := range d.Notes {
			flat = append(flat, &d.Notes[i])
		}
	}
	return flat
}
