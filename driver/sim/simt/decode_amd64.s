#include "textflag.h"
#include "matrix_amd64.h"

CONST8(fiveBits, 31)
CONST8(fifteen, 15)
CONST8(lowHalf, 0xffff)
CONST8(leastExponent, 51)
CONST8(exponents, 113)
CONST8(cut13, 0xffffe000)
CONST8(halfBits, 0x0fffe000)
CONST8(halfScale, 0x77800000)
CONST8(signBit, 0x80000000)

// Fields of wordsArgs.
#define wrd_raw 0
#define wrd_val 8
#define wrd_exp 16
#define wrd_stride 24
#define wrd_kind 32
#define wrd_special 40
#define wrd_wide 48

// The dwords of a vector in the order in which its quadwords are those of one t.
DATA pairs<>+0(SB)/8, $0x0000000400000000
DATA pairs<>+8(SB)/8, $0x0000000500000001
DATA pairs<>+16(SB)/8, $0x0000000600000002
DATA pairs<>+24(SB)/8, $0x0000000700000003
GLOBL pairs<>(SB), RODATA|NOPTR, $32

// OUT stores eight elements with values Y2 and exponent fields Y3 at SI and DX and
// goes on to the next k. Y10 is the field of special ones, Y11 the bias; Y8 gathers
// special elements, Y9 those that are wide.
#define OUT \
	VPCMPEQD  Y10, Y3, Y4               \
	VPOR      Y4, Y8, Y8                \
	VPMAXSD   one<>(SB), Y3, Y3         \
	VPSUBD    Y11, Y3, Y3               \
	VPAND     magnitude<>(SB), Y2, Y4   \
	VPXOR     Y6, Y6, Y6                \
	VPCMPEQD  Y6, Y4, Y4                \
	VPADDD    leastExponent<>(SB), Y3, Y5 \
	VPCMPGTD  exponents<>(SB), Y5, Y6   \
	VPSRAD    $31, Y5, Y5               \
	VPOR      Y6, Y5, Y5                \
	VPANDN    Y5, Y4, Y5                \
	VPOR      Y5, Y9, Y9                \
	VMOVDQU   zeroExponent<>(SB), Y5    \
	VPBLENDVB Y4, Y5, Y3, Y3            \
	VMOVDQU   Y2, (SI)                  \
	VMOVDQU   Y3, (DX)                  \
	ADDQ      R10, SI                   \
	ADDQ      R10, DX

// HALFOUT is OUT for eight f16 in Y1: their bits in an f32 make the value, but for
// the bias.
#define HALFOUT \
	VPSRLD $10, Y1, Y3              \
	VPAND  Y10, Y3, Y3              \
	VPSLLD $13, Y1, Y2              \
	VPAND  halfBits<>(SB), Y2, Y2   \
	VMULPS halfScale<>(SB), Y2, Y2  \
	VPSLLD $16, Y1, Y1              \
	VPAND  signBit<>(SB), Y1, Y1    \
	VPOR   Y1, Y2, Y2               \
	OUT

#define SINGLEOUT \
	VPSRLD $23, Y2, Y3 \
	VPAND  Y10, Y3, Y3 \
	OUT

// WORDS are the elements of a vector of words with one t, W.
#define HALFWORDS(W) \
	VPAND  lowHalf<>(SB), W, Y1 \
	HALFOUT                     \
	VPSRLD $16, W, Y1           \
	HALFOUT

#define BRAINWORDS(W) \
	VPSLLD $16, W, Y2     \
	SINGLEOUT             \
	VPSRLD $16, W, Y2     \
	VPSLLD $16, Y2, Y2    \
	SINGLEOUT

#define TENSORWORDS(W) \
	VPAND cut13<>(SB), W, Y2 \
	SINGLEOUT

