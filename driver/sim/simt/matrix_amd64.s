#include "textflag.h"
#include "matrix_amd64.h"

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

CONST8(two, 2)
CONST8(mantMask, 0x7fffff)
CONST8(implicit, 0x800000)
CONST8(leastTop, -102)
CONST8(scaleTop, 152)
CONST8(alignment, 25)
CONST8(greatest, 254)

// 1023 - alignBits in every 64-bit lane.
CONST4(scaleBias, 998)

// The last bit of a float in a double.
CONST4(lastBit, 0x20000000)

// Clears the 29 bits by which a double is longer than a float.
CONST4(cutMask, 0xffffffffe0000000)

// The way back from quads01 and quads23, to lanes 0 to 15 and 16 to 31.
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
