package sdk

import "testing"

func TestStampedVersion(t *testing.T) {
	defer func(v string) { programVersion = v }(programVersion)
	programVersion = ""
	if v := readProgramVersion(); v != "" { // a test's main module has none
		t.Errorf("a version without a stamp: %q", v)
	}
	programVersion = "v1.2.3"
	if v := readProgramVersion(); v != "v1.2.3" {
		t.Errorf("version %q, want that of the stamp", v)
	}
}