// func decode256(args *wordsArgs)
//
// The 32 words of a register are parted by their lanes' t, into Y12 to Y15, and then
// those of each t become elements, k after k.
TEXT ·decode256(SB), NOSPLIT, $0-8
	MOVQ args+0(FP), DI
	MOVQ wrd_raw(DI), R8
	MOVQ wrd_val(DI), SI
	MOVQ wrd_exp(DI), DX
	MOVQ wrd_stride(DI), R10
	MOVQ wrd_kind(DI), CX
	VMOVDQU    pairs<>(SB), Y4
	VPERMD     (R8), Y4, Y0
	VPERMD     32(R8), Y4, Y1
	VPERMD     64(R8), Y4, Y2
	VPERMD     96(R8), Y4, Y3
	VPUNPCKLQDQ Y1, Y0, Y4
	VPUNPCKHQDQ Y1, Y0, Y5
	VPUNPCKLQDQ Y3, Y2, Y6
	VPUNPCKHQDQ Y3, Y2, Y7
	VPERM2I128 $0x20, Y6, Y4, Y12
	VPERM2I128 $0x20, Y7, Y5, Y13
	VPERM2I128 $0x31, Y6, Y4, Y14
	VPERM2I128 $0x31, Y7, Y5, Y15
	VPXOR      Y8, Y8, Y8
	VPXOR      Y9, Y9, Y9
	VMOVDQU    fiveBits<>(SB), Y10
	VMOVDQU    fifteen<>(SB), Y11
	CMPQ       CX, $0
	JEQ        halfWords
	VMOVDQU    expMask<>(SB), Y10
	VMOVDQU    bias32<>(SB), Y11
	CMPQ       CX, $1
	JEQ        brainWords
	TENSORWORDS(Y12)
	TENSORWORDS(Y13)
	TENSORWORDS(Y14)
	TENSORWORDS(Y15)
	JMP        wordsDone

brainWords:
	BRAINWORDS(Y12)
	BRAINWORDS(Y13)
	BRAINWORDS(Y14)
	BRAINWORDS(Y15)
	JMP wordsDone

halfWords:
	HALFWORDS(Y12)
	HALFWORDS(Y13)
	HALFWORDS(Y14)
	HALFWORDS(Y15)

wordsDone:
	VMOVMSKPS Y8, AX
	ORQ       AX, wrd_special(DI)
	VMOVMSKPS Y9, AX
	ORQ       AX, wrd_wide(DI)
	VZEROUPPER
	RET

// Fields of decodeArgs.
#define dec_raw 0
#define dec_val 8
#define dec_exp 16
#define dec_regs 24
#define dec_width 32
#define dec_kind 40
#define dec_special 48
#define dec_wide 56
#define dec_words 64

// ELEMENT stores eight elements with values Y2 and exponent fields Y3 at SI and
// DX, both plus at. K5 gathers those that are wide, K6 special ones.
#define ELEMENT(at) \
	VPCMPEQD  Y10, Y3, K1         \
	KORB      K1, K6, K6          \
	VPMAXSD   Y12, Y3, Y3         \
	VPSUBD    Y11, Y3, Y3         \
	VPTESTMD  Y9, Y2, K3          \
	VPADDD    Y14, Y3, Y4         \
	VPCMPUD   $6, Y15, Y4, K3, K2 \
	KORB      K2, K5, K5          \
	VPBLENDMD Y3, Y13, K3, Y3     \
	VMOVDQU   Y2, (SI)(at*1)      \
	VMOVDQU   Y3, (DX)(at*1)

// HALF is ELEMENT for eight f16 in Y1, SINGLE for eight f32 in Y2.
#define HALF(at) \
	VPSRLD    $10, Y1, Y3 \
	VPAND     Y10, Y3, Y3 \
	VPMOVDW   Y1, X2      \
	VCVTPH2PS X2, Y2      \
	ELEMENT(at)

#define SINGLE(at) \
	VPSRLD $23, Y2, Y3 \
	VPAND  Y10, Y3, Y3 \
	ELEMENT(at)

// func decode512(args *decodeArgs)
//
// First the registers are parted by their lanes' t, so that words of eight columns
// or sixteen rows follow one another, k after k (words of two k where elements
// have 16 bits); then eight words at a time become elements.
TEXT ·decode512(SB), NOSPLIT, $0-8
	MOVQ  args+0(FP), DI
	KXORB K5, K5, K5
	KXORB K6, K6, K6
	VMOVDQU32 quads01<>(SB), Z30
	VMOVDQU32 quads23<>(SB), Z31
	MOVQ dec_raw(DI), R8
	LEAQ dec_words(DI), R9
	MOVQ dec_regs(DI), CX
	MOVQ dec_width(DI), R10
	SHLQ $2, R10 // bytes of a k
	CMPQ R10, $64
	JEQ  rows

