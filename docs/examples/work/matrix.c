/* A unit multiplies two matrices of 48 x 48 numbers.
 *   cc -O2 -shared -fPIC -o matrix.so matrix.c
 *   anechoic measure fwq --work ./matrix.so:step --cpus 1 */
#include <stddef.h>
#include <stdint.h>

enum { N = 48 };
struct workspace { uint32_t a[N][N], b[N][N], c[N][N]; };

size_t step_bytes(void) { return sizeof(struct workspace); }

int step_prepare(void *workspace) {
    struct workspace *w = workspace;
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < N; j++)
            w->a[i][j] = i + j, w->b[i][j] = i * j;
    return 0;
}

uint64_t step(void *workspace, uint64_t units) {
    struct workspace *w = workspace;
    uint64_t sum = 0;
    while (units--) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                uint32_t c = 0;
                for (int k = 0; k < N; k++) c += w->a[i][k] * w->b[k][j];
                w->c[i][j] = c;
            }
        __asm__ volatile("" ::: "memory"); /* the next unit is not the same to the compiler */
        sum += w->c[N - 1][N - 1];
    }
    return sum;
}

/* Each unit must add the same number: (N-1) times the sum of (N-1+k) k. */
int step_check(uint64_t units, uint64_t value) {
    uint64_t one = 0;
    for (uint64_t k = 0; k < N; k++) one += (N - 1 + k) * k * (N - 1);
    return value == units * one;
}
