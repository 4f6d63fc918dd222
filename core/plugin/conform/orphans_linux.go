package conform

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// processesOf lists the processes that were started with dir in their environment, as
// all those of a backend are, once they had a moment to end.
func processesOf(dir string) (left []string, err error) {
	for range 10 {
		if left, err = running(dir); err != nil || len(left) == 0 {
			return left, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return left, nil
}

func running(dir string) (list []string, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte("="+dir+"/")) {
			continue // of another user, or gone
		}
		pid := filepath.Base(filepath.Dir(file))
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
		list = append(list, pid+" ("+strings.TrimSpace(string(name))+")")
	}
	return list, nil
}
