/* The model: its parameters, and the gradient of one sample. All sums have one order. */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BYTES = 256, CONTEXT = 8, EMBED = 12, INPUT = CONTEXT * EMBED, HIDDEN = 64 };

/* The model of Bengio and others (2003): the bytes before, embedded; a hidden layer; a softmax. */
struct model {
    float embed[BYTES][EMBED];
    float in[INPUT][HIDDEN], in_bias[HIDDEN];
    float out[HIDDEN][BYTES], out_bias[BYTES];
};

enum { SIZE = sizeof(struct model) / sizeof(float) };

/* The n-th number of a stream that depends on nothing but its three keys (SplitMix64). */
static uint64_t random_of(uint64_t seed, uint64_t step, uint64_t n)
{
    uint64_t x = (seed * 0x9E3779B97F4A7C15u) ^ (step * 0xBF58476D1CE4E5B9u) ^ (n * 0x94D049BB133111EBu);
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static void initialise(struct model *m, uint64_t seed)
{
    float *weights = (float *)m;
    for (uint64_t i = 0; i < SIZE; i++)
        weights[i] = 0.2f * ((float)(random_of(seed, UINT64_MAX, i) >> 40) / (1 << 24) - 0.5f);
    memset(m->in_bias, 0, sizeof m->in_bias);
    memset(m->out_bias, 0, sizeof m->out_bias);
}

static void add(float *to, const float *from, float times, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += times * from[i];
}

/* The dot product in eight partial sums, which compilers turn into vector instructions. */
static float dot(const float *a, const float *b, int n)
{
    float part[8] = {0}, sum = 0;
    for (int i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++)
            part[k] += a[i + k] * b[i + k];
    for (int k = 0; k < 8; k++)
        sum += part[k];
    return sum;
}

/* Makes scores probabilities, and returns the loss of the byte that came. */
static float softmax(float *scores, int came)
{
    float top = scores[0], sum = 0, target = scores[came];
    for (int i = 1; i < BYTES; i++)
        top = scores[i] > top ? scores[i] : top;
    for (int i = 0; i < BYTES; i++)
        sum += scores[i] = expf(scores[i] - top);
    for (int i = 0; i < BYTES; i++)
        scores[i] /= sum;
    return logf(sum) - (target - top);
}

/* Adds the gradient of one sample, and returns its loss: the byte at[CONTEXT] follows the others. */
static float learn(const struct model *m, const unsigned char *at, struct model *g)
{
    float x[INPUT], hidden[HIDDEN], scores[BYTES], back[HIDDEN];
    for (int i = 0; i < CONTEXT; i++)
        memcpy(x + i * EMBED, m->embed[at[i]], sizeof m->embed[0]);
    memcpy(hidden, m->in_bias, sizeof hidden);
    for (int i = 0; i < INPUT; i++)
        add(hidden, m->in[i], x[i], HIDDEN);
    memcpy(scores, m->out_bias, sizeof scores);
    for (int j = 0; j < HIDDEN; j++)
        add(scores, m->out[j], hidden[j] = tanhf(hidden[j]), BYTES);
    float loss = softmax(scores, at[CONTEXT]);
    scores[at[CONTEXT]] -= 1; /* from here on the gradient of the scores */
    add(g->out_bias, scores, 1, BYTES);
    for (int j = 0; j < HIDDEN; j++) {
        add(g->out[j], scores, hidden[j], BYTES);
        back[j] = dot(m->out[j], scores, BYTES) * (1 - hidden[j] * hidden[j]);
    }
    add(g->in_bias, back, 1, HIDDEN);
    for (int i = 0; i < INPUT; i++) {
        add(g->in[i], back, x[i], HIDDEN);
        g->embed[at[i / EMBED]][i % EMBED] += dot(m->in[i], back, HIDDEN);
    }
    return loss;
}
