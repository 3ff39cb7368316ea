#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv) {
    struct io_uring_params p; memset(&p, 0, sizeof p);
    int poll = argc > 1;
    if (poll) { p.flags = IORING_SETUP_SQPOLL; p.sq_thread_idle = 20; }
    int fd = syscall(SYS_io_uring_setup, 64, &p);
    if (fd < 0) { perror("io_uring_setup"); return 77; }
    char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
    char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_CQ_RING);
    struct io_uring_sqe *sqes = mmap(0, p.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
    unsigned *tail = (unsigned *)(sq + p.sq_off.tail), *mask = (unsigned *)(sq + p.sq_off.ring_mask), *array = (unsigned *)(sq + p.sq_off.array), *flags = (unsigned *)(sq + p.sq_off.flags);
    unsigned *chead = (unsigned *)(cq + p.cq_off.head), *ctail = (unsigned *)(cq + p.cq_off.tail);
    char name[] = "/tmp/iouXXXXXX"; int file = mkstemp(name); unlink(name);
    static char data[65536];
    double end = now() + 0.5; long done = 0;
    while (now() < end) {
        for (int i = 0; i < 8; i++) {
            unsigned t = *tail, k = t & *mask;
            memset(&sqes[k], 0, sizeof sqes[k]);
            sqes[k].opcode = IORING_OP_WRITE; sqes[k].fd = file; sqes[k].addr = (unsigned long)data; sqes[k].len = sizeof data; sqes[k].off = (done % 64) * sizeof data;
            sqes[k].flags = IOSQE_ASYNC; /* by a thread of the kernel */
            array[k] = k; __atomic_store_n(tail, t + 1, __ATOMIC_RELEASE); done++;
        }
        unsigned enter = IORING_ENTER_GETEVENTS;
        if (poll && (__atomic_load_n(flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)) enter |= IORING_ENTER_SQ_WAKEUP;
        syscall(SYS_io_uring_enter, fd, 8, 8, enter, 0, 0);
        __atomic_store_n(chead, __atomic_load_n(ctail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    }
    struct rusage u; getrusage(RUSAGE_SELF, &u);
    printf("%f\n", u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
    return 0;
}
