// Command tritonc-nats is a NATS server with JetStream for one user on one machine, which
// tritonc starts where a command for several machines names none. It listens at the
// loopback device, for those who can read the token in its folder.
//
// It is a program of its own, since the server takes as much room as half of tritonc, and
// milliseconds of each start.
package main

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tritonc/tritonc/farm/local"
)

func main() {
	dir := flag.String("dir", "", "the `FOLDER` for the server's files, which others may not enter")
	room := flag.Int64("max-store", 16<<10, "`MiB` that it may keep")
	untilEOF := flag.Bool(local.UntilEOF, false, "end with standard input; an interrupt is left to who started it")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 || *room < 1 {
		fmt.Fprintf(os.Stderr, "usage: %s --dir FOLDER [--max-store MiB] [--%s]\n", local.Program, local.UntilEOF)
		os.Exit(2)
	}
	if err := run(local.Folder(*dir), *room<<20, *untilEOF); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", local.Program, err)
		os.Exit(1)
	}
}

// ready bounds how long the server may take to accept connections.
const ready = 15 * time.Second

func run(dir local.Folder, room int64, untilEOF bool) error {
	unlock, err := dir.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	token := rand.Text()
	s, err := server.NewServer(&server.Options{
		ServerName: local.Program, Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: token, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: dir.Store(), JetStreamMaxStore: room, JetStreamMaxMemory: 1 << 30, DisableJetStreamBanner: true,
	})
	if err != nil {
		return err
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM)
	done := make(chan struct{})
	if untilEOF {
		signal.Ignore(os.Interrupt)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(done)
		}()
	} else {
		signal.Notify(ends, os.Interrupt)
	}
	go s.Start()
	defer func() {
		s.Shutdown()
		s.WaitForShutdown()
	}()
	if !s.ReadyForConnections(ready) {
		return fmt.Errorf("the server did not start within %v", ready)
	}
	if !s.JetStreamEnabled() {
		return errors.New("JetStream did not start: is the folder's disk full?")
	}
	port := s.Addr().(*net.TCPAddr).Port
	if err := dir.Announce(local.Note{URL: fmt.Sprintf("nats://%s@127.0.0.1:%d", token, port), PID: os.Getpid()}); err != nil {
		return err
	}
	defer dir.Withdraw()
	fmt.Println("ready")
	select {
	case <-ends:
	case <-done:
	}
	return nil
}
