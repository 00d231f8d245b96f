.globl _start
.type _start, @function
_start:
.cfi_startproc
.cfi_undefined rip
xor %ebp, %ebp
and $-16, %rsp
call run
.cfi_endproc
.size _start, .-_start
