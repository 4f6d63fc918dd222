package deploy

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tritonc/tritonc/core/project"
)

// portOf is the port of what a project's file names.
func portOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := project.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(p.Farm.NATS)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

// TestPorts: servers listen where workers, probes, scalers and policies look for them, and
// containers tell of each port that their program serves at.
func TestPorts(t *testing.T) {
	newFarm(t, 1) // which sets the environment
	opts, err := server.ProcessConfigFile(filepath.Join(files, "cluster.conf"))
	if err != nil {
		t.Fatal(err)
	}
	client, monitor, cluster := fmt.Sprint(opts.Port), fmt.Sprint(opts.HTTPPort), fmt.Sprint(opts.Cluster.Port)
	for _, file := range []string{"tritonc.toml", "kubernetes/tritonc.toml"} {
		if got := portOf(t, file); got != client {
			t.Errorf("%s names port %s, and the server listens at %s", file, got, client)
		}
	}
	for _, route := range opts.Routes {
		if route.Port() != cluster {
			t.Errorf("cluster.conf has the route %s, and the servers meet at %s", route, cluster)
		}
	}

	services := documents(t, filepath.Join(files, "compose.yaml"))[0]["services"]
	if ports := items(get(services, "nats", "ports")); len(ports) != 1 || ports[0] != client+":"+client {
		t.Errorf("compose publishes %v, and the server listens at %s", ports, client)
	}
	if probe := fmt.Sprint(items(get(services, "nats", "healthcheck", "test"))...); !strings.Contains(probe, ":"+monitor+"/") {
		t.Errorf("compose asks %s, and the monitor is at %s", probe, monitor)
	}

	nats := documents(t, filepath.Join(files, "kubernetes", "nats.yaml"))
	want := map[string]string{"client": client, "cluster": cluster, "monitor": monitor}
	for _, d := range nats {
		switch d["kind"] {
		case "Service":
			checkPorts(t, "the service", items(get(d, "spec", "ports")), "port", want)
		case "StatefulSet":
			c := items(get(d, "spec", "template", "spec", "containers"))[0]
			checkPorts(t, "the container", items(get(c, "ports")), "containerPort", want)
		case "NetworkPolicy":
			var open []string
			for _, rule := range items(get(d, "spec", "ingress")) {
				for _, p := range items(get(rule, "ports")) {
					open = append(open, fmt.Sprint(get(p, "port")))
				}
			}
			slices.Sort(open)
			if all := []string{client, cluster, monitor}; !slices.Equal(open, all) {
				t.Errorf("the policy is about %v, and the server listens at %v", open, all)
			}
		}
	}

	found, err := filepath.Glob(filepath.Join(files, "kubernetes", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		for _, d := range documents(t, path) {
			within(d, func(o object) { checkContainer(t, filepath.Base(path), o, monitor) })
		}
	}
}

// checkPorts checks ports by their names; key has their numbers.
func checkPorts(t *testing.T, what string, list []any, key string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, p := range list {
		got[fmt.Sprint(get(p, "name"))] = fmt.Sprint(get(p, key))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s has the ports %v, and the server listens at %v", what, got, want)
	}
}

// metrics matches the port of --metrics.
var metrics = regexp.MustCompile(`^[^ ]*:(\d+)$`)

// checkContainer checks that probes ask ports that a container has, that it tells of the one
// that --metrics serves at, and that addresses of the monitor have its port.
func checkContainer(t *testing.T, name string, o object, monitor string) {
	t.Helper()
	ports := map[string]string{}
	for _, p := range items(o["ports"]) {
		if n := get(p, "containerPort"); n != nil {
			ports[fmt.Sprint(get(p, "name"))] = fmt.Sprint(n)
		}
	}
	for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		if port := get(o, probe, "httpGet", "port"); port != nil && ports[fmt.Sprint(port)] == "" {
			t.Errorf("%s: the %s asks the port %v, which the container does not have", name, probe, port)
		}
	}
	args := items(o["args"])
	if i := slices.Index(args, any("--metrics")); i >= 0 {
		m := metrics.FindStringSubmatch(args[i+1].(string))
		if m == nil || ports["metrics"] != m[1] {
			t.Errorf("%s: the container serves metrics at %v, and its ports are %v", name, args[i+1], ports)
		}
	}
	for _, value := range o {
		if text, ok := value.(string); ok && strings.Contains(text, ".svc.cluster.local:") && !strings.Contains(text, ".svc.cluster.local:"+monitor) {
			t.Errorf("%s: %s is not the monitor at %s", name, text, monitor)
		}
	}
}
