package sdk

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinks: a program that serves a plugin does not link what go-plugin's server needs
// for other protocols than ours, all of which is initialized at every start.
func TestLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	linked := map[string]bool{}
	for _, pkg := range strings.Fields(string(out)) {
		linked[pkg] = true
	}
	if !linked["google.golang.org/grpc"] {
		t.Errorf("gRPC is missing from the list:\n%s", out)
	}
	for _, pkg := range []string{
		"github.com/hashicorp/go-plugin", "net/rpc", "encoding/gob",
		"google.golang.org/grpc/reflection", "google.golang.org/protobuf/reflect/protodesc",
	} {
		if linked[pkg] {
			t.Errorf("%s is linked", pkg)
		}
	}
}
