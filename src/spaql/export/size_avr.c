/* On an ATmega328P in simavr: the most cycles and bytes of stack of a step, printed by the serial port. What stands above
   this text: INPUTS, OUTPUTS, STEPS, real, low, high, Memory, begin, and act. */

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>

#define PAINTED 240

static volatile uint16_t turns;

ISR(TIMER1_OVF_vect) { turns++; }

static uint32_t now(void) {
    uint16_t low_part, high_part;
    cli();
    low_part = TCNT1;
    high_part = turns;
    if ((TIFR1 & 1) && low_part < 0x8000) high_part++;
    sei();
    return ((uint32_t)high_part << 16) | low_part;
}

static void put(char sign) {
    while (!(UCSR0A & (1 << UDRE0))) { }
    UDR0 = sign;
}

static void say(uint32_t value) {
    if (value > 9) say(value / 10);
    put('0' + value % 10);
}

static Memory memory;

int main(void) {
    static real input[INPUTS], output[OUTPUTS];
    uint32_t seed = 1, most = 0, idle, took;
    uint16_t stack = 0;
    UCSR0B = 1 << TXEN0;
    TCCR1B = 1;
    TIMSK1 = 1;
    sei();
    took = now();
    idle = now() - took;
    begin(&memory);
    for (int k = 0; k < STEPS; k++) {
        for (int j = 0; j < INPUTS; j++) {
            seed = seed * 1664525UL + 1013904223UL;
            input[j] = (real)(low[j] + (high[j] - low[j]) * (float)(seed >> 16) / 65536);
        }
        volatile uint8_t *bottom = (volatile uint8_t *)(SP - PAINTED - 8);
        cli();
        for (int i = 0; i < PAINTED; i++) bottom[i] = 0xA5;
        sei();
        took = now();
        act(&memory, input, output);
        took = now() - took - idle;
        int i = 0;
        while (i < PAINTED && bottom[i] == 0xA5) i++;
        if (PAINTED + 8 - i > (int)stack) stack = PAINTED + 8 - i;
        if (took > most) most = took;
    }
    put('=');
    say(most);
    put(' ');
    say(stack);
    put(' ');
    say(sizeof memory);
    put('\n');
    cli();
    sleep_enable();
    sleep_cpu();
}
