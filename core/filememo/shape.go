package filememo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
)

// shapeOf names the shape that values of V have as JSON: the fields of its structs, with
// their tags and types. Programs of other versions share the file, and what one of them
// wrote in another shape would be read with fields missing.
func shapeOf[V any]() string {
	h := sha256.New()
	writeShape(h, reflect.TypeFor[V](), map[reflect.Type]bool{})
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func writeShape(h hash.Hash, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintf(h, "%s(", t.Kind())
	defer h.Write([]byte(")"))
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		writeShape(h, t.Elem(), seen)
	case reflect.Map:
		writeShape(h, t.Key(), seen)
		writeShape(h, t.Elem(), seen)
	case reflect.Struct:
		if seen[t] {
			fmt.Fprint(h, t.Name())
			return
		}
		seen[t] = true
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && len(f.Index) == 1 {
				fmt.Fprintf(h, "%s %q ", f.Name, f.Tag.Get("json"))
				writeShape(h, f.Type, seen)
			}
		}
	}
}
