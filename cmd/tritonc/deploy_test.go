package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDeployCommands: what containers of deploy/ run is a command that this program has, with
// flags that it takes.
func TestDeployCommands(t *testing.T) {
	var commands [][]string
	// collect finds the arguments of containers whose image is tritonc's.
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["image"] == "tritonc" {
				var words []string
				for _, key := range []string{"args", "command"} { // Kubernetes', and compose's
					list, _ := v[key].([]any)
					for _, word := range list {
						words = append(words, word.(string))
					}
				}
				commands = append(commands, words)
			}
			for _, inner := range v {
				collect(inner)
			}
		case []any:
			for _, inner := range v {
				collect(inner)
			}
		}
	}
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, "../../deploy/compose.yaml") {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for d := yaml.NewDecoder(f); ; {
			var document map[string]any
			err := d.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			delete(document, "x-tritonc") // which services complete
			collect(document)
		}
	}
	if len(commands) < 6 {
		t.Fatalf("deploy/ has the commands %q, want three of compose and three of Kubernetes", commands)
	}
	for _, words := range commands {
		var verb []string // the words before the flags
		for _, word := range words {
			if strings.HasPrefix(word, "-") {
				break
			}
			verb = append(verb, word)
		}
		if len(verb) == 0 {
			t.Errorf("a container runs tritonc %q, which has no verb", words)
			continue
		}
		out, err := exec.Command("tritonc", append(slices.Clone(words), "--help")...).CombinedOutput()
		usage := "\n  tritonc " + strings.Join(verb, " ") + " [flags]\n"
		if err != nil || !strings.Contains(string(out), usage) {
			t.Errorf("tritonc %q: %v, want the usage %q:\n%s", words, err, usage, out)
		}
	}
}
