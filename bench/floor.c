/* The floor: attack -> referee -> model as three processes that only copy bytes between socket pairs.
 *
 * usage: floor BYTES_OF_AN_IMAGE [PLAYERS_CPU REFEREE_CPU], then blocks on stdin (see bench/blocks.py)
 * With the numbers of two CPUs the referee runs on one and both players on the other. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 16, SAMPLE_NUMBER = 2, LABEL = 2, MOST_REQUESTS = 1000000 };

static double taken[MOST_REQUESTS];

static void receive(int from, char *to, size_t size) {
  while (size) {
    ssize_t got = read(from, to, size);
    if (got <= 0) _exit(0);
    to += got;
    size -= (size_t)got;
  }
}

static void send_all(int to, const char *from, size_t size) {
  while (size) {
    ssize_t sent = write(to, from, size);
    if (sent <= 0) _exit(0);
    from += sent;
    size -= (size_t)sent;
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void pin(int cpu) {
  cpu_set_t set;
  if (cpu < 0) return;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set)) _exit(1);
}

/* One block with a referee and a model of its own; both end when the attack's socket closes. */
static int block(size_t request, size_t reply, double seconds, int referee_cpu) {
  char *buffer = calloc(1, request + reply);
  int attack[2], model[2];
  if (!buffer || socketpair(AF_UNIX, SOCK_STREAM, 0, attack) || socketpair(AF_UNIX, SOCK_STREAM, 0, model)) return 1;
  if (!fork()) { /* the referee */
    pin(referee_cpu);
    close(attack[0]);
    close(model[1]);
    for (;;) {
      receive(attack[1], buffer, request);
      send_all(model[0], buffer, request);
      receive(model[0], buffer, reply);
      send_all(attack[1], buffer, reply);
    }
  }
  if (!fork()) { /* the model */
    close(attack[0]);
    close(attack[1]);
    close(model[0]);
    for (;;) {
      receive(model[1], buffer, request);
      send_all(model[1], buffer, reply);
    }
  }
  close(attack[1]);
  close(model[0]);
  close(model[1]);
  size_t done = 0;
  double start = now(), last = start;
  while (!done || (last - start < seconds && done < MOST_REQUESTS)) {
    send_all(attack[0], buffer, request);
    receive(attack[0], buffer, reply);
    double time = now();
    taken[done++] = time - last;
    last = time;
  }
  close(attack[0]);
  while (wait(NULL) > 0) continue;
  free(buffer);
  qsort(taken, done, sizeof *taken, by_size);
  printf("%.3f %zu %.0f\n", taken[done / 2] * 1e6, done, (last - start) * 1e6);
  fflush(stdout);
  return 0;
}

int main(int count, char **words) {
  size_t images;
  double seconds;
  if (count != 2 && count != 4) return 2;
  size_t image = strtoul(words[1], NULL, 10);
  int players_cpu = count == 4 ? atoi(words[2]) : -1, referee_cpu = count == 4 ? atoi(words[3]) : -1;
  pin(players_cpu);
  while (scanf("%zu %lf", &images, &seconds) == 2)
    if (block(HEADER + images * (SAMPLE_NUMBER + image), HEADER + images * LABEL, seconds, referee_cpu)) return 1;
  return 0;
}
