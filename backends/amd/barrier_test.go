package amd

import (
	"regexp"
	"strings"
	"testing"
)

// looped stores to LDS at the end of an iteration and meets other warps at the beginning
// of the next.
const looped = `import triton
import triton.language as tl

@triton.jit
def k(h, d, v, n):
    i = tl.arange(0, 32)
    o = i[:, None] * 32 + i[None, :]
    x = tl.load(v + o)
    acc = tl.zeros((32, 32), tl.float32)
    for outer in range(0, n):
        w = x
        for at in tl.range(0, n, num_stages=4):
            acc = tl.dot(tl.load(h + (at & 7) * 1024 + o), tl.load(h + (at & 3) * 1024 + 6 + o) + 1, acc)
            acc = tl.dot(tl.load(h + outer * 1024 + o), (w & 3).to(tl.float16), acc)
            w = w * 5 + 1
            x += w
        acc = tl.dot((x & 3).to(tl.float16), (w & 3).to(tl.float16), acc)
        x += tl.sum(w, 0)[None, :]
    tl.store(d + o, acc)
    tl.store(v + o, x)
`

var (
	waitsForLDS  = regexp.MustCompile(`^s_waitcnt .*lgkmcnt\(0\)|^s_wait_(loadcnt_|storecnt_)?dscnt 0x0$`)
	accessesLDS  = regexp.MustCompile(`^ds_|^\.LBB.*:$`) // or comes from another block
	meetsInBlock = regexp.MustCompile(`^s_barrier(_signal .*)?$`)
)

// TestBarriers: what llc makes of a barrier waits for the accesses to LDS before it.
func TestBarriers(t *testing.T) {
	needTools(t)
	for _, name := range []string{"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200"} {
		k, err := compile(t, name, "k.py", []byte(looped), "k", "*fp16, *fp32, *i32, i32", stageAMDGCN, nil)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		barriers := 0
		for line := range strings.Lines(string(k.Artifact(stageAMDGCN).Data)) {
			line, _, _ = strings.Cut(line, ";")
			line = strings.TrimSpace(line)
			if meetsInBlock.MatchString(line) {
				barriers++
				if !waited(lines) {
					t.Errorf("%s: no wait between an access to LDS and a barrier:\n%s", name, strings.Join(lines[max(0, len(lines)-20):], "\n"))
				}
			}
			lines = append(lines, line)
		}
		if barriers < 2 {
			t.Errorf("%s: %d barriers", name, barriers)
		}
	}
}

// waited reports whether what is before the end of lines waits for LDS.
func waited(lines []string) bool {
	for i := len(lines) - 1; i >= 0; i-- {
		switch {
		case waitsForLDS.MatchString(lines[i]):
			return true
		case accessesLDS.MatchString(lines[i]):
			return false
		}
	}
	return true
}
