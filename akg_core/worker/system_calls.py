"""The system calls by which loaded code computes, prints, and reads and writes files: numbers by machine.

A list of what is allowed, so that what the kernel gains with its next version is refused. Not in it: what makes
processes, programs, locks of files, timers, handlers of signals, sockets that are not a pair, anonymous files, shared
memory, and what changes limits, priorities, mounts and clocks. Memory (mmap, mprotect), names of threads (prctl) and
descriptors (fcntl) have conditions, which are in `akg_core.worker.seccomp`.
"""

from __future__ import annotations

_X86_64 = """
    read=0 write=1 readv=19 writev=20 pread64=17 pwrite64=18 preadv=295 pwritev=296 lseek=8 open=2 openat=257
    openat2=437 creat=85 close=3 close_range=436 stat=4 lstat=6 fstat=5 newfstatat=262 statx=332 access=21
    faccessat=269 faccessat2=439 readlink=89 readlinkat=267 getcwd=79 chdir=80 fchdir=81 getdents=78
    getdents64=217 mkdir=83 mkdirat=258 rmdir=84 unlink=87 unlinkat=263 rename=82 renameat=264 renameat2=316
    link=86 linkat=265 symlink=88 symlinkat=266 chmod=90 fchmod=91 fchmodat=268 utimensat=280 umask=95
    truncate=76 ftruncate=77 fallocate=285 fsync=74 fdatasync=75 statfs=137 fstatfs=138 sendfile=40
    copy_file_range=326 fadvise64=221 dup=32 dup2=33 dup3=292 ioctl=16 pipe=22 pipe2=293 eventfd2=290
    poll=7 ppoll=271 select=23 pselect6=270 epoll_create1=291 epoll_ctl=233 epoll_wait=232 epoll_pwait=281
    sendto=44 recvfrom=45 sendmsg=46 recvmsg=47 shutdown=48 getsockname=51 getpeername=52 getsockopt=55
    setsockopt=54 socketpair=53
    brk=12 munmap=11 mremap=25 madvise=28 msync=26 mincore=27
    clone=56 futex=202 set_robust_list=273 get_robust_list=274 rseq=334 set_tid_address=218 membarrier=324
    exit=60 exit_group=231 gettid=186 getpid=39 getppid=110 getpgrp=111 getpgid=121 getsid=124 wait4=61
    waitid=247 restart_syscall=219 arch_prctl=158
    sched_yield=24 sched_getaffinity=204 sched_setaffinity=203 sched_getparam=143 sched_getscheduler=145
    sched_get_priority_max=146 sched_get_priority_min=147 getcpu=309 get_mempolicy=239
    rt_sigreturn=15 rt_sigprocmask=14 rt_sigpending=127 rt_sigsuspend=130 rt_sigtimedwait=128 sigaltstack=131
    kill=62 tkill=200 tgkill=234 pause=34
    clock_gettime=228 clock_getres=229 clock_nanosleep=230 gettimeofday=96 time=201 nanosleep=35 getitimer=36
    times=100 getrusage=98 sysinfo=99 uname=63 getrlimit=97 prlimit64=302 getuid=102 geteuid=107 getgid=104
    getegid=108 getresuid=118 getresgid=120 getgroups=115 getrandom=318

"""
_AARCH64 = """
    read=63 write=64 readv=65 writev=66 pread64=67 pwrite64=68 preadv=69 pwritev=70 lseek=62 openat=56
    openat2=437 close=57 close_range=436 fstat=80 fstatat=79 statx=291 faccessat=48 faccessat2=439 readlinkat=78
    getcwd=17 chdir=49 fchdir=50 getdents64=61 mkdirat=34 unlinkat=35 renameat=38 renameat2=276 linkat=37
    symlinkat=36 fchmod=52 fchmodat=53 utimensat=88 umask=166 truncate=45 ftruncate=46 fallocate=47 fsync=82
    fdatasync=83 statfs=43 fstatfs=44 sendfile=71 copy_file_range=285 fadvise64=223 dup=23 dup3=24
    ioctl=29 pipe2=59 eventfd2=19 ppoll=73 pselect6=72 epoll_create1=20 epoll_ctl=21 epoll_pwait=22
    sendto=206 recvfrom=207 sendmsg=211 recvmsg=212 shutdown=210 getsockname=204 getpeername=205 getsockopt=209
    setsockopt=208 socketpair=199
    brk=214 munmap=215 mremap=216 madvise=233 msync=227 mincore=232
    clone=220 futex=98 set_robust_list=99 get_robust_list=100 rseq=293 set_tid_address=96 membarrier=283 exit=93
    exit_group=94 gettid=178 getpid=172 getppid=173 getpgid=155 getsid=156 wait4=260 waitid=95
    restart_syscall=128
    sched_yield=124 sched_getaffinity=123 sched_setaffinity=122 sched_getparam=121 sched_getscheduler=120
    sched_get_priority_max=125 sched_get_priority_min=126 getcpu=168 get_mempolicy=236
    rt_sigreturn=139 rt_sigprocmask=135 rt_sigpending=136 rt_sigsuspend=133 rt_sigtimedwait=137 sigaltstack=132
    kill=129 tkill=130 tgkill=131
    clock_gettime=113 clock_getres=114 clock_nanosleep=115 gettimeofday=169 nanosleep=101 getitimer=102
    times=153 getrusage=165 sysinfo=179 uname=160 getrlimit=163 prlimit64=261 getuid=174 geteuid=175 getgid=176
    getegid=177 getresuid=148 getresgid=150 getgroups=158 getrandom=278

"""


def _numbers(listed: str) -> tuple[int, ...]:
    return tuple(int(entry.partition("=")[2]) for entry in listed.split())


ALLOWED = {"x86_64": _numbers(_X86_64), "aarch64": _numbers(_AARCH64)}
"""The usual ones come first: a filter looks through them in this order."""
