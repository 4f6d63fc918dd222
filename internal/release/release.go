package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/plugin/manifest"
)

const ourModule = "github.com/tritonc/tritonc"

// sbomTool lists what a program is made of, as CycloneDX.
const sbomTool = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"

// release is what the archives of a release have in common.
type release struct {
	root    string // of the checkout
	work    string // a folder for what is built on the way
	version string
	date    time.Time
	env     []string // of the commands that build

	files    []entry // of every archive: texts, manual pages, completions
	backends []*described
}

// newRelease finds out what is released.
func newRelease(ctx context.Context, root, work, version string) (*release, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &release{root: root, work: work, env: buildEnv(os.Environ())}
	if r.version, err = r.versionOf(ctx, version); err != nil {
		return nil, err
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = r.output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
			return nil, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.date = time.Unix(n, 0).UTC()
	return r, nil
}

// buildEnv is an environment without what changes a build.
func buildEnv(env []string) []string {
	var kept []string
	for _, v := range env {
		switch name, _, _ := strings.Cut(v, "="); {
		case name == "GOFLAGS", name == "GOWORK", name == "GOOS", name == "GOARCH", name == "GOEXPERIMENT",
			name == "GOFIPS140", name == "GO_LDFLAGS", name == "GOAMD64", name == "GOARM64", strings.HasPrefix(name, "CGO_"), strings.HasPrefix(name, "TRITONC_"):
		default:
			kept = append(kept, v)
		}
	}
	return append(kept, "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-trimpath -buildvcs=false")
}

var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// versionOf checks the version that the user gives, or finds that of the checkout. The
// changelog must have what is released.
func (r *release) versionOf(ctx context.Context, given string) (string, error) {
	version := given
	if version == "" {
		tag, err := r.output(ctx, "git", "describe", "--tags", "--exact-match", "--dirty")
		if err != nil || !versionForm.MatchString(tag) || strings.HasSuffix(tag, "-dirty") {
			commit, err := r.output(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
			return "devel-" + commit, err
		}
		version = tag
	}
	if !versionForm.MatchString(version) {
		return "", fmt.Errorf("%q is not a version such as v1.2.3", version)
	}
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	return version, inChangelog(string(text), version)
}

// inChangelog checks that a changelog has a section for a version.
func inChangelog(text, version string) error {
	heading := "## [" + strings.TrimPrefix(version, "v") + "] - "
	if !strings.HasPrefix(text, heading) && !strings.Contains(text, "\n"+heading) {
		return fmt.Errorf("CHANGELOG.md has no section %q with the day of the release", strings.TrimSuffix(heading, " - "))
	}
	return nil
}

// archived is an archive.
type archived struct {
	name     string
	data     []byte
	programs []string
	notes    []string // what it lacks, and why; what it needs
}

func (a *archived) report(w io.Writer) {
	fmt.Fprintf(w, "%s  %.1f MiB: %s\n", a.name, float64(len(a.data))/(1<<20), strings.Join(a.programs, ", "))
	for _, note := range a.notes {
		fmt.Fprintf(w, "    %s\n", note)
	}
}

// archives builds a platform's programs and makes its archives: that of all, and one for
// each backend alone.
func (r *release) archives(ctx context.Context, p platform) ([]*archived, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	dir := filepath.Join(r.work, p.os+"_"+p.arch)
	if err := r.build(ctx, p, dir); err != nil {
		return nil, err
	}
	a := &archived{programs: []string{p.program("tritonc")}}
	for _, b := range r.backends {
		a.programs = append(a.programs, p.program(b.program()))
	}
	for _, d := range p.drivers() {
		a.programs = append(a.programs, path.Base(d.program))
		a.notes = append(a.notes, path.Base(d.program)+" needs glibc and, for devices, "+d.needs)
	}
	note, err := r.cudaDriver(ctx, p, dir)
	switch {
	case err != nil:
		a.notes = append(a.notes, "without tritonc-device-cuda: "+err.Error())
	default:
		a.programs = append(a.programs, "tritonc-device-cuda")
		a.notes = append(a.notes, "tritonc-device-cuda "+note)
	}
	entries, err := r.programEntries(ctx, dir, a.programs)
	if err != nil {
		return nil, err
	}
	if err := a.pack(r, p, "tritonc", append(entries, r.files...)); err != nil {
		return nil, err
	}
	list := []*archived{a}
	for _, b := range r.backends {
		alone, err := r.backendArchive(ctx, p, dir, b)
		if err != nil {
			return nil, err
		}
		list = append(list, alone)
	}
	return list, nil
}

// pack fills an archive, whose name begins with name.
func (a *archived) pack(r *release, p platform, name string, entries []entry) (err error) {
	folder := fmt.Sprintf("%s-%s-%s-%s", name, r.version, p.os, p.arch)
	a.name = folder + ".tar.gz"
	if p.os == "windows" {
		a.name = folder + ".zip"
	}
	a.data, err = pack(p.os == "windows", folder, r.date, entries)
	return err
}

// nativeDriver is a driver that opens its vendor's library when it runs.
type nativeDriver struct{ program, needs string }

// drivers are those for a platform.
func (p platform) drivers() []nativeDriver {
	if p.os != "linux" {
		return nil
	}
	return []nativeDriver{
		{"./driver/ascend/cmd/tritonc-device-ascend", "Ascend's CANN"},
		{"./driver/hip/cmd/tritonc-device-hip", "AMD's ROCm"},
	}
}

// buildTags are those of the Makefile.
const buildTags = "grpcnotrace"

// build builds tritonc, the backends and the drivers. None needs cgo.
func (r *release) build(ctx context.Context, p platform, dir string) error {
	packages, err := r.packages()
	if err != nil {
		return err
	}
	for _, d := range p.drivers() {
		packages = append(packages, d.program)
	}
	return r.run(ctx, []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0"}, r.root, io.Discard,
		"go", append([]string{"build", "-tags", buildTags, "-ldflags", "-s -w " + r.stamp(), "-o", dir + string(filepath.Separator)}, packages...)...)
}

// packages are those of tritonc and of each backend, relative to the module.
func (r *release) packages() ([]string, error) {
	found, err := filepath.Glob(filepath.Join(r.root, "backends", "*", "cmd", manifest.ProgramPrefix+"*"))
	if err != nil {
		return nil, err
	}
	list := []string{"./cmd/tritonc", "./cmd/tritonc-nats", "./cmd/tritonc-plot"}
	for _, dir := range found {
		rel, err := filepath.Rel(r.root, dir)
		if err != nil {
			return nil, err
		}
		list = append(list, "./"+filepath.ToSlash(rel))
	}
	return list, nil
}

// stamp is the linker's flag with the version.
func (r *release) stamp() string {
	return "-X " + ourModule + "/plugin-sdk.programVersion=" + r.version
}

var glibcVersion = regexp.MustCompile(`GLIBC_(\d+)\.(\d+)`)

// cudaDriver builds the driver of NVIDIA GPUs, which needs cgo and cuda.h: there is one
// for the system that this runs on, if that has them. It returns what it needs to run.
// Its build ID is left out, of which the folder of cuda.h would be part.
func (r *release) cudaDriver(ctx context.Context, p platform, dir string) (string, error) {
	switch {
	case p.os != "linux":
		return "", errors.New("it is for Linux")
	case p != host:
		return "", fmt.Errorf("it needs cgo, and this is %s", host)
	}
	var said strings.Builder
	if err := r.run(ctx, []string{"CGO_ENABLED=1", "GO_LDFLAGS=-buildid="}, r.root, &said, "sh", "-c", `exec scripts/device-cuda.sh "$0" 2>&1`, dir); err != nil {
		return "", fmt.Errorf("scripts/device-cuda.sh says\n%s", indent(said.String()))
	}
	data, err := os.ReadFile(filepath.Join(dir, "tritonc-device-cuda"))
	if err != nil {
		return "", err
	}
	major, minor := 0, 0
	for _, m := range glibcVersion.FindAllSubmatch(data, -1) {
		a, _ := strconv.Atoi(string(m[1]))
		b, _ := strconv.Atoi(string(m[2]))
		if a > major || a == major && b > minor {
			major, minor = a, b
		}
	}
	_, with, _ := strings.Cut(strings.TrimSpace(said.String()), " with ")
	return fmt.Sprintf("was built with %s; it needs glibc %d.%d and NVIDIA's driver", with, major, minor), nil
}

// programEntries are the programs, and what there is for each: its SBOM, and the licences
// of what is linked.
func (r *release) programEntries(ctx context.Context, dir string, programs []string) ([]entry, error) {
	var entries []entry
	var files []string
	for _, name := range programs {
		file := filepath.Join(dir, name)
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sbom, err := r.sbom(ctx, file)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		entries = append(entries, entry{"bin/" + name, program, data}, entry{"sbom/" + strings.TrimSuffix(name, ".exe") + ".cdx.json", ordinary, sbom})
	}
	modules, err := linked(files)
	if err != nil {
		return nil, err
	}
	licences, err := r.thirdParty(ctx, modules)
	if err != nil {
		return nil, err
	}
	return append(entries, entry{"THIRD_PARTY_LICENSES", ordinary, licences}), nil
}

// sbom lists what a program is made of. Numbers at random and times are left out. The
// driver of GPUs is linked with our module as it lies two folders up.
func (r *release) sbom(ctx context.Context, program string) ([]byte, error) {
	text, err := r.goOutput(ctx, "run", sbomTool, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version, program)
	ours := strings.NewReplacer("../..@(devel)", ourModule+"@"+r.version, `"../.."`, `"`+ourModule+`"`, `"(devel)"`, `"`+r.version+`"`)
	return []byte(ours.Replace(text) + "\n"), err
}

// prepare makes what every archive has.
func (r *release) prepare(ctx context.Context) error {
	if r.files != nil {
		return nil
	}
	dir := filepath.Join(r.work, "host")
	if err := r.build(ctx, host, dir); err != nil {
		return err
	}
	packages, err := r.packages()
	if err != nil {
		return err
	}
	for _, pkg := range packages[1:] {
		facts, err := r.output(ctx, filepath.Join(dir, host.program(path.Base(pkg))), "--describe")
		if err != nil {
			return err
		}
		d := &described{}
		if err := json.Unmarshal([]byte(facts), d); err != nil {
			return err
		}
		r.backends = append(r.backends, d)
	}
	files, err := r.texts(ctx)
	if err != nil {
		return err
	}
	for shell, file := range map[string]string{
		"bash":       "share/bash-completion/completions/tritonc",
		"zsh":        "share/zsh/site-functions/_tritonc",
		"fish":       "share/fish/vendor_completions.d/tritonc.fish",
		"powershell": "share/powershell/tritonc.ps1",
	} {
		text, err := r.output(ctx, filepath.Join(dir, host.program("tritonc")), "completion", shell)
		if err != nil {
			return err
		}
		files = append(files, entry{file, ordinary, []byte(text + "\n")})
	}
	manual := filepath.Join(r.work, "man")
	if err := os.MkdirAll(manual, 0o755); err != nil {
		return err
	}
	where := []string{"TRITONC_MANUAL=" + manual, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix())}
	if err := r.run(ctx, where, r.root, io.Discard, "go", "test", "-count=1", "-ldflags", r.stamp(), "-run", "^TestManual$", "./cmd/tritonc"); err != nil {
		return err
	}
	pages, err := filesBelow(manual, "share/man/man1")
	r.files = append(files, pages...)
	return err
}

// texts are the documents: those of the checkout, and README.md with what it names.
func (r *release) texts(ctx context.Context) ([]entry, error) {
	list, err := r.output(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
		"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "examples")
	if err != nil {
		return nil, err
	}
	var entries []entry
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and git not told yet
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, ordinary, data})
	}
	return entries, nil
}

// filesBelow reads the files of a folder, as entries below to.
func filesBelow(dir, to string) ([]entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{path.Join(to, f.Name()), ordinary, data})
	}
	return entries, nil
}

// goOutput returns what the go command prints.
func (r *release) goOutput(ctx context.Context, args ...string) (string, error) {
	return r.output(ctx, "go", args...)
}

// output runs a command in the checkout and returns what it prints, its end trimmed.
func (r *release) output(ctx context.Context, name string, args ...string) (string, error) {
	var out strings.Builder
	err := r.run(ctx, nil, r.root, &out, name, args...)
	return strings.TrimSpace(out.String()), err
}

// run runs a command; what it says besides is part of its error.
func (r *release) run(ctx context.Context, env []string, dir string, out io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	var said strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(append([]string{}, r.env...), env...), out, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, indent(said.String()))
	}
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
