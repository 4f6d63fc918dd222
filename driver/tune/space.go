package tune

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxSpace bounds how many configurations a space may have.
const maxSpace = 1 << 16

// Space makes the configurations of a search space, as a file of configurations has
// them: each combination of the values that the texts give. A text is NAME=VALUES, and
// values are a list (4,8), or a range (32:256:x2, 0:64:16), each of several joined by
// commas. The last name varies fastest.
func Space(texts []string) ([]byte, error) {
	var names []string
	var values [][]any
	total := 1
	for _, text := range texts {
		name, rest, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.TrimSpace(rest) == "" {
			return nil, fmt.Errorf("%s is not of the form NAME=VALUES, such as BLOCK=64:1024:x2 or num_warps=4,8", text)
		}
		for _, n := range names {
			if n == name {
				return nil, fmt.Errorf("%s is given twice", name)
			}
		}
		list, err := spaceValues(rest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		names, values = append(names, name), append(values, list)
		if total *= len(list); total > maxSpace {
			return nil, fmt.Errorf("the space has more than %d configurations", maxSpace)
		}
	}
	configs := make([]json.RawMessage, total)
	for i := range configs {
		at := i
		config := make([]string, len(names))
		for k := len(names) - 1; k >= 0; k-- {
			name, err := json.Marshal(names[k])
			if err != nil {
				return nil, err
			}
			value, err := json.Marshal(values[k][at%len(values[k])])
			if err != nil {
				return nil, err
			}
			config[k] = string(name) + ":" + string(value)
			at /= len(values[k])
		}
		configs[i] = json.RawMessage("{" + strings.Join(config, ",") + "}")
	}
	return json.Marshal(configs)
}

// spaceValues reads what follows NAME=.
func spaceValues(text string) (list []any, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if !strings.Contains(part, ":") {
			v, err := spaceValue(part)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			continue
		}
		more, err := spaceRange(part)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func spaceValue(text string) (any, error) {
	switch text {
	case "":
		return nil, fmt.Errorf("a value is missing")
	case "None":
		return nil, nil
	case "True":
		return true, nil
	case "False":
		return false, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(x, 0) && x == x {
		return x, nil
	}
	if n := len(text) - 1; n > 0 && (text[0] == '\'' || text[0] == '"') && text[n] == text[0] {
		return text[1:n], nil
	}
	return nil, fmt.Errorf("%s is not a number, True, False or None; strings have quotes, as '%s'", text, strings.Trim(text, `'"`))
}

// spaceRange reads LOW:HIGH:STEP, where xN multiplies; HIGH is in it.
func spaceRange(text string) (list []any, err error) {
	wrong := fmt.Errorf("%s is not a range: LOW:HIGH:STEP of integers, as 32:256:x2 or 16:64:16", text)
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return nil, wrong
	}
	low, err1 := strconv.ParseInt(strings.TrimSpace(parts[0]), 10, 64)
	high, err2 := strconv.ParseInt(strings.TrimSpace(parts[1]), 10, 64)
	step, times := int64(1), false
	var err3 error
	if len(parts) == 3 {
		digits, ok := strings.CutPrefix(strings.TrimSpace(parts[2]), "x")
		times = ok
		step, err3 = strconv.ParseInt(digits, 10, 64)
	}
	switch {
	case err1 != nil || err2 != nil || err3 != nil || step < 1 || low > high:
		return nil, wrong
	case times && (step < 2 || low < 1):
		return nil, fmt.Errorf("%s never reaches its end", text)
	}
	for n := low; n <= high; {
		if list = append(list, n); len(list) > maxSpace {
			return nil, fmt.Errorf("%s has more than %d values", text, maxSpace)
		}
		next := n + step
		if times {
			next = n * step
		}
		if next <= n { // beyond the integers
			break
		}
		n = next
	}
	return list, nil
}
