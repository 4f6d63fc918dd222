package core

import (
	"path/filepath"
	"strings"
)

// SourceStage is the stage name of ttir as the front end builds it, before any
// pass of a backend. It can be asked for like a backend's own stages.
const SourceStage = "source"

// Source is what to compile.
type Source struct {
	// Path is the file as the user names it; diagnostics show it.
	Path string
	// Name stands for the file in locations and line info, so that the output
	// does not depend on the folder: a path relative to the module's root.
	// Empty: the base name of Path.
	Name string
	// Text is the file's content.
	Text []byte
	// Metadata is what is known about an artifact that has no place for it in
	// its text: a JSON object under the names of Kernel.Metadata, or nil.
	Metadata []byte
}

// ending returns the file's ending without the dot: "py", or that of a stage.
func (s *Source) ending() string {
	return strings.TrimPrefix(filepath.Ext(s.Path), ".")
}

// name returns Name or what stands for it.
func (s *Source) name() string {
	if s.Name != "" {
		return s.Name
	}
	return filepath.Base(s.Path)
}
