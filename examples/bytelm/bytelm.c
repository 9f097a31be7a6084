/*
 * bytelm trains a small language model over bytes on all ranks of a Slurm step, and goes on
 * from its last checkpoint. It needs a C compiler and nothing else. README.md says more.
 *
 *     bytelm TEXT CHECKPOINT_DIR OUTPUT_DIR
 *
 * Synchronous data parallelism: each rank computes the gradient of its own samples, rank 0
 * adds them up in the order of the ranks, updates the parameters and sends them to all.
 * So a run that was killed and resumed ends with the same bits as one that was not.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

enum { KEPT = 3 }; /* checkpoints */

/* What rank 0 sends before each step, and what it gets back. */
struct order { uint64_t step; struct model model; };
struct answer { double loss; struct model gradient; };

/* A checkpoint is this file; sum is over all that stands before it. */
struct state {
    char magic[8];
    uint64_t step, steps, batch, seed, ranks, text;
    struct model model, first, second; /* the parameters, and Adam's moments */
    uint64_t sum;
};

static uint64_t steps, batch, every, seed;
static int rank, ranks;
static unsigned char *text;
static size_t text_size;

static void die(const char *format, ...)
{
    va_list args;
    int cause = errno;
    va_start(args, format);
    fprintf(stderr, "bytelm: rank %d: ", rank);
    vfprintf(stderr, format, args);
    fprintf(stderr, cause ? ": %s\n" : "\n", strerror(cause));
    exit(1);
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory)
        die("get memory");
    return memory;
}

static const char *env(const char *name)
{
    const char *value = getenv(name);
    errno = 0;
    if (!value)
        die("%s is not set", name);
    return value;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    char *end = "";
    const char *value = getenv(name);
    uint64_t n = value ? strtoull(value, &end, 10) : otherwise;
    errno = 0;
    if (n == 0 || *end)
        die("%s must be a number above 0, and not %s", name, value);
    return n;
}

/* ---- the sockets between rank 0 and the others */

static void transfer(int fd, void *data, size_t size, ssize_t (*call)(int, void *, size_t), const char *what)
{
    for (char *at = data; size > 0;) {
        ssize_t n = call(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ECONNRESET;
        if (n <= 0)
            die("%s another rank", what);
        at += n, size -= (size_t)n;
    }
}

static ssize_t send_some(int fd, void *data, size_t size) { return send(fd, data, size, MSG_NOSIGNAL); }

static void put(int fd, void *data, size_t size) { transfer(fd, data, size, send_some, "send to"); }
static void get(int fd, void *data, size_t size) { transfer(fd, data, size, read, "receive from"); }

static int open_socket(void)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
        die("make a socket");
    return fd;
}

/* Connects to rank 0, which may not listen yet: a minute is enough for the slowest start. */
static int dial(void)
{
    struct addrinfo *found, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    const char *host = env("MASTER_ADDR");
    int error = getaddrinfo(host, env("MASTER_PORT"), &hints, &found);
    if (error)
        errno = 0, die("look up %s: %s", host, gai_strerror(error));
    for (time_t give_up = time(NULL) + 60;;) {
        int fd = open_socket();
        if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
            uint64_t me = (uint64_t)rank;
            put(fd, &me, sizeof me);
            freeaddrinfo(found);
            return fd;
        }
        if (time(NULL) > give_up)
            die("connect to rank 0 on %s", host);
        close(fd);
        usleep(50000);
    }
}

/* Waits until every other rank has connected, and returns their sockets by rank. */
static int *gather(void)
{
    int *peers = allocate((size_t)ranks, sizeof *peers), fd = open_socket();
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number("MASTER_PORT", 0))};
    if (bind(fd, (void *)&here, sizeof here) || listen(fd, ranks))
        die("listen on port %s", getenv("MASTER_PORT"));
    for (int n = 1; n < ranks; n++) {
        uint64_t who;
        int peer = accept(fd, NULL, NULL);
        if (peer < 0)
            die("accept a rank");
        get(peer, &who, sizeof who);
        if (who == 0 || who >= (uint64_t)ranks || peers[who])
            errno = 0, die("a rank that calls itself %llu", (unsigned long long)who);
        peers[who] = peer;
    }
    close(fd);
    return peers;
}

/* ---- training */

/* This rank's part of a batch, which (seed, step, rank) alone choose. */
static void work(const struct model *m, uint64_t step, struct answer *a)
{
    memset(a, 0, sizeof *a);
    for (uint64_t i = 0; i < batch; i++) {
        uint64_t start = random_of(seed, step, (uint64_t)rank * batch + i) % (text_size - CONTEXT);
        a->loss += learn(m, text + start, &a->gradient);
    }
}

/* A linear warm-up, then a straight line down to a tenth. */
static float rate(uint64_t step)
{
    float warm = (float)(step + 1) / 10, left = 1 - 0.9f * (float)step / (float)steps;
    return 0.02f * (warm < left ? warm : left);
}

/* One step of Adam, with the sum of all gradients. */
static void update(struct state *s, const struct model *gradient)
{
    float *w = (float *)&s->model, *m = (float *)&s->first, *v = (float *)&s->second, share = 1 / (float)(batch * (uint64_t)ranks);
    const float *all = (const float *)gradient;
    float first = 1 - powf(0.9f, (float)(s->step + 1)), second = 1 - powf(0.999f, (float)(s->step + 1)), speed = rate(s->step);
    for (int i = 0; i < SIZE; i++) {
        float g = all[i] * share;
        m[i] = 0.9f * m[i] + 0.1f * g;
        v[i] = 0.999f * v[i] + 0.001f * g * g;
        w[i] -= speed * (m[i] / first) / (sqrtf(v[i] / second) + 1e-8f);
    }
    s->step++;
}

