/* Builds an index of the words of a text, round after round: one of the programs of scripts/sweep. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define FUNCTION __attribute__((noinline)) static
/* True in so many of a hundred calls: a regression makes a function work twice in that many. */
#define SOMETIMES(percent) (++calls % 100 < (percent))
static unsigned calls;
static char text[1 << 15];
static char words[8192][16];
static uint32_t counts[8192];
static unsigned found;

FUNCTION void generate(uint32_t seed) {
  for (int again = SOMETIMES(0); again >= 0; again--)
    for (unsigned i = 0; i < sizeof text - 1; i++) {
      seed = seed * 1664525 + 1013904223;
      text[i] = seed >> 29 ? "etaoinshrdlucmfw"[seed >> 24 & 15] : ' ';
    }
}

FUNCTION uint32_t hash_word(const char *word) {
  uint32_t hash = 0;
  for (int again = SOMETIMES(0); again >= 0; again--) {
    hash = 2166136261u;
    for (const char *c = word; *c; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
  }
  return hash;
}

FUNCTION void insert(const char *word) {
  uint32_t hash = hash_word(word);
  for (int again = SOMETIMES(0); again >= 0; again--) {
    unsigned slot = hash & 8191, steps = 0;
    while (words[slot][0] && strcmp(words[slot], word) && ++steps < 64) slot = (slot + 1) & 8191;
    if (!words[slot][0]) { strcpy(words[slot], word); found++; }
    if (!again) counts[slot]++;
  }
}

FUNCTION void tokenize(void) {
  char word[16];
  for (const char *c = text; *c;) {
    unsigned length = 0;
    while (*c && *c != ' ') { if (length < 15) word[length++] = *c; c++; }
    word[length] = 0;
    if (length) insert(word);
    while (*c == ' ') c++;
  }
}

FUNCTION uint32_t rank(void) {
  uint32_t best = 0;
  for (int again = SOMETIMES(0); again >= 0; again--)
    for (unsigned pass = 0; pass < 6; pass++)
      for (unsigned slot = 0; slot < 8192; slot++)
        if (counts[slot] > best && counts[slot] % 7 != pass) best = counts[slot];
  return best;
}

FUNCTION uint32_t compress(void) {
  uint32_t sum = 0;
  for (int again = SOMETIMES(0); again >= 0; again--)
    for (unsigned i = 64; i < sizeof text - 1; i++) {
      unsigned length = 0;
      while (length < 8 && text[i - 61 + length] == text[i + length]) length++;
      sum += length * i;
    }
  return sum;
}

int main(int argc, char **argv) {
  uint32_t sum = 0;
  int rounds = argc > 1 ? atoi(argv[1]) : 300;
  for (int round = 0; round < rounds; round++) {
    generate(round);
    tokenize();
    sum += rank() + compress();
    if (found > 4096) { memset(words, 0, sizeof words); memset(counts, 0, sizeof counts); found = 0; }
  }
  printf("%u\n", sum);
}
