package plugin

import (
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// TestAnswers: what one process answered is not another's, and how much is kept is bounded.
func TestAnswers(t *testing.T) {
	var a answers
	first, second := &host.Client{}, &host.Client{}
	for i, tt := range []struct {
		c      *host.Client
		before any // the answer that is kept to the question of the row
		q      string
		answer any
	}{
		{first, nil, "a", 1},
		{first, 1, "a", 2},
		{first, 2, "a", 2},
		{first, nil, "b", 3},
		{first, 2, "a", 2},
		{second, nil, "a", 4},
		{second, nil, "b", 5},
		{first, nil, "a", 6},
	} {
		if got := a.get(tt.c, tt.q); got != tt.before {
			t.Errorf("question %d: %v is kept, want %v", i, got, tt.before)
		}
		a.put(tt.c, tt.q, tt.answer)
	}
	for i := range 3 * maxAnswers {
		a.put(first, string(rune('A'+i)), 1)
		if n := len(a.known); n > maxAnswers {
			t.Fatalf("%d answers are kept", n)
		}
	}
}

// TestQuestion: what differs in anything is another question.
func TestQuestion(t *testing.T) {
	seen := map[string]bool{}
	for _, method := range []string{"A", "B"} {
		for _, target := range []sdk.Target{{Backend: "a", Arch: "1"}, {Backend: "a", Arch: "1", WarpSize: 32}, {Backend: "a", Arch: "2"}} {
			for _, options := range []string{"", `{"a":1}`} {
				for _, settings := range []map[string]string{nil, {"a": "b"}, {"a": "c"}, {"a": "b", "c": ""}} {
					r := request{method: method, target: target, options: options}
					q := r.question(settings)
					if seen[q] {
						t.Errorf("a question comes twice: %s", q)
					}
					seen[q] = true
				}
			}
		}
	}
}

// TestNamesFiles: an answer about a file is for this time alone.
func TestNamesFiles(t *testing.T) {
	f := &sdk.Facts{Options: []sdk.OptionSpec{{Name: "n"}, {Name: "lib", CallerOnly: true}}}
	for options, want := range map[string]bool{`{}`: false, `{"n":4}`: false, `{"n":4,"lib":"x"}`: true, `{"x":1}`: false, `[`: true} {
		if got := namesFiles(f, options); got != want {
			t.Errorf("%s: %v", options, got)
		}
	}
}
