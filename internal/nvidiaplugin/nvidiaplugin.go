// Package nvidiaplugin has a test program be NVIDIA's backend, too, so that examples
// show what a program does, a plugin.Host that starts a backend, and nothing has to be
// built for them:
//
//	func TestMain(m *testing.M) { nvidiaplugin.Main(m) }
//	plugin.New(plugin.Options{Dirs: []string{nvidiaplugin.Dir()}, LookupEnv: os.LookupEnv})
package nvidiaplugin

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// dir is set by Main.
var dir string

// Dir is the folder of the backend.
func Dir() string { return dir }

// Main is the TestMain of such a program.
func Main(m *testing.M) {
	if os.Getenv(host.Handshake.MagicCookieKey) != "" {
		sdk.ServeBackend(nvidia.New())
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// install makes the folder. What hosts remember of the backend goes there, too, but not
// what Go keeps of builds.
func install() (err error) {
	if dir, err = os.MkdirTemp("", "tritonc-nvidia"); err != nil {
		return err
	}
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		os.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	self, err := os.Executable()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "tritonc-backend-nvidia"+filepath.Ext(self))
	if filepath.Ext(self) != ".exe" {
		name = filepath.Join(dir, "tritonc-backend-nvidia")
	}
	if err = os.Symlink(self, name); err == nil {
		return nil
	}
	data, err := os.ReadFile(self) // on Windows links are for administrators
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o755)
}
