package backend

import (
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// checkoutVersion is the version of a build from a checkout: that of the next release.
const checkoutVersion = "0.1.0"

// Version is the version of tritonc's own backends: that of the release that the program
// is of.
func Version() string {
	if v := sdk.ProgramVersion(); v != "" {
		return strings.TrimPrefix(v, "v")
	}
	return checkoutVersion
}