columns:
	VMOVDQU32 (R8), Z0
	VMOVDQU32 64(R8), Z1
	VMOVDQA32 Z30, Z4
	VPERMI2D  Z1, Z0, Z4
	VMOVDQA32 Z31, Z5
	VPERMI2D  Z1, Z0, Z5
	VMOVDQU32 Z4, (R9)
	VMOVDQU32 Z5, 64(R9)
	ADDQ      $128, R8
	ADDQ      $128, R9
	DECQ      CX
	JNZ       columns
	JMP       words

rows:
	VMOVDQU32  (R8), Z0
	VMOVDQU32  64(R8), Z1
	VMOVDQU32  128(R8), Z2
	VMOVDQU32  192(R8), Z3
	QUADS
	VMOVDQU32  Z0, (R9)
	VMOVDQU32  Z1, 64(R9)
	VMOVDQU32  Z2, 128(R9)
	VMOVDQU32  Z3, 192(R9)
	ADDQ       $256, R8
	ADDQ       $256, R9
	SUBQ       $2, CX
	JNZ        rows

words:
	VMOVDQU magnitude<>(SB), Y9
	VMOVDQU one<>(SB), Y12
	VMOVDQU zeroExponent<>(SB), Y13
	VMOVDQU leastExponent<>(SB), Y14
	VMOVDQU exponents<>(SB), Y15
	MOVQ    dec_val(DI), SI
	MOVQ    dec_exp(DI), DX
	MOVQ    R9, R11
	LEAQ    dec_words(DI), R9 // the words, up to R11
	XORQ    AX, AX            // where the elements go, those of the next k BX
	MOVQ    R10, BX
	MOVQ    R10, R12
	SHRQ    $5, R12           // vectors of a k
	MOVQ    R12, R13          // those still to come
	MOVQ    dec_kind(DI), CX
	CMPQ    CX, $1
	JEQ     bfloats
	JGT     tfloats
	VMOVDQU fiveBits<>(SB), Y10
	VMOVDQU fifteen<>(SB), Y11

halves:
	VMOVDQU   (R9), Y0
	VPAND     lowHalf<>(SB), Y0, Y1
	HALF(AX)
	VPSRLD    $16, Y0, Y1
	HALF(BX)
	ADDQ      $32, AX
	ADDQ      $32, BX
	DECQ      R13
	JNZ       moreHalves
	MOVQ      R12, R13
	ADDQ      R10, AX
	ADDQ      R10, BX

moreHalves:
	ADDQ $32, R9
	CMPQ R9, R11
	JNE  halves
	JMP  done

bfloats:
	VMOVDQU expMask<>(SB), Y10
	VMOVDQU bias32<>(SB), Y11

brains:
	VMOVDQU (R9), Y0
	VPSLLD  $16, Y0, Y2
	SINGLE(AX)
	VPSRLD  $16, Y0, Y2
	VPSLLD  $16, Y2, Y2
	SINGLE(BX)
	ADDQ    $32, AX
	ADDQ    $32, BX
	DECQ    R13
	JNZ     moreBrains
	MOVQ    R12, R13
	ADDQ    R10, AX
	ADDQ    R10, BX

moreBrains:
	ADDQ $32, R9
	CMPQ R9, R11
	JNE  brains
	JMP  done

tfloats:
	VMOVDQU expMask<>(SB), Y10
	VMOVDQU bias32<>(SB), Y11

tensors:
	VMOVDQU (R9), Y0
	VPAND   cut13<>(SB), Y0, Y2
	SINGLE(AX)
	ADDQ    $32, AX
	ADDQ    $32, R9
	CMPQ    R9, R11
	JNE     tensors

done:
	KMOVB K6, AX
	MOVQ  AX, dec_special(DI)
	KMOVB K5, AX
	MOVQ  AX, dec_wide(DI)
	VZEROUPPER
	RET
