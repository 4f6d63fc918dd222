package main

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/compile"
)

// A job is one compile of a command line: a variant of a file for a target.
type job struct {
	file   string      // as the user names it
	target core.Target // none where the file itself is at fault
	src    *core.Source
	opts   *core.Options
	// For a farm: what the variant was asked for by, and what its file imports.
	want    core.Want
	modules *compile.Modules

	kernel  *core.Kernel
	err     error
	printed strings.Builder // by the kernel, while it was compiled
}

// stem is the name of the job's files without their endings. It tells the target where
// there is more than one.
func (j *job) stem(targets int) string {
	stem := j.kernel.FileStem()
	if targets > 1 {
		stem += "." + strings.ReplaceAll(j.target.String(), ":", "_")
	}
	return stem
}

// compileAll compiles every variant of files for every target, and reports what there
// is to say: file by file, as they are given. Where anything failed there are no jobs.
func (f *compileFlags) compileAll(ctx context.Context, env *environment, req *request, targets []core.Target, files []string) ([]*job, error) {
	host, done, err := compileHost(ctx, env, f.verbose, &f.pickFlags, files[0])
	if err != nil {
		return nil, err
	}
	defer done()
	if err := f.equip(env, req, host, files[0]); err != nil {
		return nil, err
	}
	farm, err := f.joinFarm(ctx, env, host, files[0], req.opts.Cache)
	if err != nil {
		return nil, err
	}
	defer farm.close()
	places := env.places(f.jobs)
	var byFile [][]*job
	var all []*job
	for _, file := range files {
		jobs, err := f.jobsInPlace(ctx, env, places, req, targets, file)
		if err != nil {
			return nil, err
		}
		byFile = append(byFile, jobs)
		all = append(all, jobs...)
	}
	if req.output == "-" && len(all) > 1 {
		return nil, usagef("-o - can write one thing, and %s asks for %s", all[0].src.Path, diag.Count(len(all), "variant")).
			withHelp("-s gives the signature of one")
	}
	reports := newFileReports(byFile, func(jobs []*job) error { return f.reportJobs(env, jobs, len(targets)) })
	finished := func(*job) {}
	if farm != nil { // else all soon ends
		finished = reports.finished
	}
	runJobs(ctx, env, farm, places, all, finished)
	return all, reports.end()
}

// fileReports tells of files in the order in which they are given, each once.
type fileReports struct {
	report func(jobs []*job) error
	files  [][]*job
	of     map[*job]int // the number of a job's file

	mu     sync.Mutex
	left   []int // jobs of a file that are not finished
	next   int   // the file to tell of next
	failed bool
	err    error // that ends the command
}

func newFileReports(files [][]*job, report func(jobs []*job) error) *fileReports {
	r := &fileReports{report: report, files: files, of: map[*job]int{}}
	for i, jobs := range files {
		r.left = append(r.left, len(jobs))
		for _, j := range jobs {
			r.of[j] = i
		}
	}
	return r
}

// finished tells of files as far as all of their jobs, and all files before, are finished.
func (r *fileReports) finished(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left[r.of[j]]--
	for r.next < len(r.files) && r.left[r.next] == 0 {
		r.tell()
	}
}

// tell tells of the next file.
func (r *fileReports) tell() {
	jobs := r.files[r.next]
	r.next++
	if r.err != nil {
		return
	}
	if err := r.report(jobs); errors.Is(err, errReported) {
		r.failed = true
	} else {
		r.err = err
	}
}

// end tells of the files that are left, and returns the error of all.
func (r *fileReports) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next < len(r.files) {
		r.tell()
	}
	if r.err == nil && r.failed {
		return errReported
	}
	return r.err
}

// jobsInPlace is jobsOf once there is a place: a file's decorators may compute for long.
func (f *compileFlags) jobsInPlace(ctx context.Context, env *environment, places places, req *request, targets []core.Target, file string) ([]*job, error) {
	if err := places.acquire(ctx); err != nil {
		return nil, err
	}
	defer places.release()
	return f.jobsOf(ctx, env, req, targets, file)
}

// jobsOf reads a file. What is wrong with it for one target is that job's error.
func (f *compileFlags) jobsOf(ctx context.Context, env *environment, req *request, targets []core.Target, file string) ([]*job, error) {
	src, err := readSource(env, file, f.sourceRoot, f.as)
	if err != nil {
		return failedJob(file, core.Target{}, err)
	}
	var jobs []*job
	for _, target := range targets {
		one := *src
		own := *req
		own.target = target
		own.opts.Values = maps.Clone(req.opts.Values) // addMetadata takes some out
		if stages := req.stages[target]; stages != nil {
			own.opts.Stages = stages
		}
		variants, err := f.variants(ctx, env, &one, &own)
		if err != nil {
			failed, err := failedJob(file, target, err)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, failed...)
			continue
		}
		for _, v := range variants {
			jobs = append(jobs, &job{file: file, target: target, src: v, opts: &own.opts, want: f.want(), modules: own.modules})
		}
	}
	return jobs, nil
}

// failedJob is a file that cannot be read, which the others need not wait for. A
// command line that makes no sense, and an interrupt, end all.
func failedJob(file string, target core.Target, err error) ([]*job, error) {
	if errors.As(err, new(*usageError)) || errors.Is(err, context.Canceled) {
		return nil, err
	}
	return []*job{{file: file, target: target, err: err}}, nil
}

