package plugin

import (
	"errors"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// TestKept: a process is asked the same once, and a new process anew.
func TestKept(t *testing.T) {
	b := &Backend{}
	first, second := &host.Client{}, &host.Client{}
	asked := 0
	ask := func(c *host.Client, q string, keep bool, failure error) int {
		t.Helper()
		n, err := kept(b, c, q, func() (int, bool, error) {
			asked++
			return asked, keep, failure
		})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
		return n
	}
	failure := errors.New("failure")
	for i, tt := range []struct {
		c       *host.Client
		q       string
		keep    bool
		failure error
		want    int
	}{
		{first, "a", true, failure, 1},
		{first, "a", false, nil, 2},
		{first, "a", true, nil, 3},
		{first, "a", true, nil, 3},
		{first, "b", true, nil, 4},
		{first, "a", true, nil, 3},
		{second, "a", true, nil, 5},
		{second, "a", true, nil, 5},
		{first, "a", true, nil, 6},
	} {
		if got := ask(tt.c, tt.q, tt.keep, tt.failure); got != tt.want {
			t.Errorf("question %d: answer %d, want %d", i, got, tt.want)
		}
	}
	for i := range 3 * maxAnswers {
		ask(first, string(rune('A'+i)), true, nil)
		if n := len(b.answers.known); n > maxAnswers {
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
					q := question(method, target, options, settings)
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
