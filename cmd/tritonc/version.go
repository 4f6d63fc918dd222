package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
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
			fmt.Fprintln(env.stdout, versionText())
			return nil
		},
	}
}

// versionText is what --version prints.
func versionText() string {
	return fmt.Sprintf("tritonc %s, Triton %s, %s %s/%s", version(), tritonVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit of a build from a checkout; make sets it.
var revision string

// version is the module's version, or the commit for a build from a checkout.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision
}
