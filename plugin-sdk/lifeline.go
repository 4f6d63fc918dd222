package sdk

import (
	"fmt"
	"os"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/tritonc/tritonc/plugin-sdk/internal/tempdir"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// watchLifeline ends this process, with its tools and its socket folder, as
// soon as the descriptor named by value gives EOF: the host holds the other end
// of that pipe and the kernel closes it however the host dies. An empty value
// (a host of another kind) leaves the process without a lifeline.
func watchLifeline(value string, log hclog.Logger) error {
	if value == "" {
		return nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 0 {
		return fmt.Errorf("%s=%q is not a file descriptor", wire.EnvLifeline, value)
	}
	line := os.Stdin
	if fd != 0 {
		line = os.NewFile(uintptr(fd), "lifeline")
	}
	if _, err := line.Stat(); err != nil {
		return fmt.Errorf("%s=%q: %w", wire.EnvLifeline, value, err)
	}
	closeOnExec(fd)
	go func() {
		var b [1]byte
		for {
			// The host never writes; a byte, from whatever source, is not an end.
			if _, err := line.Read(b[:]); err != nil {
				break
			}
		}
		leaveNothing()
		log.Debug("the host is gone")
		os.Exit(1)
	}()
	return nil
}

// leaveNothing ends the tools that run and removes their folders and that of the
// socket, which the host made: it may be gone by now, or go before it comes to
// that.
func leaveNothing() {
	tools.killAll()
	tempdir.RemoveAll()
	if dir := os.Getenv(plugin.EnvUnixSocketDir); dir != "" {
		os.RemoveAll(dir)
	}
}
