package tune

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/launch"
)

// Key is what a choice depends on, as Triton's autotuner has it: the values of the
// arguments that the decorator names as key, then the types of all arguments that have
// one. Without a decorator the values are those of all numbers.
type Key []any

// String is the key as Python prints a tuple.
func (k Key) String() string {
	parts := make([]string, len(k))
	for i, v := range k {
		parts[i] = python(v)
		if s, ok := v.(string); ok {
			parts[i] = "'" + s + "'"
		}
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// MarshalJSON writes floats with a point, so that they stay floats.
func (k Key) MarshalJSON() ([]byte, error) {
	out := make([]any, len(k))
	for i, v := range k {
		out[i] = v
		if x, ok := v.(float64); ok && !math.IsInf(x, 0) && x == x {
			out[i] = json.Number(python(x))
		} else if ok {
			out[i] = python(x)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads that.
func (k *Key) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*k = Key{}
	for _, raw := range list {
		v, err := scalar(raw)
		if err != nil {
			return err
		}
		*k = append(*k, v)
	}
	return nil
}

// keyOf makes the key of a launch.
func keyOf(info *frontend.KernelInfo, t *frontend.Tuning, args []launch.Arg) Key {
	byName := map[string]any{}
	for _, a := range args {
		byName[a.Name] = a.Value
	}
	var names []string
	if t != nil {
		names = t.Key
	} else {
		for _, p := range info.Params {
			switch byName[p.Name].(type) {
			case int64, uint64, float64, bool:
				if !p.Constexpr {
					names = append(names, p.Name)
				}
			}
		}
	}
	key := Key{}
	for _, name := range names {
		if v, ok := byName[name]; ok {
			key = append(key, keyValue(v))
		}
	}
	for _, p := range info.Params {
		switch v := byName[p.Name].(type) {
		case *array.Array:
			key = append(key, torchType(v.Type.Name))
		case kernel.Memory:
			key = append(key, torchType(v.Type().Name))
		case *launch.View:
			key = append(key, torchType(v.Array.Type.Name))
		}
	}
	return key
}

func keyValue(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v
	case uint64:
		return int64(v)
	case launch.Expr:
		return string(v)
	case *array.Array:
		return v.String()
	}
	return "?"
}

// torchTypes are torch's names of element types.
var torchTypes = map[string]string{
	"i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
	"u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
	"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
	"fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
}

func torchType(name string) string {
	if t, ok := torchTypes[name]; ok {
		return "torch." + t
	}
	return name
}
