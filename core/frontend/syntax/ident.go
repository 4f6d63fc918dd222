package syntax

import "unicode"

// isIDStart reports whether r may begin an identifier (Unicode's XID_Start).
func isIDStart(r rune) bool {
	return (unicode.IsLetter(r) || unicode.In(r, unicode.Nl, unicode.Other_ID_Start)) && !unicode.Is(notXIDStart, r)
}

// isIDContinue reports whether r may appear inside an identifier
// (XID_Continue).
func isIDContinue(r rune) bool {
	return (unicode.IsLetter(r) ||
		unicode.In(r, unicode.Nl, unicode.Other_ID_Start, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)) &&
		!unicode.Is(notXIDContinue, r)
}

// isPrintable reports whether r may be shown in a message.
func isPrintable(r rune) bool { return unicode.IsPrint(r) }

// notXIDStart and notXIDContinue are the letters that ID_Start and ID_Continue
// hold but XID_Start and XID_Continue do not, because NFKC turns them into
// something that is not an identifier.
var notXIDStart = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x37a, Hi: 0x37a, Stride: 1},
	{Lo: 0xe33, Hi: 0xeb3, Stride: 0x80},
	{Lo: 0x2e2f, Hi: 0x2e2f, Stride: 1},
	{Lo: 0x309b, Hi: 0x309c, Stride: 1},
	{Lo: 0xfc5e, Hi: 0xfc63, Stride: 1},
	{Lo: 0xfdfa, Hi: 0xfdfb, Stride: 1},
	{Lo: 0xfe70, Hi: 0xfe7e, Stride: 2},
	{Lo: 0xff9e, Hi: 0xff9f, Stride: 1},
}}

var notXIDContinue = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x37a, Hi: 0x37a, Stride: 1},
	{Lo: 0x2e2f, Hi: 0x2e2f, Stride: 1},
	{Lo: 0x309b, Hi: 0x309c, Stride: 1},
	{Lo: 0xfc5e, Hi: 0xfc63, Stride: 1},
	{Lo: 0xfdfa, Hi: 0xfdfb, Stride: 1},
	{Lo: 0xfe70, Hi: 0xfe7e, Stride: 2},
}}
