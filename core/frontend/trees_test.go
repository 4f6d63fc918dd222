package frontend

import (
	"strings"
	"sync"
	"testing"
)

// TestTrees: the tree of a text is the one of that text under that path, what does not fit
// is parsed as ever, and of too many those that were used last stay.
func TestTrees(t *testing.T) {
	var kept trees
	parse := func(path, text string) any {
		t.Helper()
		tree, err := kept.parse(path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	if parse("a.py", "x = 1\n") == parse("a.py", "x = 1\n") {
		t.Error("a tree is kept that nobody asked for")
	}
	kept.keep(3*leastText + 2)
	first := parse("a.py", "x = 1\n")
	if parse("a.py", "x = 1\n") != first {
		t.Error("a text is parsed twice")
	}
	if parse("b.py", "x = 1\n") == first || parse("a.py", "x = 2\n") == first {
		t.Error("another path or text has the same tree")
	}
	parse("a.py", "x = 1\n") // used last, but for what follows
	parse("c.py", "x = 1\n")
	if parse("a.py", "x = 1\n") != first {
		t.Error("what was used last went first")
	}
	if n := len(kept.of); n != 3 || kept.bytes != 3*leastText || kept.order.Len() != n {
		t.Errorf("%d trees of %d bytes are kept", n, kept.bytes)
	}
	long := strings.Repeat("x = 1\n", leastText)
	if parse("a.py", long) == parse("a.py", long) || len(kept.of) != 3 {
		t.Error("a text that does not fit is kept")
	}
	if _, err := kept.parse("a.py", []byte("x = (\n")); err == nil {
		t.Error("no error")
	}
	if _, err := kept.parse("a.py", []byte("x = (\n")); err == nil || len(kept.of) != 3 {
		t.Error("a mistake is kept")
	}
}

// TestTreesAtOnce: several goroutines parse, and the trees are those of their texts.
func TestTreesAtOnce(t *testing.T) {
	var kept trees
	kept.keep(4 * leastText)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				text := "x = " + strings.Repeat("1", (i+n)%9+1) + "\n"
				tree, err := kept.parse("a.py", []byte(text))
				if err != nil || len(tree.Body) != 1 {
					t.Errorf("%v, %v", tree, err)
				}
			}
		})
	}
	wg.Wait()
	if kept.bytes > 4*leastText || len(kept.of) != kept.order.Len() {
		t.Errorf("%d bytes, %d trees, %d in order", kept.bytes, len(kept.of), kept.order.Len())
	}
}
