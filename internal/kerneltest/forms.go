package kerneltest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/internal/ptxforms"
)

// FormsEnv names a file to which tests on a device add the forms of instructions
// (package ptxforms) that ran there in a test that passed.
const FormsEnv = "TRITONC_FORMS"

// forms is what the kernels that ran here consist of.
var forms struct {
	sync.Mutex
	emitted ptxforms.List              // with the first test that had it
	ran     ptxforms.List              // on a device, in tests that passed
	uses    map[string]map[string]bool // by text: forms that the simulated device executed
}

// suite is the name of the running suite.
var suite = strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")

// noteForms notes of which forms a kernel is that ran without a report.
//
// Only what is executed counts as having run. A device does not tell, so the
// simulated one's word is kept beside the kernel in the store.
func noteForms(t testing.TB, out *Outcome) error {
	target, uses, err := ptxforms.Read(t.Name()+".ptx", []byte(out.PTX))
	if err != nil {
		return fmt.Errorf("the PTX has no forms: %w\n%s", err, out.PTX)
	}
	code, ok := ptxforms.CodeOn(target)
	if !ok {
		return nil
	}
	forms.Lock()
	defer forms.Unlock()
	if forms.emitted == nil {
		forms.emitted, forms.ran, forms.uses = ptxforms.List{}, ptxforms.List{}, map[string]map[string]bool{}
	}
	for _, u := range uses {
		forms.emitted.Add(ptxforms.Row{Code: code, Form: u.Form, Test: suite + "/" + t.Name()})
	}
	dir := nvidiaPlatform().backend.store
	if dir == "" {
		return nil
	}
	executed := forms.uses[out.PTX]
	if executed == nil {
		executed = map[string]bool{}
		if _, err := dir.get("Forms", out.PTX, &executed); err != nil {
			return err
		}
		forms.uses[out.PTX] = executed
	}
	if out.Report != nil {
		return keepExecuted(dir, out, uses, executed)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			addRan(t, code, executed)
		}
	})
	return nil
}

// keepExecuted adds the forms that the simulated device executed.
func keepExecuted(dir store, out *Outcome, uses []ptxforms.Use, executed map[string]bool) error {
	type place struct {
		line   int
		opcode string
	}
	at := map[place]bool{}
	out.Report.Executed(func(line int, opcode string) { at[place{line, opcode}] = true })
	before := len(executed)
	for _, u := range uses {
		if at[place{u.Line, u.Opcode}] {
			executed[u.Form] = true
		}
	}
	if len(executed) == before {
		return nil
	}
	return dir.put("Forms", out.PTX, executed)
}

// addRan adds forms to the file of FormsEnv, each once.
func addRan(t testing.TB, code ptxforms.Code, executed map[string]bool) {
	path := os.Getenv(FormsEnv)
	if path == "" {
		return
	}
	forms.Lock()
	defer forms.Unlock()
	var rows strings.Builder
	for form := range executed {
		r := ptxforms.Row{Code: code, Form: form, Test: suite + "/" + t.Name(), Date: time.Now().UTC().Format(time.DateOnly)}
		if forms.ran.Add(r) {
			fmt.Fprintf(&rows, "%s\t%s\t%s\t%s\n", r.Code, r.Form, r.Test, r.Date)
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(rows.String())
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		t.Errorf("%s: %v", FormsEnv, err)
	}
}

// CheckForms prints the forms of all kernels that ran here and that have never run
// on an H200, and returns the exit status of a TestMain: 1 where there are any, else
// code. Arithmetic is only named, and so is what comes from other tests than those
// whose names begin with one of fixed: LLVM makes rare instructions of kernels that a
// suite draws at random. On a machine that prepares kernels for an H200, which has to
// compile such forms, and with OptionsEnv, all are only named.
func CheckForms(code int, fixed ...string) int {
	if d, _ := onDevice(); d != nil {
		return code
	}
	ran, unrun, err := ptxforms.Known()
	if err != nil {
		fmt.Println("FAIL:", err)
		return 1
	}
	forms.Lock()
	defer forms.Unlock()
	var missing []string
	wrong := false
	for c, rows := range forms.emitted {
		for form, r := range rows {
			if !ran.Has(c, form) && !unrun.Has(c, form) {
				missing = append(missing, fmt.Sprintf("%s\t%s\t%s", c, form, r.Test))
				begins := func(name string) bool { return strings.HasPrefix(r.Test, suite+"/"+name) }
				wrong = wrong || !ptxforms.Arithmetic(form) && slices.ContainsFunc(fixed, begins)
			}
		}
	}
	if len(missing) == 0 {
		return code
	}
	slices.Sort(missing)
	fmt.Printf("%d forms of instructions have never run on an H200 (internal/ptxforms):\n%s\n", len(missing), strings.Join(missing, "\n"))
	if !wrong || os.Getenv(StoreEnv) != "" || len(defaultOptions()) > 0 {
		return code
	}
	fmt.Println("FAIL: run scripts/device-tests.sh there, which adds them; or say in internal/ptxforms/testdata/unrun.tsv why none can")
	return 1
}
