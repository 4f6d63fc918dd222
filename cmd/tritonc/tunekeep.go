package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/tritonc/tritonc/driver/tune"
)

// mergeTimes is --merge.
func mergeTimes(env *environment, f *tuneFlags, files []string) error {
	if f.write == "" {
		return usagef("--merge needs --write FILE")
	}
	return f.alone(env, func() error { // the file may be one of those that are joined
		all := &tune.File{}
		for _, name := range files {
			text, err := env.dir.read(name)
			if err != nil {
				return err
			}
			one, err := tune.Read(name, text)
			if err != nil {
				return err
			}
			all.Add(one.Entries...)
		}
		return writeTimes(env, f.write, all)
	})
}

// checkWrite finds out whether times can be added to the file of --write.
func (f *tuneFlags) checkWrite(env *environment) error {
	if _, err := f.openTimes(env.dir); err != nil || f.write == "" || f.write == "-" {
		return err
	}
	return f.alone(env, func() error {
		temp, err := writeTemp(filepath.Dir(f.write), 0, outFile{name: filepath.Base(f.write)})
		if err != nil {
			return unwritable(f.write, err)
		}
		return os.Remove(temp)
	})
}

// openTimes reads the file of --write, if there is one.
func (f *tuneFlags) openTimes(dir folder) (*tune.File, error) {
	if f.write == "" || f.write == "-" {
		return &tune.File{}, nil
	}
	return readTimes(dir, f.write, true)
}

// keep adds the times to the file as it is now: others may have added theirs meanwhile.
func (f *tuneFlags) keep(env *environment, e *tune.Entry) error {
	if f.write == "" {
		return nil
	}
	return f.alone(env, func() error {
		times, err := f.openTimes(env.dir)
		if err != nil {
			return err
		}
		times.Add(e)
		return writeTimes(env, f.write, times)
	})
}

// writeTimes writes a file of times, or none of it.
func writeTimes(env *environment, path string, times *tune.File) error {
	text, err := times.Text()
	if err != nil {
		return err
	}
	if path == "-" {
		_, err := env.stdout.Write(text)
		return err
	}
	return writeFiles(filepath.Dir(path), []outFile{{name: filepath.Base(path), data: text}})
}

// How long a process waits for others that write to the same folder, and how long
// between two tries. A write takes milliseconds, unless its process is stopped.
const (
	timesWait  = 10 * time.Second
	timesRetry = 2 * time.Millisecond
)

// alone calls do while no other tritonc changes files in the folder of --write. What was
// measured is worth more than the order: do is called, too, if the lock cannot be had.
func (f *tuneFlags) alone(env *environment, do func() error) error {
	if f.write == "-" {
		return do()
	}
	dir := filepath.Dir(f.write)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	// The folder itself is locked: the file is replaced, and a lock's own would stay.
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if runtime.GOOS == "windows" { // which locks files alone
		lock = flock.New(f.write + ".lock")
	}
	ctx, stop := context.WithTimeout(context.Background(), timesWait)
	defer stop()
	held, err := lock.TryLockContext(ctx, timesRetry)
	defer lock.Close()
	if !held && !errors.Is(err, errors.ErrUnsupported) {
		env.report.note("writing %s without a lock on its folder: %v", f.write, err)
	}
	return do()
}
