package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core/work"
)

// maxMemoryVar gives the default of --max-memory. Backends have a setting of that
// name, which the flag sets.
const (
	maxMemoryVar     = "TRITONC_MAX_MEMORY"
	settingMaxMemory = "max_memory"
)

// mostMemory bounds --max-memory, in MiB: more than any machine has.
const mostMemory = 1 << 32

// standardMaxMemory is how many MiB a compile may take where nobody says.
const standardMaxMemory = 1024

func defaultMaxMemory(env *environment) int64 {
	if text, ok := env.lookupEnv(maxMemoryVar); ok && text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		return -1 // which setMaxMemory refuses
	}
	return standardMaxMemory
}

// setMaxMemory gives the command's context the limit for what is compiled in this
// process.
func setMaxMemory(cmd *cobra.Command, env *environment) error {
	if env.maxMemory < 0 || env.maxMemory > mostMemory {
		if text, _ := env.lookupEnv(maxMemoryVar); !cmd.Flags().Changed("max-memory") {
			return usagef("%s=%s is not a number of MiB between 0 and %d", maxMemoryVar, text, int64(mostMemory))
		}
		return usagef("--max-memory %d is not a number of MiB between 0 and %d", env.maxMemory, int64(mostMemory))
	}
	cmd.SetContext(work.WithMemory(cmd.Context(), env.maxMemory<<20))
	return nil
}
