package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDeployed: what containers of deploy/ run are verbs with their flags.
func TestDeployed(t *testing.T) {
	var commands [][]string
	var look func(v any, tritonc bool)
	look = func(v any, tritonc bool) {
		switch v := v.(type) {
		case map[string]any:
			tritonc = tritonc || v["image"] == "tritonc"
			for key, inner := range v {
				list, _ := inner.([]any)
				if tritonc && (key == "args" || key == "command") {
					var args []string
					for _, a := range list {
						args = append(args, a.(string))
					}
					commands = append(commands, args)
				}
				look(inner, false)
			}
		case []any:
			for _, inner := range v {
				look(inner, false)
			}
		}
	}
	for _, pattern := range []string{"*.yaml", "kubernetes/*.yaml"} {
		found, err := filepath.Glob(filepath.Join("../../deploy", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range strings.Split(string(text), "\n---\n") {
				var v any
				if err := yaml.Unmarshal([]byte(doc), &v); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				look(v, false)
			}
		}
	}
	if len(commands) != 6 {
		t.Errorf("%d commands are found: %v", len(commands), commands)
	}
	for _, args := range commands {
		cmd, rest, err := newRoot(manualEnvironment()).Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || !cmd.Runnable() || len(cmd.Flags().Args()) > 0 {
			t.Errorf("tritonc %s: %v", strings.Join(args, " "), err)
		}
	}
}
