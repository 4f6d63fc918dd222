package project

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/tritonc/tritonc/core/diag"
)

// entry is a value of a TOML file that is not a table, a table without values, or a
// line [a.b], whichever way the tables around it are written.
type entry struct {
	path   []word
	header bool // without a value: a line [a.b] or [[a.b]], or { }
	line   bool // one of the former
	array  bool // [[a.b]]
	value  word // of a value; its name is the text of a string, or a number as it is written
	text   bool // the value is a string
	number bool // the value is a whole number
	pin    span // of the value, or the inline table, whose key is the second word of path
	end    int  // the offset after the line that it ends in
}

// word is a piece of text and its place.
type word struct {
	name string
	pos  diag.Pos
	end  int // column after it
}

// span is a range of a file's bytes.
type span struct{ from, to int }

// errorf makes an error at the word.
func (w word) errorf(format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(w.pos, format, args...)
	d.EndCol = w.end
	return d
}

// parseEntries reads a TOML file.
func parseEntries(at string, text []byte) ([]entry, error) {
	var all map[string]any // go-toml says what is wrong with the file as TOML
	err := toml.Unmarshal(text, &all)
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &wrong):
		line, col := wrong.Position()
		return nil, diag.Errorf(diag.Pos{File: at, Line: line, Col: col}, "%s", strings.TrimPrefix(err.Error(), "toml: ")).WithSource(string(text))
	case err != nil:
		return nil, diag.Errorf(diag.Pos{File: at}, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	r := reader{file: at, text: text}
	r.parser.Reset(text)
	for r.parser.NextExpression() {
		r.expression(r.parser.Expression())
	}
	return r.entries, r.parser.Error()
}

// reader gathers the entries of a file.
type reader struct {
	file    string
	text    []byte
	parser  unstable.Parser
	table   []word // that lines are in
	entries []entry
}

func (r *reader) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		r.table = r.words(n.Key())
		last := n.Child()
		for last.Next() != nil {
			last = last.Next()
		}
		r.entries = append(r.entries, entry{
			path: r.table, header: true, line: true, array: n.Kind == unstable.ArrayTable,
			end: r.lineEnd(int(last.Raw.Offset + last.Raw.Length)),
		})
	case unstable.KeyValue:
		r.keyValue(r.table, n, span{}, r.lineEnd(int(n.Raw.Offset+n.Raw.Length)))
	}
}

// keyValue adds the entries of one line, or of one value of an inline table.
func (r *reader) keyValue(above []word, n *unstable.Node, pin span, end int) {
	value := n.Value()
	e := entry{path: slices.Concat(above, r.words(n.Key())), pin: pin, end: end}
	if len(e.path) == 2 {
		e.pin = span{int(value.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)}
	}
	if value.Kind != unstable.InlineTable {
		e.value, e.text, e.number = r.word(value), value.Kind == unstable.String, value.Kind == unstable.Integer
		r.entries = append(r.entries, e)
		return
	}
	before := len(r.entries)
	for it := value.Children(); it.Next(); {
		if it.Node().Kind == unstable.KeyValue {
			r.keyValue(e.path, it.Node(), e.pin, end)
		}
	}
	if len(r.entries) == before {
		e.header = true
		r.entries = append(r.entries, e)
	}
}

func (r *reader) words(it unstable.Iterator) []word {
	var out []word
	for it.Next() {
		out = append(out, r.word(it.Node()))
	}
	return out
}

func (r *reader) word(n *unstable.Node) word {
	s := r.parser.Shape(n.Raw)
	w := word{name: string(n.Data), pos: diag.Pos{File: r.file, Line: s.Start.Line, Col: s.Start.Column}}
	if s.End.Line == s.Start.Line {
		w.end = s.End.Column
	}
	return w
}

// lineEnd is the offset after the line that offset is in.
func (r *reader) lineEnd(offset int) int {
	i := bytes.IndexByte(r.text[offset:], '\n')
	if i < 0 {
		return len(r.text)
	}
	return offset + i + 1
}
