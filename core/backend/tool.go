package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/trust"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Tool is a program that was found, with what is known of it.
type Tool struct {
	sdk.ToolInfo
	Major, Minor int // of its version

	kind *ToolKind
}

// ToolKind is a sort of tool: where it may be and how to recognize one.
type ToolKind struct {
	Name string
	// Setting is where a user names one, and no other is taken.
	Setting sdk.SettingSpec
	// Named is the program that a value of the setting stands for, which may be a folder;
	// nil: the value itself.
	Named func(value string) string
	// Places lists where one may be, first to last, and the folders whose content
	// decided on that. Last comes the folder that make toolchain fills.
	Places func(settings map[string]string) (programs, folders []string)
	// Version finds the version in what --version prints.
	Version func(text string) (version string, ok bool)
	// Refuse says why a version that nobody asked for is passed over, or "".
	Refuse func(major int) string
	// Help is what a user can do who has none.
	Help string
	// Alone says that what the tool does depends on its file, on the libraries that the
	// system's loader finds for it, and on what it is called with, and on nothing else of
	// the machine. What only such tools made other machines may take.
	Alone bool
	// Folders names settings beside Setting that only say where tools and libraries are.
	Folders []string
	// Limits are what one may take for a kernel where the settings name no others;
	// zero are those of LLVM's tools.
	Limits Limits
}

// WordAfter is what comes between mark and the next space in text.
func WordAfter(text, mark string) (string, bool) {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return "", false
	}
	word, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n", " "), " ")
	return word, word != ""
}

// InPath lists the places of a program in the absolute folders of PATH.
func InPath(name string) []string {
	var list []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			list = append(list, filepath.Join(dir, name))
		}
	}
	return list
}

// candidates lists where a tool may be, first to last, and the folders whose
// content decided on that.
func (k *ToolKind) candidates(settings map[string]string) (list, folders []string) {
	list, folders = k.Places(settings)
	if dir := cacheDir(); dir != "" {
		list = append(list, filepath.Join(dir, "toolchain", "bin", k.Name))
	}
	if runtime.GOOS == "windows" {
		for i, p := range list {
			if filepath.Ext(p) == "" {
				list[i] = p + ".exe"
			}
		}
	}
	return list, folders
}

// isProgram reports whether a file may be run.
func isProgram(info os.FileInfo) bool {
	return info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

// cacheDir is tritonc's part of the user's cache folder, where make toolchain
// puts tools; empty when the user has no home.
func cacheDir() string {
	base := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "tritonc")
}

// checkOwn refuses a program of our own cache folder that others may have put or
// changed there. Those in other places are the system's, or in the user's PATH.
func checkOwn(path string, info os.FileInfo) error {
	cache := cacheDir()
	if cache == "" || filepath.Dir(path) != filepath.Join(cache, "toolchain", "bin") {
		return nil
	}
	for _, dir := range []string{cache, filepath.Join(cache, "toolchain"), filepath.Dir(path)} {
		if err := trust.Dir(dir); err != nil {
			return err
		}
	}
	return trust.Check(path, info)
}

// ToolNotFound says that no usable tool of a kind is there.
type ToolNotFound struct {
	kind  *ToolKind
	tried []string // "path: why not"
}

// Unwrap is what the user is told.
func (e *ToolNotFound) Unwrap() error {
	d := &sdk.Diagnostic{Kind: sdk.Environment, Message: "no usable " + e.kind.Name + " was found", Help: e.kind.Help}
	if len(e.tried) > 0 {
		d.Message += " (" + strings.Join(e.tried, "; ") + ")"
	}
	return d
}

func (e *ToolNotFound) Error() string { return e.Unwrap().Error() }

// Find is the tool of a kind, or a *ToolNotFound. Where it was looked for becomes
// part of the answer.
func (c *Compilation) Find(k *ToolKind) (*Tool, error) {
	if ahead := c.ahead[k]; ahead != nil {
		s := <-ahead
		ahead <- s
		for _, path := range s.looked {
			c.LookAt(path)
		}
		return s.tool, s.err
	}
	return k.find(c.Context, c.backend.memo, c.Request.Settings, c.LookAt)
}

// search is what Find has found.
type search struct {
	tool   *Tool
	err    error
	looked []string
}

