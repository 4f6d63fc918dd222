package tune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/frontend"
)

// Config is a configuration: the constants and options that it gives, in order.
type Config []frontend.ConfigSetting

// String is the text that Triton prints of a configuration.
func (c Config) String() string {
	var parts []string
	for _, s := range c {
		if !s.Option {
			parts = append(parts, s.Name+": "+python(s.Value))
		}
	}
	for _, o := range []struct {
		name string
		def  any
	}{{"num_warps", int64(4)}, {"num_ctas", int64(1)}, {"num_stages", int64(3)}, {"maxnreg", nil}} {
		v := o.def
		if i := slices.IndexFunc(c, func(s frontend.ConfigSetting) bool { return s.Option && s.Name == o.name }); i >= 0 {
			v = c[i].Value
		}
		parts = append(parts, o.name+": "+python(v))
	}
	return strings.Join(parts, ", ")
}

// Text is the configuration as tritonc writes it: "BLOCK=128, num_warps=4".
func (c Config) Text() string {
	parts := make([]string, len(c))
	for i, s := range c {
		parts[i] = s.Name + "=" + python(s.Value)
	}
	return strings.Join(parts, ", ")
}

// Same reports whether two configurations give the same, in whatever order.
func (c Config) Same(d Config) bool {
	sorted := func(c Config) []string {
		var list []string
		for _, s := range c {
			list = append(list, s.Name+"="+python(s.Value))
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(sorted(c), sorted(d))
}

// python writes a value as Python's str does.
func python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if v == math.Trunc(v) && !strings.ContainsAny(text, "e") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(v)
}

// MarshalJSON writes it as vars(triton.Config) is: constants below kwargs, options
// beside them. So files of configurations have it.
func (c Config) MarshalJSON() ([]byte, error) {
	var kwargs, options bytes.Buffer
	for _, s := range c {
		to := &kwargs
		if s.Option {
			to = &options
		}
		name, err := json.Marshal(s.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(s.Value)
		if err != nil {
			return nil, err
		}
		if s.Option || to.Len() > 0 {
			to.WriteByte(',')
		}
		fmt.Fprintf(to, "%s:%s", name, value)
	}
	return fmt.Appendf(nil, `{"kwargs":{%s}%s}`, kwargs.Bytes(), options.Bytes()), nil
}

// UnmarshalJSON reads that form, and keeps the order.
func (c *Config) UnmarshalJSON(text []byte) error {
	*c = nil
	return object(text, func(name string, value json.RawMessage) error {
		if name == "kwargs" {
			return object(value, func(name string, value json.RawMessage) error { return c.add(name, value, false) })
		}
		return c.add(name, value, true)
	})
}

func (c *Config) add(name string, text json.RawMessage, option bool) error {
	v, err := scalar(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*c = append(*c, frontend.ConfigSetting{Name: name, Value: v, Option: option})
	return nil
}

// scalar reads a value that is not a list or an object; integers stay integers.
func scalar(text json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any, map[string]any:
		return nil, fmt.Errorf("%s is not a value of a constant or an option", text)
	}
	return v, nil
}

// object calls f for each entry of a JSON object, in order.
func object(text []byte, f func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("a configuration is an object, not %.20s", text)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := f(name.(string), value); err != nil { // the decoder takes nothing else here
			return err
		}
	}
	return nil
}
