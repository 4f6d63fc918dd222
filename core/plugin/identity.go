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
// what they see of the machine. Tools are not in it: a compile says which it used.
// Neither are limits, which change nothing in a compile that succeeds. It is empty
// when there is no such backend: SelectBackend says why. Only a program that is not
// known is started for it.
func (h *Host) Identity(ctx context.Context, t sdk.Target) (string, error) {
	c, err := h.candidates(ctx, t)
	if err != nil || len(c.list) == 0 {
		return "", ctx.Err()
	}
	var text strings.Builder
	add := func(what, s string) { fmt.Fprintf(&text, "%s %q\n", what, s) }
	for _, b := range c.list {
		d, err := b.Describe(ctx)
		if err != nil {
			return "", ctx.Err()
		}
		add("backend", b.found.Name)
		add("version", d.Facts.Version)
		add("hash", d.Facts.Hash)
		add("file", d.SHA256)
		settings := h.settings(slices.DeleteFunc(slices.Clone(d.Facts.Settings), func(s sdk.SettingSpec) bool { return s.Limit }))
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			add("setting "+name, settings[name])
		}
	}
	for _, key := range passedEnv {
		if v, ok := h.opts.LookupEnv(key); ok && !slices.Contains(temporaryEnv, key) {
			add("environment "+key, v)
		}
	}
	return text.String(), nil
}
