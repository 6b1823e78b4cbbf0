/* On a Cortex-M4 in QEMU, which counts instructions: the most of a step, and its bytes of stack, printed by
   semihosting. What stands above this text: INPUTS, OUTPUTS, STEPS, real, low, high, Memory, begin, and act. */

#include <stdint.h>

#define PAINTED 1000
#define TIMES 100 /* a tick of the timer is 40 instructions */

extern int main(void);
extern char top[];

static void reset_handler(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* floating point on */
    __asm volatile("dsb; isb");
    main();
}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {top, (void *)reset_handler};

static void host(int what, const void *with) {
    register int r0 __asm("r0") = what;
    register const void *r1 __asm("r1") = with;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void say(const char *before, uint32_t value) {
    char text[12], *at = text + 11;
    *at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    host(4, before);
    host(4, at);
}

static Memory memory;
static volatile uint32_t *const TIMER = (volatile uint32_t *)0xE000E010;

int main(void) {
    static real input[INPUTS], output[OUTPUTS];
    uint32_t seed = 1, most = 0, idle = 0, stack = 0;
    TIMER[1] = 0xFFFFFF;
    TIMER[2] = 0;
    TIMER[0] = 5;
    begin(&memory);
    for (int k = -1; k < STEPS; k++) {
        for (int j = 0; j < INPUTS; j++) {
            seed = seed * 1664525u + 1013904223u;
            input[j] = (real)(low[j] + (high[j] - low[j]) * (float)(seed >> 16) / 65536);
        }
        volatile uint8_t *bottom;
        __asm volatile("mov %0, sp" : "=r"(bottom));
        bottom -= PAINTED + 8;
        for (int i = 0; i < PAINTED; i++) bottom[i] = 0xA5;
        uint32_t took = TIMER[2];
        for (volatile int i = 0; i < TIMES; i++) {
            if (k >= 0) act(&memory, input, output);
        }
        took = (took - TIMER[2]) & 0xFFFFFF;
        if (k < 0) idle = took;
        else if (took - idle > most) most = took - idle;
        uint32_t i = 0;
        while (i < PAINTED && bottom[i] == 0xA5) i++;
        if (i < PAINTED && PAINTED + 8 - i > stack) stack = PAINTED + 8 - i;
    }
    say("=", most * 40 / TIMES);
    say(" ", stack);
    say(" ", sizeof memory);
    host(4, "\n");
    host(0x18, (void *)0x20026);
    for (;;) { }
}
