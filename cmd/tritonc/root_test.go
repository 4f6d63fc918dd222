package main

import (
	"bytes"
	"slices"
	"testing"
)

// TestVerbNames: a command line that names a verb has all of them.
func TestVerbNames(t *testing.T) {
	env := &environment{lookupEnv: func(string) (string, bool) { return "", false }}
	env.report = newReporter(env, nil)
	root := newRoot(env)
	root.InitDefaultHelpCmd()
	var names []string
	for _, cmd := range root.Commands() {
		names = append(append(names, cmd.Name()), cmd.Aliases...)
	}
	slices.Sort(names)
	if !slices.Equal(names, verbNames) {
		t.Errorf("the verbs are\n%q, verbNames has\n%q", names, verbNames)
	}
}

// TestWithoutVerbs: what is said of a command line that names no verb is what is said
// where all are there.
func TestWithoutVerbs(t *testing.T) {
	say := func(whole bool, args ...string) string {
		var out bytes.Buffer
		env := &environment{stdin: &out, stdout: &out, stderr: &out, lookupEnv: func(string) (string, bool) { return "", false }}
		env.args, env.report = args, newReporter(env, args)
		root := rootFor(env, args)
		if whole {
			root = newRoot(env)
		}
		eachOnce(root)
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&out)
		code := env.report.error(root.ExecuteContext(t.Context()))
		return out.String() + string(rune('0'+code))
	}
	for _, args := range [][]string{
		{},
		{"--help"},
		{"-h"},
		{"-vh"},
		{"--hepl"},
		{"-t"},
		{"--targt", "x.py"},
		{"rnu"},
		{"serv"},
		{"rnu", "a.py"},
		{"vector"},
		{"--foo", "rnu"},
		{"a.py", "a.py"},
		{"--version"},
		{"-t", "cuda:80", "-n", "b", "--bad"},
	} {
		if got, want := say(false, args...), say(true, args...); got != want {
			t.Errorf("%q\n got: %s\nwant: %s", args, got, want)
		}
	}
}
