package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/trust"
)

// A process that finds a server failing writes that into a file, and for a while other
// processes do not try it: a thousand compiles would else wait a thousand times.

// offNote is the file's content.
type offNote struct {
	Servers string    `json:"servers"` // the hash of their URLs
	Until   time.Time `json:"until"`
}

func (s *Store) serversHash() string {
	h := sha256.New()
	for _, u := range s.opts.Bus.URLs {
		h.Write([]byte(u + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeOff notes that the server is left alone.
func (s *Store) writeOff() {
	if s.opts.OffFile == "" {
		return
	}
	text, err := json.Marshal(offNote{s.serversHash(), s.offUntil})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.opts.OffFile), 0o755)
	}
	if err == nil {
		err = filememo.Replace(s.opts.OffFile, text)
	}
	if err != nil {
		s.log("%v", err)
	}
}

// readOff is until when the server is left alone. A time further away than one is set
// is of another clock, or of nobody's.
func (s *Store) readOff() time.Time {
	if s.opts.OffFile == "" {
		return time.Time{}
	}
	text, err := trust.ReadFile(s.opts.OffFile)
	var n offNote
	if err != nil || json.Unmarshal(text, &n) != nil || n.Servers != s.serversHash() || time.Until(n.Until) > s.opts.Off {
		return time.Time{}
	}
	return n.Until
}
