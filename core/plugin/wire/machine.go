package wire

import sdk "github.com/tritonc/tritonc/plugin-sdk"

// Machine is what compiles for a target depend on besides what they are given, in a form
// that is the same on all machines with the same programs, wherever these are.
type Machine struct {
	// Text identifies backends, settings and tools by what they are, not by where.
	Text string `json:"text"`
	// Tools are those of this machine that Text speaks of.
	Tools []sdk.ToolInfo `json:"tools"`
	// LookedAt names the files and folders that all this depends on, there or not.
	LookedAt []string `json:"looked_at"`
	// Unshared says why nothing can be shared; empty: it can.
	Unshared string `json:"unshared"`
}
