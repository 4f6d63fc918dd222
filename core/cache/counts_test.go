package cache

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestCounts: every count is added, told to people, and a metric of its own.
func TestCounts(t *testing.T) {
	if text := (&Counts{}).String(); text != "0 hits, 0 misses" {
		t.Errorf("nothing is told as %q", text)
	}
	for i := range reflect.TypeFor[Counts]().NumField() {
		name := reflect.TypeFor[Counts]().Field(i).Name
		var c, sum Counts
		switch v := reflect.ValueOf(&c).Elem().Field(i); v.Interface().(type) {
		case int64:
			v.SetInt(1024)
		case float64:
			v.SetFloat(7.5)
		case bool:
			v.SetBool(true)
		}
		sum.Add(&c)
		sum.Add(&Counts{})
		if sum != c {
			t.Errorf("%s: the sum is %+v", name, sum)
		}
		var b, none strings.Builder
		if err := c.WriteMetrics(&b); err != nil {
			t.Fatal(err)
		}
		if err := (&Counts{}).WriteMetrics(&none); err != nil {
			t.Fatal(err)
		}
		changed := 0
		was := strings.Split(none.String(), "\n")
		for j, line := range strings.Split(b.String(), "\n") {
			if line != was[j] {
				changed++
				if !strings.HasPrefix(line, "tritonc_shared_cache_") {
					t.Errorf("%s: %q", name, line)
				}
			}
		}
		if changed != 1 {
			t.Errorf("%s changes %d lines of\n%s", name, changed, b.String())
		}
	}
	c := Counts{Hits: 1, Misses: 1, Skipped: 3, Errors: 2, Refused: 1, Kept: 2, ReadBytes: 1536, WrittenBytes: 512, Waits: 1, Waited: 1.234567890, Offs: 1, Off: 30}
	want := "1 hit, 1 miss, 3 not asked, 2 errors, 1 refused, 2 given, 1.5 KiB read, 0.5 KiB written, waited 1.2 s for other machines, left alone for 30.0 s"
	if got := fmt.Sprint(&c); got != want {
		t.Errorf("told as\n%s, want\n%s", got, want)
	}
}