// runJobs compiles side by side, with a bar that shows how far it is, and calls finished
// for each job.
func runJobs(ctx context.Context, env *environment, farm *farmSession, places places, jobs []*job, finished func(*job)) {
	bar := progress{above: env.report.above}
	show := bar.update
	switch {
	case len(jobs) < 2:
	case env.call != nil:
		show = env.call.Progress // the bar is the client's
	default:
		defer bar.start(env.report.screen(), "compiling", "kernels")()
	}
	var wg sync.WaitGroup
	var count atomic.Int64
	for _, j := range jobs {
		wg.Go(func() {
			done := j.err != nil || farm.compile(ctx, j, len(jobs) > 1)
			if !done {
				j.err = places.acquire(ctx)
			}
			if !done && j.err == nil {
				j.compile(ctx, len(jobs) > 1)
				places.release()
			}
			if j.kernel != nil {
				env.count(j.kernel)
			}
			show(int(count.Add(1)), len(jobs))
			finished(j)
		})
	}
	wg.Wait()
}

// compile does the job. With keep, what the kernel prints is kept for the report.
func (j *job) compile(ctx context.Context, keep bool) {
	opts := *j.opts
	if keep {
		opts.Print = func(text string) { j.printed.WriteString(text) }
	}
	k, err := core.Compile(ctx, j.src, j.target, &opts)
	if err == nil {
		err = checkWarps(j.src, k, opts.Values)
	}
	if j.err = err; err == nil {
		j.kernel = k
	}
}

// errReported is that of jobs which failed, after reportJobs has said why.
var errReported = errors.New("reported")

// reportJobs tells of the jobs of one file, each in its place. What is not so for all
// targets says for which it is.
func (f *compileFlags) reportJobs(env *environment, jobs []*job, targets int) error {
	r := env.report
	said := map[string]map[core.Target]bool{}
	for _, j := range jobs {
		for _, d := range j.diagnostics() {
			if said[d.Error()] == nil {
				said[d.Error()] = map[core.Target]bool{}
			}
			said[d.Error()][j.target] = true
		}
	}
	defer r.about("")
	var failed error
	for _, j := range jobs {
		if r.about(""); j.target != (core.Target{}) {
			r.about(j.target.String())
		}
		if j.printed.Len() > 0 {
			r.printed(j.printed.String())
		}
		for _, d := range j.diagnostics() {
			if n := len(said[d.Error()]); n < targets && j.target != (core.Target{}) && !r.json {
				d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], diag.Diagnostic{Severity: diag.Note, Message: "for " + j.target.String()})
			}
		}
		if j.kernel != nil {
			r.diagnostics(j.kernel.Warnings...)
			if f.time {
				whole := timingRecord{File: j.file, Target: j.target.String(), Kernel: j.kernel.FileStem()}
				r.timings(j.kernel, whole, j.stem(targets), f.verbose > 0)
			}
		}
		switch err := j.err; {
		case err == nil:
		case errors.As(err, new(*usageError)), errors.Is(err, context.Canceled):
			return err
		default:
			failed = errReported
			r.error(allowance(err))
		}
	}
	return failed
}

// diagnostics are what there is to say of a kernel, as far as it has a place.
func (j *job) diagnostics() []*diag.Diagnostic {
	list := diag.All(j.err)
	if j.kernel != nil {
		list = append(list[:len(list):len(list)], j.kernel.Warnings...)
	}
	return list
}

// write puts out what was asked for: files, or one artifact on standard output.
func (req *request) write(env *environment, jobs []*job) error {
	targets := map[core.Target]bool{}
	for _, j := range jobs {
		targets[j.target] = true
	}
	var files []outFile
	var records []artifactRecord
	from := map[string]*job{} // by the name of a file
	for _, j := range jobs {
		k, stem := j.kernel, j.stem(len(targets))
		if other := from[stem]; other != nil {
			return sameNames(other, j)
		}
		from[stem] = j
		record := artifactRecord{
			Kind: "artifact", File: j.file, Target: j.target.String(), Kernel: k.Name, Variant: k.Variant,
		}
		add := func(stage, ending string, data []byte) {
			record.Stage, record.Name, record.Size = stage, stem+"."+ending, len(data)
			files, records = append(files, outFile{record.Name, data}), append(records, record)
		}
		if req.binary || len(req.opts.Stages) > 0 {
			for _, a := range k.Artifacts {
				add(a.Stage, a.Ending, a.Data)
			}
		}
		if req.json {
			add("json", "json", k.Metadata)
		}
	}
	if req.output == "-" {
		_, err := env.stdout.Write(files[0].data)
		return err
	}
	if err := env.write(req.output, files); err != nil {
		return err
	}
	for _, r := range records {
		env.report.record("", r)
	}
	return nil
}

// sameNames is the error of two kernels whose files would have the same names.
func sameNames(a, b *job) error {
	d := diag.Errorf(diag.Pos{File: b.file}, "kernel %s has the name of one of %s, and so would its files", b.kernel.FileStem(), a.file)
	return d.WithHelp("compile the files one by one, with folders of their own: -o")
}

// artifactRecord tells with --json of a file that was written.
type artifactRecord struct {
	Kind    string `json:"kind"`
	File    string `json:"file"` // that was compiled
	Target  string `json:"target"`
	Kernel  string `json:"kernel"`
	Variant string `json:"variant,omitempty"`
	Stage   string `json:"stage"`
	Name    string `json:"name"` // in the folder of -o
	Size    int    `json:"size"`
}
