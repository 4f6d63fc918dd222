package core

import (
	"path/filepath"
	"strings"

	"github.com/tritonc/tritonc/core/frontend"
)

// SourceStage is the stage name of ttir as the front end builds it, before any
// pass of a backend. It can be asked for like a backend's own stages.
const SourceStage = "source"

// Source is what to compile: a kernel of a Python file with its signature, as
// Variants returns it, or the artifact of a stage. It is not changed by a
// compile, so that several may share it.
type Source struct {
	// Path is the file as the user names it; diagnostics show it.
	Path string
	// Name stands for the file in locations and line info, so that the output
	// does not depend on the folder: a path relative to the module's root.
	// Empty: the base name of Path.
	Name string
	// Module is the dotted name of a Python file that is part of a package:
	// relative imports refer to it, and callees are named after it. Empty: the
	// base name of Path without its ending.
	Module string
	// Ending says what the file is, as the ending of its name would, without the
	// dot: "py", or that of a stage's artifact. Empty: Path's ending says it.
	Ending string
	// Text is the file's content.
	Text []byte
	// Metadata is what is known about an artifact that has no place for it in
	// its text: a JSON object under the names of Kernel.Metadata, or nil.
	Metadata []byte
	// Import finds the file of a module that the Python file imports, by its
	// dotted name; a nil Source when there is none. A nil Import finds none.
	Import func(module string) (*Source, error)
	// Installed marks what Import finds among installed packages: what in it cannot
	// be evaluated fails only a kernel that needs it.
	Installed bool
	// Config chooses among the configurations of an autotuned kernel: a number
	// from 0, AllConfigs for every one, or empty where the signature says all.
	Config string
	// Configs, when there, lists the configurations in the place of the kernel's
	// decorator: JSON, as frontend.ConfigFile has it. It needs a Config.
	Configs *ConfigFile
	// Define gives values to names of modules that Import does not find.
	Define []Definition

	// Variant tells this variant of a kernel from the others of its file, in
	// letters fit for a file's name; empty when it is the only one.
	Variant string
	// Options are those that the file itself gives for this variant. Those of
	// Options.Values go before them.
	Options map[string]any

	python  *python           // nil until the file is parsed
	variant *frontend.Variant // what to compile of a Python file
}

// ConfigFile is a file of configurations, as the user names it.
type ConfigFile struct {
	Path string
	Text []byte
}

// Definition gives a value, a Python expression, to a dotted name such as
// "torch.float16".
type Definition = frontend.Definition

// pythonEnding is that of files for the front end.
const pythonEnding = "py"

// Kind is what the file is: "py", or the ending of a stage's artifact.
func (s *Source) Kind() string {
	if s.Ending != "" {
		return s.Ending
	}
	return strings.TrimPrefix(filepath.Ext(s.Path), ".")
}

// name returns Name or what stands for it.
func (s *Source) name() string {
	if s.Name != "" {
		return s.Name
	}
	return filepath.Base(s.Path)
}

// kernel is the kernel's name or, where the file alone would tell, the file's.
func (s *Source) kernel() string {
	if s.variant != nil {
		return s.variant.Kernel
	}
	return s.name()
}

// IsPython reports whether the front end reads the file.
func (s *Source) IsPython() bool { return s.Kind() == pythonEnding }
