package main

import (
	"io"
	"testing"

	"github.com/spf13/cobra"
)

// TestBackendFlag: every verb that takes a target takes a backend for it.
func TestBackendFlag(t *testing.T) {
	env := &environment{stdout: io.Discard, stderr: io.Discard, lookupEnv: func(string) (string, bool) { return "", false }}
	env.report = newReporter(env, nil)
	verbs := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		// backend check is told the program itself, and backend init writes one.
		chooses := cmd.CommandPath() != "tritonc backend check" && cmd.CommandPath() != "tritonc backend init"
		if chooses && cmd.Flags().Lookup("target") != nil {
			verbs++
			if cmd.Flags().Lookup("backend") == nil {
				t.Errorf("%s has --target and no --backend", cmd.CommandPath())
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(env))
	if verbs < 8 {
		t.Errorf("%d verbs have --target", verbs)
	}
}

func TestParseChoice(t *testing.T) {
	for text, want := range map[string]string{
		"nvidia": " nvidia", "nvidia@1.2": " nvidia@1.2", "cuda:*=nvidia@1.2": "cuda:* nvidia@1.2",
		"": "", "=nvidia": "", "cuda:[=nvidia": "", "a=b=c": "", "cuda:90": "",
	} {
		c, err := parseChoice(text, "")
		if got := c.Target + " " + c.Ref.String(); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}
