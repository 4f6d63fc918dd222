package lower

import (
	"reflect"
	"testing"
)

// TestDefaultsAreComplete finds a capability that nobody has given a default.
func TestDefaultsAreComplete(t *testing.T) {
	c := reflect.ValueOf(capabilities(bareTarget{}))
	for i := range c.NumField() {
		switch name := c.Type().Field(i).Name; name {
		case "Warp", "Clusters", "VendorOps", "Groups", "Descriptors": // asked for where they are used
		default:
			if c.Field(i).IsNil() {
				t.Errorf("no default for %s", name)
			}
		}
	}
}
