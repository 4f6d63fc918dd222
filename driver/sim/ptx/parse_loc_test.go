package ptx

import (
	"fmt"
	"strings"
	"testing"
)

func TestCallSites(t *testing.T) {
	for comment, want := range map[string]string{
		" k.py:3:4": "",
		" lib.py:157:15 @[ lib.py:165:34 @[ dir/k.py:12:18 @[ k.py:25:48 ] ] ]": "lib.py:165:34 dir/k.py:12:18 k.py:25:48",
		" lib.py:157:15 @[ k.py:12 ]\r":                                         "k.py:12:0",
		" lib.py:157:15 @[ C:\\k.py:12:1 ]":                                     "C:\\k.py:12:1",
		" lib.py:157:15 @[ k.py ]":                                              "",
		" lib.py:157:15 @[ :1:2 ]":                                              "",
		" lib.py:157:15 @[  ]":                                                  "",
		" lib.py:157:15 @[ k.py:1:99999999999999999999 ]":                       "",
		" a:1:1" + strings.Repeat(" @[ k.py:1:1", 33):                           "",
	} {
		var got []string
		for l := callSites(comment); l != nil; l = l.Inlined {
			got = append(got, fmt.Sprintf("%s:%d:%d", l.Name, l.Line, l.Col))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", comment, s, want)
		}
	}
}
