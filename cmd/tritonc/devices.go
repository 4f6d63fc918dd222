package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/driver/remote"
	"github.com/tritonc/tritonc/driver/simulated"
)

const devicesLong = `List the devices that "tritonc run --device" takes: the simulated ones, and those of
drivers, with the target to compile for.

A driver is a program named tritonc-device-NAME in a folder of
` + backendPathVar + `, beside tritonc itself, or in the user's own folder
(~/.local/share/tritonc/backends), or a backend there that serves devices, too. Of one that cannot be used the reason is shown. With
--json there is an object a line: a device, or a driver with an error. Simulated devices
that differ in their names alone have one line without it.`

func devicesCommand(env *environment) *cobra.Command {
	verbose := 0
	cmd := &cobra.Command{
		Use:     "devices",
		Short:   "list the devices, simulated and real",
		Long:    devicesLong,
		Example: "  tritonc devices\n  tritonc devices --json",
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			host, err := everyDevice(cmd.Context(), env, verbose)
			if err != nil {
				return err
			}
			defer host.Close()
			rows := listDevices(cmd.Context(), host)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if env.report.json {
				return writeJSON(env.stdout, rows...)
			}
			return devicesTable(env.stdout, rows)
		},
	}
	cmd.Flags().CountVarP(&verbose, "verbose", "v", "show what tritonc and the drivers log")
	return cmd
}

// everyDevice finds all drivers of devices.
func everyDevice(ctx context.Context, env *environment, verbose int) (*remote.Host, error) {
	return deviceHost(env, verbose, &pickFlags{}, "", func(backends *plugin.Host) []process.Found { return backends.Drivers(ctx, core.Target{}) })
}

// deviceRow is a device, or a driver that has none for an Error.
type deviceRow struct {
	// Device is what --device takes.
	Device          string `json:"device,omitempty"`
	Name            string `json:"name,omitempty"`
	Target          string `json:"target,omitempty"`
	Multiprocessors int    `json:"multiprocessors,omitempty"`
	// Memory of the device and Shared memory of a block, in bytes.
	Memory int64 `json:"memory,omitempty"`
	Shared int64 `json:"shared,omitempty"`
	// Driver is its name and version, Path its program.
	Driver string `json:"driver,omitempty"`
	Path   string `json:"path,omitempty"`
	Error  string `json:"error,omitempty"`
}

// listDevices asks all drivers for theirs. The simulated devices come first.
func listDevices(ctx context.Context, host *remote.Host) (rows []deviceRow) {
	for _, p := range simulated.All() {
		rows = append(rows, deviceRow{
			Device: simulatedName, Name: p.Name, Target: p.Target.Backend + ":" + p.Target.Arch,
			Multiprocessors: p.Multiprocessors, Memory: p.Memory, Shared: int64(p.MaxShared),
		})
	}
	for _, d := range host.Drivers() {
		facts, err := d.Describe(ctx)
		if err != nil {
			rows = append(rows, deviceRow{Driver: d.Name(), Path: d.Path(), Error: err.Error()})
			continue
		}
		for i, info := range facts.Devices {
			rows = append(rows, deviceRow{
				Device: fmt.Sprintf("%s:%d", d.Name(), i), Name: info.Name, Target: info.Target.Backend + ":" + info.Target.Arch,
				Multiprocessors: info.Multiprocessors, Memory: info.Memory, Shared: info.MaxShared,
				Driver: strings.TrimSpace(facts.Name + " " + facts.Version), Path: d.Path(),
			})
		}
	}
	return rows
}

func devicesTable(w io.Writer, rows []deviceRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "--device\t--target\tname\tmultiprocessors\tmemory\tshared\tdriver")
	for i := 0; i < len(rows); i++ {
		if r := &rows[i]; r.Error == "" {
			in, name := r.Driver, r.Name
			if in == "" {
				in = "in this process"
			}
			if n := alike(rows[i:]); n > 1 {
				name += fmt.Sprintf(", and %d like it", n-1)
				i += n - 1
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Device, r.Target, name,
				known(int64(r.Multiprocessors), fmt.Sprint(r.Multiprocessors)), known(r.Memory, fmt.Sprintf("%.1f GiB", float64(r.Memory)/(1<<30))),
				known(r.Shared, fmt.Sprintf("%d KiB", r.Shared>>10)), in)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range rows {
		if r := &rows[i]; r.Error != "" {
			fmt.Fprintf(w, "%s\t%s\n  cannot be used: %s\n", r.Driver, r.Path, r.Error)
		}
	}
	return nil
}

// alike is how many of the first rows are simulated devices of one backend that differ in
// their names alone. --json lists them all.
func alike(rows []deviceRow) int {
	kind := func(r deviceRow) deviceRow {
		r.Target, _, _ = strings.Cut(r.Target, ":")
		r.Name = ""
		return r
	}
	n := 1
	for n < len(rows) && rows[0].Device == simulatedName && rows[n].Device == simulatedName && kind(rows[n]) == kind(rows[0]) {
		n++
	}
	return n
}

// known is text, or a dash where the driver does not tell n.
func known(n int64, text string) string {
	if n == 0 {
		return "-"
	}
	return text
}

// devices offers the devices for --device.
func (c *completer) devices(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	host, err := everyDevice(cmd.Context(), c.env, 0)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer host.Close()
	list := []string{cobra.CompletionWithDesc(simulatedName, "a GPU or an NPU simulated in this process")}
	for _, r := range listDevices(cmd.Context(), host) {
		if r.Error == "" && r.Device != simulatedName {
			list = append(list, cobra.CompletionWithDesc(r.Device, r.Name))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
