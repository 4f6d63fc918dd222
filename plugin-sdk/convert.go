package sdk

import (
	"strings"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// The one place where the SDK's structs meet the wire's. Each pair xToWire and
// xFromWire stays side by side so that a field added to one is missed in the
// other by nobody; TestConvertRoundTrip fills every field and checks it.

// each maps f over a slice; an empty slice gives nil, as the wire does.
func each[A, B any](in []A, f func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

// utf8 makes free text fit for a protobuf string, which the codec refuses when
// it is not UTF-8: users' files and names may hold anything.
func utf8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func toInt32(n int) int32   { return int32(n) }
func fromInt32(n int32) int { return int(n) }

func targetToWire(t Target) *pb.Target {
	return &pb.Target{Backend: t.Backend, Arch: t.Arch, WarpSize: int32(t.WarpSize)}
}

func targetFromWire(t *pb.Target) Target {
	return Target{Backend: t.GetBackend(), Arch: t.GetArch(), WarpSize: int(t.GetWarpSize())}
}

func diagnosticToWire(d Diagnostic) *pb.Diagnostic {
	return &pb.Diagnostic{
		Severity:   pb.Diagnostic_Severity(d.Severity),
		Kind:       pb.Diagnostic_Kind(d.Kind),
		File:       utf8(d.File),
		Line:       int32(d.Line),
		Column:     int32(d.Column),
		EndColumn:  int32(d.EndColumn),
		Message:    utf8(d.Message),
		Help:       utf8(d.Help),
		SourceLine: utf8(d.SourceLine),
		Notes:      each(d.Notes, diagnosticToWire),

		Unlaunchable: d.Unlaunchable,
	}
}

func diagnosticFromWire(d *pb.Diagnostic) Diagnostic {
	return Diagnostic{
		Severity:   Severity(d.GetSeverity()),
		Kind:       Kind(d.GetKind()),
		File:       d.GetFile(),
		Line:       int(d.GetLine()),
		Column:     int(d.GetColumn()),
		EndColumn:  int(d.GetEndColumn()),
		Message:    d.GetMessage(),
		Help:       d.GetHelp(),
		SourceLine: d.GetSourceLine(),
		Notes:      each(d.GetNotes(), diagnosticFromWire),

		Unlaunchable: d.GetUnlaunchable(),
	}
}

func factsToWire(f Facts) *pb.Facts {
	return &pb.Facts{
		Name:     f.Name,
		Version:  f.Version,
		Hash:     f.Hash,
		Targets:  each(f.Targets, targetFactsToWire),
		Options:  each(f.Options, optionToWire),
		Settings: each(f.Settings, settingToWire),
		Specialization: &pb.Specialization{
			IntDivisor:        int32(f.Specialization.IntDivisor),
			PointerDivisor:    int32(f.Specialization.PointerDivisor),
			IntOneIsConstexpr: f.Specialization.IntOneIsConstexpr,
			Attributes: each(f.Specialization.Attributes, func(a ArgAttribute) *pb.ArgAttribute {
				return &pb.ArgAttribute{Key: a.Key, Name: a.Name, Value: a.Value}
			}),
		},
		Dialects:     f.Dialects,
		DialectsHash: f.DialectsHash,
		Capabilities: f.Capabilities,
		BinaryEnding: f.BinaryEnding,
	}
}

func factsFromWire(f *pb.Facts) Facts {
	s := f.GetSpecialization()
	return Facts{
		Name:     f.GetName(),
		Version:  f.GetVersion(),
		Hash:     f.GetHash(),
		Targets:  each(f.GetTargets(), targetFactsFromWire),
		Options:  each(f.GetOptions(), optionFromWire),
		Settings: each(f.GetSettings(), settingFromWire),
		Specialization: Specialization{
			IntDivisor:        int(s.GetIntDivisor()),
			PointerDivisor:    int(s.GetPointerDivisor()),
			IntOneIsConstexpr: s.GetIntOneIsConstexpr(),
			Attributes: each(s.GetAttributes(), func(a *pb.ArgAttribute) ArgAttribute {
				return ArgAttribute{Key: a.GetKey(), Name: a.GetName(), Value: a.GetValue()}
			}),
		},
		Dialects:     f.GetDialects(),
		DialectsHash: f.GetDialectsHash(),
		Capabilities: f.GetCapabilities(),
		BinaryEnding: f.GetBinaryEnding(),
	}
}

func targetFactsToWire(t TargetFacts) *pb.TargetFacts {
	return &pb.TargetFacts{
		Pattern:   t.Pattern,
		WarpSize:  int32(t.WarpSize),
		WarpSizes: each(t.WarpSizes, toInt32),
		Limits: &pb.DeviceLimits{
			MaxThreadsPerBlock:          int32(t.Limits.MaxThreadsPerBlock),
			MaxThreadsPerMultiprocessor: int32(t.Limits.MaxThreadsPerMultiprocessor),
			MaxRegistersPerThread:       int32(t.Limits.MaxRegistersPerThread),
			RegistersPerMultiprocessor:  t.Limits.RegistersPerMultiprocessor,
			MaxSharedMemory:             t.Limits.MaxSharedMemory,
			StaticSharedMemory:          t.Limits.StaticSharedMemory,
			MaxCtasPerCluster:           int32(t.Limits.MaxCTAsPerCluster),
		},
		MinDotSizes: each(t.MinDotSizes, func(d MinDotSize) *pb.MinDotSize {
			return &pb.MinDotSize{Bits: int32(d.Bits), M: int32(d.M), N: int32(d.N), K: int32(d.K)}
		}),
		Fp8Kinds:                 t.FP8Kinds,
		DeprecatedFp8DotOperands: t.DeprecatedFP8DotOperands,
		DotInputPrecisions:       t.DotInputPrecisions,
		DefaultDotInputPrecision: t.DefaultDotInputPrecision,
		Doc:                      t.Doc,
	}
}

func targetFactsFromWire(t *pb.TargetFacts) TargetFacts {
	l := t.GetLimits()
	return TargetFacts{
		Pattern:   t.GetPattern(),
		WarpSize:  int(t.GetWarpSize()),
		WarpSizes: each(t.GetWarpSizes(), fromInt32),
		Limits: DeviceLimits{
			MaxThreadsPerBlock:          int(l.GetMaxThreadsPerBlock()),
			MaxThreadsPerMultiprocessor: int(l.GetMaxThreadsPerMultiprocessor()),
			MaxRegistersPerThread:       int(l.GetMaxRegistersPerThread()),
			RegistersPerMultiprocessor:  l.GetRegistersPerMultiprocessor(),
			MaxSharedMemory:             l.GetMaxSharedMemory(),
			StaticSharedMemory:          l.GetStaticSharedMemory(),
			MaxCTAsPerCluster:           int(l.GetMaxCtasPerCluster()),
		},
		MinDotSizes: each(t.GetMinDotSizes(), func(d *pb.MinDotSize) MinDotSize {
			return MinDotSize{Bits: int(d.GetBits()), M: int(d.GetM()), N: int(d.GetN()), K: int(d.GetK())}
		}),
		FP8Kinds:                 t.GetFp8Kinds(),
		DeprecatedFP8DotOperands: t.GetDeprecatedFp8DotOperands(),
		DotInputPrecisions:       t.GetDotInputPrecisions(),
		DefaultDotInputPrecision: t.GetDefaultDotInputPrecision(),
		Doc:                      t.GetDoc(),
	}
}

func optionToWire(o OptionSpec) *pb.OptionSpec {
	return &pb.OptionSpec{
		Name: o.Name, Type: string(o.Type), DefaultJson: o.Default, Doc: o.Doc, Choices: o.Choices, Derived: o.Derived,
		CallerOnly: o.CallerOnly,
	}
}

func optionFromWire(o *pb.OptionSpec) OptionSpec {
	return OptionSpec{
		Name: o.GetName(), Type: OptionType(o.GetType()), Default: o.GetDefaultJson(), Doc: o.GetDoc(),
		Choices: o.GetChoices(), Derived: o.GetDerived(), CallerOnly: o.GetCallerOnly(),
	}
}

func settingToWire(s SettingSpec) *pb.SettingSpec {
	return &pb.SettingSpec{Name: s.Name, Env: s.Env, Doc: s.Doc, Limit: s.Limit}
}

func settingFromWire(s *pb.SettingSpec) SettingSpec {
	return SettingSpec{Name: s.GetName(), Env: s.GetEnv(), Doc: s.GetDoc(), Limit: s.GetLimit()}
}

func dialectToWire(d Dialect) *pb.Dialect {
	return &pb.Dialect{Name: d.Name, DeclarationJson: d.Declaration}
}

func dialectFromWire(d *pb.Dialect) Dialect {
	return Dialect{Name: d.GetName(), Declaration: d.GetDeclarationJson()}
}

func moduleNameToWire(m Module) *pb.ModuleName {
	return &pb.ModuleName{Name: m.Name, Aliases: m.Aliases}
}

func moduleNameFromWire(m *pb.ModuleName) Module {
	return Module{Name: m.GetName(), Aliases: m.GetAliases()}
}

func moduleToWire(m Module) *pb.Module {
	return &pb.Module{
		Name: m.Name, Aliases: m.Aliases, Source: m.Source,
		Externs: each(m.Externs, func(e ExternFunction) *pb.ExternFunction {
			return &pb.ExternFunction{
				Name: e.Name, Args: e.Args, Result: e.Result, Symbol: e.Symbol, Library: e.Library, Pure: e.Pure,
			}
		}),
	}
}

func moduleFromWire(m *pb.Module) Module {
	return Module{
		Name: m.GetName(), Aliases: m.GetAliases(), Source: m.GetSource(),
		Externs: each(m.GetExterns(), func(e *pb.ExternFunction) ExternFunction {
			return ExternFunction{
				Name: e.GetName(), Args: e.GetArgs(), Result: e.GetResult(), Symbol: e.GetSymbol(),
				Library: e.GetLibrary(), Pure: e.GetPure(),
			}
		}),
	}
}

func stageToWire(s Stage) *pb.Stage {
	return &pb.Stage{
		Name: s.Name, Binary: s.Binary, Ending: s.Ending, Doc: s.Doc, Pipeline: s.Pipeline,
		Passes: each(s.Passes, func(p PassRow) *pb.PassRow {
			return &pb.PassRow{
				Name: p.Name, Options: p.Options, Doc: p.Doc, Why: p.Why, Condition: p.Condition, LeftOut: p.LeftOut,
			}
		}),
	}
}

func stageFromWire(s *pb.Stage) Stage {
	return Stage{
		Name: s.GetName(), Binary: s.GetBinary(), Ending: s.GetEnding(), Doc: s.GetDoc(), Pipeline: s.GetPipeline(),
		Passes: each(s.GetPasses(), func(p *pb.PassRow) PassRow {
			return PassRow{
				Name: p.GetName(), Options: p.GetOptions(), Doc: p.GetDoc(), Why: p.GetWhy(),
				Condition: p.GetCondition(), LeftOut: p.GetLeftOut(),
			}
		}),
	}
}

// runStagesHeaderToWire gives all of r but its data.
func runStagesHeaderToWire(r *RunStagesRequest) *pb.RunStagesHeader {
	return &pb.RunStagesHeader{
		Target:       targetToWire(r.Target),
		OptionsJson:  r.OptionsJSON,
		Settings:     r.Settings,
		First:        r.First,
		Last:         r.Last,
		InputName:    utf8(r.InputName),
		Want:         r.Want,
		InputSize:    int64(len(r.Input)),
		MetadataSize: int64(len(r.MetadataJSON)),
	}
}

func runStagesHeaderFromWire(r *pb.RunStagesHeader) RunStagesRequest {
	return RunStagesRequest{
		Target:      targetFromWire(r.GetTarget()),
		OptionsJSON: r.GetOptionsJson(),
		Settings:    r.GetSettings(),
		First:       r.GetFirst(),
		Last:        r.GetLast(),
		InputName:   r.GetInputName(),
		Want:        r.GetWant(),
	}
}

func toolToWire(t ToolInfo) *pb.Tool {
	return &pb.Tool{Name: t.Name, Path: t.Path, Version: t.Version, Sha256: t.SHA256}
}

func toolFromWire(t *pb.Tool) ToolInfo {
	return ToolInfo{Name: t.GetName(), Path: t.GetPath(), Version: t.GetVersion(), SHA256: t.GetSha256()}
}

func progressToWire(p Progress) *pb.Progress {
	return &pb.Progress{Stage: utf8(p.Stage), Fraction: p.Fraction, Text: utf8(p.Text)}
}

func progressFromWire(p *pb.Progress) Progress {
	return Progress{Stage: p.GetStage(), Fraction: p.GetFraction(), Text: p.GetText()}
}

func timingToWire(t Timing) *pb.Timing {
	return &pb.Timing{Stage: t.Stage, Name: t.Name, Nanoseconds: t.Nanoseconds, Did: t.Did}
}

func timingFromWire(t *pb.Timing) Timing {
	return Timing{Stage: t.GetStage(), Name: t.GetName(), Nanoseconds: t.GetNanoseconds(), Did: t.GetDid()}
}

func runPassesHeaderToWire(r *RunPassesRequest) *pb.RunPassesHeader {
	return &pb.RunPassesHeader{
		Target:      targetToWire(r.Target),
		OptionsJson: r.OptionsJSON,
		Settings:    r.Settings,
		InputName:   utf8(r.InputName),
		Pipeline:    utf8(r.Pipeline),
		VerifyEach:  r.VerifyEach,
		DumpAfter:   each(r.DumpAfter, utf8),
		Analyses:    each(r.Analyses, utf8),
		InputSize:   int64(len(r.Input)),
	}
}

func runPassesHeaderFromWire(r *pb.RunPassesHeader) RunPassesRequest {
	return RunPassesRequest{
		Target:      targetFromWire(r.GetTarget()),
		OptionsJSON: r.GetOptionsJson(),
		Settings:    r.GetSettings(),
		InputName:   r.GetInputName(),
		Pipeline:    r.GetPipeline(),
		VerifyEach:  r.GetVerifyEach(),
		DumpAfter:   r.GetDumpAfter(),
		Analyses:    r.GetAnalyses(),
	}
}
