/* How `muster container hold` is started. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int item(spank_t sp, spank_item_t which, const char *name, void *into)
{
	spank_err_t rc = spank_get_item(sp, which, into);

	if (rc == ESPANK_SUCCESS)
		return 0;
	slurm_error("muster: ask Slurm for the %s: %s", name, spank_strerror(rc));
	return -1;
}

/* number returns an allocated number as text. */
char *number(unsigned n)
{
	char *s;

	return asprintf(&s, "%u", n) < 0 ? NULL : s;
}

static char *group_list(const gid_t *groups, int n)
{
	char *list = calloc(n + 1, 11), *at = list;

	for (int i = 0; list && i < n; i++)
		at += sprintf(at, i ? ",%u" : "%u", groups[i]);
	return list;
}

/* script_mount shows the batch script, which lies where slurmd put it, in the container. */
static char *script_mount(const char *script)
{
	char *s;

	return asprintf(&s, "%s:%s:x-create=file+bind+ro+nosuid+nodev+private", script, script) < 0 ? NULL : s;
}

/* hold_line is hold's command line: what the user asked for and whose job it is. */
static char **hold_line(spank_t sp)
{
	char **line = calloc(20 + FLAGS, sizeof *line), **argv = NULL;
	size_t n = 0;
	uid_t uid;
	gid_t gid, *groups = NULL;
	int count = 0;

	if (!line || item(sp, S_JOB_UID, "job's user", &uid) || item(sp, S_JOB_GID, "job's group", &gid))
		return NULL;
	line[n++] = step.config.muster, line[n++] = "container", line[n++] = "hold", line[n++] = "--orders";
	if (step.config.job_scope)
		line[n++] = "--job", line[n++] = number(step.job);
	n += options_flags(&step.config, line + n);
	if (step.id == SLURM_BATCH_SCRIPT) {
		if (spank_get_item(sp, S_JOB_ARGV, &count, &argv) != ESPANK_SUCCESS || count < 1)
			return slurm_error("muster: ask Slurm for the batch script"), NULL;
		line[n++] = "--mounts", line[n++] = script_mount(argv[0]);
	}
	if (getuid())
		return line;
	/* The container is made with root's help, and belongs to the user. */
	if (spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &groups, &count) != ESPANK_SUCCESS)
		return slurm_error("muster: ask Slurm for the user's groups"), NULL;
	line[n++] = "--user", line[n++] = number(uid);
	line[n++] = "--group", line[n++] = number(gid);
	line[n++] = "--groups", line[n++] = group_list(groups, count);
	return line;
}

/* write_environ writes an environment's variables to a file, but those of a name that another is given for. */
static int write_environ(int file, char **env, const char *name, const char *other)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (!(other && !strncmp(*env, name, n) && (*env)[n] == '=') && dprintf(file, "%s%c", *env, 0) < 0)
			return -1;
	return other && dprintf(file, "%s=%s%c", name, other, 0) < 0 ? -1 : 0;
}

/*
 * job_environ is a file in memory with the job's environment. It is nothing that root's programs are to run with, so hold
 * does not get it as its own. PMIx tells tasks its directory; slurmstepd, which made it, has it in its own environment.
 */
static int job_environ(spank_t sp)
{
	static const char pmix[] = "PMIX_SERVER_TMPDIR";
	char **env;
	int file = memfd_create("muster-environment", MFD_CLOEXEC);

	if (file >= 0 && !item(sp, S_JOB_ENV, "job's environment", &env) && !write_environ(file, env, pmix, getenv(pmix)) && !lseek(file, 0, SEEK_SET))
		return file;
	slurm_error("muster: tell the job's environment: %s", strerror(errno));
	if (file >= 0)
		close(file);
	return -1;
}

/*
 * become_hold turns a child of slurmstepd, with which it shares all memory until then, into hold: it only makes system calls.
 * No handler of slurmstepd's may run here, so signals are let in last.
 */
