package measure

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/farm/work"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// form is that of tasks and results. It is in each class: workers of another form are
// not given tasks of this one.
const form = "measure 1"

// Type is what devices have in common whose times can be compared.
type Type struct {
	Properties driver.Properties `json:"properties"`
	// Driver is the program that measures and its version, for people: "cuda 13.0".
	Driver string `json:"driver"`
}

// String is the type for people.
func (t *Type) String() string { return fmt.Sprintf("%s by %s", t.Properties.Name, t.Driver) }

// class is the class of tasks for the type.
func (t *Type) class() *work.Class {
	text, err := json.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("BUG: farm/measure: a type has no JSON: %v", err))
	}
	p := &t.Properties
	return &work.Class{
		Target: fmt.Sprintf("%s:%s on %s", p.Target.Backend, p.Target.Arch, p.Name), Compiler: form,
		// What comes before the last space is what messages call it.
		Programs: []string{"driver " + strings.ReplaceAll(t.Driver, " ", "_"), deviceProgram + base64.StdEncoding.EncodeToString(text)},
	}
}

// deviceProgram begins the line of a class that has the whole type.
const deviceProgram = "device "

// typeOf is the type of a class; false for a class of compiles, and of another form.
func typeOf(c *work.Class) (*Type, bool) {
	if c.Compiler != form || len(c.Programs) != 2 {
		return nil, false
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(c.Programs[1], deviceProgram))
	t := &Type{}
	if err != nil || json.Unmarshal(text, t) != nil || t.class().ID() != c.ID() {
		return nil, false
	}
	return t, true
}

// Types lists the types of devices that there are now, with how many there are of each,
// in the order of their names.
func Types(ctx context.Context, q *work.Queue) (types []*Type, count []int, err error) {
	s, err := q.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(s.Queues, func(a, b work.QueueStatus) int { return cmp.Compare(a.Target, b.Target) })
	for i := range s.Queues {
		u := &s.Queues[i]
		if t, ok := typeOf(u.Described); ok && u.Workers > 0 {
			types, count = append(types, t), append(count, u.Workers)
		}
	}
	return types, count, nil
}

// ErrNone is that of Choose where no type fits.
var ErrNone = errors.New("no device of the farm fits")

// noneError says what there is instead.
type noneError struct{ shown *diag.Diagnostic }

func (e *noneError) Error() string   { return e.shown.Error() }
func (e *noneError) Unwrap() []error { return []error{ErrNone, e.shown} }

// Choose finds the type that name names, or the only one of a target: the name of the
// device, or where several types share it the name and the driver, as String has it. A
// target without a backend is any.
func Choose(types []*Type, of target.Target, name string) (*Type, error) {
	var fit, named []*Type
	var all []string
	for _, t := range types {
		all = append(all, fmt.Sprintf("%s (%s:%s)", t, t.Properties.Target.Backend, t.Properties.Target.Arch))
		own := t.Properties.Target
		if of.Backend != "" && (own.Backend != of.Backend || own.Arch != of.Arch) {
			continue
		}
		fit = append(fit, t)
		if name == t.Properties.Name || name == t.String() {
			named = append(named, t)
		}
	}
	if name == "" {
		named = fit
	}
	have := "it has " + strings.Join(all, "; ")
	if len(all) == 0 {
		have = "tritonc worker --device cuda, on a machine with a device, makes it one of the farm's"
	}
	what := "a device"
	if name != "" {
		what = "a device " + name
	}
	if of.Backend != "" {
		what += fmt.Sprintf(" for %s:%s", of.Backend, of.Arch)
	}
	switch {
	case len(named) == 0:
		return nil, &noneError{diag.Errorf(diag.Pos{}, "the farm does not have %s", what).WithHelp("%s", have)}
	case len(named) > 1:
		var names []string
		for _, t := range named {
			names = append(names, fmt.Sprintf("--device %q", t.String()))
		}
		return nil, diag.Errorf(diag.Pos{}, "the farm has several types of devices that fit").WithHelp("choose one: %s", strings.Join(names, ", or "))
	}
	return named[0], nil
}
