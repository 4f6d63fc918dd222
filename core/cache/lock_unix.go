//go:build unix

package cache

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// How long a writer waits for others, and how long between two tries. A write takes
// milliseconds, unless its process is stopped.
const (
	lockWait  = 5 * time.Second
	lockRetry = time.Millisecond
)

// lock makes a folder, and waits until nobody else writes to it; a process that is
// killed holds it no longer. On a file system without such locks it is not held, and
// writers do not wait.
func lock(dir string) (held bool, unlock func(), err error) {
	for end := time.Now().Add(lockWait); ; {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return false, nil, err
		}
		f, err := os.Open(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue // it was cleaned meanwhile
		}
		if err != nil {
			return false, nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK) && time.Now().After(end):
			f.Close()
			return false, nil, fmt.Errorf("another process has been writing to %s for %v", dir, lockWait)
		case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
			f.Close()
			time.Sleep(lockRetry)
		default:
			return err == nil, func() { f.Close() }, nil
		}
	}
}
