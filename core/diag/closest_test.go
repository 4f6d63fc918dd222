package diag

import "testing"

func TestClosest(t *testing.T) {
	names := []string{"tritongpu-pipeline", "tritongpu-prefetch", "cse", "sccp", "BLOCK", "load"}
	for name, want := range map[string]string{
		"tritongpu-pipline": "tritongpu-pipeline",
		"pipeline":          "", // ten letters to insert are not a typo
		"block":             "BLOCK",
		"cs":                "", // too short to tell
		"csr":               "cse",
		"laod":              "load", // neighbors swapped count once
		"BLOCK":             "",     // it is there
		"":                  "",
	} {
		if got := Closest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
