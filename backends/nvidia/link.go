package nvidia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Functions of device libraries that the backend does not know itself are taken
// from libraries of LLVM IR: those of option extern_libs, and CUDA's libdevice
// where one is found. What a kernel needs of them becomes part of its llir.

// library is a file of LLVM IR, as text or bitcode.
type library struct{ name, path string }

// tool says which content of the library is in an artifact.
func (l library) tool() (sdk.ToolInfo, error) {
	data, err := input.ReadFile(l.path, input.Library)
	if err != nil {
		return sdk.ToolInfo{}, err
	}
	sum := sha256.Sum256(data)
	text := hex.EncodeToString(sum[:])
	return sdk.ToolInfo{Name: "extern_libs." + l.name, Path: l.path, Version: "sha256:" + text[:16], SHA256: text}, nil
}

// libdeviceName is the name that an option or a setting knows CUDA's library by.
const libdeviceName = "libdevice"

// libraries are those to link, in order: the user's by name, then libdevice,
// which the others may call.
func (c *compilation) libraries() []library {
	var list []library
	for _, name := range slices.Sorted(maps.Keys(c.opts.ExternLibs)) {
		if name != libdeviceName {
			list = append(list, library{name, c.opts.ExternLibs[name]})
		}
	}
	path := c.opts.ExternLibs[libdeviceName]
	if path == "" {
		path = c.findLibdevice()
	}
	if path != "" {
		list = append(list, library{libdeviceName, path})
	}
	return list
}

