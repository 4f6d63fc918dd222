package deploy

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v3"

	"github.com/tritonc/tritonc/core/project"
)

// object is a YAML mapping.
type object = map[string]any

// documents reads all documents of a file. A key that is there twice is an error.
func documents(t *testing.T, path string) (list []object) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := yaml.NewDecoder(f); ; {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, o)
	}
}

// get is a value by a path of keys, nil where there is none.
func get(v any, path ...string) any {
	for _, key := range path {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		v = o[key]
	}
	return v
}

func items(v any) []any {
	list, _ := v.([]any)
	return list
}

// within calls do for each object in a value.
func within(v any, do func(o object)) {
	switch v := v.(type) {
	case object:
		do(v)
		for _, inner := range v {
			within(inner, do)
		}
	case []any:
		for _, inner := range v {
			within(inner, do)
		}
	}
}

// TestKubernetes: what a manifest refers to is there: files, config maps, secrets that
// the documentation makes, labels, targets of scaling.
func TestKubernetes(t *testing.T) {
	k := documents(t, filepath.Join(files, "kustomization.yaml"))[0]
	maps := map[string]bool{}
	for _, g := range items(k["configMapGenerator"]) {
		maps[get(g, "name").(string)] = true
		for _, f := range items(get(g, "files")) {
			name := f.(string)
			if _, path, ok := strings.Cut(name, "="); ok {
				name = path
			}
			if _, err := os.Stat(filepath.Join(files, name)); err != nil {
				t.Error(err)
			}
		}
	}
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, r := range items(k["resources"]) {
		resources = append(resources, r.(string))
	}
	found, err := filepath.Glob(filepath.Join(files, "kubernetes", "*.yaml"))
	if err != nil || len(found) != len(resources)+1 { // by-consumer.yaml takes scale.yaml's place
		t.Errorf("%d files, and %d resources: %v", len(found), len(resources), err)
	}
	workloads := map[string]bool{}
	all := map[string][]object{}
	for _, path := range found {
		all[path] = documents(t, path)
		for _, d := range all[path] {
			if d["kind"] == "Deployment" {
				workloads[get(d, "metadata", "name").(string)] = true
			}
		}
	}
	for path, list := range all {
		name := "kubernetes/" + filepath.Base(path)
		if !slices.Contains(resources, name) && name != "kubernetes/by-consumer.yaml" {
			t.Errorf("%s is in no kustomization", name)
		}
		for _, d := range list {
			if d["apiVersion"] == nil || d["kind"] == nil || get(d, "metadata", "name") == nil {
				t.Errorf("%s: a document has no apiVersion, kind or name", name)
			}
			selector := get(d, "spec", "selector", "matchLabels")
			if pod := get(d, "spec", "template"); pod != nil {
				checkPod(t, name, get(pod, "spec"), maps, string(text))
				if s, ok := selector.(object); ok && get(pod, "metadata", "labels", "app") != s["app"] {
					t.Errorf("%s: the selector does not fit the pod's labels", name)
				}
			}
			if target := get(d, "spec", "scaleTargetRef", "name"); d["kind"] == "ScaledObject" && !workloads[target.(string)] {
				t.Errorf("%s scales %v, which is not there", name, target)
			}
		}
	}
}

// checkPod checks what a pod mounts and how it is confined.
func checkPod(t *testing.T, name string, spec any, maps map[string]bool, docs string) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range items(get(spec, "volumes")) {
		volumes[get(v, "name").(string)] = true
		if c := get(v, "configMap", "name"); c != nil && !maps[c.(string)] {
			t.Errorf("%s: there is no config map %v", name, c)
		}
		if s := get(v, "secret", "secretName"); s != nil && !strings.Contains(docs, s.(string)) {
			t.Errorf("%s: docs/scale.md does not say how the secret %v is made", name, s)
		}
	}
	if get(spec, "securityContext", "runAsNonRoot") != true {
		t.Errorf("%s: the pod may run as root", name)
	}
	for _, c := range items(get(spec, "containers")) {
		if get(c, "securityContext", "allowPrivilegeEscalation") != false || get(c, "securityContext", "readOnlyRootFilesystem") != true {
			t.Errorf("%s: the container is not confined", name)
		}
		for _, m := range items(get(c, "volumeMounts")) {
			if v := get(m, "name").(string); !volumes[v] && v != "data" {
				t.Errorf("%s: there is no volume %s", name, v)
			}
		}
	}
}

