/* What the parts of the plugin share: the step that slurmstepd and its tasks are of. */
#ifndef MUSTER_STEP_H
#define MUSTER_STEP_H

#include <stdint.h>
#include <sys/types.h>

#include <slurm/slurm.h>

#include "options.h"

#pragma GCC visibility push(hidden)

/* shared is memory that slurmstepd and the tasks have in common. */
struct shared {
	unsigned joined; /* tasks that are in the container */
	bool no_srun;    /* the container has no srun */
};

/* step is slurmstepd's, and each task's copy of it. The descriptors are -1 where there are none. */
extern struct step {
	bool enabled, failed;
	struct config config;
	uint32_t job, id, tasks, ended;
	int life;   /* slurmstepd's end of the socket whose end ends the container */
	int orders; /* where hold waits for what is not known before the step's streams are there */
	int answer; /* where hold answers */
	int record; /* a file in memory with the answer, once a task has read it */
	int hold;   /* a descriptor of hold's process */
	struct shared *shared;
} step;

/* cursor goes through the NUL-separated fields of an answer. */
struct cursor { char *at, *end; };

/* field is the next one, NULL at the end. */
char *field(struct cursor *c);

/* start.c: these return -1 after they have said what is wrong. */
int item(spank_t sp, spank_item_t which, const char *name, void *into);
char *number(unsigned n);
int start_hold(spank_t sp);

/* order_hold tells hold, which waits, all that it needs for the container. */
int order_hold(spank_t sp);

/* answer is hold's answer, for each task; *first tells one of them that it is the one who speaks. */
char *answer(size_t *size, bool *first);

/* refuse says, if it is to speak, why there is no container, and returns -1. */
int refuse(struct cursor *c, bool speak);

/* save has hold save the container if that was asked for, and says how that went. */
int save(void);

/* finish has hold end the container and waits for it. A named one may live on for another step. */
void finish(void);

/* enter makes the calling process, which becomes a task, one of the container's. */
int enter(spank_t sp, struct cursor *c, bool speak);

#pragma GCC visibility pop
#endif
