package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func full() *diag.Diagnostic {
	d := &diag.Diagnostic{
		Severity: diag.Warning, Pos: diag.Pos{File: "k.py", Line: 3, Col: 5}, EndCol: 9,
		Message: "wrong", Help: "do it right", Line: "x = y z",
	}
	return d.WithNote(diag.Pos{File: "j.py", Line: 1}, "called from here")
}

func TestThereAndBack(t *testing.T) {
	there := ToSDK(full())
	if diff := cmp.Diff(full(), FromSDK(&there)); diff != "" {
		t.Error(diff)
	}
	list := diag.List{full(), diag.Errorf(diag.Pos{}, "bad")}
	if diff := cmp.Diff(list, ListFromSDK(ListToSDK(list))); diff != "" {
		t.Error(diff)
	}
}

// TestErrors: what core returns in a backend is what core's caller sees in the
// host, and a backend's other troubles are told apart from it.
func TestErrors(t *testing.T) {
	if ErrorToSDK(nil) != nil || ErrorFromSDK("b", nil) != nil {
		t.Error("no error became one")
	}
	plain := errors.New("disk full")
	if ErrorToSDK(plain) != plain || ErrorFromSDK("b", plain) != plain {
		t.Error("an error that is not a diagnostic was changed")
	}
	err := ErrorFromSDK("b", ErrorToSDK(fmt.Errorf("wrapped: %w", full())))
	if diff := cmp.Diff(diag.List{full()}, diag.All(err)); diff != "" {
		t.Error(diff)
	}
	err = ErrorFromSDK("b", sdk.Diagnostics{
		{Kind: sdk.Environment, Message: "no ptxas", Help: "install it\nsomehow"}, {Kind: sdk.Environment, Message: "no llc", Notes: []sdk.Diagnostic{{Message: "asked for\nby a file"}}},
	})
	if want := "backend b: no ptxas\n  help: install it\n        somehow\nbackend b: no llc\n  note: asked for\n        by a file"; err == nil || err.Error() != want || diag.All(err) != nil {
		t.Errorf("got %v", err)
	}
	err = ErrorFromSDK("b", sdk.Diagnostics{
		{Message: "a warning of the user's"}, {Kind: sdk.Bug, Message: "BUG: index 3", Help: "report it", Notes: []sdk.Diagnostic{{Message: "stack"}}},
	})
	var bug *BugError
	if !errors.As(err, &bug) || !strings.Contains(err.Error(), "backend b: BUG: index 3\n  help: report it\nstack") {
		t.Errorf("got %v", err)
	}
}
