package nvidia

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// TestDescriptorsOfFiles: ttir that was made for hardware which copies by
// descriptor enters behind the stage that takes descriptors apart, and loses them
// all the same, those among the arguments too.
func TestDescriptorsOfFiles(t *testing.T) {
	const text = `module {
  tt.func public @k(%base: !tt.ptr<f32>, %n: i32, %at: i32, %to: !tt.tensordesc<tensor<16xf32>>) {
    %c1 = arith.constant 1 : i64
    %from = tt.make_tensor_descriptor %base, [%n], [%c1] : <f32>, <tensor<16xf32>>
    %x = tt.descriptor_load %from[%at] : !tt.tensordesc<tensor<16xf32>> -> tensor<16xf32>
    tt.descriptor_store %to[%at], %x : !tt.tensordesc<tensor<16xf32>>, tensor<16xf32>
    tt.return
  }
}
`
	c := sdktest.Start(t, New())
	for _, cc := range []string{"80", "90"} {
		req := request(t, cc, stageTTGIR, "k.ttir", []byte(text), "")
		req.Last = stageLLIR
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		ttgir := string(resp.Artifact(stageTTGIR))
		if strings.Contains(ttgir, "desc") {
			t.Errorf("cuda:%s: descriptors are left:\n%s", cc, ttgir)
		}
		if loads, stores := strings.Count(ttgir, "tt.load"), strings.Count(ttgir, "tt.store"); loads != 1 || stores != 1 {
			t.Errorf("cuda:%s: %d loads and %d stores, want one each:\n%s", cc, loads, stores, ttgir)
		}
	}
}