// FindAhead begins to look for a tool that Find will be asked for: in a long PATH that takes
// as long as a stage of a small kernel.
func (c *Compilation) FindAhead(k *ToolKind) {
	found := make(chan search, 1)
	if c.ahead == nil {
		c.ahead = map[*ToolKind]chan search{}
	}
	c.ahead[k] = found
	go func() {
		var s search
		s.tool, s.err = k.find(c.Context, c.backend.memo, c.Request.Settings, func(path string) { s.looked = append(s.looked, path) })
		found <- s
	}()
}

// Find is the tool of the kind on this machine, or a *ToolNotFound; it is asked for
// its version in any case.
func (k *ToolKind) Find(ctx context.Context, settings map[string]string) (*Tool, error) {
	return k.find(ctx, filememo.New[identity](""), settings, func(string) {})
}

// find looks for a tool: the one that the user names, and no other, or else the
// first usable candidate. look is told each path that decided on it.
func (k *ToolKind) find(ctx context.Context, memo *toolMemo, settings map[string]string, look func(path string)) (*Tool, error) {
	if path := settings[k.Setting.Name]; path != "" {
		if !strings.ContainsRune(path, filepath.Separator) {
			if p, err := exec.LookPath(path); err == nil {
				path = p
			}
		}
		if k.Named != nil {
			path = k.Named(path)
		}
		look(path)
		t, err := k.identify(ctx, memo, path)
		if err != nil {
			return nil, &sdk.Diagnostic{
				Kind:    sdk.Environment,
				Message: fmt.Sprintf("the %s that the environment names cannot be used: %v", k.Name, err),
				Help:    "see " + strings.Join(k.Setting.Env, ", ") + ", or " + k.Help,
			}
		}
		return t, nil
	}
	missing := &ToolNotFound{kind: k}
	candidates, folders := k.candidates(settings)
	for _, dir := range folders {
		look(dir)
	}
	for _, path := range candidates {
		look(path)
		info, err := os.Stat(path)
		if err != nil || !isProgram(info) {
			continue
		}
		if err := checkOwn(path, info); err != nil {
			missing.tried = append(missing.tried, err.Error())
			continue
		}
		t, err := k.identify(ctx, memo, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			missing.tried = append(missing.tried, err.Error())
			continue
		}
		if why := k.Refuse(t.Major); why != "" {
			missing.tried = append(missing.tried, fmt.Sprintf("%s is %s, %s", path, t.Version, why))
			continue
		}
		return t, nil
	}
	return nil, missing
}

// identify learns a program's version and hash, from the memo when the file is
// the one that it knows.
func (k *ToolKind) identify(ctx context.Context, memo *toolMemo, path string) (*Tool, error) {
	info, err := os.Stat(path) // follows links: make toolchain makes some
	if err != nil {
		return nil, err
	}
	known, ok := memo.Get(path, info)
	if !ok || known.Version == "" || known.SHA256 == "" { // not known, or by an entry of another form
		if known, err = k.ask(ctx, path); err != nil {
			return nil, err
		}
		memo.Put(path, info, known)
	}
	t := &Tool{ToolInfo: sdk.ToolInfo{Name: k.Name, Path: path, Version: known.Version, SHA256: known.SHA256}, kind: k}
	parts := strings.SplitN(known.Version, ".", 3)
	t.Major, err = strconv.Atoi(parts[0])
	if err == nil && len(parts) > 1 {
		t.Minor, err = strconv.Atoi(parts[1])
	}
	if err != nil {
		return nil, fmt.Errorf("%s has the version %q, which is not a number", path, known.Version)
	}
	return t, nil
}

// ask runs the program for its version and hashes its file.
func (k *ToolKind) ask(ctx context.Context, path string) (identity, error) {
	res, err := sdk.Command{Path: path, Args: []string{"--version"}, Timeout: 20 * time.Second}.Run(ctx)
	if err != nil {
		return identity{}, err
	}
	version, ok := k.Version(string(res.Stdout))
	if !ok {
		return identity{}, fmt.Errorf("%s --version names no version (%s)", path, res.Status())
	}
	f, err := os.Open(path)
	if err != nil {
		return identity{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return identity{}, err
	}
	return identity{Version: version, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// identity is what a tool's file is known by.
type identity struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// toolMemo spares asking the same tools in every process.
type toolMemo = filememo.Memo[identity]

// Said is what a tool says of its failure.
func Said(res *sdk.Result) string {
	if text := bytes.TrimSpace(res.Stderr); len(text) > 0 {
		return string(text)
	}
	return res.Status()
}

// FirstLines is the first n lines of text.
func FirstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	if len(lines) > n {
		lines[n] = "…"
	}
	return strings.Join(lines, "\n")
}
