#include "textflag.h"

// func hasAVX2() bool
TEXT ·hasAVX2(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	MOVL $0, AX
	CPUID
	CMPL AX, $7
	JLT  done
	MOVL $1, AX
	XORL CX, CX
	CPUID
	ANDL $(1<<27 | 1<<28), CX // OSXSAVE, AVX
	CMPL CX, $(1<<27 | 1<<28)
	JNE  done
	XORL CX, CX
	XGETBV
	ANDL $6, AX               // the system saves XMM and YMM
	CMPL AX, $6
	JNE  done
	MOVL $7, AX
	XORL CX, CX
	CPUID
	ANDL $(1<<5), BX          // AVX2
	JEQ  done
	MOVB $1, ret+0(FP)
done:
	RET

// func hasAVX512() bool
//
// hasAVX2 holds.
TEXT ·hasAVX512(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	XORL CX, CX
	XGETBV
	ANDL $0xe6, AX            // the system saves ZMM and the masks
	CMPL AX, $0xe6
	JNE  done
	MOVL $7, AX
	XORL CX, CX
	CPUID
	ANDL $(1<<16 | 1<<17 | 1<<30 | 1<<31), BX // F, DQ, BW, VL
	CMPL BX, $(1<<16 | 1<<17 | 1<<30 | 1<<31)
	JNE  done
	MOVB $1, ret+0(FP)
done:
	RET

// Broadcast constants of eight lanes.
#define CONST8(name, v) \
	DATA name<>+0(SB)/4, $v; \
	DATA name<>+4(SB)/4, $v; \
	DATA name<>+8(SB)/4, $v; \
	DATA name<>+12(SB)/4, $v; \
	DATA name<>+16(SB)/4, $v; \
	DATA name<>+20(SB)/4, $v; \
	DATA name<>+24(SB)/4, $v; \
	DATA name<>+28(SB)/4, $v; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

#define CONST4(name, v) \
	DATA name<>+0(SB)/8, $v; \
	DATA name<>+8(SB)/8, $v; \
	DATA name<>+16(SB)/8, $v; \
	DATA name<>+24(SB)/8, $v; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

CONST8(one, 1)
CONST8(two, 2)
CONST8(bias32, 127)
CONST8(expMask, 255)
CONST8(mantMask, 0x7fffff)
CONST8(implicit, 0x800000)
CONST8(magnitude, 0x7fffffff)
CONST8(zeroExponent, -4096)
CONST8(leastTop, -102)
CONST8(scaleTop, 152)
CONST8(alignment, 25)
CONST8(greatest, 254)
CONST8(fiveBits, 31)
CONST8(fifteen, 15)
CONST8(lowHalf, 0xffff)
CONST8(leastExponent, 51)
CONST8(exponents, 113)
CONST8(cut13, 0xffffe000)

// 1023 - alignBits in every 64-bit lane.
CONST4(scaleBias, 998)

// The last bit of a float in a double.
CONST4(lastBit, 0x20000000)

// Clears the 29 bits by which a double is longer than a float.
CONST4(cutMask, 0xffffffffe0000000)

// Of 32 lanes 4·g+t, those with t of 0 and 1, and of 2 and 3; and the way back to
// lanes 0 to 15 and 16 to 31.
DATA quads01<>+0(SB)/8, $0x0000000400000000
DATA quads01<>+8(SB)/8, $0x0000000c00000008
DATA quads01<>+16(SB)/8, $0x0000001400000010
DATA quads01<>+24(SB)/8, $0x0000001c00000018
DATA quads01<>+32(SB)/8, $0x0000000500000001
DATA quads01<>+40(SB)/8, $0x0000000d00000009
DATA quads01<>+48(SB)/8, $0x0000001500000011
DATA quads01<>+56(SB)/8, $0x0000001d00000019
GLOBL quads01<>(SB), RODATA|NOPTR, $64

DATA quads23<>+0(SB)/8, $0x0000000600000002
DATA quads23<>+8(SB)/8, $0x0000000e0000000a
DATA quads23<>+16(SB)/8, $0x0000001600000012
DATA quads23<>+24(SB)/8, $0x0000001e0000001a
DATA quads23<>+32(SB)/8, $0x0000000700000003
DATA quads23<>+40(SB)/8, $0x0000000f0000000b
DATA quads23<>+48(SB)/8, $0x0000001700000013
DATA quads23<>+56(SB)/8, $0x0000001f0000001b
GLOBL quads23<>(SB), RODATA|NOPTR, $64

DATA lanes0<>+0(SB)/8, $0x0000000800000000
DATA lanes0<>+8(SB)/8, $0x0000001800000010
DATA lanes0<>+16(SB)/8, $0x0000000900000001
DATA lanes0<>+24(SB)/8, $0x0000001900000011
DATA lanes0<>+32(SB)/8, $0x0000000a00000002
DATA lanes0<>+40(SB)/8, $0x0000001a00000012
DATA lanes0<>+48(SB)/8, $0x0000000b00000003
DATA lanes0<>+56(SB)/8, $0x0000001b00000013
GLOBL lanes0<>(SB), RODATA|NOPTR, $64

DATA lanes16<>+0(SB)/8, $0x0000000c00000004
DATA lanes16<>+8(SB)/8, $0x0000001c00000014
DATA lanes16<>+16(SB)/8, $0x0000000d00000005
DATA lanes16<>+24(SB)/8, $0x0000001d00000015
DATA lanes16<>+32(SB)/8, $0x0000000e00000006
DATA lanes16<>+40(SB)/8, $0x0000001e00000016
DATA lanes16<>+48(SB)/8, $0x0000000f00000007
DATA lanes16<>+56(SB)/8, $0x0000001f00000017
GLOBL lanes16<>(SB), RODATA|NOPTR, $64

// Fields of mmaArgs.
#define args_aVal 0
#define args_aExp 8
#define args_bVal 16
#define args_bExp 24
#define args_c 32
#define args_d 64
#define args_bad 96
#define args_odd 104
#define args_scratch 112
#define args_tops 624

// EACH does something sixteen times: for k from 0 to 15, and Zk.
#define EACH(DO) \
	DO(0, Z0)   \
	DO(1, Z1)   \
	DO(2, Z2)   \
	DO(3, Z3)   \
	DO(4, Z4)   \
	DO(5, Z5)   \
	DO(6, Z6)   \
	DO(7, Z7)   \
	DO(8, Z8)   \
	DO(9, Z9)   \
	DO(10, Z10) \
	DO(11, Z11) \
	DO(12, Z12) \
	DO(13, Z13) \
	DO(14, Z14) \
	DO(15, Z15)

// Adds the products of row and k: A at SI, B at DX, the scale in Y4.
#define PRODUCT(k, _) \
	VBROADCASTSS (64*k)(SI), Y1   \
	VMULPS       (32*k)(DX), Y1, Y1 \
	VMULPS       Y4, Y1, Y1         \
	VCVTTPS2DQ   Y1, Y1             \
	VPADDD       Y1, Y8, Y8

#define EXPONENT(k, _) \
	VPBROADCASTD (64*k)(R13), Y3    \
	VPADDD       (32*k)(R12), Y3, Y3 \
	VPMAXSD      Y3, Y6, Y6

// FOUR is four results: SUMS and C added in doubles, scaled, and cut to floats;
// where Y12 has their last bit, it is set if anything is cut.
#define FOUR(SUMS, C, TOPS, to) \
	VCVTDQ2PD  C, Y3                  \
	VPMOVSXDQ  TOPS, Y4               \
	VCVTDQ2PD  SUMS, Y1               \
	VADDPD     Y3, Y1, Y1             \
	VPADDQ     scaleBias<>(SB), Y4, Y4 \
	VPSLLQ     $52, Y4, Y4            \
	VMULPD     Y4, Y1, Y1             \
	VMOVUPD    cutMask<>(SB), Y2      \
	VPANDN     Y1, Y2, Y3             \
	VPCMPEQQ   Y5, Y3, Y3             \
	VPANDN     Y12, Y3, Y3            \
	VPAND      Y2, Y1, Y1             \
	VPOR       Y3, Y1, Y1             \
	VCVTPD2PSY Y1, to

// func sums256(args *mmaArgs)
//
// One row of eight columns after the other. SI and R13 walk the values and the
// exponents of A; DX and R12 hold those of B; R8 and R9 are the places of the
// row's even and odd columns in C, R10 in the results; R11 counts rows; Y15
// gathers bad results.
TEXT ·sums256(SB), NOSPLIT, $0-8
	MOVQ  args+0(FP), DI
	MOVQ  args_aVal(DI), SI
	MOVQ  args_aExp(DI), R13
	MOVQ  args_bVal(DI), DX
	MOVQ  args_bExp(DI), R12
	MOVQ  (args_c+0)(DI), R8
	MOVQ  (args_c+8)(DI), R9
	LEAQ  args_scratch(DI), R10
	VPXOR Y15, Y15, Y15
	VPXOR Y12, Y12, Y12
	XORQ  R11, R11
	MOVQ  args_odd(DI), AX
	TESTQ AX, AX
	JEQ   row
	VMOVDQU lastBit<>(SB), Y12

row:
	VMOVDQU     (R8), X1
	VMOVDQU     (R9), X2
	VPUNPCKLDQ  X2, X1, X3
	VPUNPCKHDQ  X2, X1, X4
	VINSERTI128 $1, X4, Y3, Y0             // c

	// Y1 is c's significand, Y2 its exponent.
	VPSRLD    $23, Y0, Y2
	VPAND     expMask<>(SB), Y2, Y2
	VPCMPEQD  expMask<>(SB), Y2, Y3        // special
	VPOR      Y3, Y15, Y15
	VPXOR     Y5, Y5, Y5
	VPCMPEQD  Y5, Y2, Y3                   // no implicit bit
	VPANDN    implicit<>(SB), Y3, Y3
	VPAND     mantMask<>(SB), Y0, Y1
	VPOR      Y3, Y1, Y1
	VPMAXSD   one<>(SB), Y2, Y2
	VPSUBD    bias32<>(SB), Y2, Y2
	VPCMPEQD  Y5, Y1, Y3                   // zero
	VMOVDQU   zeroExponent<>(SB), Y4
	VPBLENDVB Y3, Y4, Y2, Y2

	// Y6 is the greatest exponent.
	VMOVDQA Y2, Y6
	EACH(EXPONENT)

	// c, aligned: Y7. Its sign is that of Y0.
	VPSLLD  $2, Y1, Y1
	VPSUBD  Y2, Y6, Y3
	VPSRLVD Y3, Y1, Y1
	VPSRAD  $31, Y0, Y3
	VPXOR   Y3, Y1, Y1
	VPSUBD  Y3, Y1, Y7

	// The products, at the scale 2^(alignBits - top), cut to integers: Y8.
	VPMAXSD leastTop<>(SB), Y6, Y6
	VMOVDQU scaleTop<>(SB), Y4
	VPSUBD  Y6, Y4, Y4
	VPSLLD  $23, Y4, Y4
	VPXOR   Y8, Y8, Y8
	EACH(PRODUCT)

	// The exact sum in doubles, and the scale 2^(top - alignBits).
	FOUR(X8, X7, X6, X10)
	VEXTRACTI128 $1, Y8, X1
	VEXTRACTI128 $1, Y7, X3
	VEXTRACTI128 $1, Y6, X4
	FOUR(X1, X3, X4, X11)

	// The even and the odd columns go to their registers.
	VSHUFPS $0x88, X11, X10, X1
	VSHUFPS $0xdd, X11, X10, X2
	VMOVDQU X1, (R10)
	VMOVDQU X2, 128(R10)

	// Bad: an exponent of 254 and more, or one below 2 though the sum is not zero.
	VINSERTI128 $1, X11, Y10, Y10
	VPSRLD      $23, Y10, Y10
	VPAND       expMask<>(SB), Y10, Y10
	VPCMPGTD    greatest<>(SB), Y10, Y1
	VPOR        Y1, Y15, Y15
	VMOVDQU     two<>(SB), Y2
	VPCMPGTD    Y10, Y2, Y2
	VPADDD      Y7, Y8, Y8
	VPCMPEQD    Y5, Y8, Y3
	VPANDN      Y2, Y3, Y2
	VPOR        Y2, Y15, Y15

	ADDQ $4, SI
	ADDQ $4, R13
	ADDQ $16, R8
	ADDQ $16, R9
	ADDQ $16, R10
	INCQ R11
	CMPQ R11, $8
	JNE  next
	ADDQ $128, R10 // rows 8 to 15 lie in the third and fourth register
	MOVQ (args_c+16)(DI), R8
	MOVQ (args_c+24)(DI), R9

next:
	CMPQ R11, $16
	JNE  row
	VPTEST Y15, Y15
	JNE    bad
	LEAQ   args_scratch(DI), R10
	XORQ   CX, CX

store:
	MOVQ    args_d(DI)(CX*8), AX
	VMOVDQU (R10), Y0
	VMOVDQU 32(R10), Y1
	VMOVDQU 64(R10), Y2
	VMOVDQU 96(R10), Y3
	VMOVDQU Y0, (AX)
	VMOVDQU Y1, 32(AX)
	VMOVDQU Y2, 64(AX)
	VMOVDQU Y3, 96(AX)
	ADDQ    $128, R10
	INCQ    CX
	CMPQ    CX, $4
	JNE     store
	VZEROUPPER
	RET

bad:
	MOVQ $1, args_bad(DI)
	VZEROUPPER
	RET

// QUADS parts the lanes of two registers, in Z0 and Z1, Z2 and Z3, by their t: Z0
// to Z3. Z30 and Z31 hold the permutations.
#define QUADS \
	VMOVDQA32  Z30, Z4           \
	VPERMI2D   Z1, Z0, Z4        \
	VMOVDQA32  Z31, Z5           \
	VPERMI2D   Z1, Z0, Z5        \
	VMOVDQA32  Z30, Z6           \
	VPERMI2D   Z3, Z2, Z6        \
	VMOVDQA32  Z31, Z7           \
	VPERMI2D   Z3, Z2, Z7        \
	VSHUFI64X2 $0x44, Z6, Z4, Z0 \
	VSHUFI64X2 $0xee, Z6, Z4, Z1 \
	VSHUFI64X2 $0x44, Z7, Z5, Z2 \
	VSHUFI64X2 $0xee, Z7, Z5, Z3

// COLUMNS parts the 32 lanes of two registers, the rows 0 to 7 and 8 to 15, by
// their columns' t: at 0, 128, 256 and 384 of R.
#define COLUMNS(R) \
	VMOVDQU32  (AX), Z0          \
	VMOVDQU32  64(AX), Z1        \
	VMOVDQU32  (BX), Z2          \
	VMOVDQU32  64(BX), Z3        \
	QUADS                        \
	VMOVDQU32  Z0, (R)           \
	VMOVDQU32  Z1, 128(R)        \
	VMOVDQU32  Z2, 256(R)        \
	VMOVDQU32  Z3, 384(R)

// LANES is the way back.
#define LANES(R) \
	VMOVDQU32  (R), Z0           \
	VMOVDQU32  128(R), Z1        \
	VMOVDQU32  256(R), Z2        \
	VMOVDQU32  384(R), Z3        \
	VSHUFI64X2 $0x44, Z1, Z0, Z4 \
	VSHUFI64X2 $0x44, Z3, Z2, Z5 \
	VSHUFI64X2 $0xee, Z1, Z0, Z6 \
	VSHUFI64X2 $0xee, Z3, Z2, Z7 \
	VMOVDQA32  Z30, Z0           \
	VPERMI2D   Z5, Z4, Z0        \
	VMOVDQA32  Z31, Z1           \
	VPERMI2D   Z5, Z4, Z1        \
	VMOVDQA32  Z30, Z2           \
	VPERMI2D   Z7, Z6, Z2        \
	VMOVDQA32  Z31, Z3           \
	VPERMI2D   Z7, Z6, Z3        \
	VMOVDQU32  Z0, (AX)          \
	VMOVDQU32  Z1, 64(AX)        \
	VMOVDQU32  Z2, (BX)          \
	VMOVDQU32  Z3, 64(BX)

// Sixteen rows of A, of k.
#define LOADROWS(k, Z) \
	VMOVDQU32 (64*k)(AX), Z

// The greatest exponent of the products of column (BX), k of A being in Z.
#define TOP(k, Z) \
	VPADDD.BCST (32*k)(BX), Z, Z18 \
	VPMAXSD     Z18, Z17, Z17

// The sum of the products of column (BX) at scale Z18.
#define ADDUP(k, Z) \
	VMULPS.BCST (32*k)(BX), Z, Z21 \
	VMULPS      Z18, Z21, Z21      \
	VCVTTPS2DQ  Z21, Z21           \
	VPADDD      Z21, Z19, Z19

// func sums512(args *mmaArgs)
//
// One column of sixteen rows after the other: first the exponents of all, with
// those of A in Z0 to Z15, and then the products, with A's values there. R10 walks
// the columns of C, that become aligned and then the results, R11 the greatest
// exponents, BX what is B's of the column; K7 gathers bad results. DX is not
// zero where results are rounded to odd.
TEXT ·sums512(SB), NOSPLIT, $0-8
	MOVQ  args+0(FP), DI
	KXORW K7, K7, K7

	VMOVDQU32 quads01<>(SB), Z30
	VMOVDQU32 quads23<>(SB), Z31
	LEAQ      args_scratch(DI), R10
	LEAQ      (args_scratch+64)(DI), R12
	MOVQ      (args_c+0)(DI), AX
	MOVQ      (args_c+16)(DI), BX
	COLUMNS(R10)
	MOVQ      (args_c+8)(DI), AX
	MOVQ      (args_c+24)(DI), BX
	COLUMNS(R12)

	MOVQ args_aExp(DI), AX
	MOVQ args_bExp(DI), BX
	LEAQ args_tops(DI), R11
	EACH(LOADROWS)
	VPBROADCASTD expMask<>(SB), Z24
	VPBROADCASTD one<>(SB), Z25
	VPBROADCASTD bias32<>(SB), Z26
	VPBROADCASTD magnitude<>(SB), Z27
	VPBROADCASTD zeroExponent<>(SB), Z28
	VPBROADCASTD mantMask<>(SB), Z29
	VPBROADCASTD implicit<>(SB), Z30
	MOVQ $8, CX

tops:
	// c's exponent: Z20; its significand: Z22.
	VMOVDQU32 (R10), Z16
	VPSRLD    $23, Z16, Z20
	VPANDD    Z24, Z20, Z20
	VPCMPEQD  Z24, Z20, K1
	KORW      K1, K7, K7
	VPTESTMD  Z20, Z20, K2
	VPANDD    Z29, Z16, Z22
	VPORD     Z30, Z22, K2, Z22
	VPMAXSD   Z25, Z20, Z20
	VPSUBD    Z26, Z20, Z20
	VPTESTNMD Z27, Z16, K3
	VMOVDQA32 Z28, K3, Z20
	VMOVDQA32 Z20, Z17
	EACH(TOP)
	VMOVDQU32 Z17, (R11)

	// c, aligned.
	VPSLLD    $2, Z22, Z22
	VPSUBD    Z20, Z17, Z18
	VPSRLVD   Z18, Z22, Z22
	VPSRAD    $31, Z16, Z18
	VPXORD    Z18, Z22, Z22
	VPSUBD    Z18, Z22, Z22
	VMOVDQU32 Z22, (R10)
	ADDQ      $64, R10
	ADDQ      $64, R11
	ADDQ      $4, BX
	DECQ      CX
	JNZ       tops

	KORTESTW K7, K7
	JNZ      bad
	MOVQ args_aVal(DI), AX
	MOVQ args_bVal(DI), BX
	LEAQ args_scratch(DI), R10
	LEAQ args_tops(DI), R11
	EACH(LOADROWS)
	VPBROADCASTD leastTop<>(SB), Z25
	VPBROADCASTD scaleTop<>(SB), Z26
	VPBROADCASTD alignment<>(SB), Z27
	VPBROADCASTD two<>(SB), Z28
	VPBROADCASTD greatest<>(SB), Z29
	VPBROADCASTD one<>(SB), Z30
	MOVQ args_odd(DI), DX
	MOVQ $8, CX

products:
	// The products, at the scale 2^(alignBits - top), cut to integers: Z19.
	VMOVDQU32 (R11), Z17
	VPMAXSD   Z25, Z17, Z18
	VPSUBD    Z18, Z26, Z18
	VPSLLD    $23, Z18, Z18
	VPXORD    Z19, Z19, Z19
	EACH(ADDUP)

	// The exact sum in doubles, cut to floats, and the scale 2^(top - alignBits).
	VCVTDQ2PD        Y19, Z20
	VEXTRACTI64X4    $1, Z19, Y21
	VCVTDQ2PD        Y21, Z21
	VCVTDQ2PD        (R10), Z22
	VCVTDQ2PD        32(R10), Z23
	VADDPD           Z20, Z22, Z22
	VADDPD           Z21, Z23, Z23
	VCVTPD2PS.RZ_SAE Z22, Y20
	VCVTPD2PS.RZ_SAE Z23, Y21
	VINSERTF64X4     $1, Y21, Z20, Z18
	TESTQ            DX, DX
	JEQ              cut
	VCVTPS2PD        Y20, Z20
	VCVTPS2PD        Y21, Z21
	VCMPPD           $4, Z22, Z20, K2
	VCMPPD           $4, Z23, Z21, K3
	KSHIFTLW         $8, K3, K3
	KORW             K2, K3, K2
	VPORD            Z30, Z18, K2, Z18

cut:
	VMOVDQA32        Z18, Z20
	VPTESTMD         Z20, Z20, K1
	VPSUBD           Z27, Z17, Z17
	VCVTDQ2PS        Z17, Z17
	VSCALEFPS.RZ_SAE Z17, Z20, Z20
	VMOVDQU32        Z20, (R10)

	// Bad: an exponent of 254 and more, or one below 2 though the sum is not zero.
	VPSRLD   $23, Z20, Z21
	VPANDD   Z24, Z21, Z21
	VPCMPD   $1, Z28, Z21, K1, K2
	VPCMPD   $5, Z29, Z21, K3
	KORW     K2, K7, K7
	KORW     K3, K7, K7
	ADDQ     $64, R10
	ADDQ     $64, R11
	ADDQ     $4, BX
	DECQ     CX
	JNZ      products

	KORTESTW K7, K7
	JNZ      bad
	VMOVDQU32 lanes0<>(SB), Z30
	VMOVDQU32 lanes16<>(SB), Z31
	LEAQ      args_scratch(DI), R10
	LEAQ      (args_scratch+64)(DI), R12
	MOVQ      (args_d+0)(DI), AX
	MOVQ      (args_d+16)(DI), BX
	LANES(R10)
	MOVQ      (args_d+8)(DI), AX
	MOVQ      (args_d+24)(DI), BX
	LANES(R12)
	VZEROUPPER
	RET

bad:
	MOVQ $1, args_bad(DI)
	VZEROUPPER
	RET

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

CONST8(halfBits, 0x0fffe000)
CONST8(halfScale, 0x77800000)
CONST8(signBit, 0x80000000)

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