// TestCompose: the files that containers mount are there, or certificates.sh makes them,
// and each service depends on services.
func TestCompose(t *testing.T) {
	c := documents(t, filepath.Join(files, "compose.yaml"))[0]
	script, err := os.ReadFile(filepath.Join(files, "certificates.sh"))
	if err != nil {
		t.Fatal(err)
	}
	services := c["services"].(object)
	for _, name := range slices.Sorted(maps.Keys(services)) {
		s := services[name]
		for _, v := range items(get(s, "volumes")) {
			from, _, _ := strings.Cut(v.(string), ":")
			role := regexp.MustCompile(`^\./certs/(.*?)(-key)?\.pem$`).FindStringSubmatch(from)
			switch {
			case role != nil:
				if !strings.Contains(string(script), role[1]) {
					t.Errorf("%s: nobody makes %s", name, from)
				}
			case strings.HasPrefix(from, "./"):
				if _, err := os.Stat(filepath.Join(files, from)); errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
				}
			default:
				if _, ok := get(c, "volumes").(object)[from]; !ok {
					t.Errorf("%s: there is no volume %s", name, from)
				}
			}
		}
		within(get(s, "depends_on"), func(o object) {
			for on := range o {
				if on != "condition" && services[on] == nil {
					t.Errorf("%s depends on %s, which is not there", name, on)
				}
			}
		})
	}
}

// TestFiles: the projects' files are read, and so is the servers' configuration for three.
func TestFiles(t *testing.T) {
	for _, name := range []string{"tritonc.toml", "kubernetes/tritonc.toml"} {
		text, err := os.ReadFile(filepath.Join(files, name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := project.Parse(name, text)
		if err != nil || p.Farm.NATS != "tls://nats:4222" || p.Farm.Cert != "certs/role.pem" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	newFarm(t, 1) // which sets the environment
	opts, err := server.ProcessConfigFile(filepath.Join(files, "cluster.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if len(opts.Routes) != 3 || !opts.TLSMap || len(opts.Accounts) != 2 || opts.Cluster.TLSConfig == nil {
		t.Errorf("cluster.conf: %d routes, %d accounts", len(opts.Routes), len(opts.Accounts))
	}
}

// TestScale: the place from which KEDA reads the length of the queue is where the server
// has it.
func TestScale(t *testing.T) {
	scale := documents(t, filepath.Join(files, "kubernetes", "scale.yaml"))[0]
	metadata := get(items(get(scale, "spec", "triggers"))[0], "metadata")
	path := get(metadata, "valueLocation").(string)
	if url := get(metadata, "url").(string); !strings.HasSuffix(url, ":8222/jsz?acc=FARM&streams=true") {
		t.Fatalf("the scaler asks %s", url)
	}
	f := newFarm(t, 1)
	f.setUp()
	b := f.connect("client")
	for _, key := range []string{"a", "b", "c"} {
		if _, err := b.JetStream().Publish(t.Context(), "tritonc.v1.task.class."+key, nil); err != nil {
			t.Fatal(err)
		}
	}
	z, err := f.servers[0].Jsz(&server.JSzOptions{Account: "FARM", Streams: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(z)
	if err != nil {
		t.Fatal(err)
	}
	var found any
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`^account_details\.0\.stream_detail\.#\(name=="(\w+)"\)\.state\.messages$`).FindStringSubmatch(path)
	if m == nil {
		t.Fatalf("the path %s is another than this test knows", path)
	}
	for _, s := range items(get(items(get(found, "account_details"))[0], "stream_detail")) {
		if get(s, "name") == m[1] {
			if n := get(s, "state", "messages"); n != 3.0 {
				t.Errorf("%v tasks are in the queue, want 3", n)
			}
			return
		}
	}
	t.Errorf("the server has no %s: %s", m[1], text)
}
