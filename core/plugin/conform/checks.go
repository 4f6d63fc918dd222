package conform

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// vectorAdd is ttir of a kernel as the front end builds it, without locations.
//
//go:embed vector_add.ttir
var vectorAdd []byte

// checks in their order: what one finds the next ones use.
var checks = []check{
	{"handshake", "Handshake", handshake},
	{"versions", "Handshake", versions},
	{"describe", "Messages: Facts", describe},
	{"stable facts", "Messages: Facts", stableFacts},
	{"targets", "Messages", targets},
	{"options", "Messages: Options", options},
	{"wrong options", "Messages: Options", wrongOptions},
	{"dialects", "Dialect declarations", dialects},
	{"modules", "Messages: Modules", modules},
	{"stages", "Messages: Stages", stages},
	{"kernel", "Messages: Stages", kernel},
	{"determinism", "Messages: Facts", determinism},
	{"concurrency", "Finding and starting", concurrency},
	{"malformed input", "Messages: Diagnostics", malformed},
	{"huge input", "Messages: RunStages", huge},
	{"cancellation", "Messages", cancellation},
	{"standard output", "Handshake", standardOutput},
	{"shutdown", "Ending", shutdown},
	{"orphans", "Ending", orphans},
}

func handshake(ctx context.Context, s *suite) (string, error) {
	facts, err := s.backend.Facts(ctx)
	if err != nil {
		return "", err
	}
	s.facts = facts
	return "", nil
}

// otherVersion is a version of the protocol that there is not.
const otherVersion = 1 << 20

// versions offers a version that there is not, beside this one and alone.
func versions(ctx context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	start := func(versions ...int) (*process.Process, error) {
		spoken := map[int]goplugin.Plugin{}
		for _, v := range versions {
			spoken[v] = &sdk.BackendPlugin{}
		}
		return process.Start(ctx, process.Found{Name: s.name, Path: s.opts.Program}, process.Config{
			Kind: "backend", Handshake: sdk.Handshake, PluginName: sdk.PluginName, Versions: spoken,
			Logger: hclog.NewNullLogger(), StartTimeout: 5 * time.Second, TempDir: s.opts.TempDir,
		})
	}
	p, err := start(sdk.ProtocolVersion, otherVersion)
	if err != nil {
		return "", fmt.Errorf("offered the versions %d and %d of the protocol: %w", sdk.ProtocolVersion, otherVersion, err)
	}
	got := p.Version()
	p.Stop()
	if got != sdk.ProtocolVersion {
		return "", fmt.Errorf("offered the versions %d and %d of the protocol, it chose %d", sdk.ProtocolVersion, otherVersion, got)
	}
	p, err = start(otherVersion)
	if err == nil {
		p.Stop()
		return "", fmt.Errorf("it says that it speaks version %d of the protocol, which does not exist", otherVersion)
	}
	if !strings.Contains(err.Error(), "speaks version") {
		return "", fmt.Errorf("offered version %d alone, it should print its line with a version that it speaks: %w", otherVersion, err)
	}
	return "", nil
}

func describe(_ context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	f := s.facts
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if f.Name != s.name {
		say("the name is %q, but the program's is %q", f.Name, s.name)
	}
	if f.Version == "" {
		say("there is no version")
	}
	if f.Hash == "" {
		say("there is no hash: kernels of another build would come from the cache")
	}
	if len(f.Targets) == 0 {
		say("there are no targets")
	}
	for i := range f.Targets {
		t := &f.Targets[i]
		if _, err := path.Match(t.Pattern, ""); err != nil || !strings.Contains(t.Pattern, ":") {
			say("the target %q is not a pattern over backend:arch", t.Pattern)
		}
		if t.WarpSize < 1 {
			say("the target %s has a warp size of %d", t.Pattern, t.WarpSize)
		}
	}
	seen := map[string]bool{}
	for i := range f.Options {
		o := &f.Options[i]
		if seen[o.Name] || o.Name == "" {
			say("the name of option %d, %q, is empty or there twice", i+1, o.Name)
		}
		seen[o.Name] = true
		if !json.Valid([]byte(o.Default)) {
			say("the default of option %s, %q, is not JSON", o.Name, o.Default)
			continue
		}
		given := *o
		given.Derived = false
		if _, err := sdk.ParseOptions([]sdk.OptionSpec{given}, fmt.Sprintf("{%q:%s}", o.Name, o.Default)); err != nil {
			say("the default of option %s: %v", o.Name, err)
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "\n"))
	}
	return "", nil
}

// stableFacts starts a second process.
func stableFacts(ctx context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	h, b, err := s.start()
	if err != nil {
		return "", err
	}
	defer h.Close()
	again, err := b.Facts(ctx)
	if err != nil {
		return "", err
	}
	if again.Hash != s.facts.Hash {
		return "", fmt.Errorf("its hash is %s in one process and %s in the next: derive it from the program", s.facts.Hash, again.Hash)
	}
	first, errFirst := json.Marshal(s.facts)
	second, err := json.Marshal(again)
	if err := errors.Join(errFirst, err); err != nil {
		return "", err
	}
	if !bytes.Equal(first, second) {
		return "", errors.New("two processes describe themselves differently")
	}
	return "", nil
}

