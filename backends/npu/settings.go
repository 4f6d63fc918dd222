package npu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Settings of triton-ascend that are on or off: what they ask of the vendor's compiler.
var (
	settingBlocks = sdk.SettingSpec{Name: "all_blocks_parallel", Env: []string{"TRITON_ALL_BLOCKS_PARALLEL"}, Doc: "npubin: a launch has a block for each core, which runs several programs; those of npusim always do"}
	settingFFTS   = sdk.SettingSpec{Name: "disable_ffts", Env: []string{"TRITON_DISABLE_FFTS"}, Doc: "npubin: cores do not synchronize by FFTS"}
	settingChecks = sdk.SettingSpec{Name: "ascend_sanitizer", Env: []string{"TRITON_ENABLE_SANITIZER"}, Doc: "npubin: code for the vendor's sanitizer; the simulated NPU checks always"}
)

// settingFlags are the flags of the vendor's compiler for those that are on.
var settingFlags = []struct {
	setting sdk.SettingSpec
	flag    string
}{
	{settingBlocks, "--enable-auto-blockify-loop"},
	{settingFFTS, "--disable-ffts"},
	{settingChecks, "--enable-sanitizer=true"},
}

// settingsWithout are those that have no counterpart here, and why: one that is on is warned
// of.
var settingsWithout = []struct {
	setting sdk.SettingSpec
	why     string
}{
	{sdk.SettingSpec{Name: "ascend_device_print", Env: []string{"TRITON_DEVICE_PRINT"}, Doc: "has no effect, and is warned of: tl.device_print has no form for NPUs"}, "tl.device_print has no form for NPUs here"},
	{sdk.SettingSpec{Name: "libdevice_simt", Env: []string{"TRITON_ENABLE_LIBDEVICE_SIMT"}, Doc: "has no effect, and is warned of: kernels are not compiled for the SIMT mode"}, "kernels are not compiled for the SIMT mode of a chip here"},
	{sdk.SettingSpec{Name: "memory_display", Env: []string{"TRITON_MEMORY_DISPLAY"}, Doc: "has no effect, and is warned of: the stage npuir has the places of buffers"}, "--emit npuir shows the places of buffers"},
}

var settings = allSettings()

func allSettings() []sdk.SettingSpec {
	list := []sdk.SettingSpec{settingBisheng, settingCANN, settingArch}
	for _, f := range settingFlags {
		list = append(list, f.setting)
	}
	for _, w := range settingsWithout {
		list = append(list, w.setting)
	}
	return list
}

// isOn reports whether a setting is on, as triton-ascend reads its variable.
func isOn(given map[string]string, s sdk.SettingSpec) bool {
	return slices.Contains([]string{"1", "true"}, strings.ToLower(given[s.Name]))
}

// warnOfSettings tells of settings that are on and have no effect.
func warnOfSettings(k *backend.Compilation) {
	for _, w := range settingsWithout {
		if isOn(k.Request.Settings, w.setting) {
			k.Warn(sdk.Diagnostic{Severity: sdk.Warning, Message: fmt.Sprintf("%s has no effect: %s", w.setting.Env[0], w.why)})
		}
	}
}
