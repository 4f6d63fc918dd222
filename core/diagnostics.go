package core

import (
	"errors"
	"fmt"
	"path"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// warn keeps a backend's messages that do not end the compile.
func (t *trip) warn(list []sdk.Diagnostic) {
	for _, d := range wire.ListFromSDK(list) {
		t.localize(d)
		t.warnings = append(t.warnings, d)
	}
}

// explain readies the error of a backend's call for the user.
func (t *trip) explain(err error) error {
	for _, d := range diag.All(err) {
		t.localize(d)
	}
	return err
}

// inputName is the file name of the input of the first stage that runs: the
// user's own, or for a Python file that which --emit source writes.
func (t *trip) inputName() string {
	if t.src.IsPython() {
		return t.artifactName(SourceStage)
	}
	return t.src.name()
}

// artifactName is the file name of a stage's artifact.
func (t *trip) artifactName(ending string) string {
	return fileStem(t.name, t.src.Variant) + "." + ending
}

// localize names the file in d as the user knows it, adds the marked line, and
// says what the file is if the user has not written it. A backend names Python
// files as locations do, and the texts of stages by inputName and artifactName;
// a place without a file is in the input.
func (t *trip) localize(d *diag.Diagnostic) {
	if d.Pos.File == "" && d.Pos.Line > 0 && t.input != nil {
		d.Pos.File = t.inputName()
	}
	made := t.place(d)
	for i := range d.Notes {
		n := &d.Notes[i]
		t.localize(n)
	}
	if made != "" {
		d.Notes = append(d.Notes, diag.Diagnostic{Severity: diag.Note, Message: made})
	}
}

// place is localize for d alone. It returns what the file is, for a text that a
// stage has made.
func (t *trip) place(d *diag.Diagnostic) (made string) {
	name := t.src.name()
	switch file := d.Pos.File; {
	case file == "":
	case t.input != nil && file == t.inputName():
		if !t.src.IsPython() {
			d.Pos.File = t.src.Path
		}
		d.WithSource(string(t.input))
		if from := t.origin(d.Pos.Line); from != nil {
			t.place(from)
			d.Notes = append(d.Notes, *from)
		}
		if t.src.IsPython() {
			return fmt.Sprintf("%s is what the front end made of %s; --emit %s writes it", file, t.src.Path, SourceStage)
		}
	case file == name || file == path.Base(name):
		d.Pos.File = t.src.Path
		d.WithSource(string(t.src.Text))
	case t.src.IsPython() && t.placeInImport(d):
	default:
		for _, s := range t.plan.run {
			if a := t.result.Artifact(s.Name); a != nil && !s.Binary && file == t.artifactName(s.Ending) {
				d.WithSource(string(a))
				return fmt.Sprintf("%s is the kernel after the stage %s; --emit %s writes it", file, s.Name, s.Name)
			}
		}
	}
	return ""
}

// placeInImport finds d's file among those that the Python file imports.
func (t *trip) placeInImport(d *diag.Diagnostic) bool {
	p := t.src.python
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.imported {
		if f := known.file; f != nil && f.Name() == d.Pos.File {
			d.Pos.File = f.Path()
			d.WithSource(f.Source())
			return true
		}
	}
	return false
}

// origin is a note with the place that a line of the input came from; nil if it
// does not say so.
func (t *trip) origin(line int) *diag.Diagnostic {
	if t.inputIR == nil {
		c := dialect.NewContext()
		c.SetLoader(t.dialect)
		file, err := text.ParseFile(c, t.inputName(), t.input)
		if err != nil {
			return nil //nolint:nilerr // it is not MLIR, or that is what the message is about
		}
		t.inputIR = file
	}
	op := t.inputIR.OpAt(line)
	if op == nil {
		return nil
	}
	at := ir.FileLocOf(op.Loc())
	if at == nil {
		return nil
	}
	return &diag.Diagnostic{
		Severity: diag.Note, Message: "it comes from here",
		Pos: diag.Pos{File: at.File, Line: at.Line, Col: at.Col + 1},
	}
}

// dialect loads one that the backend declares.
func (t *trip) dialect(name string) (*ir.Dialect, error) {
	dialects, err := t.loadDialects()
	if err != nil {
		return nil, err
	}
	for _, d := range dialects {
		if d.Name == name {
			return decl.Load([]byte(d.Declaration), dialect.All()...)
		}
	}
	return nil, fmt.Errorf("the backend declares no dialect '%s'", name)
}

// overMemory makes a diagnostic about the file of a compile that took too much
// memory; other errors pass.
func overMemory(path string, err error) error {
	var over *work.OverMemory
	if !errors.As(err, &over) {
		return err
	}
	return diag.Errorf(diag.Pos{File: path}, "%v", over).WithHelp("%s", work.OverMemoryHelp)
}
