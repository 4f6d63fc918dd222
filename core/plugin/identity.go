package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Identity tells in one text all that a compile for t depends on besides what it
// is given: the backends that may answer for t by name, version, hash and file, and
// what they see of the machine, and which programs may run. Tools are not in it: a compile says which it used.
// Neither are limits, which change nothing in a compile that succeeds. It is empty
// when there is no such backend: SelectBackend says why. Only a program that is not
// known is started for it. The folders that backends look for programs in are apart:
// searchPath is what they see as PATH.
func (h *Host) Identity(ctx context.Context, t sdk.Target) (text, searchPath string, err error) {
	c, err := h.candidates(ctx, t)
	if err != nil || len(c.list) == 0 {
		return "", "", ctx.Err()
	}
	var b strings.Builder
	add := func(what, s string) { fmt.Fprintf(&b, "%s %q\n", what, s) }
	for _, p := range c.list {
		d, err := p.Describe(ctx)
		if err != nil {
			return "", "", ctx.Err()
		}
		add("backend", p.found.Name)
		add("version", d.Facts.Version)
		add("hash", d.Facts.Hash)
		add("file", d.SHA256)
		found, err := p.expected()
		if err != nil {
			add("refused", err.Error())
		}
		for _, e := range found.Expected { // what a program made that may not run here is not taken
			add("expected", strings.Join(e.Sums, " "))
		}
		settings := h.settings(slices.DeleteFunc(slices.Clone(d.Facts.Settings), func(s sdk.SettingSpec) bool { return s.Limit }))
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			add("setting "+name, settings[name])
		}
	}
	for _, key := range passedEnv {
		v, ok := h.opts.LookupEnv(key)
		switch {
		case !ok || slices.Contains(temporaryEnv, key):
		case key == searchEnv:
			searchPath = v
		default:
			add("environment "+key, v)
		}
	}
	return b.String(), searchPath, nil
}
