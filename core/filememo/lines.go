package filememo

import (
	"os"
	"sync"
)

// lines are those of a Memo's file.
type lines struct {
	text    [][]byte
	info    os.FileInfo // of the file before it was read; nil where it is to be written
	decoded sync.Map    // rows by path
}

// read has what was read of files. A server makes a Memo for each command, of a file
// that seldom changes.
var read = readFiles{of: map[string]*lines{}}

type readFiles struct {
	mu sync.Mutex
	of map[string]*lines
}

// maxFiles bounds how many files are kept.
const maxFiles = 16

// get is what was read of a file, if that is as info tells.
func (f *readFiles) get(file string, info os.FileInfo) *lines {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.of[file]
	if l == nil || !os.SameFile(l.info, info) || l.info.Size() != info.Size() || !l.info.ModTime().Equal(info.ModTime()) || l.info.Mode() != info.Mode() {
		return nil
	}
	return l
}

func (f *readFiles) put(file string, l *lines) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.of) == maxFiles {
		clear(f.of)
	}
	f.of[file] = l
}
