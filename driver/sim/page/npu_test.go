package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/driver/sim/npu"
)

const npuProgram = `npusim 1
format sim
kernel k
chip ascend910b3
core vector
space ub 64
file "k.py"
file "<b>.py"
param %0 gm<f32,1>
param %1 i32
param %2 i32
param %3 i32
code
  %4 index = const 0x0
  %5 gm<f32,1> = cast %0 [0] [16] [1]
  %6 ub<f32,1> = alloc 0 [16]
  dma %5 %6 @0:2:4
  set_flag mte2 v 0
  wait_flag mte2 v 0
  vector arith.addf %6 %6 %6 @1:7:4
  set_flag v mte3 0
  wait_flag v mte3 0
  dma %6 %5 @0:3:4
  return
`

// TestNPU: the page has the counters of each line beside its text, and shows texts as they
// are.
func TestNPU(t *testing.T) {
	p, err := npu.Read("k.npusim", []byte(npuProgram))
	if err != nil {
		t.Fatal(err)
	}
	c := chip.Of("ascend910b3")
	d := npu.New(npu.Options{Chip: c, Costs: chip.CostsOf(c)})
	b, err := d.Alloc("x", 64)
	if err != nil {
		t.Fatal(err)
	}
	clear(b.Data)
	b.MarkWritten(0, 64)
	rep, err := d.Launch(t.Context(), p, [3]int{1, 1, 1}, b)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sources := map[string]string{"k.py": "def k(x):\n    x = load(\"</script><i>\")\n    store(x)\n"}
	if err := WriteNPU(&out, rep, Page{Facts: []Fact{{"device", "<simulated>"}}, Sources: sources}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, want := range []string{
		"<dt>device</dt><dd>&lt;simulated&gt;</dd>", "<dt>pipe mte2</dt>", "<svg xmlns", "<th>mte2</th>", "<th>bytes out</th>",
		"x = load(&#34;&lt;/script&gt;&lt;i&gt;&#34;)", "&lt;b&gt;.py (its text is not known)", "without a place", ".summary {",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, no := range []string{"<i>", "<b>", "<script", "ZgotmplZ"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
}
