package sdk_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// forked is a backend with two final stages, of which the second is made of the first
// stage's artifact.
type forked struct{ staged }

func (forked) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	add := func(letter string) func(context.Context, *sdk.StageInput) ([]byte, error) {
		return func(_ context.Context, in *sdk.StageInput) ([]byte, error) {
			if letter == "e" && len(in.Data) > 2 {
				return nil, in.Errorf(in.Range(0, 1), "too long")
			}
			return append(slices.Clone(in.Data), letter...), nil
		}
	}
	return []sdk.Stage{
		{Name: "a", Run: add("a")},
		{Name: "b", Run: add("b")},
		{Name: "c", Run: add("c")},
		{Name: "d", From: "a", Run: add("d")},
		{Name: "e", Run: add("e")},
	}, nil
}

// TestForkedStages: those stages run, in order, that what is wanted is made of.
func TestForkedStages(t *testing.T) {
	c := sdktest.Start(t, forked{})
	for _, tt := range []struct{ first, last, want, got string }{
		{"a", "c", "", "abc c"},
		{"a", "d", "", "ad d"},
		{"a", "d", "c a", "a a, abc c, ad d"},
		{"b", "d", "b", "b b, d d"},
		{"d", "d", "", "d d"},
		{"b", "b", "", "b b"},
		{"c", "d", "", "not all of d are made of what the stage c takes"},
		{"d", "e", "b", `the stage "b" is not among those to run, d to e`},
		{"c", "b", "", `there are no stages "c" to "b"`},
	} {
		resp, err := c.RunStages(t.Context(), sdk.RunStagesRequest{First: tt.first, Last: tt.last, Want: strings.Fields(tt.want), InputName: "k.x"})
		var got []string
		for _, a := range resp.Artifacts {
			got = append(got, string(a.Data)+" "+a.Stage)
		}
		text := strings.Join(got, ", ")
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, tt.got) {
			t.Errorf("%s to %s and %q: %s, want %s", tt.first, tt.last, tt.want, text, tt.got)
		}
	}
	// The text that a mistake is about comes back, of the stage that it was taken from.
	resp, err := c.RunStages(t.Context(), sdk.RunStagesRequest{First: "a", Last: "e", Input: []byte("x"), InputName: "k.x"})
	if err == nil || !strings.Contains(err.Error(), "k.d:1:1: ") || string(resp.Artifact("d")) != "xad" {
		t.Errorf("%v, %q", err, resp.Artifact("d"))
	}
}

func TestStageOrder(t *testing.T) {
	stages, err := forked{}.AddStages(t.Context(), sdk.AddStagesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[int][]int{-1: {0, 1, 2, 3, 4}, 0: {1, 2, 3, 4}, 1: {2}, 2: nil, 3: {4}} {
		if got := sdk.StagesAfter(stages, given); !slices.Equal(got, want) {
			t.Errorf("after %d come %d, want %d", given, got, want)
		}
	}
	if b := sdk.StageBefore([]sdk.Stage{{Name: "a", From: "b"}, {Name: "b"}}, 0); b != -1 {
		t.Errorf("a stage takes what a later one makes, %d", b)
	}
}
