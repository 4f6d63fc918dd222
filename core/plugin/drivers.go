package plugin

import (
	"context"

	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// Drivers finds the backends whose programs serve the devices of their targets, too;
// with a target that is not zero, only those that may support it. Of several with
// one name it is the first. Those that cannot be used, which may be such backends, come
// last with their problem. Package driver/remote runs them, in processes of their own.
func (h *Host) Drivers(ctx context.Context, t sdk.Target) (found []process.Found) {
	pool := h.visible()
	if t != (sdk.Target{}) {
		var err error
		if pool, err = h.pool(ctx, t); err != nil {
			return nil // a compile will say so
		}
	}
	h.describeAll(ctx, pool)
	seen := map[string]bool{}
	var broken []process.Found
	for _, b := range pool {
		d, err := b.Describe(ctx)
		if err != nil {
			broken = append(broken, process.Found{Name: b.found.Name, Path: b.found.Path, Problem: trouble{b, err}.error()})
			continue
		}
		if seen[b.found.Name] || t != (sdk.Target{}) && !d.supports(t) {
			continue
		}
		if seen[b.found.Name] = true; d.Facts.Has(host.CapDevices) {
			f, err := b.expected()
			if err != nil {
				f.Problem = err
			}
			found = append(found, f)
		}
	}
	for _, f := range broken {
		if !seen[f.Name] {
			found = append(found, f)
		}
	}
	return found
}
