package index_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

const short = `module {
  tt.func @f(%a: index, %b: i32) -> i1 {
    %0 = index.castu %b : i32 to index
    %1 = index.casts %a : index to i64
    %idx-3 = index.constant -3
    %2 = index.floordivs %0, %idx-3 {exact}
    %3 = index.sizeof
    %4 = index.cmp ult(%2, %3)
    %false = index.bool.constant false
    %5 = arith.andi %4, %false : i1
    tt.return %5 : i1
  }
}
`

func read(t *testing.T, src string) (*text.File, error) {
	t.Helper()
	f, err := text.ParseFile(dialect.NewContext(), "t", []byte(src))
	if err != nil {
		return nil, err
	}
	return f, f.Verify()
}

// TestForms: what is read is printed so, and its generic form reads back to the same.
func TestForms(t *testing.T) {
	f, err := read(t, short)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, f.Op, text.Options{})); got != short {
		t.Errorf("got\n%s\nwant\n%s", got, short)
	}
	generic := string(text.Append(nil, f.Op, text.Options{Generic: true}))
	for _, want := range []string{
		`"index.constant"() <{value = -3 : index}> : () -> index`,
		`"index.cmp"(%3, %4) <{pred = #index<cmp_predicate ult>}> : (index, index) -> i1`,
		`"index.bool.constant"() <{value = false}> : () -> i1`,
	} {
		if !strings.Contains(generic, want) {
			t.Errorf("generic form lacks %s:\n%s", want, generic)
		}
	}
	again, err := read(t, generic)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, again.Op, text.Options{})); got != short {
		t.Errorf("by its generic form\n%s\nwant\n%s", got, short)
	}
}

func TestRefused(t *testing.T) {
	for op, want := range map[string]string{
		"%x = index.cmp lt(%a, %a)":                                    "expected a predicate, one of eq, ne",
		"%x = index.add %a, %b":                                        "operand #1 must be index, but got i32",
		"%x = index.casts %b : i32 to i64":                             "operand type 'i32' and result type 'i64' are cast incompatible",
		"%x = index.castu %a : index to index":                         "operand type 'index' and result type 'index' are cast incompatible",
		`%x = "index.add"(%b, %b) : (i32, i32) -> index`:               "operand #0",
		`%x = "index.constant"() <{value = 3 : i32}> : () -> index`:    "index attribute",
		`%x = "index.cmp"(%a, %a) <{pred = 3}> : (index, index) -> i1`: "index comparison predicate",
	} {
		_, err := read(t, "module {\n tt.func @f(%a: index, %b: i32) {\n "+op+"\n tt.return\n }\n}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", op, err, want)
		}
	}
}
