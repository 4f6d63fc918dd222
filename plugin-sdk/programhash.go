package sdk

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
)

// ProgramHash identifies the running program: two programs with one hash give
// equal output for equal input, as far as that depends on the program. It is
// fit for Facts.Hash. It is made of the build ID that the Go linker derives from
// everything that it links, or, where there is none, of the whole file (which
// takes ten times as long as a plugin's start).
var ProgramHash = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err == nil {
		var h string
		if h, err = fileIdentity(path); err == nil {
			return h
		}
	}
	panic(fmt.Sprintf("BUG: a program that cannot read its own file: %v", err))
})

func fileIdentity(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if id := goBuildID(f); len(id) > 0 {
		sum.Write(id)
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// goBuildID finds the Go build ID of a program, in an ELF note or, in the other
// formats, at the start of the text; nil when it has none.
func goBuildID(f io.ReaderAt) []byte {
	if e, err := elf.NewFile(f); err == nil {
		s := e.Section(".note.go.buildid")
		if s == nil {
			return nil
		}
		const header = 16 // three lengths and types, and the name "Go"
		if data, err := s.Data(); err == nil && len(data) > header {
			return data[header:]
		}
		return nil
	}
	head := make([]byte, 64<<10)
	n, _ := f.ReadAt(head, 0)
	_, rest, ok := bytes.Cut(head[:n], []byte("\xff Go build ID: \""))
	if !ok {
		return nil
	}
	id, _, ok := bytes.Cut(rest, []byte("\"\n \xff"))
	if !ok {
		return nil
	}
	return id
}
