package wire

import (
	"fmt"
	"slices"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Machine is what compiles for a target depend on besides what they are given, in a form
// that is the same on all machines with the same programs, wherever these are.
type Machine struct {
	// Text identifies backends, settings and tools by what they are, not by where.
	Text string `json:"text"`
	// Tools are those of this machine that Text speaks of, and those of WhenRun.
	Tools []sdk.ToolInfo `json:"tools"`
	// WhenRun names tools that Text does not speak of: they decide on the kernels alone that
	// they had a part in.
	WhenRun []string `json:"when_run"`
	// LookedAt names the files and folders that all this depends on, there or not.
	LookedAt []string `json:"looked_at"`
	// Unshared says why nothing can be shared; empty: it can.
	Unshared string `json:"unshared"`
}

// Ran lists those of WhenRun that are among tools.
func (m *Machine) Ran(tools []sdk.ToolInfo) (names []string) {
	for _, t := range tools {
		if slices.Contains(m.WhenRun, t.Name) && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ToolText is a tool of WhenRun, with what it loads, by what they are; "" where there is
// none, or nobody knows what it loads.
func (m *Machine) ToolText(name string) string {
	var b strings.Builder
	for _, t := range m.Tools {
		if t.Name != name && !strings.HasPrefix(t.Name, name+"/") {
			continue
		}
		if t.SHA256 == "" {
			return ""
		}
		fmt.Fprintf(&b, "tool %s %q\n", t.Name, t.SHA256)
	}
	return b.String()
}
