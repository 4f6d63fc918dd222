package process

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// KilledError says that somebody killed a program before it had become a plugin.
type KilledError struct{ text string }

func (e *KilledError) Error() string { return e.text }

// startError explains why a program did not become a plugin. go-plugin's own
// texts are for plugin authors; only what they say is used.
func (p *Process) startError(who string, cfg *Config, err error) error {
	c := p.child
	line, printed := c.first.line()
	parts := strings.Split(line, "|")
	switch {
	case strings.Contains(err.Error(), "timeout while waiting"):
		return fmt.Errorf("%s did not answer within %s of its start%s", who, cfg.StartTimeout, c.said.String())
	case printed && len(parts) >= 4 && parts[0] == "1":
		if v, verr := strconv.Atoi(parts[1]); verr == nil && cfg.Versions[v] == nil {
			return fmt.Errorf("%s speaks version %d of the plugin protocol, this tritonc version %s; build it with the matching plugin-sdk", who, v, cfg.spoken())
		}
		return fmt.Errorf("%s: %w", who, err)
	case printed:
		return fmt.Errorf("%s printed %q to its standard output before the handshake; its main must call the SDK's Serve before all else", who, shorten(line, 200))
	case c.ID() == "":
		return fmt.Errorf("%s cannot be run: %w", who, err)
	}
	how := c.ended()
	if why := p.reason(); why != "" {
		how = why
	}
	text := fmt.Sprintf("%s ended before the handshake (%s)%s", who, how, c.said.String())
	if c.wasKilled() {
		return &KilledError{text}
	}
	return errors.New(text)
}

// spoken lists the versions that the host speaks.
func (c *Config) spoken() string {
	var list []string
	for _, v := range slices.Sorted(maps.Keys(c.Versions)) {
		list = append(list, strconv.Itoa(v))
	}
	return strings.Join(list, " or ")
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
