package nvidia

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// countedPtxas is a ptxas that notes its runs in the file at the second result, and whose
// cubin has the PTX.
func countedPtxas(t *testing.T) (path, notes string) {
	t.Helper()
	notes = filepath.Join(t.TempDir(), "runs")
	return limitedTool(t, ptxas124, `echo run >>'`+notes+`'
while [ "$1" != -o ]; do in=$1; shift; done
{ printf '\177ELF'; cat "$in"; } >"$2"
echo "ptxas info    : Function properties for scale"
echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
echo "ptxas info    : Used 26 registers, 400 bytes cmem[0]"`), notes
}

// TestEqualPTX: equal PTX is assembled once by equal tools with equal arguments, and what
// is told of it is the same each time.
func TestEqualPTX(t *testing.T) {
	c := sdktest.Start(t, New())
	ptxas, notes := countedPtxas(t)
	other, otherNotes := countedPtxas(t)
	const ptx = ".version 8.4\n.target sm_80\n.visible .entry scale()\n.reqntid 128\n{\nret;\n}\n"
	assemble := func(tool, text, options string) string {
		t.Helper()
		req := request(t, "80", stageCubin, "scale.ptx", []byte(text), options)
		req.Settings = map[string]string{ptxasKind.Setting.Name: tool}
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Error(err)
			return ""
		}
		if want := "\x7fELF" + text; string(resp.Artifact(stageCubin)) != want {
			t.Errorf("the cubin is %q, want %q", resp.Artifact(stageCubin), want)
		}
		if len(resp.Tools) != 1 || resp.Tools[0].Path != tool {
			t.Errorf("tools %+v", resp.Tools)
		}
		return resp.MetadataJSON
	}
	runs := func(notes string, want int) {
		t.Helper()
		text, err := os.ReadFile(notes)
		if err != nil && want > 0 || bytes.Count(text, []byte("run")) != want {
			t.Errorf("%d runs, want %d", bytes.Count(text, []byte("run")), want)
		}
	}
	first := assemble(ptxas, ptx, "")
	if !strings.Contains(first, `"registers":26`) {
		t.Errorf("metadata %s", first)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if again := assemble(ptxas, ptx, ""); again != first {
				t.Errorf("metadata %s, and before %s", again, first)
			}
		})
	}
	wg.Wait()
	runs(notes, 1)
	assemble(ptxas, ptx+"\n", "")
	runs(notes, 2)
	assemble(ptxas, ptx, `{"enable_fp_fusion":false}`)
	runs(notes, 3)
	assemble(other, ptx, "")
	runs(notes, 3)
	runs(otherNotes, 1)
	for range 2 { // they may name files
		assemble(ptxas, ptx, `{"ptx_options":"-O1"}`)
	}
	runs(notes, 5)
}

// TestAssembledSideBySide: a process has ptxas assemble different kernels at the same
// time. Each run waits for the other one.
func TestAssembledSideBySide(t *testing.T) {
	c := sdktest.Start(t, New())
	here := t.TempDir()
	ptxas := limitedTool(t, ptxas124, `touch '`+here+`'/$$
i=0
while [ "$(ls '`+here+`' | wc -l)" -lt 2 ]; do
	i=$((i + 1))
	if [ $i -gt 1000 ]; then echo "nobody else came"; exit 1; fi
	sleep 0.02
done
while [ "$1" != -o ]; do shift; done
printf '\177ELF' >"$2"`)
	var wg sync.WaitGroup
	for _, name := range []string{"first", "second"} {
		wg.Go(func() {
			text := ".version 8.4\n.target sm_80\n.visible .entry " + name + "()\n.reqntid 128\n{\nret;\n}\n"
			req := request(t, "80", stageCubin, name+".ptx", []byte(text), "")
			req.Settings = map[string]string{ptxasKind.Setting.Name: ptxas}
			if _, err := c.RunStages(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
