package host

import (
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

func diagnosticFromWire(d *pb.Diagnostic) sdk.Diagnostic {
	return sdk.Diagnostic{
		Severity:   sdk.Severity(d.GetSeverity()),
		Kind:       sdk.Kind(d.GetKind()),
		File:       d.GetFile(),
		Line:       int(d.GetLine()),
		Column:     int(d.GetColumn()),
		EndColumn:  int(d.GetEndColumn()),
		Message:    d.GetMessage(),
		Help:       d.GetHelp(),
		SourceLine: d.GetSourceLine(),
		Notes:      wire.Each(d.GetNotes(), diagnosticFromWire),

		Unlaunchable: d.GetUnlaunchable(),
	}
}

func factsFromWire(f *pb.Facts) sdk.Facts {
	s := f.GetSpecialization()
	return sdk.Facts{
		Name:     f.GetName(),
		Version:  f.GetVersion(),
		Hash:     f.GetHash(),
		Targets:  wire.Each(f.GetTargets(), targetFactsFromWire),
		Options:  wire.Each(f.GetOptions(), optionFromWire),
		Settings: wire.Each(f.GetSettings(), settingFromWire),
		Specialization: sdk.Specialization{
			IntDivisor:        int(s.GetIntDivisor()),
			PointerDivisor:    int(s.GetPointerDivisor()),
			IntOneIsConstexpr: s.GetIntOneIsConstexpr(),
			Attributes: wire.Each(s.GetAttributes(), func(a *pb.ArgAttribute) sdk.ArgAttribute {
				return sdk.ArgAttribute{Key: a.GetKey(), Name: a.GetName(), Value: a.GetValue()}
			}),
		},
		Dialects:     f.GetDialects(),
		DialectsHash: f.GetDialectsHash(),
		Capabilities: f.GetCapabilities(),
		BinaryEnding: f.GetBinaryEnding(),
	}
}

func targetFactsFromWire(t *pb.TargetFacts) sdk.TargetFacts {
	l := t.GetLimits()
	return sdk.TargetFacts{
		Pattern:   t.GetPattern(),
		WarpSize:  int(t.GetWarpSize()),
		WarpSizes: wire.Each(t.GetWarpSizes(), func(n int32) int { return int(n) }),
		Limits: sdk.DeviceLimits{
			MaxThreadsPerBlock:          int(l.GetMaxThreadsPerBlock()),
			MaxThreadsPerMultiprocessor: int(l.GetMaxThreadsPerMultiprocessor()),
			MaxRegistersPerThread:       int(l.GetMaxRegistersPerThread()),
			RegistersPerMultiprocessor:  l.GetRegistersPerMultiprocessor(),
			MaxSharedMemory:             l.GetMaxSharedMemory(),
			StaticSharedMemory:          l.GetStaticSharedMemory(),
			MaxCTAsPerCluster:           int(l.GetMaxCtasPerCluster()),
		},
		MinDotSizes: wire.Each(t.GetMinDotSizes(), func(d *pb.MinDotSize) sdk.MinDotSize {
			return sdk.MinDotSize{Bits: int(d.GetBits()), M: int(d.GetM()), N: int(d.GetN()), K: int(d.GetK())}
		}),
		FP8Kinds:                 t.GetFp8Kinds(),
		DeprecatedFP8DotOperands: t.GetDeprecatedFp8DotOperands(),
		DotInputPrecisions:       t.GetDotInputPrecisions(),
		DefaultDotInputPrecision: t.GetDefaultDotInputPrecision(),
		Doc:                      t.GetDoc(),
	}
}

func optionFromWire(o *pb.OptionSpec) sdk.OptionSpec {
	return sdk.OptionSpec{
		Name: o.GetName(), Type: sdk.OptionType(o.GetType()), Default: o.GetDefaultJson(), Doc: o.GetDoc(),
		Choices: o.GetChoices(), Derived: o.GetDerived(), CallerOnly: o.GetCallerOnly(),
	}
}

func settingFromWire(s *pb.SettingSpec) sdk.SettingSpec {
	return sdk.SettingSpec{Name: s.GetName(), Env: s.GetEnv(), Doc: s.GetDoc(), Limit: s.GetLimit()}
}

func dialectFromWire(d *pb.Dialect) sdk.Dialect {
	return sdk.Dialect{Name: d.GetName(), Declaration: d.GetDeclarationJson()}
}

func moduleNameFromWire(m *pb.ModuleName) sdk.Module {
	return sdk.Module{Name: m.GetName(), Aliases: m.GetAliases()}
}

func moduleFromWire(m *pb.Module) sdk.Module {
	return sdk.Module{
		Name: m.GetName(), Aliases: m.GetAliases(), Source: m.GetSource(),
		Externs: wire.Each(m.GetExterns(), func(e *pb.ExternFunction) sdk.ExternFunction {
			return sdk.ExternFunction{
				Name: e.GetName(), Args: e.GetArgs(), Result: e.GetResult(), Symbol: e.GetSymbol(),
				Library: e.GetLibrary(), Pure: e.GetPure(),
			}
		}),
	}
}

func stageFromWire(s *pb.Stage) sdk.Stage {
	return sdk.Stage{
		Name: s.GetName(), Binary: s.GetBinary(), Ending: s.GetEnding(), Doc: s.GetDoc(), Pipeline: s.GetPipeline(), From: s.GetFrom(),
		Passes: wire.Each(s.GetPasses(), func(p *pb.PassRow) sdk.PassRow {
			return sdk.PassRow{
				Name: p.GetName(), Options: p.GetOptions(), Doc: p.GetDoc(), Why: p.GetWhy(),
				Condition: p.GetCondition(), LeftOut: p.GetLeftOut(),
			}
		}),
	}
}

// runStagesHeaderToWire gives all of r but its data.
func runStagesHeaderToWire(r *sdk.RunStagesRequest) *pb.RunStagesHeader {
	return &pb.RunStagesHeader{
		Target:       wire.TargetToWire(r.Target),
		OptionsJson:  r.OptionsJSON,
		Settings:     r.Settings,
		First:        r.First,
		Last:         r.Last,
		InputName:    wire.UTF8(r.InputName),
		Want:         r.Want,
		InputSize:    int64(len(r.Input)),
		MetadataSize: int64(len(r.MetadataJSON)),
		Launchable:   r.Launchable,
	}
}

func toolFromWire(t *pb.Tool) sdk.ToolInfo {
	return sdk.ToolInfo{Name: t.GetName(), Path: t.GetPath(), Version: t.GetVersion(), SHA256: t.GetSha256()}
}

func progressFromWire(p *pb.Progress) sdk.Progress {
	return sdk.Progress{Stage: p.GetStage(), Fraction: p.GetFraction(), Text: p.GetText()}
}

func timingFromWire(t *pb.Timing) sdk.Timing {
	row := sdk.Timing{Stage: t.GetStage(), Name: t.GetName(), Nanoseconds: t.GetNanoseconds(), Did: t.GetDid(), Start: t.GetStart()}
	if w := t.GetTool(); w != nil {
		row.Tool = &sdk.ToolRun{ExitCode: int(w.GetExitCode()), Signal: w.GetSignal()}
	}
	return row
}

func runPassesHeaderToWire(r *sdk.RunPassesRequest) *pb.RunPassesHeader {
	return &pb.RunPassesHeader{
		Target:      wire.TargetToWire(r.Target),
		OptionsJson: r.OptionsJSON,
		Settings:    r.Settings,
		InputName:   wire.UTF8(r.InputName),
		Pipeline:    wire.UTF8(r.Pipeline),
		VerifyEach:  r.VerifyEach,
		DumpAfter:   wire.Each(r.DumpAfter, wire.UTF8),
		Analyses:    wire.Each(r.Analyses, wire.UTF8),
		InputSize:   int64(len(r.Input)),
	}
}
