package frontend

import (
	"container/list"
	"sync"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// KeepTrees has Parse keep the trees of the files that it parsed last, up to so many bytes
// of their text, and return them again for the same text under the same path. A file counts
// as 8 KiB at least, since a small tree has as many blocks of nodes as a large one. It is for
// a process that compiles a file again and again, for which parsing is a tenth of the
// front end's work or more. Trees do not change, and are shared as the library's are.
func KeepTrees(bytes int) { kept.keep(bytes) }

var kept trees

// leastText is what a file counts as.
const leastText = 8 << 10

// trees are those of some files.
type trees struct {
	mu    sync.Mutex
	most  int // bytes of text, as files count
	bytes int
	of    map[treeKey]*list.Element
	order list.List // of *treeEntry, that used last in front
}

type treeKey struct{ path, text string }

func (k treeKey) bytes() int { return max(len(k.text), leastText) }

type treeEntry struct {
	key  treeKey
	tree *syntax.Module
}

func (t *trees) keep(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most, t.bytes, t.of = bytes, 0, map[treeKey]*list.Element{}
	t.order.Init()
}

// parse is syntax.Parse.
func (t *trees) parse(path string, src []byte) (*syntax.Module, error) {
	t.mu.Lock()
	fits := max(len(src), leastText) <= t.most
	t.mu.Unlock()
	if !fits {
		return syntax.Parse(path, src)
	}
	key := treeKey{path, string(src)}
	if tree := t.get(key); tree != nil {
		return tree, nil
	}
	tree, err := syntax.Parse(path, src)
	if err == nil {
		t.put(key, tree)
	}
	return tree, err
}

func (t *trees) get(key treeKey) *syntax.Module {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.of[key]
	if e == nil {
		return nil
	}
	t.order.MoveToFront(e)
	return e.Value.(*treeEntry).tree
}

func (t *trees) put(key treeKey, tree *syntax.Module) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[key] != nil {
		return // parsed twice at a time
	}
	t.of[key] = t.order.PushFront(&treeEntry{key, tree})
	t.bytes += key.bytes()
	for t.bytes > t.most {
		last := t.order.Back()
		old := t.order.Remove(last).(*treeEntry).key
		delete(t.of, old)
		t.bytes -= old.bytes()
	}
}
