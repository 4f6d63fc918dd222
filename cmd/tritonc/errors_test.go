package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
)

func TestReport(t *testing.T) {
	place := diag.Pos{File: "k.py", Line: 3, Col: 2}
	wrong := diag.Errorf(place, "wrong").WithHelp("do this")
	tests := []struct {
		name string
		err  error
		code int
		want string
	}{
		{"none", nil, exitOK, ""},
		{"usage", usagef("no %s", "sense").withHelp("try -h"), exitUsage, "tritonc: no sense\n  help: try -h\n"},
		{"plain", fmt.Errorf("output: %w", errors.New("disk full")), exitError, "tritonc: error: output: disk full\n"},
		{"diagnostic", fmt.Errorf("wrapped: %w", wrong), exitError, "k.py:3:2: error: wrong\n  help: do this\n"},
		{"said once", errorList{wrong, wrong, errors.New("x"), errors.New("x")}, exitError, "k.py:3:2: error: wrong\n  help: do this\ntritonc: error: x\n"},
		{"interrupted", errorList{fmt.Errorf("call: %w", context.Canceled), context.Canceled}, exitError, "tritonc: interrupted\n"},
		{
			"control characters", &diag.Diagnostic{Pos: place, Message: "m", Line: "a\x1b[2J\x00\tb\u009b"}, exitError,
			"k.py:3:2: error: m\n    3 | a?[2J?\tb?\n      |  ^\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if code := (&reporter{w: &b, said: map[string]bool{}}).error(tt.err); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			if b.String() != tt.want {
				t.Errorf("got %q, want %q", b.String(), tt.want)
			}
		})
	}
}
