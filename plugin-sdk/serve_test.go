package sdk

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// described is a Backend that only describes itself.
type described struct{ Backend }

func (described) Describe(context.Context) (Facts, error) {
	return Facts{Name: "d", Version: "7", Targets: []TargetFacts{{Pattern: "x:1"}, {Pattern: "x:2"}}}, nil
}

// TestNameOf: a backend that does not say its name has that of its file.
func TestNameOf(t *testing.T) {
	for file, want := range map[string]string{
		"/usr/bin/tritonc-backend-acme": "acme", "tritonc-backend-v.exe": "v", "/x/tritonc": "", "sdk.test": "",
	} {
		if got := nameOf(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestByHand(t *testing.T) {
	tests := []struct {
		args []string
		code int
		want string
	}{
		{nil, 0, "is the d backend (version 7) of the Triton compiler tritonc, for the targets x:1 x:2."},
		{[]string{"--help"}, 0, "TRITONC_BACKEND_PATH"},
		{[]string{"--describe"}, 0, `"name": "d"`},
		{[]string{"compile"}, 2, `unknown argument "compile"`},
	}
	for _, tt := range tests {
		var stdout, stderr strings.Builder
		code := (&Plugin{Backend: described{}}).byHand(tt.args, &stdout, &stderr)
		if code != tt.code || !strings.Contains(stdout.String()+stderr.String(), tt.want) {
			t.Errorf("%v: exit code %d, %q, %q", tt.args, code, &stdout, &stderr)
		}
	}
	var out strings.Builder
	(&Plugin{Backend: described{}}).byHand([]string{"--describe"}, &out, &out)
	var facts Facts
	if err := json.Unmarshal([]byte(out.String()), &facts); err != nil || len(facts.Targets) != 2 {
		t.Errorf("--describe printed no facts: %v, %+v", err, facts)
	}
}
