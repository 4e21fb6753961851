// What a candidate of the chaos run does at its moment; appended to every kernel, so that all are built alike.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" void misbehave(const char *how, void *interpreter) {
    const std::string kind = how;
    static char page[1 << 20];
    if (kind == "segfault") *reinterpret_cast<volatile int *>(8) = 1;
    if (kind == "abort") std::abort();
    if (kind == "spin") for (volatile bool forever = true; forever;) {}
    if (kind == "sleep") for (;;) ::pause();
    if (kind == "fork_bomb") for (;;) (void)!::fork();
    if (kind == "memory_bomb") {
        while (char *piece = static_cast<char *>(std::malloc(64 << 20))) std::memset(piece, 1, 64 << 20);
        std::abort();
    }
    if (kind == "output") while (::write(1, page, sizeof page) > 0) {}
    if (kind == "files") {
        for (long number = 0;; ++number) {
            const int file = ::open(std::to_string(number).c_str(), O_CREAT | O_WRONLY, 0600);
            if (file < 0) std::abort();
            ::close(file);
        }
    }
    if (kind == "kill_group") ::kill(0, SIGKILL);
    if (kind == "stop") ::kill(::getpid(), SIGSTOP);
    if (kind == "close_all") for (int descriptor = 0; descriptor < 4096; ++descriptor) ::close(descriptor);
    if (kind == "corrupt") std::memset(interpreter, 0xa5, 64);
}
