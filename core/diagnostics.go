package core

import (
	"path"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
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

// localize names the source in d as the user did and adds the marked line. A
// backend knows the file by its name in the locations.
func (t *trip) localize(d *diag.Diagnostic) {
	if name := t.src.name(); d.Pos.File != "" && (d.Pos.File == name || d.Pos.File == path.Base(name)) {
		d.Pos.File = t.src.Path
		d.WithSource(string(t.src.Text))
	}
	for i := range d.Notes {
		t.localize(&d.Notes[i])
	}
}
