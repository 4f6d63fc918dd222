package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// SharedIdentity tells what Identity does in a form that is the same on every machine
// with the same programs, wherever they are: backends by their files' hashes, settings
// less those that only say where tools are, and the tools, by their hashes, that the
// backends list. The backends are started for it.
func (h *Host) SharedIdentity(ctx context.Context, t sdk.Target) (*wire.Machine, error) {
	c, err := h.candidates(ctx, t)
	if err != nil {
		return nil, err
	}
	m := &wire.Machine{}
	if len(c.list) == 0 {
		m.Unshared = "no backend is for this target"
	}
	var b strings.Builder
	add := func(what, s string) { fmt.Fprintf(&b, "%s %q\n", what, s) }
	for _, p := range c.list {
		d, err := p.Describe(ctx)
		if err != nil {
			return nil, err
		}
		if d.SHA256 == "" {
			m.Unshared = fmt.Sprintf("the program %s cannot be read", p.found.Path)
		}
		add("backend", p.found.Name)
		add("version", d.Facts.Version)
		add("hash", d.Facts.Hash)
		add("file", d.SHA256)
		found, err := p.expected()
		if err != nil {
			add("refused", err.Error())
		}
		for _, e := range found.Expected {
			add("expected", strings.Join(e.Sums, " "))
		}
		settings := h.settings(d.Facts.Settings)
		tools, err := p.ListTools(ctx, t, settings)
		if err != nil {
			return nil, err
		}
		for i := range d.Facts.Settings {
			if s := &d.Facts.Settings[i]; s.Limit || slices.Contains(tools.Settings, s.Name) {
				delete(settings, s.Name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			add("setting "+name, settings[name])
		}
		for _, tool := range tools.Tools {
			if name, _, _ := strings.Cut(tool.Name, "/"); !slices.Contains(tools.WhenRun, name) {
				add("tool "+tool.Name, tool.SHA256)
			}
		}
		if m.Unshared == "" {
			m.Unshared = tools.Unshared
		}
		m.Tools = append(m.Tools, tools.Tools...)
		m.WhenRun = append(m.WhenRun, tools.WhenRun...)
		m.LookedAt = append(m.LookedAt, tools.LookedAt...)
	}
	m.Text = b.String()
	return m, nil
}

// ListTools lists what compiles for t may take from the machine.
func (b *Backend) ListTools(ctx context.Context, t sdk.Target, settings map[string]string) (sdk.ListToolsResponse, error) {
	return call(ctx, b, "ListTools", func(ctx context.Context, c *host.Client, _ *sdk.Facts) (sdk.ListToolsResponse, error) {
		resp, err := c.ListTools(ctx, sdk.ListToolsRequest{Target: t, Settings: settings})
		if status.Code(err) == codes.Unimplemented {
			return sdk.ListToolsResponse{Unshared: fmt.Sprintf("the backend %s does not list its tools", b.found.Name)}, nil
		}
		return resp, err
	})
}
