package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/trust"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// What a binary answers to questions that depend on nothing but the question is kept in
// the user's cache folder, too, for as long as its file stays as it is: a compile in a
// new process then makes one call, that which runs the stages. Like the descriptions it
// may be lost at any time.

// Bounds of how many answers are kept, of more the older half goes, and of how many one
// Host adds: a session of many configurations asks a running process.
const (
	maxAnswerFiles = 512
	maxStored      = 16
)

// answered is a question to a program as its file is now.
type answered struct {
	file string // that the answer is kept in; empty where none is
}

// asked is a question to b for the cache folder. It is kept of programs whose description
// is, if they are binaries.
func (b *Backend) asked(question string) answered {
	memo := b.host.opts.memoFile()
	if memo == "" || b.found.Problem != nil || !isBinary(b.found.Path) {
		return answered{}
	}
	h := sha256.New()
	for _, s := range []string{b.found.Path, fileState(b.found.Path), sdk.ProgramHash(), question} {
		_, _ = io.WriteString(h, s+"\x00")
	}
	return answered{filepath.Join(filepath.Dir(memo), "answers", hex.EncodeToString(h.Sum(nil)[:16])+".json")}
}

// read gives the answer, if it is there and nobody else could have written it.
func read[R any](a answered) (answer R, ok bool) {
	if a.file == "" || trust.Dir(filepath.Dir(a.file)) != nil {
		return answer, false
	}
	text, err := trust.ReadFile(a.file)
	ok = err == nil && json.Unmarshal(text, &answer) == nil
	return answer, ok
}

// write keeps the answer: that it fails does no harm.
func (a answered) write(answer any) {
	if a.file == "" {
		return
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return
	}
	trimAnswers(filepath.Dir(a.file), maxAnswerFiles)
	_ = filememo.Replace(a.file, text)
}

// trimAnswers removes the older half of the files in dir if there are more than most.
func trimAnswers(dir string, most int) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < most || trust.Dir(dir) != nil {
		return
	}
	var infos []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range infos[:len(infos)/2] {
		os.Remove(filepath.Join(dir, info.Name()))
	}
}
