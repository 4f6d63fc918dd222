package llvm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Functions of device libraries that a backend does not know itself are taken from
// libraries of LLVM IR: those of option extern_libs, and the vendor's own. What a
// kernel needs of them becomes part of its llir.

// Library is a file of LLVM IR, as text or bitcode.
type Library struct{ Name, Path string }

// tool says which content of the library is in an artifact.
func (l Library) tool() (sdk.ToolInfo, error) {
	data, err := input.ReadFile(l.Path, input.Library)
	if err != nil {
		return sdk.ToolInfo{}, err
	}
	sum := sha256.Sum256(data)
	text := hex.EncodeToString(sum[:])
	return sdk.ToolInfo{Name: "extern_libs." + l.Name, Path: l.Path, Version: "sha256:" + text[:16], SHA256: text}, nil
}

// Linking is how a backend links libraries.
type Linking struct {
	// Libraries to link, in order.
	Libraries []Library
	// Defined are functions that no library defines: the vendor's tools know them.
	Defined []string
	// OptArgs are more arguments of opt for the passes that follow.
	OptArgs []string
	// ReadHelp is the next step for a library that cannot be read.
	ReadHelp func(Library) string
	// Help says how to give a function's library, of which the kernel may say the
	// name.
	Help func(function, library string) string
}

// afterLink are LLVM's passes over a kernel with what was linked into it: only
// the kernel stays visible, the functions are inlined and what that leaves is
// cleaned up. It is done after the last library: what one defines and has
// hidden, another could not call. Passes of the target go where %[2]s is.
const afterLink = "internalize<preserve-gv=%[1]s>,%[2]scgscc(inline),function(sroa,early-cse,simplifycfg),globaldce"

// Link defines the kernel's external functions in the Artifact. targetPasses, each
// followed by a comma, are LLVM's passes that answer what libraries ask of the
// target.
func Link(c *backend.Compilation, externs []lower.Extern, targetPasses string, l *Linking) error {
	libs := l.Libraries
	for _, lib := range libs {
		c.LookAt(lib.Path)
		f, _, err := input.Open(lib.Path, input.Library)
		if err != nil {
			return &sdk.Diagnostic{
				Kind: sdk.Environment, Message: fmt.Sprintf("the library %s cannot be read: %v", lib.Name, err), Help: l.ReadHelp(lib),
			}
		}
		f.Close()
	}
	if len(libs) == 0 {
		x := externs[0]
		return wire.ErrorToSDK(x.Errorf("there is no library to take the function '%s' from", x.Symbol).
			WithHelp("%s", l.Help(x.Symbol, x.Library)))
	}
	linker, err := c.Find(LinkTool)
	if err != nil {
		return err
	}
	opt, err := c.Find(Opt)
	if err != nil {
		return err
	}
	before := string(c.Artifact)
	args := []string{"-S", "--only-needed", "--suppress-warnings", "-o", "-", "--", "-"}
	// llvm-link takes of each file what is needed when it reaches it. A chain of
	// calls through all libraries is complete after as many rounds.
	for range libs {
		for _, lib := range libs {
			args = append(args, lib.Path)
		}
	}
	res, err := c.RunTool(linker, sdk.Command{Path: linker.Path, Args: args, Stdin: c.Artifact})
	if err != nil {
		return err
	}
	if !res.OK() {
		return sdk.Errorf("%s cannot link %s: %s", filepath.Base(linker.Path), libraryList(libs, " and "), backend.FirstLines(backend.Said(res), 10)).
			WithHelp("libraries are files of LLVM IR, text or bitcode, no newer than LLVM %d (option extern_libs)", Major)
	}
	if err := checkDefined(before, string(res.Stdout), externs, l); err != nil {
		return err
	}
	args = append(slices.Concat([]string{"-S"}, l.OptArgs), "-passes="+fmt.Sprintf(afterLink, c.Meta.Name, targetPasses), "-o", "-", "-")
	res, err = c.RunTool(opt, sdk.Command{Path: opt.Path, Args: args, Stdin: res.Stdout})
	if err != nil {
		return err
	}
	if !res.OK() {
		return fmt.Errorf("%s refuses the kernel with what was linked of %s: %s", opt.Path, libraryList(libs, " and "), backend.FirstLines(backend.Said(res), 10))
	}
	c.Artifact = res.Stdout
	for _, lib := range libs {
		info, err := lib.tool()
		if err != nil {
			return fmt.Errorf("library %s: %w", lib.Name, err)
		}
		c.AddTool(info)
	}
	return nil
}

// checkDefined finds functions that the libraries leave undefined, the kernel's
// own and those that the libraries call themselves, and those that they define
// with other types than the kernel calls them with: LLVM takes that for code that
// never runs. The kernel is before, and after with what was linked.
func checkDefined(before, after string, externs []lower.Extern, l *Linking) error {
	var bad sdk.Diagnostics
	refuse := func(x lower.Extern, help, format string, args ...any) {
		bad = append(bad, wire.ToSDK(x.Errorf(format, args...).WithHelp("%s", help)))
	}
	called, defined := functionTypes(before, "declare "), functionTypes(after, "define ")
	for _, x := range externs {
		name := x.Symbol
		switch want, got := called[name], defined[name]; {
		case got == "":
			refuse(x, l.Help(name, x.Library), "no library defines the function '%s': %s", name, noneOf(l.Libraries))
		case got != want:
			refuse(x, "correct the types beside the symbol in extern_elementwise, or the library",
				"the function '%s' is %s in the library, and the kernel calls it as %s (of %s)", name, got, want, libraryList(l.Libraries, ", "))
		}
	}
	isExtern := func(name string) bool {
		return slices.ContainsFunc(externs, func(x lower.Extern) bool { return x.Symbol == name })
	}
	for _, name := range slices.Sorted(maps.Keys(functionTypes(after, "declare "))) {
		if isExtern(name) || called[name] != "" || strings.HasPrefix(name, "llvm.") || slices.Contains(l.Defined, name) {
			continue
		}
		refuse(externs[0], l.Help(name, ""), "what was linked calls the function '%s', which no library defines: %s", name, noneOf(l.Libraries))
	}
	if len(bad) == 0 {
		return nil
	}
	return bad
}

// libraryList names libraries for a message, with a word between two.
func libraryList(libs []Library, between string) string {
	words := make([]string, len(libs))
	for i, l := range libs {
		words[i] = l.Name + " (" + l.Path + ")"
	}
	return strings.Join(words, between)
}

// noneOf names the libraries that lack what was looked for.
func noneOf(libs []Library) string {
	if len(libs) == 1 {
		return "not " + libraryList(libs, "")
	}
	return "neither " + libraryList(libs, " nor ")
}
