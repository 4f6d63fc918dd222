package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// tritonVersion is the version of Triton whose language, IR, kernel ABI and
// metadata this compiler has.
const tritonVersion = "3.6"

func versionCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			if env.report.json {
				return writeJSON(env.stdout, versionFacts{version(), tritonVersion, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, sdk.ProgramHash()})
			}
			fmt.Fprintln(env.stdout, versionText())
			return nil
		},
	}
}

// versionFacts are the version with --json.
type versionFacts struct {
	Version  string `json:"version"`
	Triton   string `json:"triton"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Build    string `json:"build"` // of this very program, as a server compares it
}

// versionText is what --version prints.
func versionText() string {
	return fmt.Sprintf("tritonc %s, Triton %s, %s %s/%s", version(), tritonVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit of a build from a checkout; make sets it.
var revision string

// version is that of the release, or the commit for a build from a checkout.
func version() string {
	switch {
	case sdk.ProgramVersion() != "":
		return sdk.ProgramVersion()
	case revision != "":
		return "devel-" + revision
	}
	return "devel"
}
