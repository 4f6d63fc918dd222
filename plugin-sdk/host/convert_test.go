package host

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// fill sets every field below v to a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(fmt.Sprint("bytes ", *n)))
			return
		}
		if v.Type() == reflect.TypeFor[[]sdk.Diagnostic]() && *n > 40 {
			return // notes of notes of notes
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"k": fmt.Sprint(*n)}))
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Func: // not sent
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8: // an enumeration of three
		v.SetUint(uint64(*n % 3))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	default:
		panic("no value for a " + v.Kind().String())
	}
}

func filled[T any]() T {
	var v T
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n)
	return v
}

// TestConvertRoundTrip: no field of a struct is lost on the way over the wire. Requests
// and answers that stream have tests of their own.
func TestConvertRoundTrip(t *testing.T) {
	check := func(want, got any, err error) {
		t.Helper()
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%T: %v\n%s", want, err, d)
		}
	}
	b := &known{
		facts: filled[sdk.Facts](), options: filled[sdk.ParseOptionsResponse](), stages: filled[[]sdk.Stage](),
		dialects: filled[[]sdk.Dialect](), modules: filled[[]sdk.Module](),
	}
	for i := range b.options.Diagnostics {
		b.options.Diagnostics[i].Severity = sdk.Warning
	}
	c, ctx := NewClient(serve(b)), t.Context()

	facts, err := c.Describe(ctx)
	want := b.facts
	want.Modules = nil // GetModuleMap has them
	want.Capabilities = append(want.Capabilities, CapRunPasses)
	want.Dialects = []string{b.dialects[0].Name, b.dialects[1].Name}
	want.DialectsHash = facts.DialectsHash // of the declarations
	check(want, facts, err)
	dialects, err := c.LoadDialects(ctx)
	check(b.dialects, dialects, err)
	module, err := c.GetModule(ctx, b.modules[1].Name)
	check(b.modules[1], module, err)

	parse := filled[sdk.ParseOptionsRequest]()
	options, err := c.ParseOptions(ctx, parse)
	check(b.options, options, err)
	check(parse, b.askedOptions, err)
	add := filled[sdk.AddStagesRequest]()
	stages, _, err := c.AddStages(ctx, add)
	check(b.stages, stages, err)
	check(add, b.askedStages, err)
}
