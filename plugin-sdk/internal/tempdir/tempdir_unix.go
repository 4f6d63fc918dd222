//go:build unix

package tempdir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process that is killed leaves its folders. In each lies a file that its
// process holds a lock of: the system lets go of it when the process ends,
// however it does, so that another process can tell, whatever the numbers of
// processes mean to it. Folders of other machines, with which the folder may be
// shared, and whose locks may not be seen here, are left alone.

// ownerMagic begins the file; the machine follows.
const ownerMagic = "a temporary folder of tritonc on "

// emptyAfter is the age of an empty folder whose process was killed before it had
// put its file there.
const emptyAfter = time.Hour

// tempOwner holds a folder's lock; nil where there is none.
type tempOwner struct{ file *os.File }

func (o *tempOwner) release() {
	if o != nil {
		o.file.Close()
	}
}

// ownTemp marks a new folder as ours. One that cannot be marked is never swept.
func ownTemp(dir string) *tempOwner {
	machine := thisMachine()
	if machine == "" {
		return nil
	}
	path := filepath.Join(dir, ownerFile)
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil
	}
	_, err = f.WriteString(ownerMagic + machine + "\n")
	// It has its name when it is locked, and not before.
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		f.Close()
		os.Remove(path + ".new")
		return nil
	}
	return &tempOwner{f}
}

// thisMachine names the running system: another one, or this one after it has
// started anew, has another name. Empty where that is not known.
func thisMachine() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// sweep removes the folders in base whose processes are gone: ours by name, by
// owner and by content. Errors are nobody's affair: the folder stays.
func sweep(base string) {
	f, err := os.Open(base)
	if err != nil {
		return
	}
	names, _ := f.Readdirnames(-1)
	f.Close()
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) {
			sweepOne(filepath.Join(base, name))
		}
	}
}

func sweepOne(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if time.Since(info.ModTime()) > emptyAfter {
			os.Remove(dir) // does nothing unless it is empty
		}
		return
	}
	if err != nil {
		return
	}
	defer f.Close()
	want := []byte(ownerMagic + thisMachine() + "\n")
	got := make([]byte, len(want)+1)
	if n, _ := f.Read(got); !bytes.Equal(got[:n], want) {
		return
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil { // nobody holds it
		os.RemoveAll(dir)
	}
}