/* ---- files */

static uint64_t checksum(const void *data, size_t size)
{
    uint64_t sum = 0xCBF29CE484222325u; /* FNV-1a */
    for (const unsigned char *at = data; size-- > 0; at++)
        sum = (sum ^ *at) * 0x100000001B3u;
    return sum;
}

static void read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info))
        die("open %s", path);
    text_size = (size_t)info.st_size;
    text = allocate(text_size + 1, 1);
    if (fread(text, 1, text_size, file) != text_size)
        die("read %s", path);
    fclose(file);
    if (text_size <= CONTEXT)
        errno = 0, die("%s has only %zu bytes", path, text_size);
}

/* Writes a file that appears whole or not at all, also after a power cut. */
static void write_whole(const char *dir, const char *name, const void *data, size_t size)
{
    char *part, *path;
    if (asprintf(&part, "%s/.tmp-%s", dir, name) < 0 || asprintf(&path, "%s/%s", dir, name) < 0)
        die("get memory");
    FILE *file = fopen(part, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fflush(file) || fsync(fileno(file)) || fclose(file) || rename(part, path))
        die("write %s", path);
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0 || fsync(at) || close(at))
        die("write %s", dir);
    free(part), free(path);
}

static int is_checkpoint(const struct dirent *entry)
{
    unsigned number;
    int end = 0;
    return sscanf(entry->d_name, "checkpoint-%8u.bin%n", &number, &end) == 1 && end > 0 && entry->d_name[end] == 0;
}

static void save(struct state *s, const char *dir)
{
    char name[32];
    struct dirent **all;
    s->sum = checksum(s, offsetof(struct state, sum));
    snprintf(name, sizeof name, "checkpoint-%08llu.bin", (unsigned long long)s->step);
    write_whole(dir, name, s, sizeof *s);
    printf("Saved checkpoint %s/%s\n", dir, name);
    int n = scandir(dir, &all, is_checkpoint, alphasort);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, all[i]->d_name);
        if (i < n - KEPT && unlink(path))
            die("remove %s", path);
        free(all[i]);
    }
    free(all);
}

/* Reads a checkpoint, and says why if it cannot be used. */
static int usable(struct state *s, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(s, 1, sizeof *s, file) : 0;
    if (file)
        fclose(file);
    if (n != sizeof *s || strcmp(s->magic, "bytelm1") || s->sum != checksum(s, offsetof(struct state, sum))) {
        printf("Checkpoint %s is damaged\n", path);
        return 0;
    }
    return 1;
}

/* Takes the newest checkpoint that is whole, or begins at step 0. */
static void resume(struct state *s, const char *dir)
{
    struct state wanted = {"bytelm1", 0, steps, batch, seed, (uint64_t)ranks, .text = checksum(text, text_size)};
    struct dirent **all;
    char path[4096];
    int n = scandir(dir, &all, is_checkpoint, alphasort);
    if (n < 0)
        die("look into %s", dir);
    while (n-- > 0) {
        snprintf(path, sizeof path, "%s/%s", dir, all[n]->d_name);
        if (!usable(s, path))
            continue;
        if (memcmp(&s->steps, &wanted.steps, 5 * sizeof s->steps))
            errno = 0, die("%s is of a run with another text, seed, batch size or number of steps or ranks", path);
        printf("Resumed from %s at batch %llu\n", path, (unsigned long long)s->step);
        return;
    }
    *s = wanted;
    initialise(&s->model, seed);
    printf("No checkpoint in %s: starting at batch 0\n", dir);
}

/* ---- the two roles */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void lead(const char *checkpoints, const char *weights)
{
    static struct state s;
    static struct order order;
    static struct answer sum, one;
    int *peers = gather();
    uint64_t samples = batch * (uint64_t)ranks;
    printf("Training on %d ranks: %d parameters, %zu bytes of text\n", ranks, SIZE, text_size);
    resume(&s, checkpoints);
    while (s.step < steps) {
        double began = seconds();
        order.step = s.step, order.model = s.model;
        for (int i = 1; i < ranks; i++)
            put(peers[i], &order, sizeof order);
        work(&s.model, s.step, &sum);
        for (int i = 1; i < ranks; i++) {
            get(peers[i], &one, sizeof one);
            sum.loss += one.loss;
            add((float *)&sum.gradient, (float *)&one.gradient, 1, SIZE);
        }
        printf("Batch %llu Loss: %.5f, Speed: %.2f samples/sec, lr: %.6f\n", (unsigned long long)s.step, sum.loss / (double)samples,
               (double)samples / (seconds() - began), rate(s.step));
        update(&s, &sum.gradient);
        if (s.step % every == 0 || s.step == steps)
            save(&s, checkpoints);
    }
    order.step = steps; /* which ends the others */
    for (int i = 1; i < ranks; i++)
        put(peers[i], &order, sizeof order);
    write_whole(weights, "weights.bin", &s.model, sizeof s.model);
}

static void follow(void)
{
    static struct order order;
    static struct answer answer;
    for (int fd = dial();;) {
        get(fd, &order, sizeof order);
        if (order.step >= steps)
            return;
        work(&order.model, order.step, &answer);
        put(fd, &answer, sizeof answer);
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 4) {
        fprintf(stderr, "usage: bytelm TEXT CHECKPOINT_DIR OUTPUT_DIR\n");
        return 2;
    }
    rank = atoi(env("SLURM_PROCID"));
    ranks = (int)number("SLURM_NTASKS", 0);
    steps = number("STEPS", 300), batch = number("BATCH_SIZE", 32), every = number("CHECKPOINT_FREQ", 25), seed = number("SEED", 1);
    read_text(argv[1]);
    if (rank == 0)
        lead(argv[2], argv[3]);
    else
        follow();
    return 0;
}
