package main

import (
	"fmt"
	"runtime"
	"strings"
)

// platform is a system that programs are built for.
type platform struct{ os, arch string }

// all are the platforms of a release. What is built for those that make does not run on
// is vetted, not run.
var all = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
}

var host = platform{runtime.GOOS, runtime.GOARCH}

func (p platform) String() string { return p.os + "/" + p.arch }

// program is a program's name there.
func (p platform) program(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

func platformNames(list []platform) string {
	var names []string
	for _, p := range list {
		names = append(names, p.String())
	}
	return strings.Join(names, ",")
}

func parsePlatforms(text string) ([]platform, error) {
	var list []platform
	for name := range strings.SplitSeq(text, ",") {
		os, arch, ok := strings.Cut(name, "/")
		if !ok || os == "" || arch == "" {
			return nil, fmt.Errorf("%q is not a platform such as %s", name, all[0])
		}
		list = append(list, platform{os, arch})
	}
	return list, nil
}
