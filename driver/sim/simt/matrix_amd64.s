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

// Broadcast constants.
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

CONST8(one, 1)
CONST8(two, 2)
CONST8(bias32, 127)
CONST8(expMask, 255)
CONST8(mantMask, 0x7fffff)
CONST8(implicit, 0x800000)
CONST8(zeroExponent, -4096)
CONST8(leastTop, -500)

// 1023 - alignBits in every 64-bit lane.
DATA scaleBias<>+0(SB)/8, $998
DATA scaleBias<>+8(SB)/8, $998
DATA scaleBias<>+16(SB)/8, $998
DATA scaleBias<>+24(SB)/8, $998
GLOBL scaleBias<>(SB), RODATA|NOPTR, $32

// Clears the 29 bits by which a double is longer than a float.
DATA cutMask<>+0(SB)/8, $0xffffffffe0000000
DATA cutMask<>+8(SB)/8, $0xffffffffe0000000
DATA cutMask<>+16(SB)/8, $0xffffffffe0000000
DATA cutMask<>+24(SB)/8, $0xffffffffe0000000
GLOBL cutMask<>(SB), RODATA|NOPTR, $32

// func mmaRows(args *mmaArgs)
//
// SI walks A, row after row; DX holds B; R8 and R9 are the places of the row in C
// and D; R10 is the depth; R11 counts rows; R12 is the scratch of exponents; Y15
// gathers bad results.
TEXT ·mmaRows(SB), NOSPLIT, $0-8
	MOVQ  args+0(FP), DI
	MOVQ  0(DI), SI
	MOVQ  8(DI), DX
	MOVQ  16(DI), R8
	MOVQ  24(DI), R9
	MOVQ  32(DI), R10
	LEAQ  48(DI), R12
	VPXOR Y15, Y15, Y15
	XORQ  R11, R11

row:
	// The accumulators of the row: even columns from one register, odd ones from
	// the next. Y0 is c.
	VMOVDQU     (R8), X1
	VMOVDQU     128(R8), X2
	VPUNPCKLDQ  X2, X1, X3
	VPUNPCKHDQ  X2, X1, X4
	VINSERTI128 $1, X4, Y3, Y0

	// Y1 is c's significand, Y2 its exponent.
	VPSRLD    $23, Y0, Y2
	VPAND     expMask<>(SB), Y2, Y2
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
	MOVQ    SI, AX
	MOVQ    DX, BX
	MOVQ    R12, R13
	MOVQ    R10, CX

exps:
	VPBROADCASTD 4(AX), Y3
	VPADDD       32(BX), Y3, Y3
	VMOVDQU      Y3, (R13)
	VPMAXSD      Y3, Y6, Y6
	ADDQ         $8, AX
	ADDQ         $64, BX
	ADDQ         $32, R13
	DECQ         CX
	JNZ          exps

	// c, aligned: Y7. Its sign is that of Y0.
	VPSLLD $2, Y1, Y1
	VPSUBD Y2, Y6, Y3
	VPSRLVD Y3, Y1, Y1
	VPSRAD $31, Y0, Y3
	VPXOR  Y3, Y1, Y1
	VPSUBD Y3, Y1, Y7

	// The products, aligned: even k in Y8, odd k in Y9, so that no sum overflows.
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	MOVQ  SI, AX
	MOVQ  DX, BX
	MOVQ  R12, R13
	MOVQ  R10, CX

products:
	VPBROADCASTD (AX), Y3
	VPMULLD      (BX), Y3, Y3
	VPSUBD       (R13), Y6, Y4
	VPABSD       Y3, Y5
	VPSRLVD      Y4, Y5, Y5
	VPSIGND      Y3, Y5, Y5
	VPADDD       Y5, Y8, Y8
	VPBROADCASTD 8(AX), Y10
	VPMULLD      64(BX), Y10, Y10
	VPSUBD       32(R13), Y6, Y11
	VPABSD       Y10, Y12
	VPSRLVD      Y11, Y12, Y12
	VPSIGND      Y10, Y12, Y12
	VPADDD       Y12, Y9, Y9
	ADDQ         $16, AX
	ADDQ         $128, BX
	ADDQ         $64, R13
	SUBQ         $2, CX
	JNZ          products
	MOVQ         AX, SI

	// The exact sum in doubles, and the scale 2^(top - alignBits).
	VPMAXSD      leastTop<>(SB), Y6, Y6
	VCVTDQ2PD    X8, Y1
	VCVTDQ2PD    X9, Y2
	VCVTDQ2PD    X7, Y3
	VADDPD       Y2, Y1, Y1
	VADDPD       Y3, Y1, Y1
	VPMOVSXDQ    X6, Y4
	VPADDQ       scaleBias<>(SB), Y4, Y4
	VPSLLQ       $52, Y4, Y4
	VMULPD       Y4, Y1, Y1
	VPAND        cutMask<>(SB), Y1, Y1
	VCVTPD2PSY   Y1, X10
	VEXTRACTI128 $1, Y8, X1
	VEXTRACTI128 $1, Y9, X2
	VEXTRACTI128 $1, Y7, X3
	VEXTRACTI128 $1, Y6, X4
	VCVTDQ2PD    X1, Y1
	VCVTDQ2PD    X2, Y2
	VCVTDQ2PD    X3, Y3
	VADDPD       Y2, Y1, Y1
	VADDPD       Y3, Y1, Y1
	VPMOVSXDQ    X4, Y4
	VPADDQ       scaleBias<>(SB), Y4, Y4
	VPSLLQ       $52, Y4, Y4
	VMULPD       Y4, Y1, Y1
	VPAND        cutMask<>(SB), Y1, Y1
	VCVTPD2PSY   Y1, X11

	// The even and the odd columns go to their registers.
	VSHUFPS $0x88, X11, X10, X1
	VSHUFPS $0xdd, X11, X10, X2
	VMOVDQU X1, (R9)
	VMOVDQU X2, 128(R9)

	// Bad: an exponent of 255, or one below 2 though the sum is not zero.
	VINSERTI128 $1, X11, Y10, Y10
	VPSRLD      $23, Y10, Y10
	VPAND       expMask<>(SB), Y10, Y10
	VPCMPEQD    expMask<>(SB), Y10, Y1
	VPOR        Y1, Y15, Y15
	VMOVDQU     two<>(SB), Y2
	VPCMPGTD    Y10, Y2, Y2
	VPADDD      Y9, Y8, Y8
	VPADDD      Y7, Y8, Y8
	VPXOR       Y5, Y5, Y5
	VPCMPEQD    Y5, Y8, Y3
	VPANDN      Y2, Y3, Y2
	VPOR        Y2, Y15, Y15

	ADDQ $16, R8
	ADDQ $16, R9
	INCQ R11
	CMPQ R11, $8
	JNE  next
	ADDQ $128, R8 // rows 8 to 15 lie in the third and fourth register
	ADDQ $128, R9

next:
	CMPQ R11, $16
	JNE  row
	VPTEST Y15, Y15
	JEQ    end
	MOVQ   $1, 40(DI)

end:
	VZEROUPPER
	RET
