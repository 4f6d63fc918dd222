package core

import (
	"encoding/json"
	"fmt"
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
		k.Metadata = t.src.Metadata
	}
	if len(k.Metadata) > 0 {
		var named struct{ Name string }
		if err := json.Unmarshal(k.Metadata, &named); err != nil {
			return nil, fmt.Errorf("metadata of %s: %w", t.target, err)
		}
		k.Name = named.Name
	}
	return k, nil
}
