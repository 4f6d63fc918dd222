package llvm

import "strings"

// functionTypes are the types of the functions that LLVM IR declares or defines,
// by name: "float (float, i32)". Keyword is "declare " or "define ", with which
// their lines begin.
func functionTypes(ir, keyword string) map[string]string {
	types := map[string]string{}
	for line := range strings.Lines(ir) {
		head, ok := strings.CutPrefix(line, keyword)
		if !ok {
			continue
		}
		head, rest, ok := strings.Cut(head, " @")
		if !ok {
			continue
		}
		var name string
		if quoted, isQuoted := strings.CutPrefix(rest, `"`); isQuoted {
			name, rest, _ = strings.Cut(quoted, `"`)
			rest = strings.TrimPrefix(rest, "(")
		} else {
			name, rest, _ = strings.Cut(rest, "(")
		}
		// Before the name come linkage, attributes and, last, the result's type.
		words := splitTop(head, ' ')
		result := words[len(words)-1]
		if n := len(words); n > 1 && strings.HasPrefix(result, "addrspace(") {
			result = words[n-2] + " " + result
		}
		var params []string
		for _, p := range splitTop(rest, ',') {
			if p = strings.TrimSpace(p); p != "" {
				params = append(params, firstType(p))
			}
		}
		types[name] = result + " (" + strings.Join(params, ", ") + ")"
	}
	return types
}

// firstType is the type with which a parameter begins: of "ptr addrspace(1)
// nocapture %p" its first two words.
func firstType(param string) string {
	words := splitTop(param, ' ')
	if len(words) > 1 && strings.HasPrefix(words[1], "addrspace(") {
		return words[0] + " " + words[1]
	}
	return words[0]
}

// splitTop splits text at a separator that is in no brackets, and ends at a
// bracket that closes one opened before text.
func splitTop(text string, separator byte) []string {
	var parts []string
	depth, start, end := 0, 0, len(text)
scan:
	for i := range len(text) {
		switch c := text[i]; {
		case c == separator && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		case strings.IndexByte("([{<", c) >= 0:
			depth++
		case strings.IndexByte(")]}>", c) >= 0:
			if depth == 0 {
				end = i
				break scan
			}
			depth--
		}
	}
	return append(parts, text[start:end])
}
