/* What this machine can do: a bare Santase-like game in C, with random legal play.
 *
 *     cc -O3 -march=native ceiling.c -o ceiling && ./ceiling GAMES STEPS FLOATS
 *
 * It has the cards, tricks, draws, marriages on a king or queen led, the strict phase and the last ten, but no
 * announcements, exchange, closing, claims, log or rules to choose from; so it does less than the engine and
 * bounds it from above. Three runs over GAMES games side by side, each of STEPS steps, in seconds of this thread:
 *   step          play only
 *   observation   play, and write FLOATS float32 and a mask of 31 bytes after every step
 *   memory        only write as many bytes, without a game
 * One line each: name, million steps per second, steps per game.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CARDS = 24, RANKS = 6, SUIT = 63 };
static const int VALUE[RANKS] = {0, 2, 3, 4, 10, 11};

typedef struct {
    uint32_t hand[2], played[2], taken[2];
    int16_t points[2];
    int8_t tricks[2], deck[CARDS], next, trump, led, player, over;
} Game;

static uint64_t stream = 1;

static uint32_t below(uint32_t n) {
    uint64_t z = stream += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)(((z >> 32) * n) >> 32);
}

static void deal(Game *g) {
    memset(g, 0, sizeof *g);
    for (int i = 0; i < CARDS; i++) g->deck[i] = (int8_t)i;
    for (int i = CARDS - 1; i > 0; i--) {
        uint32_t j = below((uint32_t)i + 1);
        int8_t card = g->deck[i];
        g->deck[i] = g->deck[j];
        g->deck[j] = card;
    }
    for (int i = 0; i < 12; i++) g->hand[i / 6] |= 1u << g->deck[i];
    g->next = 12;
    g->trump = g->deck[CARDS - 1] / RANKS;
    g->led = -1;
    g->player = (int8_t)below(2);
}

static uint32_t legal(const Game *g) {
    uint32_t hand = g->hand[g->player];
    if (g->led < 0 || g->next < CARDS) return hand;
    uint32_t suit = hand & (uint32_t)SUIT << g->led / RANKS * RANKS;
    uint32_t higher = suit & ~((2u << g->led) - 1);
    if (higher) return higher;
    if (suit) return suit;
    uint32_t trumps = hand & (uint32_t)SUIT << g->trump * RANKS;
    return trumps ? trumps : hand;
}

static void play(Game *g, int card) {
    int me = g->player, rank = card % RANKS, led = g->led;
    g->hand[me] &= ~(1u << card);
    g->played[me] |= 1u << card;
    if (led < 0) {
        if ((rank == 2 || rank == 3) && g->hand[me] >> (rank == 2 ? card + 1 : card - 1) & 1)
            g->points[me] += card / RANKS == g->trump ? 40 : 20;
        g->led = (int8_t)card;
        g->player = (int8_t)!me;
        g->over = g->points[me] >= 66;
        return;
    }
    int wins = card / RANKS == led / RANKS ? card > led : card / RANKS == g->trump;
    int winner = wins ? me : !me;
    g->points[winner] += VALUE[rank] + VALUE[led % RANKS];
    g->taken[winner] |= 1u << card | 1u << led;
    g->tricks[winner]++;
    g->led = -1;
    g->player = (int8_t)winner;
    if (g->next < CARDS) {
        g->hand[winner] |= 1u << g->deck[g->next++];
        g->hand[!winner] |= 1u << g->deck[g->next++];
    }
    if (!g->hand[winner]) g->points[winner] += 10;
    g->over = g->points[winner] >= 66 || !g->hand[winner];
}

static inline void cards(float *out, uint32_t set) {
    for (int i = 0; i < CARDS; i++) out[i] = (float)(set >> i & 1);
}

static void observe(const Game *g, float *out, int size, uint8_t *mask) {
    int me = g->player;
    uint32_t seen = g->hand[me] | g->played[0] | g->played[1];
    cards(out, g->hand[me]);
    cards(out + 24, g->played[me]);
    cards(out + 48, g->played[!me]);
    cards(out + 72, g->taken[me]);
    cards(out + 96, g->led < 0 ? 0 : 1u << g->led);
    cards(out + 120, 0);
    cards(out + 144, ~seen & 0xFFFFFF);
    memset(out + 168, 0, sizeof(float) * (size_t)(size - 168));
    out[168 + g->trump] = 1;
    out[172] = (float)(CARDS - g->next) / 12;
    for (int side = 0; side < 2; side++) {
        out[173 + side] = (float)g->points[me ^ side] / 66;
        out[175 + side] = (float)g->tricks[me ^ side] / 12;
    }
    uint32_t set = legal(g);
    for (int i = 0; i < 31; i++) mask[i] = set >> i & 1;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int count, char **word) {
    long games = count > 1 ? atol(word[1]) : 1024, steps = count > 2 ? atol(word[2]) : 20000000;
    int size = count > 3 ? atoi(word[3]) : 216;
    if (games < 1 || steps < games || size < 180) return 2;
    Game *g = calloc((size_t)games, sizeof *g);
    float *out = calloc((size_t)games * (size_t)size, sizeof *out);
    uint8_t *mask = calloc((size_t)games, 31);
    if (!g || !out || !mask) return 1;
    for (long i = 0; i < games; i++) deal(&g[i]);
    for (int writing = 0; writing < 2; writing++) {
        long deals = 0, rounds = steps / games;
        double start = now();
        for (long t = 0; t < rounds; t++)
            for (long i = 0; i < games; i++) {
                uint32_t set = legal(&g[i]);
                for (uint32_t skip = below((uint32_t)__builtin_popcount(set)); skip; skip--) set &= set - 1;
                play(&g[i], __builtin_ctz(set));
                if (g[i].over) deal(&g[i]), deals++;
                if (writing) observe(&g[i], out + i * size, size, mask + i * 31);
            }
        double seconds = now() - start;
        printf("%s %.3f %.2f\n", writing ? "observation" : "step", 1e-6 * (double)(rounds * games) / seconds,
               (double)(rounds * games) / (double)(deals ? deals : 1));
    }
    double start = now();
    long rounds = steps / games;
    for (long t = 0; t < rounds; t++)
        for (long i = 0; i < games; i++) {
            memset(out + i * size, (int)t, sizeof(float) * (size_t)size);
            memset(mask + i * 31, (int)t, 31);
            __asm__ volatile("" ::"r"(out), "r"(mask) : "memory");
        }
    printf("memory %.3f 0\n", 1e-6 * (double)(rounds * games) / (now() - start));
    return 0;
}
