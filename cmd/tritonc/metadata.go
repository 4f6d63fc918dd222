package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
)

// selfDescribed are the file endings whose text holds all that a compile needs.
var selfDescribed = map[string]bool{"py": true, "ttir": true, "ttgir": true}

// addMetadata gives src what its text cannot say: the metadata that an earlier
// compile wrote to <stem>.json, and --option shared=N, which for such a file
// describes the kernel rather than asking for anything.
func addMetadata(dir folder, src *core.Source, values map[string]any) error {
	if selfDescribed[src.Kind()] {
		return nil
	}
	path := strings.TrimSuffix(src.Path, filepath.Ext(src.Path)) + ".json"
	known := map[string]any{}
	text, err := []byte(nil), fs.ErrNotExist
	if src.Path != standardInput {
		text, err = input.ReadFile(dir.at(path), input.Text)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return unreadable(path, err)
	default:
		if err := json.Unmarshal(text, &known); err != nil {
			return diag.Errorf(diag.Pos{File: path}, "this is not the metadata of a kernel: %v", err)
		}
	}
	if value, ok := values["shared"]; ok {
		n, err := strconv.Atoi(fmt.Sprint(value))
		if err != nil || n < 0 {
			return usagef("--option shared=%v is not a number of bytes", value)
		}
		known["shared"] = n
		delete(values, "shared")
	}
	if len(known) == 0 {
		return nil
	}
	src.Metadata, err = json.Marshal(known)
	return err
}

// ownWarps is where ttgir says how many warps run all but its partitions.
var ownWarps = lazily(`"ttg\.num-warps" = (\d+) : i32`)

// checkWarps refuses a number of warps that the user asked for and the file's
// own text overrules: below ttir the code is made for the number that it names.
func checkWarps(src *core.Source, k *core.Kernel, values map[string]any) error {
	asked, given := values["num_warps"]
	if kind := src.Kind(); !given || kind == "py" || kind == "ttir" {
		return nil
	}
	var made struct {
		NumWarps *int `json:"num_warps"`
	}
	if err := json.Unmarshal(k.Metadata, &made); err != nil {
		return fmt.Errorf("metadata of %s: %w", k.Name, err)
	}
	if made.NumWarps == nil || fmt.Sprint(*made.NumWarps) == fmt.Sprint(asked) {
		return nil
	}
	if own := ownWarps().FindSubmatch(src.Text); src.Kind() == "ttgir" && own != nil && string(own[1]) == fmt.Sprint(asked) {
		return nil // the others are those of partitions
	}
	return diag.Errorf(diag.Pos{File: src.Path}, "the kernel is made for %s and cannot have %v", diag.Count(*made.NumWarps, "warp"), asked).
		WithHelp("leave num_warps out, or compile its Python file or ttir again")
}
