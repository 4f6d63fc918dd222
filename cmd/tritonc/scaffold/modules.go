package scaffold

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const ourModule = "github.com/tritonc/tritonc"

// goVersion is for a module that requires a released version, whose own go line is not at
// hand; Go raises it where it is too low.
const goVersion = "1.26.0"

// sdkModules are the modules that plugin-sdk links and its test package compiles.
var sdkModules = []string{
	"github.com/fatih/color", "github.com/golang/protobuf", "github.com/hashicorp/go-hclog", "github.com/hashicorp/go-plugin",
	"github.com/hashicorp/yamux", "github.com/mattn/go-colorable", "github.com/mattn/go-isatty", "github.com/oklog/run",
	"golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "google.golang.org/genproto/googleapis/rpc",
	"google.golang.org/grpc", "google.golang.org/protobuf",
}

// kitModules are those that core/backend links besides; target.go imports the first.
var kitModules = []string{
	"github.com/llir/llvm", "github.com/mewmew/float", "github.com/pkg/errors", "golang.org/x/mod", "golang.org/x/sync", "golang.org/x/tools",
}

// moduleFiles are go.mod and go.sum. Without a source of tritonc go.mod names it alone,
// and there are no sums.
func (c *Config) moduleFiles() ([]File, error) {
	f := new(modfile.File)
	if err := f.AddModuleStmt(c.Module); err != nil {
		return nil, err
	}
	if c.Source == "" {
		f.AddNewRequire(ourModule, c.Version, false)
		if err := f.AddGoStmt(goVersion); err != nil {
			return nil, err
		}
		return formatted(f, nil)
	}
	name := filepath.Join(c.Source, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	theirs, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	if theirs.Go != nil {
		if err := f.AddGoStmt(theirs.Go.Version); err != nil {
			return nil, err
		}
	}
	f.AddNewRequire(ourModule, "v0.0.0", false)
	linked, direct := sdkModules, ""
	if c.Kit {
		linked, direct = slices.Concat(sdkModules, kitModules), kitModules[0]
	}
	replace := c.Replace
	if replace == "" {
		replace = filepath.ToSlash(c.Source)
	}
	if err := f.AddReplace(ourModule, "", replace, ""); err != nil {
		return nil, err
	}
	for _, r := range theirs.Require {
		if slices.Contains(linked, r.Mod.Path) {
			f.AddNewRequire(r.Mod.Path, r.Mod.Version, r.Mod.Path != direct)
		}
	}
	sums, err := os.ReadFile(filepath.Join(c.Source, "go.sum"))
	if err != nil {
		return nil, err
	}
	return formatted(f, sumsOf(string(sums), f.Require))
}

// sumsOf are the lines of a go.sum for some modules.
func sumsOf(text string, modules []*modfile.Require) []byte {
	var out strings.Builder
	for line := range strings.Lines(text) {
		for _, m := range modules {
			if strings.HasPrefix(line, fmt.Sprintf("%s %s ", m.Mod.Path, m.Mod.Version)) || strings.HasPrefix(line, fmt.Sprintf("%s %s/go.mod ", m.Mod.Path, m.Mod.Version)) {
				out.WriteString(line)
			}
		}
	}
	return []byte(out.String())
}

func formatted(f *modfile.File, sums []byte) ([]File, error) {
	f.SetRequireSeparateIndirect(f.Require)
	f.Cleanup()
	text, err := f.Format()
	if err != nil {
		return nil, err
	}
	files := []File{{"go.mod", text}}
	if sums != nil {
		files = append(files, File{"go.sum", sums})
	}
	return files, nil
}

// IsSource reports whether a folder has the source of tritonc's module.
func IsSource(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(text) == ourModule
}

// Tidy has the go command find what the module in a folder requires, with the sums.
func Tidy(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "tidy")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod tidy: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}
