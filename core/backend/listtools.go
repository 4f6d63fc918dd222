package backend

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// ListTools implements sdk.ToolLister. Tools that are not Alone are left out: what one
// of them had a part in is not shared, since a compile tells of a tool that is not in
// the list.
func (b *Backend) ListTools(ctx context.Context, req sdk.ListToolsRequest) (sdk.ListToolsResponse, error) {
	var resp sdk.ListToolsResponse
	seen := map[string]bool{}
	look := func(path string) {
		if !seen[path] {
			seen[path] = true
			resp.LookedAt = append(resp.LookedAt, path)
		}
	}
	for _, k := range b.def.Tools {
		if !k.Alone {
			continue
		}
		resp.Settings = append(append(resp.Settings, k.Setting.Name), k.Folders...)
		whenRun := slices.Contains(b.def.WhenRun, k)
		if whenRun {
			resp.WhenRun = append(resp.WhenRun, k.Name)
		}
		t, err := k.find(ctx, b.memo, req.Settings, look)
		if ctx.Err() != nil {
			return resp, ctx.Err()
		}
		var said *sdk.Diagnostic
		var missing *ToolNotFound
		switch {
		case errors.As(err, &missing), errors.As(err, &said): // a compile that needs it says so
			resp.Tools = append(resp.Tools, sdk.ToolInfo{Name: k.Name})
			continue
		case err != nil:
			return resp, err
		}
		tools, unknown := b.withLibraries(ctx, t, look)
		switch {
		case unknown == "":
			resp.Tools = append(resp.Tools, tools...)
		case whenRun: // what it had a part in is not shared
			resp.Tools = append(resp.Tools, sdk.ToolInfo{Name: k.Name})
		default:
			resp.Unshared = unknown
			return resp, nil
		}
	}
	if b.def.Files == nil {
		return resp, nil
	}
	for i, path := range b.def.Files(req.Settings) {
		look(path)
		info := sdk.ToolInfo{Name: fmt.Sprintf("file %d", i), Path: path}
		var err error
		if info.SHA256, err = b.hashOf(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			resp.Unshared = fmt.Sprintf("%s cannot be read: %v", path, err)
			return resp, nil
		}
		resp.Tools = append(resp.Tools, info)
	}
	return resp, nil
}

// withLibraries is a tool and what it loads; or why that is not known.
func (b *Backend) withLibraries(ctx context.Context, t *Tool, look func(path string)) (list []sdk.ToolInfo, unknown string) {
	libraries, err := loads(ctx, t.Path)
	if err != nil {
		return nil, fmt.Sprintf("what %s loads is not known: %v", t.Path, err)
	}
	list = append(list, t.ToolInfo)
	for _, path := range libraries {
		look(path)
		sum, err := b.hashOf(path)
		if err != nil {
			return nil, fmt.Sprintf("what %s loads cannot be read: %v", t.Path, err)
		}
		list = append(list, sdk.ToolInfo{Name: t.Name + "/" + filepath.Base(path), Path: path, SHA256: sum})
	}
	return list, ""
}

// hashOf is the SHA-256 of a file, which the memo of tools has beside theirs.
func (b *Backend) hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if known, ok := b.memo.Get(path, info); ok && known.SHA256 != "" {
		return known.SHA256, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	known := identity{SHA256: hex.EncodeToString(sum.Sum(nil))}
	b.memo.Put(path, info, known)
	return known.SHA256, nil
}

// loads lists the libraries that a program has loaded when it begins, as the loader that
// the program names finds them.
func loads(ctx context.Context, program string) ([]string, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("tritonc does not know the loader of %s", runtime.GOOS)
	}
	f, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("it is not a program of the system's own format: %w", err)
	}
	defer f.Close()
	loader := ""
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			if err != nil {
				return nil, err
			}
			loader = strings.TrimRight(string(name), "\x00")
		}
	}
	if loader == "" {
		return nil, nil // it is complete in itself
	}
	res, err := sdk.Command{Path: loader, Args: []string{"--list", program}, Timeout: 20 * time.Second}.Run(ctx)
	if err != nil {
		return nil, err
	}
	if !res.OK() {
		return nil, fmt.Errorf("%s --list fails: %s", loader, FirstLines(Said(res), 1))
	}
	return listed(string(res.Stdout))
}

// listed reads what a loader's --list prints: "NAME => PATH (0xADDRESS)" or "PATH
// (0xADDRESS)"; what has no path is the kernel's.
func listed(text string) ([]string, error) {
	var list []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		line, _, _ = strings.Cut(line, " (0x")
		name, path, ok := strings.Cut(line, " => ")
		if !ok {
			path = name
		}
		switch path = strings.TrimSpace(path); {
		case path == "not found":
			return nil, fmt.Errorf("the library %s is missing", name)
		case filepath.IsAbs(path):
			list = append(list, path)
		}
	}
	return list, nil
}