func targets(ctx context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	t := s.opts.Target
	isGuess := false
	if t == (sdk.Target{}) {
		if len(s.facts.Targets) == 0 {
			return "", skip("the facts have no targets")
		}
		pattern := s.facts.Targets[0].Pattern
		isGuess = strings.ContainsAny(pattern, `*?[\`)
		var err error
		if t, err = sdk.ParseTarget(strings.NewReplacer("*", "0", "?", "0").Replace(pattern)); err != nil {
			return "", skip(fmt.Sprintf("name a target of the pattern %s with --target", pattern))
		}
	}
	resp, err := s.backend.SupportsTarget(ctx, t)
	switch {
	case err != nil:
		return "", err
	case !resp.Supported && isGuess:
		return "", skip(fmt.Sprintf("it does not support %s:%s; name a target with --target", t.Backend, t.Arch))
	case !resp.Supported:
		return "", fmt.Errorf("it does not support %s:%s: %s", t.Backend, t.Arch, resp.Reason)
	case resp.Target.WarpSize < 1:
		return "", fmt.Errorf("it leaves the warp size of %s:%s open", t.Backend, t.Arch)
	}
	s.target = resp.Target
	return fmt.Sprintf("%s:%s", s.target.Backend, s.target.Arch), nil
}

func (s *suite) parse(ctx context.Context, given string) (string, error) {
	resp, err := s.backend.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: s.target, OptionsJSON: given})
	return resp.OptionsJSON, err
}

func options(ctx context.Context, s *suite) (string, error) {
	if s.target == (sdk.Target{}) {
		return "", skip("there is no target")
	}
	text, err := s.parse(ctx, "{}")
	if err != nil {
		return "", fmt.Errorf("without options given: %w", err)
	}
	values := map[string]any{}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return "", fmt.Errorf("the options %q are not a JSON object", text)
	}
	for i := range s.facts.Options {
		if name := s.facts.Options[i].Name; !hasKey(values, name) {
			return "", fmt.Errorf("the options lack %s, which the facts have", name)
		}
	}
	s.options = text
	again, err := s.parse(ctx, "{}")
	if err != nil || again != text {
		return "", fmt.Errorf("the same options gave %s, then %s (%v)", text, again, err)
	}
	return "", nil
}

func hasKey(m map[string]any, key string) bool { _, ok := m[key]; return ok }

// wrongOptions are the user's mistakes, and diagnostics therefore.
func wrongOptions(ctx context.Context, s *suite) (string, error) {
	if s.options == "" {
		return "", skip("it completes no options")
	}
	wrong := []string{`{"no_backend_has_this_option":1}`}
	for i := range s.facts.Options {
		o := &s.facts.Options[i]
		if !o.Derived && (o.Type == sdk.Int || o.Type == sdk.Bool) {
			wrong = append(wrong, fmt.Sprintf(`{%q:"neither a number nor a truth"}`, o.Name))
		}
	}
	for _, given := range wrong {
		text, err := s.parse(ctx, given)
		if err == nil {
			return "", fmt.Errorf("it takes the options %s, as %s: answer a diagnostic of kind USER", given, text)
		}
		if diag.All(err) == nil {
			return "", fmt.Errorf("the options %s must end with a diagnostic of kind USER, not: %w", given, err)
		}
	}
	return diag.Count(len(wrong), "mistake"), nil
}

// dialects are read as core reads them.
func dialects(ctx context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	if len(s.facts.Dialects) == 0 {
		return "", skip("it has none")
	}
	list, err := s.backend.LoadDialects(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range s.facts.Dialects {
		i := slices.IndexFunc(list, func(d sdk.Dialect) bool { return d.Name == name })
		if i < 0 {
			return "", fmt.Errorf("the facts name the dialect %s, LoadDialects does not declare it", name)
		}
		d, err := decl.Load([]byte(list[i].Declaration), dialect.All()...)
		if err != nil {
			return "", err
		}
		if d.Name != name {
			return "", fmt.Errorf("the declaration of the dialect %s is of %s", name, d.Name)
		}
	}
	return strings.Join(s.facts.Dialects, " "), nil
}

func modules(ctx context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	if len(s.facts.Modules) == 0 {
		return "", skip("it has none")
	}
	for i := range s.facts.Modules {
		name := s.facts.Modules[i].Name
		m, err := s.backend.GetModule(ctx, name)
		if err != nil {
			return "", err
		}
		if m.Name != name || m.Source == "" && len(m.Externs) == 0 {
			return "", fmt.Errorf("GetModule(%q) answers the module %q with nothing that a kernel could use", name, m.Name)
		}
	}
	return diag.Count(len(s.facts.Modules), "module"), nil
}

func stages(ctx context.Context, s *suite) (string, error) {
	if s.options == "" {
		return "", skip("it completes no options")
	}
	resp, err := s.backend.AddStages(ctx, sdk.AddStagesRequest{Target: s.target, OptionsJSON: s.options})
	if err != nil {
		return "", err
	}
	var names []string
	for i := range resp.Stages {
		name := resp.Stages[i].Name
		if name == "" || slices.Contains(names, name) {
			return "", fmt.Errorf("the name of stage %d, %q, is empty or there twice", i+1, name)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "", errors.New("AddStages lists no stage")
	}
	s.stages = resp.Stages
	return strings.Join(names, " "), nil
}

// kernel compiles vector_add through all stages.
func kernel(ctx context.Context, s *suite) (string, error) {
	if err := s.needStages(); err != nil {
		return "", err
	}
	data, err := s.compile(ctx, s.backend, vectorAdd)
	if err != nil {
		return "", fmt.Errorf("vector_add does not compile: %w", err)
	}
	s.golden = data
	return fmt.Sprintf("vector_add, %s of %s", diag.Count(len(data), "byte"), s.stages[len(s.stages)-1].Name), nil
}

// same compiles vector_add once more and compares.
func (s *suite) same(data []byte, err error, when string) error {
	if err != nil {
		return fmt.Errorf("vector_add compiles, but not %s: %w", when, err)
	}
	if !bytes.Equal(data, s.golden) {
		return fmt.Errorf("vector_add gives other bytes %s: what is made may depend on the request and the program alone", when)
	}
	return nil
}

func determinism(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	data, err := s.compile(ctx, s.backend, vectorAdd)
	if err := s.same(data, err, "the second time"); err != nil {
		return "", err
	}
	h, b, err := s.start()
	if err != nil {
		return "", err
	}
	defer h.Close()
	data, err = s.compile(ctx, b, vectorAdd)
	return "", s.same(data, err, "in another process")
}

// atOnce is how many compiles run side by side.
const atOnce = 8

func concurrency(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	var wg sync.WaitGroup
	errs := make([]error, atOnce)
	for i := range errs {
		wg.Go(func() {
			data, err := s.compile(ctx, s.backend, vectorAdd)
			errs[i] = s.same(data, err, fmt.Sprintf("where %d compiles run at once", atOnce))
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// refuses holds that an input that is not a module ends with a diagnostic that has a place in it.
func refuses(ctx context.Context, s *suite, input string) (string, error) {
	if err := s.needStages(); err != nil {
		return "", err
	}
	_, err := s.compile(ctx, s.backend, []byte(input))
	if err == nil {
		return "", errors.New("it compiles an input that is not a module")
	}
	list := diag.All(err)
	if len(list) == 0 {
		return "", fmt.Errorf("an input that is not a module must end with a diagnostic of kind USER, not: %w", err)
	}
	at := list[0].Pos
	if lines := strings.Count(input, "\n"); at.File != "" && at.File != inputName || at.Line < 1 || at.Line > lines {
		return "", fmt.Errorf("the diagnostic %q of an input of %s named %s has no place in it", list[0].Error(), diag.Count(lines, "line"), inputName)
	}
	return list[0].Error(), nil
}

func malformed(ctx context.Context, s *suite) (string, error) {
	return refuses(ctx, s, "this is not IR\n")
}

func huge(ctx context.Context, s *suite) (string, error) {
	comment := "// " + strings.Repeat("x", 60) + "\n"
	return refuses(ctx, s, strings.Repeat(comment, 4<<20/len(comment))+"this is not IR\n")
}

// soon is how long a cancelled call may keep the backend from the next.
const soon = 10 * time.Second

func cancellation(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	before := s.log.size()
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond} {
		short, cancel := context.WithTimeout(ctx, after)
		_, err := s.compile(short, s.backend, vectorAdd)
		cancel()
		if err != nil && short.Err() == nil {
			return "", err
		}
	}
	bounded, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	data, err := s.compile(bounded, s.backend, vectorAdd)
	if err := s.same(data, err, "after a call that was cancelled"); err != nil {
		return "", err
	}
	if line := s.log.line("died and is started anew", before); line != "" {
		return "", fmt.Errorf("the process died: %s", line)
	}
	return "", nil
}

func standardOutput(_ context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	if line := s.log.line("printed to its standard output", 0); line != "" {
		return "", fmt.Errorf("after the handshake nothing belongs to standard output; point descriptor 1 at standard error: %s", line)
	}
	return "", nil
}

// ending is how long a process may take to end; the host is less patient than it says.
const ending = 900 * time.Millisecond

func shutdown(_ context.Context, s *suite) (string, error) {
	if err := s.needFacts(); err != nil {
		return "", err
	}
	begin := time.Now()
	if err := s.host.Close(); err != nil {
		return "", err
	}
	took := time.Since(begin)
	if took > ending {
		return "", fmt.Errorf("it was killed: %s after GRPCController.Shutdown it had not ended", took.Round(time.Millisecond))
	}
	return "", nil
}

func orphans(_ context.Context, s *suite) (string, error) {
	s.host.Close() // also where it was never started
	left, err := processesOf(s.opts.TempDir)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		return "", fmt.Errorf("it left processes: %s", strings.Join(left, ", "))
	}
	return "", nil
}
