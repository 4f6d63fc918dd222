package sdk

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if v.Type() == reflect.TypeFor[[]Diagnostic]() && *n > 40 {
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

// TestConvertRoundTrip: no field of a struct is lost on the way over the wire.
func TestConvertRoundTrip(t *testing.T) {
	check := func(want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%T:\n%s", want, d)
		}
	}
	target := filled[Target]()
	check(target, targetFromWire(targetToWire(target)))
	diagnostic := filled[Diagnostic]()
	check(diagnostic, diagnosticFromWire(diagnosticToWire(diagnostic)))
	facts := filled[Facts]()
	facts.Modules = nil // GetModuleMap has them
	check(facts, factsFromWire(factsToWire(facts)))
	stage := filled[Stage]()
	check(stage, stageFromWire(stageToWire(stage)))
	module := filled[Module]()
	check(module, moduleFromWire(moduleToWire(module)))
	dialect := filled[Dialect]()
	check(dialect, dialectFromWire(dialectToWire(dialect)))
	progress := filled[Progress]()
	check(progress, progressFromWire(progressToWire(progress)))
}
