package main

import (
	"fmt"

	"github.com/tritonc/tritonc/core/pass"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// stageRow is a row of a target's stage with --json.
type stageRow struct {
	Stage  string `json:"stage"`
	Number int    `json:"number,omitempty"` // of the rows that are run, from 1
	sdk.PassRow
}

// stageRows are the rows of a stage; those that a condition leaves out only with all.
func stageRows(s *sdk.Stage, rows []numberedRow, all bool) []stageRow {
	var list []stageRow
	for _, row := range rows {
		if all || row.number > 0 {
			list = append(list, stageRow{s.Name, row.number, row.PassRow})
		}
	}
	return list
}

// passRow is a pass that runs without a backend, with --json.
type passRow struct {
	Name    string      `json:"name"`
	Doc     string      `json:"doc"`
	Options []optionRow `json:"options,omitempty"`
	// Facts of a module that it needs, gives and breaks, by their names.
	Needs   []string `json:"needs,omitempty"`
	Gives   []string `json:"gives,omitempty"`
	Breaks  []string `json:"breaks,omitempty"`
	Example string   `json:"example,omitempty"` // a txtar archive
}

type optionRow struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Default any    `json:"default"`
	// Gives are further facts that the pass gives if the option has a value.
	Gives map[string][]string `json:"gives,omitempty"`
}

func passRowOf(p *pass.Pass, example bool) passRow {
	row := passRow{Name: p.Name, Doc: p.Doc, Needs: factNames(p.Before), Gives: factNames(p.After), Breaks: factNames(p.Breaks)}
	for _, o := range p.Options {
		option := optionRow{Name: o.Name, Doc: o.Doc, Default: o.Default}
		for value, facts := range o.After {
			if option.Gives == nil {
				option.Gives = map[string][]string{}
			}
			option.Gives[fmt.Sprint(value)] = factNames(facts)
		}
		row.Options = append(row.Options, option)
	}
	if example {
		row.Example = p.Example
	}
	return row
}

func factNames(facts []*pass.Fact) (names []string) {
	for _, f := range facts {
		names = append(names, f.Name)
	}
	return names
}
