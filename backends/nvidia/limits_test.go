package nvidia

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// limitedTool writes a program that answers --version and else does what the shell
// commands say.
func limitedTool(t *testing.T, version, commands string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tools are shell scripts")
	}
	path := filepath.Join(t.TempDir(), "tool")
	text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" + version + "'; exit; fi\n" + commands + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLimits: a tool that takes too long or too much is told of at the kernel's
// line, with what can be done.
func TestLimits(t *testing.T) {
	llc := func(commands string) (string, string) {
		return llvm.LLC.Setting.Name, limitedTool(t, "LLVM version 22.1.0", commands)
	}
	ptxas := func(commands string) (string, string) {
		return ptxasKind.Setting.Name, limitedTool(t, ptxas124, commands)
	}
	for _, tt := range []struct {
		name              string
		tool              func(string) (setting, path string)
		commands          string
		message, help     string
		fromPTX, anywhere bool
	}{
		{name: "llc late", tool: llc, commands: "sleep 60", message: "kernel scale: llc was stopped after 1s, its time limit", help: "TRITONC_TOOL_SECONDS"},
		{name: "llc large", tool: llc, commands: "echo 'LLVM ERROR: out of memory' >&2; kill -ABRT $$", message: "kernel scale: llc needs more than 4096 MiB of memory, its limit", help: "TRITONC_TOOL_MEMORY"},
		{name: "llc killed", tool: llc, commands: "kill -KILL $$", message: "kernel scale: llc was killed: perhaps the system has no more memory", help: "num_warps"},
		{name: "llc wrong", tool: llc, commands: "exit 1", message: "BUG: llc refuses the LLVM IR that the nvidia backend made (exit status 1)", help: "please report", anywhere: true},
		{name: "ptxas late", tool: ptxas, commands: "sleep 60", message: "kernel scale: ptxas was stopped after 1s, its time limit", help: "TRITONC_TOOL_SECONDS", fromPTX: true},
		{name: "ptxas large", tool: ptxas, commands: "echo 'ptxas fatal   : Memory allocation failure'; exit 255", message: "kernel scale: ptxas needs more than 16384 MiB of memory, its limit", help: "TRITONC_TOOL_MEMORY", fromPTX: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := sdktest.Start(t, New())
			req := request(t, "80", stageTTGIR, "scale.ttir", scaleTTIR(t), `{"ptx":"llvm"}`)
			if tt.fromPTX {
				const ptx = ".version 8.4\n.target sm_80\n.visible .entry scale()\n.reqntid 128\n{\n.loc 1 7 0\nret;\n}\n.file\t1 \"scale.py\"\n"
				req = request(t, "80", stageCubin, "scale.ptx", []byte(ptx), "")
			} else {
				req.Last = stagePTX
			}
			setting, path := tt.tool(tt.commands)
			req.Settings = map[string]string{setting: path, "tool_seconds": "1"}
			start := time.Now()
			_, err := c.RunStages(t.Context(), req)
			d := oneDiagnostic(t, err)
			if d.Message != tt.message || !strings.Contains(d.Help, tt.help) {
				t.Errorf("got %+v", d)
			}
			if !tt.anywhere && (d.File != "scale.py" || d.Line == 0) {
				t.Errorf("at %s:%d, want the kernel's line", d.File, d.Line)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
