package sdk

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// identify finds a program, in PATH when it has no slash, and hashes its file.
func identify(program string) (ToolInfo, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return ToolInfo{}, err
	}
	sum, err := fileHash(path)
	return ToolInfo{Name: strings.TrimSuffix(filepath.Base(path), ".exe"), Path: path, SHA256: sum}, err
}

// fileHashes are those of files that were hashed, by path.
var fileHashes sync.Map

type hashedFile struct {
	size, mtime int64
	hash        string
}

// fileHash is the SHA-256 of a file in hex. It is remembered while the file's size
// and time stay.
func fileHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	now := hashedFile{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if known, ok := fileHashes.Load(path); ok {
		h := known.(hashedFile)
		if h.size == now.size && h.mtime == now.mtime {
			return h.hash, nil
		}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	now.hash = hex.EncodeToString(sum.Sum(nil))
	fileHashes.Store(path, now)
	return now.hash, nil
}
