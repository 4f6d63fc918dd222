package main

/*
#include <stdio.h>
static void flushAll(void) { fflush(NULL); }
*/
import "C"

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// stdout is this process's descriptor 1, which CUDA writes to what kernels
// print. By the time there is one, the handshake has been said elsewhere.
type stdout struct {
	write *os.File
	// launching is held from a launch until what it printed is collected.
	launching sync.Mutex

	mu    sync.Mutex
	cond  *sync.Cond
	got   []byte
	err   error // ends the reading
	count int   // of collects
}

// catchStdout points descriptor 1 at a pipe that is always being read.
func catchStdout() (*stdout, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if err := unix.Dup2(int(w.Fd()), 1); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	s := &stdout{write: w}
	s.cond = sync.NewCond(&s.mu)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Read(buf)
			s.mu.Lock()
			s.got, s.err = append(s.got, buf[:n]...), err
			s.cond.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s, nil
}

// collect returns what was printed since the last time: all that comes before a
// mark which it prints itself.
func (s *stdout) collect() ([]byte, error) {
	C.flushAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	mark := fmt.Appendf(nil, "\x00end of output %d\x00", s.count)
	if _, err := s.write.Write(mark); err != nil {
		return nil, err
	}
	for {
		if out, rest, ok := bytes.Cut(s.got, mark); ok {
			out = bytes.Clone(out)
			s.got = rest
			return out, nil
		}
		if s.err != nil {
			return nil, s.err
		}
		s.cond.Wait()
	}
}
