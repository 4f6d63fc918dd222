package llvm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/lower"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Major is the version of LLVM whose tools we know: their flags, and what they
// do with our IR.
const Major = 22

// LLVM's tools: the code generator, the linker of LLVM IR, the optimizer, the assembler,
// the linker of objects.
var (
	LLC = llvmKind("llc", sdk.SettingSpec{
		Name: "llc", Env: []string{"TRITONC_LLC"}, Doc: "path of LLVM's llc, version " + strconv.Itoa(Major),
	})
	LinkTool = llvmKind("llvm-link", sdk.SettingSpec{
		Name: "llvm_link", Env: []string{"TRITONC_LLVM_LINK"}, Doc: "path of LLVM's llvm-link, for kernels that call functions of a library",
	})
	Opt = llvmKind("opt", sdk.SettingSpec{
		Name: "opt", Env: []string{"TRITONC_OPT"}, Doc: "path of LLVM's opt, for the same",
	})
	MC = llvmKind("llvm-mc", sdk.SettingSpec{
		Name: "llvm_mc", Env: []string{"TRITONC_LLVM_MC"}, Doc: "path of LLVM's assembler llvm-mc, version " + strconv.Itoa(Major),
	})
	LLD = lld()
)

// lld is LLVM's linker, which is a package of its own.
func lld() *backend.ToolKind {
	k := llvmKind("ld.lld", sdk.SettingSpec{
		Name: "lld", Env: []string{"TRITONC_LLD"}, Doc: "path of LLVM's linker ld.lld, version " + strconv.Itoa(Major),
	})
	k.Version = func(text string) (string, bool) { return backend.WordAfter(text, "LLD ") }
	k.Help = strings.Replace(k.Help, "install llvm-", "install lld-", 1)
	return k
}

// llvmKind is a tool of LLVM.
func llvmKind(name string, setting sdk.SettingSpec) *backend.ToolKind {
	major := strconv.Itoa(Major)
	return &backend.ToolKind{
		Name: name, Setting: setting, Alone: true,
		Places: func(map[string]string) (programs, folders []string) {
			programs = append(backend.InPath(name+"-"+major), backend.InPath(name)...)
			for _, dir := range []string{"/usr/lib/llvm-", "/usr/local/lib/llvm-", "/opt/homebrew/opt/llvm@", "/usr/local/opt/llvm@"} {
				programs = append(programs, dir+major+"/bin/"+name)
			}
			return programs, nil
		},
		Version: func(text string) (string, bool) { return backend.WordAfter(text, "LLVM version ") },
		Refuse: func(v int) string {
			if v != Major {
				return fmt.Sprintf("version %d is needed", Major)
			}
			return ""
		},
		Help: fmt.Sprintf("install LLVM %d (Debian: apt-get install llvm-%[1]d), or run make toolchain, or name one with %s",
			Major, strings.Join(setting.Env, ", ")),
	}
}

// GenerateCode has llc translate LLVM IR, and returns what it writes. What it
// refuses is the user's mistake where the user gave the LLVM IR, and ours else.
func GenerateCode(c *backend.Compilation, target lower.Target, args []string, llir []byte) ([]byte, error) {
	if err := CheckTriple(c, target, llir); err != nil {
		return nil, err
	}
	llc, err := c.Find(LLC)
	if err != nil {
		return nil, err
	}
	cmd := sdk.Command{Path: llc.Path, Args: append(args, "-o", "-", "-"), Stdin: llir}
	res, err := c.RunTool(llc, cmd)
	if err != nil {
		return nil, err
	}
	if !res.OK() {
		return nil, llcError(c, cmd, res)
	}
	return res.Stdout, nil
}

// CheckTriple refuses LLVM IR that says that it is for other targets.
func CheckTriple(c *backend.Compilation, target lower.Target, llir []byte) error {
	const key = "target triple"
	line := 0
	for text := range bytes.Lines(llir) {
		line++
		rest, ok := bytes.CutPrefix(text, []byte(key))
		if bytes.HasPrefix(text, []byte("define")) {
			break
		}
		_, quoted, ok2 := bytes.Cut(rest, []byte{'"'})
		if !ok || !ok2 {
			continue
		}
		of, _, _ := strings.Cut(string(quoted), `"`)
		want := target.Triple()
		if machine, _, _ := strings.Cut(want, "-"); of != machine && !strings.HasPrefix(of, machine+"-") {
			return &sdk.Diagnostic{
				File: c.File, Line: line, Column: len(text) - len(quoted), SourceLine: strings.TrimRight(string(text), "\r\n"),
				Message: fmt.Sprintf("the LLVM IR is for %s, and that of %s is for %s", of, c.Request.Target, want),
				Help:    "compile it for a target of that kind, or the kernel's source for this one",
			}
		}
	}
	return nil
}

// llcError explains a failure of llc. LLVM IR that the user gave may be wrong;
// when it is ours, it is our mistake.
func llcError(c *backend.Compilation, cmd sdk.Command, res *sdk.Result) error {
	said := strings.TrimSpace(string(res.Stderr))
	if said == "" {
		said = res.Status()
	}
	// The lowering checks inline assembly; what LLVM finds beyond that is in the
	// user's text all the same.
	if !c.BelowMLIR() && backend.SaysAny(said, []string{"inline asm", "constraint"}) {
		d := &sdk.Diagnostic{Message: "kernel " + c.Meta.Name + ": llc: " + backend.FirstLines(said, 10), Help: "this is about the text or the constraints of its inline assembly"}
		d.File, d.Line, d.Column = c.KernelPlace()
		return d
	}
	if !c.BelowMLIR() {
		return &sdk.Diagnostic{
			Kind:    sdk.Bug,
			Message: "BUG: llc refuses the LLVM IR that the " + c.BackendName() + " backend made (" + res.Status() + ")",
			Help:    "please report it with the kernel; the command was: " + cmd.String(),
			Notes:   []sdk.Diagnostic{{Severity: sdk.Note, Message: backend.FirstLines(said, 40)}},
		}
	}
	said, _, _ = strings.Cut(said, "\nPLEASE submit a bug report") // and the stack
	d := &sdk.Diagnostic{File: c.Request.InputName, Message: "llc: " + backend.FirstLines(said, 10), Help: "the command was: " + cmd.String() + " < " + c.Request.InputName}
	// "llc: <stdin>:2:1: error: expected type"
	if _, rest, ok := strings.Cut(said, "<stdin>:"); ok {
		parts := strings.SplitN(rest, ":", 4)
		if len(parts) == 4 {
			line, err1 := strconv.Atoi(parts[0])
			col, err2 := strconv.Atoi(parts[1])
			if err1 == nil && err2 == nil {
				message, _, _ := strings.Cut(strings.TrimSpace(parts[3]), "\n")
				d.Line, d.Column, d.Message = line, col, "llc: "+message
			}
		}
	}
	return d
}
