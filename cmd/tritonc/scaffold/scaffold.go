package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/mod/module"

	"github.com/tritonc/tritonc/core/plugin/manifest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Config says what to write.
type Config struct {
	// Name of the backend, as in tritonc-backend-NAME.
	Name string
	// Module is the path of its module; empty: example.com/tritonc-backend-NAME.
	Module string
	// Targets that it compiles for; none: NAME:v1.
	Targets []string
	// Kit has it begin over core/backend.
	Kit bool

	// Source is the folder of tritonc's source, and Replace its name in go.mod; empty: the
	// same. Without a Source, Version is tritonc's released version.
	Source, Replace, Version string
}

// File is one to write.
type File struct {
	Name string
	Data []byte
}

//go:embed template
var templates embed.FS

// filled is what templates see.
type filled struct {
	Name, Title, Program, Comment string
	Targets                       []string
	Devices                       []device
	TritoncModule                 string
	Commands, Run                 string
}

// device is one of the driver's.
type device struct{ Name, Backend, Arch string }

// Check completes c, and refuses what cannot be a backend.
func (c *Config) Check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if c.Module == "" {
		c.Module = "example.com/" + c.Program()
	}
	if err := module.CheckImportPath(c.Module); err != nil {
		return err
	}
	if c.Module == ourModule || strings.HasPrefix(c.Module, ourModule+"/") {
		return fmt.Errorf("%s is in tritonc's own module", c.Module)
	}
	if len(c.Targets) == 0 {
		c.Targets = []string{c.Name + ":v1"}
	}
	for i, name := range c.Targets {
		if _, err := sdk.ParseTarget(name); err != nil {
			return err
		}
		if !plainTarget.MatchString(name) {
			return fmt.Errorf("target %q: one to begin with is two words of letters and digits, such as %s:v1", name, c.Name)
		}
		if slices.Contains(c.Targets[:i], name) {
			return fmt.Errorf("the target %s is there twice", name)
		}
	}
	return nil
}

// Program is the name of the backend's program.
func (c *Config) Program() string { return manifest.ProgramPrefix + c.Name }

var (
	plainName   = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	plainTarget = regexp.MustCompile(`^[A-Za-z0-9_.+-]+:[A-Za-z0-9_.+-]+$`)
)

// taken are names that would hide something of tritonc's own.
var taken = map[string]string{
	"nvidia":  "tritonc's backend for NVIDIA GPUs",
	"amd":     "tritonc's backend for AMD GPUs",
	"cuda":    "tritonc's driver of NVIDIA GPUs",
	"sim":     "the simulated devices",
	"tritonc": "tritonc itself",
}

func checkName(name string) error {
	switch {
	case !plainName.MatchString(name):
		return fmt.Errorf("%q cannot be the name of a backend: it has small letters and digits, a letter first", name)
	case token.IsKeyword(name):
		return fmt.Errorf("%q cannot be the name of a backend: it is a keyword of Go", name)
	case taken[name] != "":
		return fmt.Errorf("%q cannot be the name of a backend: it is that of %s", name, taken[name])
	}
	return nil
}

// Commands are those that build, test and check what was written to a folder, which is
// named as from the folder that they run in; "." and "" are that one. Names are quoted for
// a shell where they need it.
func (c *Config) Commands(dir string) []string {
	in, out := "", ""
	if dir = filepath.ToSlash(dir); dir != "" && dir != "." {
		in = "-C " + quote(dir) + " "
	}
	if path.Base(c.Module) != c.Program() {
		out = "-o " + c.Program() + exe + " "
	}
	return []string{
		"go " + in + "build " + out + ".",
		"go " + in + "test .",
		"tritonc backend check " + quote(path.Join(dir, c.Program()+exe)),
	}
}

// exe ends the names of programs.
var exe = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

func quote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// run is the command that runs kernel.py, or compiles it where there is no driver.
func (c *Config) run() string {
	if c.Kit {
		return "tritonc --target " + c.Targets[0] + " kernel.py"
	}
	return "tritonc run --target " + c.Targets[0] + ` --grid "cdiv(n, BLOCK)" --arg n=1000 --arg BLOCK=256 --arg a=2.0 \
        --arg x_ptr=rand:fp32[n] --arg y_ptr=rand:fp32[n] --arg out_ptr=zeros:fp32[n] \
        --expect "out_ptr=a * x_ptr + y_ptr" kernel.py`
}

// Files makes the files of a module that Check has passed.
func Files(c Config) ([]File, error) {
	title := strings.ToUpper(c.Name[:1]) + c.Name[1:]
	program := c.Program()
	f := filled{
		Name: c.Name, Title: title, Program: program, Comment: strings.ToUpper(program[:1]) + program[1:],
		Targets: c.Targets, TritoncModule: ourModule, Commands: "    " + strings.Join(c.Commands(""), "\n    ") + "\n", Run: c.run(),
	}
	for _, name := range c.Targets {
		backend, arch, _ := strings.Cut(name, ":")
		f.Devices = append(f.Devices, device{title + " " + strings.ToUpper(arch), backend, arch})
	}
	dir := "template/sdk"
	if c.Kit {
		dir = "template/kit"
	}
	entries, err := fs.ReadDir(templates, dir)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range entries {
		data, err := fill(path.Join(dir, e.Name()), &f)
		if err != nil {
			return nil, err
		}
		files = append(files, File{strings.TrimSuffix(e.Name(), ".tmpl"), data})
	}
	mod, err := c.moduleFiles()
	return append(files, mod...), err
}

// fill fills in a template, and formats what is Go: columns depend on the names.
func fill(name string, f *filled) ([]byte, error) {
	text, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{"join": join}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, f); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".go.tmpl") {
		return out.Bytes(), nil
	}
	return format.Source(out.Bytes())
}

func join(list []string) string { return strings.Join(list, ", ") }

// Write puts files into a folder, which it makes. It replaces none, and after an error
// it takes away what it wrote.
func Write(dir string, files []File) (err error) {
	var made []string
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				os.Remove(name)
			}
		}
	}()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		made = append(made, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err != nil {
		return err
	} else if len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty", dir)
	}
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, name)
		_, err = out.Write(f.Data)
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
	return nil
}
