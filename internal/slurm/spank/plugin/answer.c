/* What hold says, and its end. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long hold may take to clean up a container, in milliseconds. */
#define CLEANUP_LIMIT 10000
/* And for one with a name, which may live on for another step. */
#define NAMED_LIMIT 1000

/* The fields of an answer before the entries: ok PID NAMESPACES WORKDIR SECCOMP. */
#define HEAD_FIELDS 5

/* whole tells whether an answer has come to its end: an empty entry. Nothing else follows it until hold is asked. */
static bool whole(const char *text, size_t size)
{
	size_t fields = 0;

	for (size_t i = 0; i < size; i++)
		fields += !text[i];
	return fields > HEAD_FIELDS && !text[size - 1] && !text[size - 2];
}

/* read_answer reads what hold says, up to an answer's end or to the end of all; NULL if there is no memory. */
static char *read_answer(size_t *size)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	*size = 0;
	do {
		if (*size + 1 >= room && !(text = realloc(text, room = 2 * room + 4096)))
			return NULL;
		n = read(step.answer, text + *size, room - 1 - *size);
		*size += n > 0 ? n : 0;
	} while ((n > 0 && !whole(text, *size)) || (n < 0 && errno == EINTR));
	text[*size] = 0;
	return text;
}

/* receive puts hold's answer on record. No answer is one empty field. */
static int receive(void)
{
	size_t size;
	char *text = read_answer(&size);
	ssize_t n;

	if (!text)
		return -1;
	n = write(step.record, size ? text : "", size ? size : 1);
	free(text);
	return n > 0 ? 0 : -1;
}

/* answer is hold's answer, for each task; *first tells one of them that it is the one who speaks. */
char *answer(size_t *size, bool *first)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st;
	char *text;

	/* The lock goes with a task that is killed; the next one reads on. */
	while (fcntl(step.record, F_SETLKW, &lock))
		if (errno != EINTR)
			return NULL;
	*first = !fstat(step.record, &st) && !st.st_size;
	if ((*first && receive()) || fstat(step.record, &st) || !st.st_size)
		return NULL;
	lock.l_type = F_UNLCK;
	fcntl(step.record, F_SETLK, &lock);
	*size = st.st_size;
	if (!(text = malloc(*size + 1)) || pread(step.record, text, *size, 0) != (ssize_t)*size)
		return NULL;
	text[*size] = 0;
	return text;
}

char *field(struct cursor *c)
{
	char *f = c->at;

	if (f >= c->end)
		return NULL;
	c->at += strlen(f) + 1;
	return f;
}

/* refuse says once for all tasks why there is no container. */
int refuse(struct cursor *c, bool speak)
{
	char *what = field(c), *hint = what ? field(c) : NULL;

	if (speak)
		slurm_error("muster: %s", what && *what ? what : "the container could not be made, and what was to make it did not say why");
	if (speak && hint && *hint)
		slurm_error("muster: %s", hint);
	return -1;
}

/* save has hold save the container, and says how that went. */
int save(void)
{
	size_t size;

	if (!option_text(SAVE) || step.shared->joined != step.tasks || send(step.life, "s", 1, MSG_NOSIGNAL) != 1)
		return 0;
	char *text = read_answer(&size);
	struct cursor c = { text, text ? text + size : NULL };
	char *kind = field(&c);
	if (!kind || strcmp(kind, "saved"))
		return refuse(&c, true);
	slurm_spank_log("muster: saved the container to %s", option_text(SAVE));
	return 0;
}

/* finish has hold end the container and waits for it. A named one may live on for another step. */
void finish(void)
{
	struct pollfd hold = { .fd = step.hold, .events = POLLIN };
	bool named = option_text(NAME) != NULL;
	int rc = 1;

	close(step.life);
	step.life = -1;
	close(step.orders); /* a step that never had its streams */
	if (!step.shared->joined) /* it may still import an image, which nobody waits for any more */
		syscall(SYS_pidfd_send_signal, step.hold, SIGTERM, NULL, 0);
	while (hold.fd >= 0 && (rc = poll(&hold, 1, named ? NAMED_LIMIT : CLEANUP_LIMIT)) < 0 && errno == EINTR)
		;
	if (rc == 0 && !named) {
		slurm_error("muster: the container was not cleaned up within %d s", CLEANUP_LIMIT / 1000);
		syscall(SYS_pidfd_send_signal, step.hold, SIGKILL, NULL, 0);
	}
	close(step.hold);
}
