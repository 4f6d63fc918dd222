package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kernel gathers what the trip made.
func (t *trip) kernel() (*Kernel, error) {
	k := &Kernel{
		Variant: t.src.Variant, Target: t.target, Metadata: []byte(t.result.MetadataJSON),
		Timings: t.timings, Tools: t.result.Tools, Warnings: t.warnings,
	}
	if t.plan.source {
		k.Artifacts = append(k.Artifacts, Artifact{Stage: t.plan.given, Ending: t.plan.ending(t.src), Data: t.input})
	}
	for _, stage := range t.plan.run {
		if !t.plan.wants(stage.Name) {
			continue
		}
		data := t.result.Artifact(stage.Name)
		if data == nil {
			return nil, fmt.Errorf("the backend for %s returned nothing for its stage %s", t.target, stage.Name)
		}
		k.Artifacts = append(k.Artifacts, Artifact{stage.Name, stage.Ending, stage.Binary, data})
	}
	if len(k.Metadata) == 0 {
		var err error
		if k.Metadata, err = t.knownMetadata(); err != nil {
			return nil, err
		}
	}
	var err error
	if k.Name, k.Metadata, err = t.signed(k.Metadata); err != nil {
		if len(t.result.MetadataJSON) > 0 {
			return nil, fmt.Errorf("BUG in the backend %s for %s: the metadata of the kernel %s: %w", t.facts.Name, t.target, t.name, err)
		}
		return nil, fmt.Errorf("metadata of %s: %w", t.target, err)
	}
	if k.Name == "" {
		k.Name = t.name
	}
	if len(t.result.MetadataJSON) > 0 {
		err = t.checkName(k.Name)
	}
	return k, err
}

// checkName refuses an answer for another kernel than the one that was asked for, as
// far as the input says which that is.
func (t *trip) checkName(name string) error {
	asked := []string{t.name}
	if !t.src.IsPython() {
		asked = nil
		for _, m := range publicName.FindAllSubmatch(t.input, -1) {
			asked = append(asked, string(m[1]))
		}
	}
	if len(asked) == 0 || slices.Contains(asked, name) {
		return nil
	}
	return fmt.Errorf("BUG in the backend %s for %s: it answered for the kernel %s, but was asked for %s",
		t.facts.Name, t.target, name, strings.Join(asked, ", "))
}

// publicName finds the name of a module's kernel.
var publicName = regexp.MustCompile(`(?m)^\s*tt\.func public @([\w$.]+)`)

// madeBy is a backend in the metadata of a kernel. Triton's own field backend_name is
// an option, and means the target's.
type madeBy struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Hash    string `json:"hash"`
}

// signed adds to metadata which backend made the kernel, and returns the kernel's
// name, if it is there.
func (t *trip) signed(metadata []byte) (name string, _ []byte, err error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(metadata, &all); err != nil {
		return "", nil, err
	}
	if all == nil {
		return "", nil, errors.New("null is not an object")
	}
	if text, ok := all["name"]; ok {
		if err := json.Unmarshal(text, &name); err != nil {
			return "", nil, fmt.Errorf("name: %w", err)
		}
	}
	all["backend"], err = json.Marshal(madeBy{t.facts.Name, t.facts.Version, t.facts.Hash})
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out) // sorts the keys
	enc.SetEscapeHTML(false)
	err = enc.Encode(all)
	return name, bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// knownMetadata is what there is to say of a kernel for which no stage had to
// run: its name, the options, and what came with the source.
func (t *trip) knownMetadata() ([]byte, error) {
	all := map[string]any{"name": t.name}
	for _, text := range []string{t.options, string(t.src.Metadata)} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, fmt.Errorf("metadata of %s: %w", t.target, err)
		}
	}
	return json.Marshal(all) // sorts the keys
}
