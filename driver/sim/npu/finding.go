package npu

import (
	"fmt"
	"strings"
)

// Kind is a kind of finding.
type Kind string

// The kinds.
const (
	OutOfBounds     Kind = "out of bounds"
	Unwritten       Kind = "never written"
	MissingFlag     Kind = "missing flag"
	FlagTwice       Kind = "flag set twice"
	FlagLeft        Kind = "flag left"
	Deadlock        Kind = "deadlock"
	Conflict        Kind = "order not defined"
	WrongShape      Kind = "wrong shape"
	Misaligned      Kind = "misaligned"
	AssertionFailed Kind = "assertion failed"
	TooLong         Kind = "too many instructions"
)

// Finding is something that a program does wrong.
type Finding struct {
	Kind    Kind
	Message string
	Loc     Loc
	// Text is the instruction, in line Line of the file.
	Text string
	Line int
	// Other is the place of a second instruction, where OtherText is not empty.
	Other     Loc
	OtherText string
	// Core is the core's number; Program is that of the program in the grid, of programs
	// that are started for each place in the grid, else -1.
	Core, Program int
	// Count is how often it was found there.
	Count int
}

// findings are those of a launch: one for a kind and instruction.
type findings struct {
	list []*Finding
	seen map[findingKey]*Finding
}

type findingKey struct {
	kind Kind
	inst int
}

// report adds a finding. It returns it where it is the first of its kind and place, whose
// message it keeps.
func (c *core) report(in *inst, kind Kind, format string, args ...any) *Finding {
	s := &c.run.found
	key := findingKey{kind, in.index}
	if f := s.seen[key]; f != nil {
		f.Count++
		return nil
	}
	f := &Finding{
		Kind: kind, Message: fmt.Sprintf(format, args...), Loc: in.loc, Text: c.p.textOf(in), Line: in.line,
		Core: c.id, Program: -1, Count: 1,
	}
	if c.p.Core == GridProgram {
		f.Program = c.number
	}
	if s.seen == nil {
		s.seen = map[findingKey]*Finding{}
	}
	s.seen[key] = f
	s.list = append(s.list, f)
	return f
}

// stop reports a fault with which the program cannot go on.
func (c *core) stop(in *inst, kind Kind, format string, args ...any) {
	c.report(in, kind, format, args...)
	c.stopped, c.run.stopped = true, true
}

// textOf is an instruction as the file has it, without its place.
func (p *Program) textOf(in *inst) string {
	text, _, _ := strings.Cut(p.text[in.line-1], " @")
	return strings.TrimSpace(text)
}
