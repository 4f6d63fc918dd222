package frontend

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
)

var words = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*(?:\.[a-z_0-9]+)*|[0-9][0-9.e]*|[-+*/%<>&|^~]+|\[[^\[\]]*\]`)

// kindOf tells names, numbers and signs apart.
func kindOf(w string) int {
	switch c := w[0]; {
	case '0' <= c && c <= '9':
		return 0
	case c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z':
		return 1
	case c == '[':
		return 2
	}
	return 3
}

// mutate changes a few words of a kernel, mostly into other words of the file
// of the same kind.
func mutate(r *rand.Rand, src string, pool []string) string {
	for range 1 + r.IntN(3) {
		at := words.FindAllStringIndex(src, -1)
		i := at[r.IntN(len(at))]
		old := src[i[0]:i[1]]
		switch r.IntN(20) {
		case 0: // drop it
			src = src[:i[0]] + src[i[1]:]
		case 1: // say it twice
			src = src[:i[1]] + old + src[i[1]:]
		default:
			w := pool[r.IntN(len(pool))]
			for tries := 0; kindOf(w) != kindOf(old) && tries < 40; tries++ {
				w = pool[r.IntN(len(pool))]
			}
			src = src[:i[0]] + w + src[i[1]:]
		}
	}
	return src
}

// TestMutatedKernels builds kernels with random mistakes in them: each must give
// a module that verifies or a diagnostic, never a panic.
func TestMutatedKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 10
	if testing.Short() {
		n = 1
	}
	built, refused := 0, 0
	for _, j := range jobs(t) {
		src := string(readFile(t, j.file))
		pool := append(words.FindAllString(src, -1), "None", "0", "1", "3", "1.5", "2e40", "tl.float16", "tl.int1", "tl.uint32", "[:, None]", "[None]", "//", "**", "tl.join", "tl.gather", "tl.permute")
		start := strings.Index(src, "def "+j.kernel+"(")
		end := strings.Index(src[start:], "\n\n\n")
		if end < 0 {
			end = len(src) - start
		}
		for range n {
			m := src[:start] + mutate(r, src[start:start+end], pool) + src[start+end:]
			if buildAny(t, m, j) {
				built++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d built, %d refused", built, refused)
}

func buildAny(t *testing.T, src string, j job) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			at := strings.Index(src, "def "+j.kernel)
			t.Errorf("%s: panic: %v\n%s", j.name, p, src[max(at, 0):min(max(at, 0)+1500, len(src))])
		}
	}()
	f, err := Parse("k.py", "k.py", []byte(src))
	if err != nil {
		return false
	}
	opts := &setup{Facts: facts(), Debug: true, SanitizeOverflow: true}
	opts.Facts.FP8 = nil
	m, err := opts.build(f, request(j.kernel, j.sig))
	if err != nil {
		if explain(err) == "" {
			t.Errorf("%s: an error without a word", j.name)
		}
		return false
	}
	if err := ir.Verify(m); err != nil {
		at := strings.Index(src, "def "+j.kernel)
		t.Errorf("%s: %v\n%s", j.name, err, src[at:min(at+1500, len(src))])
	}
	return true
}

// FuzzBuild builds any text as the body of a kernel.
func FuzzBuild(f *testing.F) {
	for _, body := range []string{
		"tl.store(x + o, tl.load(x + o) * 2)", "for i in range(n):\n    x += i", "if n > 3:\n    return\ntl.store(y, n)",
		"z = tl.sum(tl.load(x + o), 0)", "while n > 0:\n    n -= 1", "a, b = tl.max(o, 0, return_indices=True)",
		"z = tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([16, 16], tl.float16))",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		src := prelude
		for line := range strings.Lines(body) {
			src += "    " + line
		}
		file, err := Parse("k.py", "k.py", []byte(src))
		if err != nil {
			return
		}
		if m, err := (&setup{Facts: facts()}).build(file, request("k", preludeSignature)); err == nil {
			if err := ir.Verify(m); err != nil {
				t.Error(fmt.Sprint(err, "\n", src))
			}
		}
	})
}
