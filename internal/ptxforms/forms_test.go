package ptxforms

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = `
.version 8.4
.target %s
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .shared .align 16 .b8 shared[];
.visible .entry k(.param .u64 p) {
	.reg .pred %%p<4>;
	.reg .b32 %%r<9>;
	.reg .b64 %%rd<9>;
	.reg .b16 low;
	.local .align 8 .b8 depot[8];
%s
	ret;
}
`

func text(target string, body ...string) []byte {
	return fmt.Appendf(nil, module, target, strings.Join(body, "\n"))
}

func TestForms(t *testing.T) {
	for _, tt := range []struct{ inst, form string }{
		{"add.s32 %r1, %r2, 7;", "add.s32"}, // an opcode says all of arithmetic
		{"@%p1 add.s32 %r1, %r2, %r3;", "add.s32"},
		{"mov.u32 %r1, %tid.x;", "mov.u32 r, %tid.x"},
		{"mov.u32 %r1, %laneid;", "mov.u32 r, %laneid"},
		{"mov.u32 %r1, %r12;", "mov.u32"},
		{"ld.param.b64 %rd1, [p];", "ld.param.b64 r, [s]"},
		{"ld.shared.b16 low, [shared+6];", "ld.shared.b16 r, [s+i]"},
		{"@!%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+8];", "@ ld.global.v2.b32 {2}, [r+i]"},
		{"ld.global.b32 { %r1 }, [ %rd1 + 0 ];", "ld.global.b32 {1}, [r]"},
		{"st.global.L1::evict_last.L2::cache_hint.v4.b32 [%rd1], {%r1, 0, %r2, %r3}, %rd2;", "st.global.L1::evict_last.L2::cache_hint.v4.b32 [r], {4}, r"},
		{"cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 0x10, %r2, %rd2;", "cp.async.cg.shared.global.L2::cache_hint [r], [r], i, r, r"},
		{"cp.async.cg.shared.global [%r1], [%rd1], 0x10, %r2;", "cp.async.cg.shared.global [r], [r], i, r"},
		{"st.shared.b32 [%r1], 7;", "st.shared.b32 [r], r"},
		{"cp.async.commit_group;", "cp.async.commit_group"},
		{"createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;", "createpolicy.fractional.L2::evict_last.b64 r, f"},
		{"shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;", "shfl.sync.bfly.b32 r|r, r, i, i, i"},
		{"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];", "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r], [r, {2}], [r]"},
		{"mbarrier.arrive.shared.b64 _, [shared];", "mbarrier.arrive.shared.b64 _, [s]"},
		{"cvta.local.u64 %rd1, depot;", "cvta.local.u64 r, s"},
		{"bar.sync 0;", "bar.sync i"},
	} {
		target, uses, err := Read("k.ptx", text("sm_90a", tt.inst))
		if err != nil {
			t.Errorf("%s: %v", tt.inst, err)
			continue
		}
		if len(uses) != 2 || uses[0].Form != tt.form || uses[1].Form != "ret" || target != "cuda:90" {
			t.Errorf("%s is, for %s, %+v, want %s", tt.inst, target, uses, tt.form)
		}
	}
	if _, uses, err := Read("k.ptx", text("sm_80", "{ .param .b32 a; call.uni (a), vprintf, (p, p); }")); err != nil || uses[0].Form != "call.uni vprintf" {
		t.Errorf("%+v, %v", uses, err)
	}
	if _, _, err := Read("k.ptx", []byte("no PTX")); err == nil {
		t.Error("no PTX is read")
	}
}

func TestMissing(t *testing.T) {
	ran := List{}
	ran.Add(Row{Code: PTX, Form: "ret"})
	for target, want := range map[string][]string{
		"sm_80": {"add.s32"}, "sm_89": {"add.s32"}, "sm_90a": {"add.s32", "ret"}, "sm_100a": nil,
	} {
		rows, err := Missing("k.ptx", text(target, "add.s32 %r1, %r2, 7;", "add.s32 %r1, %r2, 8;"), ran, List{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, r.Form)
		}
		if strings.Join(got, ",") != strings.Join(want, ",") {
			t.Errorf("%s: %q are missing, want %q", target, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	const list = "# code\tform\ttest\tdate\ncubin\tret\ta/B\t2026-01-02\nptx\t@ st.global.b32 [r], r\ta/B\t2026-01-02\nptx\tadd.s32\ta/B\t2026-01-02\n"
	l, err := Parse("list", []byte(list))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(l.Format()); got != strings.ReplaceAll(list, "ptx\t@ st.global.b32 [r], r\ta/B\t2026-01-02\nptx\tadd.s32\ta/B\t2026-01-02\n", "ptx\tadd.s32\ta/B\t2026-01-02\nptx\t@ st.global.b32 [r], r\ta/B\t2026-01-02\n") {
		t.Errorf("it is written as\n%s", got)
	}
	for _, bad := range []string{"cubin\tret\n", "sass\tret\ta\tb\n", "cubin\tret\ta\tb\ncubin\tret\tc\td\n"} {
		if _, err := Parse("list", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "list:") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestLists: both lists are well formed, sorted, and have no form in common.
func TestLists(t *testing.T) {
	ran, unrun, err := Known()
	if err != nil {
		t.Fatal(err)
	}
	for path, l := range map[string]List{"testdata/h200.tsv": ran, "testdata/unrun.tsv": unrun} {
		on, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rows, _ := strings.Cut(string(on), "\n")
		_, want, _ := strings.Cut(string(l.Format()), "\n")
		if rows != want {
			t.Errorf("%s is not sorted", path)
		}
	}
	for code, forms := range unrun {
		for form, r := range forms {
			if ran.Has(code, form) {
				t.Errorf("%s %s has run on an H200, and is said to be not run: %s", code, form, r.Test)
			}
			if r.Test == "" {
				t.Errorf("%s %s is not run for no reason", code, form)
			}
		}
	}
}

func TestAddRun(t *testing.T) {
	dir := t.TempDir()
	list, run := filepath.Join(dir, "list"), filepath.Join(dir, "run")
	write := func(path, s string) {
		if err := os.WriteFile(path, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(list, "# code\tform\ttest\tdate\ncubin\tret\told\t2026-01-02\n")
	const rows = "cubin\tret\ta\t2026-01-03\nptx\tret\ta\t2026-01-03\n# of the next suite\nptx\tret\tb\t2026-01-03\n"
	write(run, "# what ran on sim\n"+rows)
	if _, _, err := AddRun(list, run); err == nil {
		t.Error("what ran on no H200 is added")
	}
	write(run, "#   cuda:0  NVIDIA H200, --target cuda:90\n"+rows)
	added, total, err := AddRun(list, run)
	if err != nil || added != 1 || total != 2 {
		t.Errorf("%d added of %d: %v", added, total, err)
	}
	got, err := os.ReadFile(list)
	if want := "# code\tform\ttest\tdate\ncubin\tret\told\t2026-01-02\nptx\tret\ta\t2026-01-03\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	write(run, "#   cuda:0  NVIDIA H200\nret\n")
	if _, _, err := AddRun(list, run); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line without code: %v", err)
	}
}

// TestPublic names the forms of the PTX in a folder, such as that of public kernels,
// that have not run on an H200.
func TestPublic(t *testing.T) {
	dir := os.Getenv("TRITONC_PTX")
	if dir == "" {
		t.Skip("TRITONC_PTX names no folder of PTX")
	}
	rows, files, err := MissingIn(filepath.SplitList(dir)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files", files)
	for _, r := range rows {
		t.Errorf("%s: %s has not run on an H200: %s", r.Code, r.Form, r.Test)
	}
}
