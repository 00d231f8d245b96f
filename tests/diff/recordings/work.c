/* A program of a few functions and fixed work: the recordings in tests/fixtures/diff. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define NI __attribute__((noinline))
#ifndef EXTRA
#define EXTRA 0
#endif
static uint8_t text[1 << 16];
static uint32_t table[4096];
NI static uint32_t lex(uint32_t s, int n) { for (int i = 0; i < n; i++) { s = s * 1664525 + text[(s >> 8) & 0xffff]; s ^= s >> 13; } return s; }
NI static uint32_t parse(uint32_t s) { s = lex(s, 60000); for (int i = 0; i < 30000; i++) s = s * 22695477 + 1 + (s >> 16); return s; }
NI static uint32_t hash_insert(uint32_t s, int n) { for (int i = 0; i < n; i++) { s = (s ^ (s << 5)) * 2654435761u; table[s >> 20] += s; } return s; }
NI static uint32_t lookup(uint32_t s, int n) { for (int i = 0; i < n; i++) s += table[(s * 7u + i) & 4095] ^ (s >> 3); return s; }
NI static uint32_t optimise(uint32_t s) { s = hash_insert(s, 40000 + EXTRA); return lookup(s, 50000); }
NI static uint32_t emit(uint32_t s) { for (int i = 0; i < 40000; i++) { text[i & 0xffff] = (uint8_t)s; s = s * 1103515245 + 12345; s ^= s >> 11; } return s; }
int main(void) { uint32_t s = 1; for (int round = 0; round < 2200; round++) { s = parse(s); s = optimise(s); s = emit(s); } printf("%u\n", s); }
