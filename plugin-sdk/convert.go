package sdk

import (
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

func diagnosticToWire(d Diagnostic) *pb.Diagnostic {
	return &pb.Diagnostic{
		Severity:   pb.Diagnostic_Severity(d.Severity),
		Kind:       pb.Diagnostic_Kind(d.Kind),
		File:       wire.UTF8(d.File),
		Line:       int32(d.Line),
		Column:     int32(d.Column),
		EndColumn:  int32(d.EndColumn),
		Message:    wire.UTF8(d.Message),
		Help:       wire.UTF8(d.Help),
		SourceLine: wire.UTF8(d.SourceLine),
		Notes:      wire.Each(d.Notes, diagnosticToWire),

		Unlaunchable: d.Unlaunchable,
	}
}

func factsToWire(f Facts) *pb.Facts {
	return &pb.Facts{
		Name:     f.Name,
		Version:  f.Version,
		Hash:     f.Hash,
		Targets:  wire.Each(f.Targets, targetFactsToWire),
		Options:  wire.Each(f.Options, optionToWire),
		Settings: wire.Each(f.Settings, settingToWire),
		Specialization: &pb.Specialization{
			IntDivisor:        int32(f.Specialization.IntDivisor),
			PointerDivisor:    int32(f.Specialization.PointerDivisor),
			IntOneIsConstexpr: f.Specialization.IntOneIsConstexpr,
			Attributes: wire.Each(f.Specialization.Attributes, func(a ArgAttribute) *pb.ArgAttribute {
				return &pb.ArgAttribute{Key: a.Key, Name: a.Name, Value: a.Value}
			}),
		},
		Dialects:     f.Dialects,
		DialectsHash: f.DialectsHash,
		Capabilities: f.Capabilities,
		BinaryEnding: f.BinaryEnding,
	}
}

func targetFactsToWire(t TargetFacts) *pb.TargetFacts {
	return &pb.TargetFacts{
		Pattern:   t.Pattern,
		WarpSize:  int32(t.WarpSize),
		WarpSizes: wire.Each(t.WarpSizes, func(n int) int32 { return int32(n) }),
		Limits: &pb.DeviceLimits{
			MaxThreadsPerBlock:          int32(t.Limits.MaxThreadsPerBlock),
			MaxThreadsPerMultiprocessor: int32(t.Limits.MaxThreadsPerMultiprocessor),
			MaxRegistersPerThread:       int32(t.Limits.MaxRegistersPerThread),
			RegistersPerMultiprocessor:  t.Limits.RegistersPerMultiprocessor,
			MaxSharedMemory:             t.Limits.MaxSharedMemory,
			StaticSharedMemory:          t.Limits.StaticSharedMemory,
			MaxCtasPerCluster:           int32(t.Limits.MaxCTAsPerCluster),
		},
		MinDotSizes: wire.Each(t.MinDotSizes, func(d MinDotSize) *pb.MinDotSize {
			return &pb.MinDotSize{Bits: int32(d.Bits), M: int32(d.M), N: int32(d.N), K: int32(d.K)}
		}),
		Fp8Kinds:                 t.FP8Kinds,
		DeprecatedFp8DotOperands: t.DeprecatedFP8DotOperands,
		DotInputPrecisions:       t.DotInputPrecisions,
		DefaultDotInputPrecision: t.DefaultDotInputPrecision,
		Doc:                      t.Doc,
	}
}

func optionToWire(o OptionSpec) *pb.OptionSpec {
	return &pb.OptionSpec{
		Name: o.Name, Type: string(o.Type), DefaultJson: o.Default, Doc: o.Doc, Choices: o.Choices, Derived: o.Derived,
		CallerOnly: o.CallerOnly,
	}
}

func settingToWire(s SettingSpec) *pb.SettingSpec {
	return &pb.SettingSpec{Name: s.Name, Env: s.Env, Doc: s.Doc, Limit: s.Limit}
}

func dialectToWire(d Dialect) *pb.Dialect {
	return &pb.Dialect{Name: d.Name, DeclarationJson: d.Declaration}
}

func moduleNameToWire(m Module) *pb.ModuleName {
	return &pb.ModuleName{Name: m.Name, Aliases: m.Aliases}
}

func moduleToWire(m Module) *pb.Module {
	return &pb.Module{
		Name: m.Name, Aliases: m.Aliases, Source: m.Source,
		Externs: wire.Each(m.Externs, func(e ExternFunction) *pb.ExternFunction {
			return &pb.ExternFunction{
				Name: e.Name, Args: e.Args, Result: e.Result, Symbol: e.Symbol, Library: e.Library, Pure: e.Pure,
			}
		}),
	}
}

func stageToWire(s Stage) *pb.Stage {
	return &pb.Stage{
		Name: s.Name, Binary: s.Binary, Ending: s.Ending, Doc: s.Doc, Pipeline: s.Pipeline, From: s.From,
		Passes: wire.Each(s.Passes, func(p PassRow) *pb.PassRow {
			return &pb.PassRow{
				Name: p.Name, Options: p.Options, Doc: p.Doc, Why: p.Why, Condition: p.Condition, LeftOut: p.LeftOut,
			}
		}),
	}
}

func runStagesHeaderFromWire(r *pb.RunStagesHeader) RunStagesRequest {
	return RunStagesRequest{
		Target:      wire.TargetFromWire(r.GetTarget()),
		OptionsJSON: r.GetOptionsJson(),
		Settings:    r.GetSettings(),
		First:       r.GetFirst(),
		Last:        r.GetLast(),
		InputName:   r.GetInputName(),
		Want:        r.GetWant(),
		Launchable:  r.GetLaunchable(),
	}
}

func toolToWire(t ToolInfo) *pb.Tool {
	return &pb.Tool{Name: t.Name, Path: t.Path, Version: t.Version, Sha256: t.SHA256}
}

func progressToWire(p Progress) *pb.Progress {
	return &pb.Progress{Stage: wire.UTF8(p.Stage), Fraction: p.Fraction, Text: wire.UTF8(p.Text)}
}

func timingToWire(t Timing) *pb.Timing {
	w := &pb.Timing{Stage: t.Stage, Name: t.Name, Nanoseconds: t.Nanoseconds, Did: t.Did, Start: t.Start}
	if t.Tool != nil {
		w.Tool = &pb.ToolRun{ExitCode: int32(t.Tool.ExitCode), Signal: t.Tool.Signal}
	}
	return w
}

func runPassesHeaderFromWire(r *pb.RunPassesHeader) RunPassesRequest {
	return RunPassesRequest{
		Target:      wire.TargetFromWire(r.GetTarget()),
		OptionsJSON: r.GetOptionsJson(),
		Settings:    r.GetSettings(),
		InputName:   r.GetInputName(),
		Pipeline:    r.GetPipeline(),
		VerifyEach:  r.GetVerifyEach(),
		DumpAfter:   r.GetDumpAfter(),
		Analyses:    r.GetAnalyses(),
	}
}
