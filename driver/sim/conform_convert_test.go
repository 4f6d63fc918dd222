package sim

import (
	"math"
	"math/big"
	"strings"
)

func convertConforms() []conform {
	var out []conform
	ints := []string{"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"}
	memory := func(t string) string { // how a value of t travels through memory
		if ptxBits(t) == 8 {
			return "b16"
		}
		return t
	}
	extend := func(t string, v uint64) uint64 { // an 8-bit result fills its 16-bit register
		if t == "s8" {
			return uint64(uint16(int8(v)))
		}
		return v
	}
	for _, to := range ints {
		for _, from := range ints {
			for _, sat := range []string{"", ".sat"} {
				if sat != "" && clampBig(bigOf(from, 1<<(ptxBits(from)-1)), to).Cmp(bigOf(from, 1<<(ptxBits(from)-1))) == 0 &&
					clampBig(bigOf(from, 1<<(ptxBits(from)-1)-1), to).Cmp(bigOf(from, 1<<(ptxBits(from)-1)-1)) == 0 &&
					clampBig(bigOf(from, ^uint64(0)>>(64-ptxBits(from))), to).Cmp(bigOf(from, ^uint64(0)>>(64-ptxBits(from)))) == 0 {
					continue // the assembler refuses .sat that can do nothing
				}
				out = append(out, conform{text: "cvt" + sat + "." + to + "." + from + " $d, $a;", d: memory(to), src: []string{memory(from)}, ref: func(v []uint64) uint64 {
					n := ptxBits(from)
					x := bigOf(from, v[0]&(^uint64(0)>>(64-n)))
					if sat != "" {
						x = clampBig(x, to)
					}
					return extend(to, cutBig(x, ptxBits(to)))
				}})
			}
		}
	}
	for _, to := range []string{"f16", "f32", "f64"} {
		f := floatFormats[to]
		for _, from := range ints {
			for _, mode := range roundings {
				out = append(out, conform{text: "cvt." + mode + "." + to + "." + from + " $d, $a;", d: to, src: []string{memory(from)}, ref: func(v []uint64) uint64 {
					x := new(big.Float).SetPrec(200).SetInt(bigOf(from, v[0]&(^uint64(0)>>(64-ptxBits(from)))))
					return f.round(x, mode, false)
				}})
			}
		}
	}
	for _, from := range []string{"f16", "f32", "f64"} {
		f := floatFormats[from]
		for _, to := range ints {
			for _, mode := range []string{"rni", "rzi", "rmi", "rpi"} {
				for _, ftz := range []bool{false, true} {
					if ftz && from != "f32" {
						continue
					}
					name := mode
					if ftz {
						name += ".ftz"
					}
					out = append(out, conform{text: "cvt." + name + "." + to + "." + from + " $d, $a;", d: memory(to), src: []string{from}, ref: func(v []uint64) uint64 {
						x := f.value(f.in(v[0], fmods{ftz: ftz}))
						if x != x {
							if from == "f64" || ptxBits(to) == 64 {
								return extend(to, 1<<(ptxBits(to)-1))
							}
							return 0
						}
						x = map[string]func(float64) float64{"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil}[mode](x)
						x = min(max(x, -1e30), 1e30)
						b, _ := exact(x).Int(nil)
						return extend(to, cutBig(clampBig(b, to), ptxBits(to)))
					}})
				}
			}
		}
		out = append(out, roundConforms(from, f)...)
	}
	for _, to := range []string{"f16", "bf16", "f32", "f64"} {
		for _, from := range []string{"f16", "bf16", "f32", "f64"} {
			if ptxBits(to) >= ptxBits(from) && (to == from || ptxBits(to) == 16) {
				continue
			}
			modes := []string{""}
			if ptxBits(to) < ptxBits(from) {
				modes = []string{".rn", ".rz", ".rm", ".rp"}
				if to == "bf16" {
					modes = modes[:2]
				}
			}
			if (to == "bf16" || from == "bf16") && (to == "f64" || from == "f64") {
				continue
			}
			for _, mode := range modes {
				m := fmods{mode: strings.TrimPrefix(mode, ".")}
				if m.mode == "" {
					m.mode = "rn"
				}
				c := conform{
					text: "cvt" + mode + "." + to + "." + from + " $d, $a;", d: to, src: []string{from},
					ref: refFloatCvt(floatFormats[to], floatFormats[from], m, ""),
				}
				if to == "f64" {
					c.skip = func(v []uint64) bool { return floatFormats[from].isNaN(v[0]) }
				}
				out = append(out, c)
			}
		}
	}
	for _, suffix := range []string{".sat", ".ftz", ".ftz.sat"} {
		m := fmods{mode: "rn", ftz: strings.Contains(suffix, "ftz"), sat: strings.Contains(suffix, "sat")}
		out = append(out, conform{text: "cvt" + suffix + ".f32.f32 $d, $a;", d: "f32", src: []string{"f32"}, ref: refFloatCvt(floatFormats["f32"], floatFormats["f32"], m, "")},
			conform{text: "cvt.rn" + suffix + ".f16.f32 $d, $a;", d: "f16", src: []string{"f32"}, ref: func(v []uint64) uint64 {
				x := floatFormats["f32"].in(v[0], m)
				return refFloatCvt(floatFormats["f16"], floatFormats["f32"], fmods{mode: "rn", sat: m.sat}, "")([]uint64{x})
			}})
	}
	return append(out, packedConforms()...)
}

// roundConforms are the conversions to integral values of one type.
func roundConforms(t string, f *floatFormat) []conform {
	var out []conform
	for _, mode := range []string{"rni", "rzi", "rmi", "rpi"} {
		c := conform{text: "cvt." + mode + "." + t + "." + t + " $d, $a;", d: t, src: []string{t}, ref: refFloatCvt(f, f, fmods{mode: "rn"}, mode)}
		if t == "f64" {
			c.skip = func(v []uint64) bool { return f.isNaN(v[0]) }
		}
		out = append(out, c)
	}
	return out
}

func packedConforms() []conform {
	var out []conform
	two := []string{"f32", "f32"}
	for _, t := range []string{"f16", "bf16"} {
		for _, mode := range []string{"rn", "rz"} {
			for _, relu := range []string{"", ".relu"} {
				one := refFloatCvt(floatFormats[t], floatFormats["f32"], fmods{mode: mode, relu: relu != ""}, "")
				out = append(out,
					conform{text: "cvt." + mode + relu + "." + t + "x2.f32 $d, $a, $b;", d: t + "x2", src: two, ref: func(v []uint64) uint64 { return one(v[:1])<<16 | one(v[1:]) }},
					conform{text: "cvt." + mode + relu + "." + t + ".f32 $d, $a;", d: t, src: two[:1], ref: one})
			}
		}
	}
	for _, t := range []string{"e4m3", "e5m2"} {
		f := floatFormats[t]
		for _, relu := range []string{"", ".relu"} {
			fix := func(x float64) uint64 {
				if relu != "" && x <= 0 {
					return 0
				}
				return refFP8(f, x)
			}
			out = append(out,
				conform{text: "cvt.rn.satfinite" + relu + "." + t + "x2.f32 $d, $a, $b;", d: t + "x2", src: two, ref: func(v []uint64) uint64 {
					return fix(floatFormats["f32"].value(v[0]))<<8 | fix(floatFormats["f32"].value(v[1]))
				}},
				conform{text: "cvt.rn.satfinite" + relu + "." + t + "x2.f16x2 $d, $a;", d: t + "x2", src: []string{"f16x2"}, ref: func(v []uint64) uint64 {
					return fix(floatFormats["f16"].value(v[0]>>16))<<8 | fix(floatFormats["f16"].value(v[0]&0xffff))
				}},
				conform{text: "cvt.rn" + relu + ".f16x2." + t + "x2 $d, $a;", d: "f16x2", src: []string{t + "x2"}, ref: func(v []uint64) uint64 {
					h := floatFormats["f16"]
					one := refFloatCvt(h, f, fmods{mode: "rn", relu: relu != ""}, "")
					return one([]uint64{v[0] >> 8})<<16 | one([]uint64{v[0] & 255})
				}})
		}
	}
	tf32 := &floatFormat{10, 8, 0x3ffff, false}
	for _, mode := range []string{"rna", "rn", "rz"} {
		out = append(out, conform{text: "cvt." + mode + ".tf32.f32 $d, $a;", d: "tf32", src: two[:1], ref: func(v []uint64) uint64 {
			if floatFormats["f32"].isNaN(v[0]) {
				if mode == "rna" {
					return v[0] &^ 0x1fff
				}
				return 0x7fffe000
			}
			return refFloatCvt(tf32, floatFormats["f32"], fmods{mode: mode}, "")(v) << 13
		}})
	}
	for _, t := range []string{"s16", "u16"} {
		out = append(out, conform{text: "cvt.pack.sat." + t + ".s32 $d, $a, $b;", d: "b32", src: []string{"s32", "s32"}, ref: func(v []uint64) uint64 {
			return cutBig(clampBig(bigOf("s32", v[0]), t), 16)<<16 | cutBig(clampBig(bigOf("s32", v[1]), t), 16)
		}})
	}
	for _, t := range []string{"s8", "u8"} {
		out = append(out, conform{text: "cvt.pack.sat." + t + ".s32.b32 $d, $a, $b, $c;", d: "b32", src: []string{"s32", "s32", "b32"}, ref: func(v []uint64) uint64 {
			return v[2]<<16&0xffffffff | cutBig(clampBig(bigOf("s32", v[0]), t), 8)<<8 | cutBig(clampBig(bigOf("s32", v[1]), t), 8)
		}})
	}
	return out
}
