package sdk

import (
	"errors"
	"strings"
	"testing"
)

var testSpecs = []OptionSpec{
	{Name: "num_warps", Type: Int, Default: "4", Doc: "warps of a block"},
	{Name: "maxnreg", Type: Int, Default: "null", Doc: "registers"},
	{Name: "debug", Type: Bool, Default: "false", Doc: "asserts"},
	{Name: "precision", Type: String, Default: `"tf32"`, Doc: "of dots", Choices: []string{"tf32", "ieee"}},
	{Name: "kinds", Type: StringList, Default: `["a"]`, Doc: "kinds", Choices: []string{"a", "b"}},
	{Name: "libs", Type: StringMap, Default: "{}", Doc: "libraries"},
	{Name: "arch", Type: String, Default: `"x1"`, Doc: "architecture", Derived: true},
}

func TestParseOptions(t *testing.T) {
	tests := []struct{ given, want string }{
		{"", `{"arch":"x1","debug":false,"kinds":["a"],"libs":{},"maxnreg":null,"num_warps":4,"precision":"tf32"}`},
		{
			`{"num_warps":8,"maxnreg":64,"debug":true,"precision":"ieee","kinds":["b","a"],"libs":{"m":"/m<.bc"}}`,
			`{"arch":"x1","debug":true,"kinds":["b","a"],"libs":{"m":"/m<.bc"},"maxnreg":64,"num_warps":8,"precision":"ieee"}`,
		},
		{
			`{"num_warps":"8","maxnreg":"None","debug":"True","kinds":"b, a","libs":"m=/m.bc,n=/n.bc"}`,
			`{"arch":"x1","debug":true,"kinds":["b","a"],"libs":{"m":"/m.bc","n":"/n.bc"},"maxnreg":null,"num_warps":8,"precision":"tf32"}`,
		},
		{`{"kinds":[],"libs":"","debug":1}`, `{"arch":"x1","debug":true,"kinds":[],"libs":{},"maxnreg":null,"num_warps":4,"precision":"tf32"}`},
	}
	for _, tt := range tests {
		got, err := ParseOptions(testSpecs, tt.given)
		if err != nil {
			t.Errorf("%s: %v", tt.given, err)
			continue
		}
		if got.JSON() != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.given, got.JSON(), tt.want)
		}
		again, err := ParseOptions(testSpecs, strings.Replace(got.JSON(), `"arch":"x1",`, "", 1))
		if err != nil || again.JSON() != got.JSON() {
			t.Errorf("%s is not canonical: %v, %v", got.JSON(), again, err)
		}
	}
}

func TestParseOptionsMistakes(t *testing.T) {
	tests := []struct{ given, message, help string }{
		{`[]`, "not a JSON object", ""},
		{`{"num_warps":"four"}`, `option num_warps: "four" is not a whole number`, "warps of a block (default 4)"},
		{`{"num_warps":1.5}`, "1.5 is not a whole number", ""},
		{`{"num_warps":null}`, "cannot be null", ""},
		{`{"num_warps":true}`, "true is not a whole number", ""},
		{`{"debug":"maybe"}`, "is not true or false", ""},
		{`{"debug":2}`, "is not true or false", ""},
		{`{"precision":"fp8"}`, `"fp8" is none of tf32, ieee`, ""},
		{`{"precision":"tf23"}`, `"tf23" is none of tf32, ieee; did you mean tf32?`, ""},
		{`{"precision":3}`, "3 is not a string", ""},
		{`{"kinds":"c"}`, `"c" is none of a, b`, ""},
		{`{"kinds":[1]}`, "not a list of strings", ""},
		{`{"libs":"m"}`, `"m" is not of the form key=value`, ""},
		{`{"libs":{"m":1}}`, "not an object of strings", ""},
		{`{"num_warsp":4}`, `unknown option "num_warsp"`, "did you mean num_warps? the options are: num_warps, maxnreg, debug, precision, kinds, libs"},
		{`{"blocks":4}`, `unknown option "blocks"`, "the options are: num_warps"},
		{`{"arch":"x2"}`, "derived from the target", ""},
	}
	for _, tt := range tests {
		_, err := ParseOptions(testSpecs, tt.given)
		l := diagnosticsOf(err)
		if len(l) != 1 {
			t.Errorf("%s: %v, want one diagnostic", tt.given, err)
			continue
		}
		if !strings.Contains(l[0].Message, tt.message) || !strings.Contains(l[0].Help, tt.help) {
			t.Errorf("%s: %q, help %q", tt.given, l[0].Message, l[0].Help)
		}
	}
	_, err := ParseOptions(testSpecs, `{"b":1,"a":1,"debug":7}`)
	var l Diagnostics
	if !errors.As(err, &l) || len(l) != 3 || !strings.Contains(l[1].Message, `"a"`) {
		t.Errorf("several mistakes: %v", err)
	}
}

func TestParseTarget(t *testing.T) {
	for _, s := range []string{"cuda:90", "cuda:90:32", "hip:gfx942:64"} {
		target, err := ParseTarget(s)
		if err != nil || target.String() != s {
			t.Errorf("%s: %v, %v", s, target, err)
		}
	}
	for _, s := range []string{"", "cuda", "cuda:", ":90", "cuda:90:x", "cuda:90:0", "cuda:90:32:1"} {
		if target, err := ParseTarget(s); err == nil {
			t.Errorf("%q gave %v", s, target)
		}
	}
}

func TestFactsFor(t *testing.T) {
	f := Facts{Name: "f", Targets: []TargetFacts{
		{Pattern: "cuda:80", WarpSize: 32, MinDotSizes: []MinDotSize{{Bits: 8, M: 1, N: 1, K: 32}, {M: 1, N: 1, K: 16}}},
		{Pattern: "hip:gfx9*", WarpSize: 64},
	}}
	if row, ok := f.For(Target{Backend: "hip", Arch: "gfx942"}); !ok || row.WarpSize != 64 {
		t.Errorf("gfx942: %v %v", row, ok)
	}
	if _, ok := f.For(Target{Backend: "cuda", Arch: "8"}); ok {
		t.Error("cuda:8 matches")
	}
	if _, _, k := f.Targets[0].MinDot(8); k != 32 {
		t.Errorf("least K of an 8-bit dot is %d", k)
	}
	if _, _, k := f.Targets[0].MinDot(16); k != 16 {
		t.Errorf("least K of a 16-bit dot is %d", k)
	}
	if _, _, k := f.Targets[1].MinDot(16); k != 1 {
		t.Errorf("least K without a table is %d", k)
	}
}
