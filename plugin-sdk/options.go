package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Options are the values of a backend's options by name: nil, int, bool,
// string, []string or map[string]string.
type Options map[string]any

// ParseOptions reads an object of options against their specs and completes it
// with the defaults. A value is of its option's JSON type, or a string to be
// read as that type, as a command line has it. Its error is a Diagnostics with
// an entry for each unknown or wrong option, that says what would be right.
func ParseOptions(specs []OptionSpec, given string) (Options, error) {
	raw := map[string]json.RawMessage{}
	if strings.TrimSpace(given) != "" {
		if err := json.Unmarshal([]byte(given), &raw); err != nil {
			return nil, Errorf("the options are not a JSON object: %v", err)
		}
	}
	out := make(Options, len(specs))
	var bad Diagnostics
	for i := range specs {
		spec := &specs[i]
		text := json.RawMessage(spec.Default)
		value, isGiven := raw[spec.Name]
		if isGiven && !spec.Derived {
			text = value
			delete(raw, spec.Name)
		}
		v, err := spec.read(text)
		if err != nil && !isGiven {
			panic(fmt.Sprintf("BUG: the default of option %s: %v", spec.Name, err))
		}
		if err != nil {
			bad = append(bad, *Errorf("option %s: %v", spec.Name, err).WithHelp("%s: %s (default %s)", spec.Name, spec.Doc, spec.Default))
			continue
		}
		out[spec.Name] = v
	}
	for _, name := range sortedKeys(raw) {
		bad = append(bad, *unknownOption(specs, name))
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return out, nil
}

// JSON gives the canonical text: every option, keys sorted.
func (o Options) JSON() string {
	var b strings.Builder
	enc := json.NewEncoder(&b) // sorts a map's keys
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any(o)); err != nil {
		panic(fmt.Sprintf("BUG: options that are not JSON: %v", err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func unknownOption(specs []OptionSpec, name string) *Diagnostic {
	d := Errorf("unknown option %q", name)
	var names []string
	best, bestDistance := "", 3 // farther than two edits is not a typo
	for i := range specs {
		if specs[i].Derived {
			if specs[i].Name == name {
				d = Errorf("option %q is derived from the target and cannot be given", name)
			}
			continue
		}
		names = append(names, specs[i].Name)
		if n := editDistance(name, specs[i].Name); n < bestDistance {
			best, bestDistance = specs[i].Name, n
		}
	}
	help := "the options are: " + strings.Join(names, ", ")
	if best != "" {
		help = "did you mean " + best + "? " + help
	}
	return d.WithHelp("%s", help)
}

// read converts the JSON of a value to the option's Go value.
func (s *OptionSpec) read(text json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%q is not one JSON value", text)
	}
	str, isString := v.(string)
	if v == nil || isString && s.Type != String && (str == "None" || str == "null") {
		if s.Default != "null" {
			return nil, fmt.Errorf("it cannot be null")
		}
		return nil, nil
	}
	switch s.Type {
	case Int:
		if n, ok := v.(json.Number); ok {
			str, isString = n.String(), true
		}
		n, err := strconv.Atoi(str)
		if !isString || err != nil {
			return nil, fmt.Errorf("%s is not a whole number", text)
		}
		return n, nil
	case Bool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
		if n, ok := v.(json.Number); ok {
			str = n.String()
		}
		switch strings.ToLower(str) {
		case "true", "1", "on":
			return true, nil
		case "false", "0", "off":
			return false, nil
		}
		return nil, fmt.Errorf("%s is not true or false", text)
	case String:
		if !isString {
			return nil, fmt.Errorf("%s is not a string", text)
		}
		return str, s.checkChoice(str)
	case StringList:
		return s.readList(v, text)
	case StringMap:
		return s.readMap(v, text)
	}
	panic("BUG: option " + s.Name + " has the unknown type " + string(s.Type))
}

func (s *OptionSpec) readList(v any, text json.RawMessage) (any, error) {
	var list []string
	switch v := v.(type) {
	case string:
		for item := range strings.SplitSeq(v, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
	case []any:
		for _, item := range v {
			str, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%s is not a list of strings", text)
			}
			list = append(list, str)
		}
	default:
		return nil, fmt.Errorf("%s is not a list of strings", text)
	}
	for _, item := range list {
		if err := s.checkChoice(item); err != nil {
			return nil, err
		}
	}
	return slices.Clip(append([]string{}, list...)), nil // an empty list prints as [], not null
}

func (s *OptionSpec) readMap(v any, text json.RawMessage) (any, error) {
	out := map[string]string{}
	switch v := v.(type) {
	case string:
		for item := range strings.SplitSeq(v, ",") {
			if strings.TrimSpace(item) == "" {
				continue
			}
			key, value, ok := strings.Cut(item, "=")
			if !ok {
				return nil, fmt.Errorf("%q is not of the form key=value", item)
			}
			out[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	case map[string]any:
		for key, item := range v {
			str, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%s is not an object of strings", text)
			}
			out[key] = str
		}
	default:
		return nil, fmt.Errorf("%s is not an object of strings", text)
	}
	return out, nil
}

func (s *OptionSpec) checkChoice(value string) error {
	if len(s.Choices) == 0 || slices.Contains(s.Choices, value) {
		return nil
	}
	if strings.Join(s.Choices, "") == "" {
		return fmt.Errorf("%q is not known, and nothing else is: leave the option out", value)
	}
	names := slices.Clone(s.Choices)
	if i := slices.Index(names, ""); i >= 0 {
		names[i] = `""`
	}
	choices := strings.Join(names, ", ")
	best, least := "", 3 // farther than two edits is not a typo
	for _, c := range s.Choices {
		if n := editDistance(value, c); n < least && n < len(value)-1 {
			best, least = c, n
		}
	}
	if best != "" {
		return fmt.Errorf("%q is none of %s; did you mean %s?", value, choices, best)
	}
	return fmt.Errorf("%q is none of %s", value, choices)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// editDistance is Levenshtein's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
