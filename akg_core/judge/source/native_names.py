"""What the machine code of a kernel may ask of others: libraries by name, and of the C library what it may call.

All that the mathematical library, the run-time libraries of C++ and of OpenMP have is allowed. Of the C library it is
memory, text, printing, sorting, time that passes, and threads. Nothing that opens libraries or files, makes processes,
or finds out what else is in this process.
"""

from __future__ import annotations

import re

RUN_TIME = re.compile(r"lib(m|mvec|stdc\+\+|gcc_s|gomp|omp|iomp5|atomic|quadmath|pthread|rt)\.so(\.\d+)*$")
"""Libraries of which everything may be called."""
SYSTEM = re.compile(r"(libc\.so\.6|ld-linux[-\w]*\.so\.\d)$")
"""Libraries of which what is listed may be called."""
SYSTEM_NAMES = re.compile(
    r"(__)?("
    r"mem\w+|str\w+|wcs\w+|wmem\w+|stp\w+|bcmp|bzero|bcopy|"  # bytes and text
    r"malloc|calloc|realloc|reallocarray|free|aligned_alloc|posix_memalign|valloc|malloc_usable_size|malloc_trim|"
    r"mmap(64)?|munmap|madvise|posix_madvise|mincore|msync|mlock|munlock|"  # memory
    r"v?s?n?printf(_chk)?|v?[fd]printf(_chk)?|v?asprintf(_chk)?|v?s?scanf|isoc\d+_v?s?scanf|isoc\d+_strto\w+|"
    r"f?puts|f?putc|putchar|_IO_putc|fwrite|fflush|perror|std(out|err)|write|(un)?lockfile|setv?buf|"  # printing
    r"[vf]*w?printf(_chk)?|f?putwc|overflow|"
    r"abort|_?assert\w*|assert_fail|stack_chk_(fail|guard)|chk_fail|cxa_\w+|errno_location|getenv|secure_getenv|"
    r"abs|labs|llabs|imaxabs|div|ldiv|lldiv|ato[ifl]+|qsort(_r)?|bsearch|s?rand(_r|om)?|[deljmnrs]+rand48|getrandom|"
    r"arc4random\w*|isinf\w*|isnan\w*|finite\w*|signbit\w*|fpclassify\w*|frexp\w*|ldexp\w*|scalbn\w*|modf\w*|copysign\w*|"
    r"fe(get|set|clear|raise|test|hold|update|enable|disable)\w+|"
    r"is[a-z]+(_l)?|to(upper|lower)(_l)?|isw\w+|tow\w+|wc\w+|btowc|wctob|mb\w+|ctype_\w+|iconv\w*|"
    r"(new|use|free|dup)locale|setlocale|localeconv|nl_langinfo(_l)?|"
    r"clock|clock_get(time|res)|time|gettimeofday|difftime|mktime|(gm|local)time(_r)?|strftime\w*|"
    r"nanosleep|clock_nanosleep|usleep|sleep|"
    r"pthread_(create|join|detach|self|equal|exit|once|yield|(mutex|cond|rwlock|barrier|spin|key|attr|mutexattr|condattr|"
    r"rwlockattr|barrierattr)_\w+|[gs]etspecific|[gs]et(affinity|name)_np|setcancelstate)|sem_\w+|thrd_\w+|mtx_\w+|"
    r"cnd_\w+|tss_\w+|call_once|sched_(yield|getcpu|getaffinity|setaffinity|cpu\w+)|getcpu|get_nprocs(_conf)?|sysconf|"
    r"get(pagesize|auxval|hwcap\w*)|cpu_(model|indicator_init)|get_cpu_features|x86_get_cpuid\w+|"
    r"libc_single_threaded|tls_get_addr|tls_get_addr_opt|register_frame\w*|deregister_frame\w*|"
    r"_?(sig)?setjmp|_?longjmp(_chk)?|gmon_start__|dso_handle|environ|progname|gxx_personality\w*|dl_find_object|"
    r"getpid|gettid|syscall|raise|exit|_?exit"
    r")$|_ITM_\w+|_ZGTt\w+|_TLS_\w+|_dl_find_object|_Unwind_\w+"
)
