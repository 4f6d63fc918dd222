package syntax

// tokenKind says what a token is; operators and keywords have a kind each.
type tokenKind uint8

const (
	tEOF   tokenKind = iota
	tError           // the lexer's diagnostic is in lexer.err
	tNewline
	tIndent
	tDedent
	// From here on tokens are visible text and count for a node's end.
	tName
	tNumber
	tString
	tFStringStart
	tFStringMiddle
	tFStringEnd

	tLParen
	tRParen
	tLBracket
	tRBracket
	tLBrace
	tRBrace
	tColon
	tComma
	tSemi
	tDot
	tEllipsis
	tArrow
	tColonEqual
	tEqual
	tExclam // only before an f-string's conversion

	tPlus
	tMinus
	tStar
	tSlash
	tPercent
	tAt
	tDoubleStar
	tLShift
	tRShift
	tPipe
	tCaret
	tAmper
	tDoubleSlash
	tTilde

	tLess
	tGreater
	tEqEqual
	tNotEqual
	tLessEqual
	tGreaterEqual

	// The augmented assignments, in the order of Operator.
	tPlusEqual
	tMinusEqual
	tStarEqual
	tAtEqual
	tSlashEqual
	tPercentEqual
	tDoubleStarEqual
	tLShiftEqual
	tRShiftEqual
	tPipeEqual
	tCaretEqual
	tAmperEqual
	tDoubleSlashEqual

	tFalse
	tNone
	tTrue
	tAnd
	tAs
	tAssert
	tAsync
	tAwait
	tBreak
	tClass
	tContinue
	tDef
	tDel
	tElif
	tElse
	tExcept
	tFinally
	tFor
	tFrom
	tGlobal
	tIf
	tImport
	tIn
	tIs
	tLambda
	tNonlocal
	tNot
	tOr
	tPass
	tRaise
	tReturn
	tTry
	tWhile
	tWith
	tYield
	numTokens
)

// tokenText is the text of each kind that has just one.
var tokenText = [numTokens]string{
	tLParen: "(", tRParen: ")", tLBracket: "[", tRBracket: "]", tLBrace: "{", tRBrace: "}",
	tColon: ":", tComma: ",", tSemi: ";", tDot: ".", tEllipsis: "...", tArrow: "->",
	tColonEqual: ":=", tEqual: "=", tExclam: "!",
	tPlus: "+", tMinus: "-", tStar: "*", tSlash: "/", tPercent: "%", tAt: "@", tDoubleStar: "**",
	tLShift: "<<", tRShift: ">>", tPipe: "|", tCaret: "^", tAmper: "&", tDoubleSlash: "//", tTilde: "~",
	tLess: "<", tGreater: ">", tEqEqual: "==", tNotEqual: "!=", tLessEqual: "<=", tGreaterEqual: ">=",
	tPlusEqual: "+=", tMinusEqual: "-=", tStarEqual: "*=", tAtEqual: "@=", tSlashEqual: "/=",
	tPercentEqual: "%=", tDoubleStarEqual: "**=", tLShiftEqual: "<<=", tRShiftEqual: ">>=",
	tPipeEqual: "|=", tCaretEqual: "^=", tAmperEqual: "&=", tDoubleSlashEqual: "//=",
	tFalse: "False", tNone: "None", tTrue: "True", tAnd: "and", tAs: "as", tAssert: "assert",
	tAsync: "async", tAwait: "await", tBreak: "break", tClass: "class", tContinue: "continue",
	tDef: "def", tDel: "del", tElif: "elif", tElse: "else", tExcept: "except", tFinally: "finally",
	tFor: "for", tFrom: "from", tGlobal: "global", tIf: "if", tImport: "import", tIn: "in", tIs: "is",
	tLambda: "lambda", tNonlocal: "nonlocal", tNot: "not", tOr: "or", tPass: "pass", tRaise: "raise",
	tReturn: "return", tTry: "try", tWhile: "while", tWith: "with", tYield: "yield",
}

// String is the kind as an error message would show it.
func (k tokenKind) String() string {
	switch k {
	case tEOF:
		return "end of file"
	case tError:
		return "error"
	case tNewline:
		return "end of line"
	case tIndent:
		return "indent"
	case tDedent:
		return "unindent"
	case tName:
		return "name"
	case tNumber:
		return "number"
	case tString:
		return "string"
	case tFStringStart, tFStringMiddle, tFStringEnd:
		return "f-string"
	}
	return "'" + tokenText[k] + "'"
}

func (k tokenKind) isKeyword() bool { return k >= tFalse }

func (k tokenKind) isAugAssign() bool { return k >= tPlusEqual && k <= tDoubleSlashEqual }

// token is a piece of the source; off and end are byte offsets into it.
type token struct {
	Span
	off, end int32
	kind     tokenKind
}

// keyword returns the kind of the keyword s, or tName. Comparing within a
// length is faster here than a map.
func keyword(s string) tokenKind {
	switch len(s) {
	case 2:
		switch s {
		case "if":
			return tIf
		case "in":
			return tIn
		case "is":
			return tIs
		case "as":
			return tAs
		case "or":
			return tOr
		}
	case 3:
		switch s {
		case "def":
			return tDef
		case "for":
			return tFor
		case "not":
			return tNot
		case "and":
			return tAnd
		case "try":
			return tTry
		case "del":
			return tDel
		}
	case 4:
		switch s {
		case "None":
			return tNone
		case "True":
			return tTrue
		case "else":
			return tElse
		case "elif":
			return tElif
		case "from":
			return tFrom
		case "with":
			return tWith
		case "pass":
			return tPass
		}
	case 5:
		switch s {
		case "False":
			return tFalse
		case "raise":
			return tRaise
		case "class":
			return tClass
		case "while":
			return tWhile
		case "yield":
			return tYield
		case "break":
			return tBreak
		case "async":
			return tAsync
		case "await":
			return tAwait
		}
	case 6:
		switch s {
		case "return":
			return tReturn
		case "import":
			return tImport
		case "except":
			return tExcept
		case "assert":
			return tAssert
		case "lambda":
			return tLambda
		case "global":
			return tGlobal
		}
	case 7:
		if s == "finally" {
			return tFinally
		}
	case 8:
		switch s {
		case "continue":
			return tContinue
		case "nonlocal":
			return tNonlocal
		}
	}
	return tName
}
