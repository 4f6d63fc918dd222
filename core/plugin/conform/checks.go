package conform

import (
	"bytes"
	"cmp"
	"context"
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
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// checks in their order: what one finds the next ones use.
var checks = []check{
	{"handshake", "Handshake", ofBackend, handshake},
	{"versions", "Handshake", ofBackend, versions},
	{"describe", "Messages: Facts", ofBackend, describe},
	{"stable facts", "Messages: Facts", ofBackend, stableFacts},
	{"devices", "Device drivers", ofDriver, listed},
	{"targets", "Messages", ofBackend, targets},
	{"options", "Messages: Options", ofBackend, options},
	{"wrong options", "Messages: Options", ofBackend, wrongOptions},
	{"dialects", "Dialect declarations", ofBackend, dialects},
	{"modules", "Messages: Modules", ofBackend, modules},
	{"stages", "Messages: Stages", ofBackend, stages},
	{"kernel", "Messages: Stages", ofBackend, kernel},
	{"kernels", "Messages: Stages", ofBackend, kernels},
	{"stage by stage", "Messages: Stages", ofBackend, stageByStage},
	{"dialect text", "Dialect declarations", ofBackend, dialectText},
	{"passes", "Messages: RunPasses", ofBackend, passes},
	{"determinism", "Messages: Facts", ofBackend, determinism},
	{"concurrency", "Finding and starting", ofBackend, concurrency},
	{"malformed input", "Messages: Diagnostics", ofBackend, malformed},
	{"huge input", "Messages: RunStages", ofBackend, huge},
	{"cancellation", "Messages", ofBackend, cancellation},
	{"crash", "Ending", ofBackend, crash},
	{"cut tools", "Messages: RunStages", ofBackend, cutTools},
	{"device memory", "Device drivers: Memory", ofDriver, deviceMemory},
	{"out of memory", "Device drivers: Memory", ofDriver, outOfMemory},
	{"loading", "Device drivers", ofDriver, loading},
	{"launches", "Device drivers: Launch", ofDriver, launches},
	{"wrong launches", "Device drivers: Launch", ofDriver, wrongLaunches},
	{"sessions", "Device drivers", ofDriver, sessions},
	{"cut calls", "Device drivers", ofDriver, cutCalls},
	{"device shutdown", "Ending", ofDriver, devicesEnd},
	{"shutdown", "Ending", ofBackend, shutdown},
	{"standard output", "Handshake", ofEither, standardOutput},
	{"host's death", "Ending", ofEither, hostsDeath},
	{"orphans", "Ending", ofEither, orphans},
}

func handshake(ctx context.Context, s *suite) (string, error) {
	begin := time.Now()
	facts, err := s.backend.Facts(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", fmt.Errorf("it did not describe itself within %s: Describe answers what the program knows, without running tools or opening devices", time.Since(begin).Round(time.Second))
	}
	if err != nil {
		return "", err
	}
	s.facts = facts
	if s.dev == nil && facts.Has(host.CapDevices) {
		s.dev = &devices{found: process.Found{Name: s.name, Path: s.opts.Program}, handshake: host.Handshake}
	}
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
			spoken[v] = &host.BackendPlugin{}
		}
		return process.Start(ctx, process.Found{Name: s.name, Path: s.opts.Program}, process.Config{
			Kind: "backend", Handshake: host.Handshake, PluginName: host.PluginName, Versions: spoken,
			Logger: hclog.NewNullLogger(), StartTimeout: 5 * time.Second, TempDir: s.opts.TempDir,
		})
	}
	p, err := start(host.ProtocolVersion, otherVersion)
	if err != nil {
		return "", fmt.Errorf("offered the versions %d and %d of the protocol: %w", host.ProtocolVersion, otherVersion, err)
	}
	got := p.Version()
	p.Stop()
	if got != host.ProtocolVersion {
		return "", fmt.Errorf("offered the versions %d and %d of the protocol, it chose %d", host.ProtocolVersion, otherVersion, got)
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
	h, b, err := s.start(s.opts.TempDir)
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
	if t == (sdk.Target{}) && s.dev != nil {
		t = s.dev.target
	}
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
		return "", fmt.Errorf("it does not support %s:%s (%s)", t.Backend, t.Arch, cmp.Or(resp.Reason, "and says no reason"))
	case resp.Target.WarpSize < 1:
		return "", fmt.Errorf("it leaves the warp size of %s:%s open", t.Backend, t.Arch)
	}
	s.target = resp.Target
	if s.dev != nil && len(s.dev.list) > 0 {
		s.dev.choose(s.target)
	}
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
	if err != nil {
		return "", fmt.Errorf("the same options gave %s, then an error: %w", text, err)
	}
	if again != text {
		return "", fmt.Errorf("the same options gave %s, then %s", text, again)
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
		s.declared[name] = d
	}
	h, b, err := s.start(s.opts.TempDir)
	if err != nil {
		return "", err
	}
	defer h.Close()
	again, err := b.LoadDialects(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Equal(list, again) {
		return "", errors.New("LoadDialects answers another text in another process, though the host keeps the first")
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
		if from := resp.Stages[i].From; from != "" && sdk.StageBefore(resp.Stages, i) < 0 {
			return "", fmt.Errorf("the stage %s takes what %q makes, and there is none of that name before it", name, from)
		}
	}
	if len(names) == 0 {
		return "", errors.New("AddStages lists no stage")
	}
	s.stages = resp.Stages
	return strings.Join(names, " "), nil
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
	data, err := s.compile(ctx, s.backend, goldens[0].ttir())
	if err := s.same(data, err, "the second time"); err != nil {
		return "", err
	}
	h, b, err := s.start(s.opts.TempDir)
	if err != nil {
		return "", err
	}
	defer h.Close()
	data, err = s.compile(ctx, b, goldens[0].ttir())
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
			data, err := s.compile(ctx, s.backend, goldens[0].ttir())
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
		_, err := s.compile(short, s.backend, goldens[0].ttir())
		cancel()
		if err != nil && short.Err() == nil {
			return "", err
		}
	}
	bounded, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	data, err := s.compile(bounded, s.backend, goldens[0].ttir())
	if err := s.same(data, err, "after a call that was cancelled"); err != nil {
		return "", err
	}
	if line := s.log.line("died and is started anew", before); line != "" {
		return "", fmt.Errorf("the process died: %s", line)
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

// standardOutput looks at what all processes printed until they ended.
func standardOutput(_ context.Context, s *suite) (string, error) {
	if s.facts == nil && (s.dev == nil || len(s.dev.list) == 0) {
		return "", skip("it did not start")
	}
	if line := s.log.line("printed to its standard output", 0); line != "" {
		return "", fmt.Errorf("after the handshake nothing belongs to standard output: print to standard error, and point descriptor 1 there: %s", line)
	}
	return "", nil
}

func orphans(_ context.Context, s *suite) (string, error) {
	s.close() // also where it was never started
	left, err := processesOf(s.opts.TempDir)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		return "", fmt.Errorf("it left processes: %s", strings.Join(left, ", "))
	}
	return "", nil
}
