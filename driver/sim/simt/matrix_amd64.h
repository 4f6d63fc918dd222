// Constants and macros of the vector code of matrix products; each file has its own
// copies of the constants.

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
CONST8(bias32, 127)
CONST8(expMask, 255)
CONST8(magnitude, 0x7fffffff)
CONST8(zeroExponent, -4096)

// Of 32 lanes 4·g+t, those with t of 0 and 1, and of 2 and 3.
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
