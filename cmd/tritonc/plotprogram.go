package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tritonc/tritonc/driver/bench/table"
)

// besideThis is the program of that name beside this one; "" where it is not there.
func besideThis(name string) string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	path := filepath.Join(filepath.Dir(exe), name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// plotProgram finds the program that draws tables.
func plotProgram() (string, error) {
	if path := besideThis(table.PlotProgram); path != "" {
		return path, nil
	}
	path, err := exec.LookPath(table.PlotProgram)
	if err != nil {
		return "", usagef("--plot needs the program %s, which is neither beside tritonc nor in PATH", table.PlotProgram).
			withHelp("a release has it beside tritonc, and so has make build")
	}
	return path, nil
}

// drawTable has the program draw a table.
func drawTable(program, format string, t *table.Table) ([]byte, error) {
	var text, picture, said bytes.Buffer
	if err := t.Encode(&text); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, format)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &text, &picture, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(said.String()))
	}
	return picture.Bytes(), nil
}