static void become_hold(const int files[3], char **line)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *env[] = { path, NULL };
	sigset_t none;
	int null, oom, high[3];

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!getuid() && (syscall(SYS_setresuid, 0, 0, 0) || syscall(SYS_setresgid, 0, 0, 0) || syscall(SYS_setgroups, 0, NULL)))
		_exit(126);
	if ((oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)) >= 0 && write(oom, "0", 1) < 0)
		close(oom); /* slurmstepd's own protection stays, which harms nobody */
	null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		_exit(126);
	for (int i = 0; i < 3; i++)
		if ((high[i] = fcntl(files[i], F_DUPFD, 10)) < 0)
			_exit(126);
	for (int i = 0; i < 3; i++)
		if (dup2(high[i], 3 + i) < 0)
			_exit(126);
	syscall(SYS_close_range, 6, ~0U, 0);
	execve(line[0], line, env);
	_exit(127);
}

/*
 * launch starts hold as nobody's child: slurmstepd would wait for it as for a task, and end it as one. Nothing of slurmstepd's
 * memory is copied, which would take longer than all the rest.
 */
static int launch(const int files[3], char **line)
{
	sigset_t all, old;
	int status;
	volatile pid_t hold = -1;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t parent = vfork();
	if (parent == 0) {
		setsid();
		pid_t child = vfork();
		if (child == 0)
			become_hold(files, line);
		hold = child;
		_exit(child < 0);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	while (parent > 0 && waitpid(parent, &status, 0) < 0 && errno == EINTR)
		;
	if (parent < 0 || hold < 0) {
		slurm_error("muster: start %s: no process could be made", line[0]);
		return -1;
	}
	step.hold = syscall(SYS_pidfd_open, hold, 0);
	return 0;
}

int start_hold(spank_t sp)
{
	int answer[2], life[2], orders[2];
	char **line;

	if (item(sp, S_JOB_ID, "job's number", &step.job) || item(sp, S_JOB_STEPID, "step's number", &step.id) ||
	    item(sp, S_JOB_LOCAL_TASK_COUNT, "number of tasks", &step.tasks))
		return -1;
	if (step.id == SLURM_EXTERN_CONT) { /* it has no tasks */
		step.enabled = false;
		return 0;
	}
	if (access(step.config.muster, X_OK)) {
		slurm_error("muster: %s: %s; plugstack.conf names it, as muster=PATH", step.config.muster, strerror(errno));
		return -1;
	}
	step.shared = mmap(NULL, sizeof *step.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	step.record = memfd_create("muster-answer", MFD_CLOEXEC);
	if (step.shared == MAP_FAILED || step.record < 0 || pipe2(answer, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders)) {
		slurm_error("muster: %s", strerror(errno));
		return -1;
	}
	line = hold_line(sp);
	int rc = line ? launch((int[]){ answer[1], life[1], orders[1] }, line) : -1;
	close(answer[1]), close(life[1]), close(orders[1]);
	if (rc)
		close(answer[0]), close(life[0]), close(orders[0]);
	else
		step.answer = answer[0], step.life = life[0], step.orders = orders[0];
	return rc;
}

/* send_orders sends the umask and the working directory, with the environment and the step's standard error as open files. */
static int send_orders(int environment)
{
	char dir[PATH_MAX], word[PATH_MAX + 16];
	union { struct cmsghdr head; char room[CMSG_SPACE(2 * sizeof(int))]; } control = { 0 };
	struct iovec part = { .iov_base = word };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };

	mode_t mask = umask(077); /* there is no other way to ask */
	umask(mask);
	if (!getcwd(dir, sizeof dir))
		return -1;
	part.iov_len = snprintf(word, sizeof word, "%o %s", mask, dir);
	control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(2 * sizeof(int)) };
	memcpy(CMSG_DATA(&control.head), (int[]){ environment, STDERR_FILENO }, 2 * sizeof(int));
	return sendmsg(step.orders, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int order_hold(spank_t sp)
{
	int environment = job_environ(sp);
	int rc = environment < 0 ? -1 : send_orders(environment);

	if (rc && environment >= 0 && (errno == EPIPE || errno == ECONNRESET))
		rc = 0; /* it has ended, for what its command line says: its answer tells the tasks why */
	else if (rc && environment >= 0)
		slurm_error("muster: tell %s what to do: %s", step.config.muster, strerror(errno));
	close(environment), close(step.orders);
	step.orders = -1;
	return rc;
}
