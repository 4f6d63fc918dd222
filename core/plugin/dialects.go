package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/trust"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// LoadDialects returns the declarations of the facts' dialects. They are asked for once
// and then kept, in the user's cache folder, too, by the hash that the facts have
// of them.
func (b *Backend) LoadDialects(ctx context.Context) ([]sdk.Dialect, error) {
	known, err := b.DescribeAgain(ctx)
	if err != nil || len(known.Facts.Dialects) == 0 {
		return nil, err
	}
	facts := &known.Facts
	b.loadedMu.Lock()
	defer b.loadedMu.Unlock()
	if loaded, ok := b.dialects[facts.DialectsHash]; ok {
		return loaded, nil
	}
	file := b.host.dialectsFile(facts)
	dialects, ok := readDialects(file)
	if !ok {
		dialects, err = call(ctx, b, "LoadDialects", func(ctx context.Context, c *host.Client, _ *sdk.Facts) ([]sdk.Dialect, error) {
			return c.LoadDialects(ctx)
		})
		if err != nil {
			return nil, err
		}
		writeDialects(file, dialects)
	}
	if b.dialects == nil {
		b.dialects = map[string][]sdk.Dialect{}
	}
	b.dialects[facts.DialectsHash] = dialects
	return dialects, nil
}

// dialectsFile is where the declarations of a program's dialects are kept; empty where
// they are not.
func (h *Host) dialectsFile(f *sdk.Facts) string {
	memo := h.opts.memoFile()
	if memo == "" || f.DialectsHash == "" {
		return ""
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", f.Name, f.Hash, f.DialectsHash))
	return filepath.Join(filepath.Dir(memo), "dialects", hex.EncodeToString(key[:16])+".json")
}

// readDialects reads a file of writeDialects, unless others could have written it.
func readDialects(file string) (dialects []sdk.Dialect, ok bool) {
	if file == "" || trust.Dir(filepath.Dir(file)) != nil {
		return nil, false
	}
	text, err := trust.ReadFile(file)
	ok = err == nil && json.Unmarshal(text, &dialects) == nil
	return dialects, ok
}

// writeDialects keeps what can be asked for again: that it fails does no harm.
func writeDialects(file string, dialects []sdk.Dialect) {
	if text, err := json.Marshal(dialects); err == nil && file != "" {
		_ = filememo.Replace(file, text)
	}
}