// findLibdevice looks for libdevice.10.bc: the one that the user names, that of
// a CUDA toolkit, that beside ptxas. It returns "" where there is none.
func (c *compilation) findLibdevice() string {
	if path := c.req.Settings[settingLibdevice]; path != "" {
		return path
	}
	dirs := []string{"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit"}
	if dir := c.req.Settings[settingCUDA]; dir != "" {
		dirs = slices.Insert(dirs, 0, dir)
	}
	if ptxas, err := c.find(&ptxasKind); err == nil {
		if real, err := filepath.EvalSymlinks(ptxas.Path); err == nil {
			dirs = append(dirs, filepath.Dir(filepath.Dir(real)))
		}
	}
	for _, dir := range dirs {
		for _, sub := range []string{"nvvm/libdevice", "libdevice"} {
			path := filepath.Join(dir, sub, "libdevice.10.bc")
			c.lookAt(path)
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// afterLink are LLVM's passes over a kernel with what was linked into it: only
// the kernel stays visible, the questions that libraries ask of the target
// (__nvvm_reflect) are answered, the functions inlined and what that leaves is
// cleaned up. It is done after the last library: what one defines and has
// hidden, another could not call.
const afterLink = "internalize<preserve-gv=%s>,nvvm-reflect,cgscc(inline),function(sroa,early-cse,simplifycfg),globaldce"

// link defines the kernel's external functions in c.llir.
func (c *compilation) link(externs []lower.Extern) error {
	libs := c.libraries()
	for _, l := range libs {
		c.lookAt(l.path)
		f, _, err := input.Open(l.path, input.Library)
		if err != nil {
			return &sdk.Diagnostic{
				Kind: sdk.Environment, Message: fmt.Sprintf("the library %s cannot be read: %v", l.name, err),
				Help: "see " + strings.Join(envOf(settingLibdevice), ", "),
			}
		}
		f.Close()
	}
	if len(libs) == 0 {
		x := externs[0]
		return wire.ErrorToSDK(x.Errorf("there is no library to take the function '%s' from", x.Symbol).
			WithHelp("%s", libraryHelp(x.Symbol, x.Library, libs)))
	}
	linker, err := c.find(&llvmLinkKind)
	if err != nil {
		return toolError(err)
	}
	opt, err := c.find(&optKind)
	if err != nil {
		return toolError(err)
	}
	before := c.llir
	args := []string{"-S", "--only-needed", "--suppress-warnings", "-o", "-", "--", "-"}
	// llvm-link takes of each file what is needed when its turn comes. A chain of
	// calls through all libraries is complete after as many rounds.
	for range libs {
		for _, l := range libs {
			args = append(args, l.path)
		}
	}
	res, err := c.runLLVM(linker, args)
	if err != nil {
		return err
	}
	if !res.OK() {
		return sdk.Errorf("%s cannot link %s: %s", filepath.Base(linker.Path), libraryList(libs, " and "), firstLines(said(res), 10)).
			WithHelp("libraries are files of LLVM IR, text or bitcode, no newer than LLVM %d (option extern_libs)", llvmMajor)
	}
	c.llir = string(res.Stdout)
	if err := checkDefined(before, c.llir, externs, libs); err != nil {
		return err
	}
	res, err = c.runLLVM(opt, []string{
		"-S", "-nvvm-reflect-add=__CUDA_ARCH=" + strconv.Itoa(10*c.early.cc), "-passes=" + fmt.Sprintf(afterLink, c.meta.Name), "-o", "-", "-",
	})
	if err != nil {
		return err
	}
	if !res.OK() {
		return fmt.Errorf("%s refuses the kernel with what was linked of %s: %s", opt.Path, libraryList(libs, " and "), firstLines(said(res), 10))
	}
	c.llir = string(res.Stdout)
	for _, l := range libs {
		info, err := l.tool()
		if err != nil {
			return fmt.Errorf("library %s: %w", l.name, err)
		}
		c.resp.Tools = append(c.resp.Tools, info)
	}
	return nil
}

// runLLVM gives a tool of LLVM the kernel.
func (c *compilation) runLLVM(t tool, args []string) (*sdk.Result, error) {
	return c.runTool(t, sdk.Command{Path: t.Path, Args: args, Stdin: []byte(c.llir)})
}

// said is what a tool says of its failure.
func said(res *sdk.Result) string {
	if text := bytes.TrimSpace(res.Stderr); len(text) > 0 {
		return string(text)
	}
	return res.Status()
}

// deviceFunctions are those that no library defines: ptxas knows them.
var deviceFunctions = []string{"vprintf", "__assertfail", "malloc", "free", "__nvvm_reflect"}

// checkDefined finds functions that the libraries leave undefined, the kernel's
// own and those that the libraries call themselves, and those that they define
// with other types than the kernel calls them with: LLVM takes that for code that
// never runs. The kernel is before, and after with what was linked.
func checkDefined(before, after string, externs []lower.Extern, libs []library) error {
	var bad sdk.Diagnostics
	refuse := func(x lower.Extern, help, format string, args ...any) {
		bad = append(bad, wire.ToSDK(x.Errorf(format, args...).WithHelp("%s", help)))
	}
	called, defined := functionTypes(before, "declare "), functionTypes(after, "define ")
	for _, x := range externs {
		name := x.Symbol
		switch want, got := called[name], defined[name]; {
		case got == "":
			refuse(x, libraryHelp(name, x.Library, libs), "no library defines the function '%s': %s", name, noneOf(libs))
		case got != want:
			refuse(x, "correct the types beside the symbol in extern_elementwise, or the library",
				"the function '%s' is %s in the library, and the kernel calls it as %s (of %s)", name, got, want, libraryList(libs, ", "))
		}
	}
	isExtern := func(name string) bool {
		return slices.ContainsFunc(externs, func(x lower.Extern) bool { return x.Symbol == name })
	}
	for _, name := range slices.Sorted(maps.Keys(functionTypes(after, "declare "))) {
		if isExtern(name) || called[name] != "" || strings.HasPrefix(name, "llvm.") || slices.Contains(deviceFunctions, name) {
			continue
		}
		refuse(externs[0], libraryHelp(name, "", libs), "what was linked calls the function '%s', which no library defines: %s", name, noneOf(libs))
	}
	if len(bad) == 0 {
		return nil
	}
	return bad
}

// libraryList names libraries for a message, with a word between two.
func libraryList(libs []library, between string) string {
	words := make([]string, len(libs))
	for i, l := range libs {
		words[i] = l.name + " (" + l.path + ")"
	}
	return strings.Join(words, between)
}

// noneOf names the libraries that have not what was looked for.
func noneOf(libs []library) string {
	if len(libs) == 1 {
		return "not " + libraryList(libs, "")
	}
	return "neither " + libraryList(libs, " nor ")
}

// libraryHelp says how to give a function's library, of which the kernel may say
// the name, beside those that there are.
func libraryHelp(function, name string, have []library) string {
	given := func(name string) bool {
		return slices.ContainsFunc(have, func(l library) bool { return l.name == name })
	}
	if strings.HasPrefix(function, "__nv_") && !given(libdeviceName) {
		return "name CUDA's libdevice.10.bc with --extern-lib libdevice=PATH or TRITON_LIBDEVICE_PATH; tl.math and Triton's own libdevice need none"
	}
	if name == "" || given(name) {
		name = "NAME"
	}
	return "give a library of LLVM IR that defines it with --extern-lib " + name + "=PATH (option extern_libs)"
}
