package npu

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/golden"
)

// document compares a part of a page with what a test has computed. The part is between the
// comments <!-- NAME --> and <!-- end -->; with TRITONC_UPDATE=1 it is rewritten.
func document(t *testing.T, page, name, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), "<!-- "+name+" -->\n")
	got, after, ends := strings.Cut(rest, "<!-- end -->\n")
	if !begins || !ends {
		t.Fatalf("%s has no part %s", page, name)
	}
	if got == want {
		return
	}
	if os.Getenv(golden.UpdateEnv) != "1" {
		t.Errorf("%s, part %s, is not what the test computes; %s=1 rewrites it:\n%s", page, name, golden.UpdateEnv, want)
		return
	}
	made := before + "<!-- " + name + " -->\n" + want + "<!-- end -->\n" + after
	if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
		t.Fatal(err)
	}
}

// kib is a number of bytes for people.
func kib(n int) string { return fmt.Sprintf("%.1f KiB", float64(n)/1024) }
