package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/tune"
)

// useFlags are those of verbs that take the times of tritonc tune.
type useFlags struct {
	use    string
	useFor string
	times  *tune.File // of use, once it is read
}

func (f *useFlags) addUse(flags *pflag.FlagSet) {
	flags.StringVar(&f.use, "use", "", "choose the configuration by the times in a `FILE` of tritonc tune; farm for those of\nthe project's farm (tritonc tune --farm), or the URL of its server")
	flags.StringVar(&f.useFor, "use-for", "", "take the times of another `DEVICE`, by the name that the file has")
}

// readTimes reads a file of tritonc tune. With missing it need not be there.
func readTimes(dir folder, path string, missing bool) (*tune.File, error) {
	if missing {
		if _, err := os.Stat(dir.at(path)); errors.Is(err, fs.ErrNotExist) {
			return &tune.File{}, nil
		}
	}
	text, err := dir.read(path)
	if err != nil {
		return nil, err
	}
	times, err := tune.Read(path, text)
	if err != nil {
		return nil, diag.Errorf(diag.Pos{File: path}, "it %s", strings.TrimPrefix(err.Error(), path+" "))
	}
	return times, nil
}

// mismatch is the error of a file that has no times of what is wanted.
func (f *useFlags) mismatch(err error) error {
	d := diag.Errorf(diag.Pos{File: f.use}, "%v", err)
	var m *tune.Mismatch
	if errors.As(err, &m) && len(m.Devices) > 0 {
		return d.WithHelp("--use-for %s takes these times all the same", strconv.Quote(m.Devices[0]))
	}
	return d.WithHelp("tritonc tune --write measures what is lacking")
}

// useConfigs reads the file of --use. Where its configurations give a constant that the
// file's own do not, as those of a search space may, it makes them the kernel's, so that
// arguments can be evaluated and a key found; ofRun chooses among them.
func (f *runFlags) useConfigs(ctx context.Context, env *environment, src *core.Source, req *request) error {
	switch {
	case !src.IsPython():
		return usagef("--use is for Python files; %s has no configurations", src.Path)
	case f.config != "":
		return usagef("--use and --config cannot both be given")
	}
	info, times, err := f.infoAndTimes(ctx, env, src, req, f.kernel)
	if err != nil {
		return err
	}
	f.times = times
	found, err := times.Find(tune.Want{Kernel: info.Name, Source: tune.SourceHash(src), Device: f.useFor, Target: tune.TargetName(req.target)})
	if err != nil {
		return f.mismatch(err)
	}
	var list []tune.Config
	for _, e := range found {
		c := e.Configs[0].Config // the fastest, if any can be run
		if slices.ContainsFunc(c, func(s frontend.ConfigSetting) bool { return !s.Option && !gives(info, s.Name) }) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	src.Configs = &core.ConfigFile{Path: f.use, Text: text}
	return nil
}

// infoAndTimes are what is known of a kernel, and the times of --use. A file is read
// first: what is wrong with it costs no compile.
func (f *useFlags) infoAndTimes(ctx context.Context, env *environment, src *core.Source, req *request, kernel string) (info *frontend.KernelInfo, times *tune.File, err error) {
	if !f.usesFarm() {
		if times, err = readTimes(env.dir, f.use, false); err != nil {
			return nil, nil, err
		}
	}
	if info, err = launch.Info(ctx, src, req.target, &req.opts, kernel); err != nil {
		return nil, nil, err
	}
	if times == nil {
		times, err = f.fromFarm(ctx, env, src.Path, info.Name)
	}
	return info, times, err
}

// gives reports whether a configuration of the kernel gives a constant.
func gives(info *frontend.KernelInfo, name string) bool {
	return slices.ContainsFunc(info.Configs, func(c frontend.ConfigInfo) bool { _, ok := c.Constants[name]; return ok })
}

// ofRun chooses the configuration of a run by the times that useConfigs has read.
func (f *runFlags) ofRun(ctx context.Context, env *environment, src *core.Source, req *request, vals *values, dev driver.Device) error {
	args := vals.list(f.grid)
	prepared, err := launch.Prepare(ctx, launch.Request{
		Source: src, Kernel: f.kernel, Args: args, Target: req.target, Options: req.opts, Device: dev, ArgFlag: "--arg", ConfigFlag: "--config",
	})
	if err != nil {
		return explainArg(err)
	}
	prepared.Release()
	device := dev.Properties().Name
	if f.useFor != "" {
		device = f.useFor
	}
	found, err := f.times.Find(tune.Want{
		Kernel: vals.info.Name, Source: tune.SourceHash(src), Key: tune.KeyOf(vals.info, prepared.Known, args),
		Device: device, Target: tune.TargetName(req.target),
	})
	if err != nil {
		return f.mismatch(err)
	}
	best := tune.Fastest(found)
	if best == nil {
		return diag.Errorf(diag.Pos{File: f.use}, "no configuration of '%s' could be run there", vals.info.Name)
	}
	for _, s := range best.Config {
		if a := vals.find(s.Name); a != nil && !s.Option && fmt.Sprint(a.value) != fmt.Sprint(s.Value) {
			return usagef("--arg %s=%v and --use contradict each other: %s has %s", s.Name, a.value, f.use, best.Config.Text())
		}
	}
	env.report.note("running %s, which took %.2f us on the %s (%s)", best.Config.Text(), best.Time, device, f.use)
	number := slices.IndexFunc(vals.info.Configs, func(c frontend.ConfigInfo) bool { return tune.Config(c.Settings).Same(best.Config) })
	if number < 0 { // it was measured from a space or another file
		text, err := json.Marshal([]tune.Config{best.Config})
		if err != nil {
			return err
		}
		src.Configs, number = &core.ConfigFile{Path: f.use, Text: text}, 0
	}
	f.config = strconv.Itoa(number)
	src.Config = f.config
	return nil
}

// ofCompile makes the configurations of a compile those that were the fastest for some
// key, by the times of --use.
func (f *compileFlags) ofCompile(ctx context.Context, env *environment, src *core.Source, req *request) error {
	if f.config != "" || f.configs != "" {
		return usagef("--use goes with neither --config nor --configs")
	}
	info, times, err := f.infoAndTimes(ctx, env, src, req, f.kernel)
	if err != nil {
		return err
	}
	found, err := times.Find(tune.Want{Kernel: info.Name, Source: tune.SourceHash(src), Device: f.useFor, Target: tune.TargetName(req.target)})
	if err != nil {
		return f.mismatch(err)
	}
	var devices []string
	var best []tune.Config
	for _, e := range found {
		if !slices.Contains(devices, e.Device) {
			devices = append(devices, e.Device)
		}
		m := e.Best()
		if m != nil && !slices.ContainsFunc(best, func(c tune.Config) bool { return c.Same(m.Config) }) {
			best = append(best, m.Config)
		}
	}
	switch {
	case len(devices) > 1:
		return diag.Errorf(diag.Pos{File: f.use}, "it has times of '%s' on several devices: %s", info.Name, strings.Join(devices, ", ")).
			WithHelp("--use-for %s chooses one", strconv.Quote(devices[0]))
	case len(best) == 0:
		return diag.Errorf(diag.Pos{File: f.use}, "no configuration of '%s' could be run there", info.Name)
	}
	text, err := json.Marshal(best)
	if err != nil {
		return err
	}
	src.Configs, src.Config = &core.ConfigFile{Path: f.use, Text: text}, core.AllConfigs
	return nil
}
