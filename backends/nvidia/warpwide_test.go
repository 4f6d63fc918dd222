package nvidia

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// warpWide are the operations of machine code that a whole warp does together,
// by the low 12 bits of an instruction: from compute capability 7.0 it has 128.
var warpWide = map[uint64]string{
	0x3c4: "REDUX", 0x3a1: "MATCH", 0x806: "VOTE", 0x83b: "LDSM", 0x23a: "MOVM",
	0x389: "SHFL", 0x589: "SHFL", 0x989: "SHFL", 0xf89: "SHFL",
}

// always is the predicate of an instruction that every lane does, in the four
// bits above its operation.
const always = 7

// warpWideIn counts the instructions of a cubin that a warp does together, and
// apart from them, after "@", those that a predicate takes from some lanes.
func warpWideIn(cubin []byte) map[string]int {
	n := map[string]int{}
	for _, code := range codeOf(cubin) {
		for ; len(code) >= 16; code = code[16:] {
			w := binary.LittleEndian.Uint64(code)
			name, ok := warpWide[w&0xfff]
			if !ok {
				continue
			}
			if w>>12&15 != always {
				name = "@" + name
			}
			n[name]++
		}
	}
	return n
}

// codeOf are the sections of a cubin that begin with .text. in name. The ELF
// header of a cubin has a version of its own, which debug/elf refuses.
func codeOf(cubin []byte) [][]byte {
	var h elf.Header64
	le := binary.LittleEndian
	decode := func(at uint64, v any) {
		if _, err := binary.Decode(cubin[at:], le, v); err != nil {
			panic(err)
		}
	}
	decode(0, &h)
	sections := make([]elf.Section64, h.Shnum)
	decode(h.Shoff, sections)
	names := sections[h.Shstrndx]
	var code [][]byte
	for _, s := range sections {
		if bytes.HasPrefix(cubin[names.Off+uint64(s.Name):], []byte(".text.")) {
			code = append(code, cubin[s.Off:s.Off+s.Size])
		}
	}
	return code
}

// TestReductionsOfWholeWarps: the largest numbers of rows are stored twice, in
// two layouts. Each lane chooses its row from those of the warp, in i16 and in
// i32, and ptxas finds out that these are one choice (gpu.Target.ReduceWarp).
func TestReductionsOfWholeWarps(t *testing.T) {
	needTools(t, &llcKind, &ptxasKind)
	rows, err := os.ReadFile(filepath.FromSlash("testdata/rows.ttir"))
	if err != nil {
		t.Fatal(err)
	}
	c := sdktest.Start(t, New())
	for _, cc := range []string{"80", "86", "89", "90"} {
		resp, err := c.RunStages(t.Context(), request(t, cc, stageTTIR, "rows.ttir", rows, `{"num_warps":1}`))
		if err != nil {
			t.Fatal(err)
		}
		n := warpWideIn(resp.Artifact(stageCubin))
		if n["REDUX"] == 0 {
			t.Errorf("cuda:%s: no reduction by an instruction: %v", cc, n)
		}
		for name, k := range n {
			if name[0] == '@' {
				t.Errorf("cuda:%s: %d %s are not done by all lanes: %v", cc, k, name, n)
			}
		}
	}
}
