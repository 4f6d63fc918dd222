package backend

import (
	"strings"
	"testing"
)

// TestFork: a stage takes what one before it makes.
func TestFork(t *testing.T) {
	for from, want := range map[string]string{
		"": "", "a": "", "b": "",
		"c": "the stage c takes what c makes", "d": "the stage c takes what d makes",
	} {
		p := &Plan{Stages: []Stage{{Name: "a"}, {Name: "b"}, {Name: "c", From: from}, {Name: "d"}}}
		if err := p.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("from %q: %v, want %q", from, err, want)
		}
	}
}
