package main

import "strings"

// splitMarker begins the lines between the parts of a file for --split-input-file.
const splitMarker = "// -----"

// splitInput cuts a file at its lines that begin with splitMarker. Each part has as
// many empty lines before it as the file has lines, so that places in it are those
// in the file.
func splitInput(src []byte) [][]byte {
	var parts [][]byte
	part, lines := []byte(nil), 0
	for line := range strings.Lines(string(src)) {
		lines++
		if strings.HasPrefix(line, splitMarker) {
			parts = append(parts, part)
			part = []byte(strings.Repeat("\n", lines))
			continue
		}
		part = append(part, line...)
	}
	return append(parts, part)
}

// onlyComments reports whether a part has nothing to parse.
func onlyComments(src []byte) bool {
	for line := range strings.Lines(string(src)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			return false
		}
	}
	return true
}
