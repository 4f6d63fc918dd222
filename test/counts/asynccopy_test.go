package counts

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// toLDS is an instruction that copies to LDS.
var toLDS = regexp.MustCompile(`(?m)^\s+(global_load_lds_|buffer_load_\w+ .* lds$)`)

// TestAsyncCopy counts the reference kernels with dots for gfx950 with the option
// use_async_copy and without; docs/amd.md has the table. Those whose code is the same are left
// out. A copy takes no register on its way, and loads the same memory.
func TestAsyncCopy(t *testing.T) {
	if _, err := exec.LookPath("llc-22"); err != nil {
		t.Skipf("llc-22 is not installed: %v", err)
	}
	var b strings.Builder
	n := 0
	for _, j := range jobs(t) {
		if !strings.Contains(j.Name, "matmul") && !strings.Contains(j.Name, "flash") && !strings.Contains(j.Name, "dot") {
			continue
		}
		var rows [2]amdRow
		var texts [2]string
		for i := range rows {
			with := j
			with.Options = maps.Clone(j.Options)
			if with.Options == nil {
				with.Options = map[string]any{}
			}
			with.Options["use_async_copy"] = i == 1
			text, lds, err := compileFor(t, "gfx950", with, true)
			if err != nil {
				t.Logf("%s: %v", j.Name, err)
				break
			}
			rows[i] = amdRow{job: j.Name, lds: lds}
			rows[i].read(text)
			texts[i] = text
			if err := rows[i].simulateOn(sim.MI355X, text, shapeOf(j), lds); err != nil {
				t.Errorf("%s: %v", j.Name, err)
			}
		}
		copies := len(toLDS.FindAllString(texts[1], -1))
		if texts[0] == texts[1] || copies == 0 {
			continue
		}
		n++
		fmt.Fprintf(&b, "| `%s` | %d |", j.Name, copies)
		off, on := rows[0], rows[1]
		for _, c := range [][2]int{{off.vgpr, on.vgpr}, {off.lds, on.lds}, {off.warp, on.warp}, {off.passes, on.passes}, {off.barriers, on.barriers}, {off.sectors, on.sectors}} {
			fmt.Fprintf(&b, " %d → %d |", c[0], c[1])
		}
		b.WriteString("\n")
		if on.sectors > off.sectors || on.spills > off.spills {
			t.Errorf("%s: %d sectors instead of %d, %d registers spilled instead of %d", j.Name, on.sectors, off.sectors, on.spills, off.spills)
		}
	}
	t.Logf("\n%s", b.String())
	if n == 0 {
		t.Error("no kernel has instructions that copy to LDS")
	}
}
