package llvm

import (
	"maps"
	"testing"
)

func TestFunctionTypes(t *testing.T) {
	const ir = `; comment
declare float @one(float) #1
declare void @none()
define internal noundef nofpclass(nan inf) float @two(float noundef %0, i32 signext %1) local_unnamed_addr #0 {
define range(i32 0, 8) i32 @"a b"(ptr addrspace(1) nocapture readonly %p, ptr byval({ i32, i64 }) align 8 %q) {
define { float, <2 x half> } @pair([2 x i32] %0, { i8, i8 } %1, <4 x float> %2) {
define ptr addrspace(3) @place(...) {
@global = global float 1.0
define linkonce_odr dso_local fastcc i64 @wide(i64 %x, double %y) unnamed_addr comdat {
`
	for keyword, want := range map[string]map[string]string{
		"declare ": {"one": "float (float)", "none": "void ()"},
		"define ": {
			"two":   "float (float, i32)",
			"a b":   "i32 (ptr addrspace(1), ptr)",
			"pair":  "{ float, <2 x half> } ([2 x i32], { i8, i8 }, <4 x float>)",
			"place": "ptr addrspace(3) (...)",
			"wide":  "i64 (i64, double)",
		},
	} {
		if got := functionTypes(ir, keyword); !maps.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", keyword, got, want)
		}
	}
}
