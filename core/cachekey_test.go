package core

import (
	"reflect"
	"testing"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/core/frontend"
)

// Every field of what is compiled, and how, is in the key of the cache or has a
// reason not to be, and one that is there changes the key.
func TestCacheKey(t *testing.T) {
	checkKey(t, sourceKey, []func(*Source){
		func(s *Source) { s.Path = "/a/k.py" },
		func(s *Source) { s.Name = "a/k.py" },
		func(s *Source) { s.Module = "a.k" },
		func(s *Source) { s.Ending = "ttir" },
		func(s *Source) { s.Text = []byte("x") },
		func(s *Source) { s.Metadata = []byte("{}") },
		func(s *Source) { s.Define = []Definition{{Name: "a", Value: "1"}} },
		func(s *Source) { s.Options = map[string]any{"num_warps": 8} },
	})
	checkKey(t, optionsKey, []func(*Options){
		func(o *Options) { o.Values = map[string]any{"num_warps": 8} },
		func(o *Options) { o.Stages = []string{"ptx"} },
		func(o *Options) { o.Stages = []string{"ptx", "cubin"} },
	})
	// A variant that no text tells from others cannot be kept.
	if addKey(cache.NewHasher(""), sourceKey, &Source{variant: &frontend.Variant{}}, false) {
		t.Error("a variant without a key is kept")
	}
}

func checkKey[T any](t *testing.T, parts []keyPart[T], changes []func(*T)) {
	t.Helper()
	fields := map[string]bool{}
	for f := range reflect.TypeFor[T]().Fields() {
		fields[f.Name] = true
	}
	for _, p := range parts {
		if !fields[p.field] {
			t.Errorf("%T has no field %s, or has it twice in the table", *new(T), p.field)
		}
		delete(fields, p.field)
		if (p.add == nil) == (p.why == "") {
			t.Errorf("%s.%s needs either a part of the key or a reason", reflect.TypeFor[T](), p.field)
		}
	}
	for f := range fields {
		t.Errorf("%s.%s is not in the table of the cache's key", reflect.TypeFor[T](), f)
	}
	for _, shared := range []bool{false, true} {
		keys := map[cache.Key]int{}
		for i, change := range append(changes, func(*T) {}) {
			var v T
			change(&v)
			h := cache.NewHasher("")
			if !addKey(h, parts, &v, shared) {
				t.Errorf("change %d gives no key", i)
			}
			if j, twice := keys[h.Key()]; twice {
				t.Errorf("changes %d and %d give one key (shared: %v)", i, j, shared)
			}
			keys[h.Key()] = i
		}
	}
}
