package main

import (
	"regexp"
	"sync"
)

// lazily is a pattern that is compiled when it is used first: a command uses few of
// those of all verbs, and starts in a few milliseconds.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
