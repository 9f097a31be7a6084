/* How `muster container hold` is started. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
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
	line[n++] = step.config.muster, line[n++] = "container", line[n++] = "hold", line[n++] = "--environ";
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
 * become_hold turns the child of slurmstepd, which has threads, into hold: only calls that are safe after fork.
 * What it prints goes to the step's standard error.
 */
static void become_hold(int answer, int life, int environment, char **line)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *env[] = { path, NULL };
	sigset_t none;
	int null, oom;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	if (!getuid() && (syscall(SYS_setresuid, 0, 0, 0) || syscall(SYS_setresgid, 0, 0, 0) || syscall(SYS_setgroups, 0, NULL)))
		_exit(126);
	if ((oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)) >= 0 && write(oom, "0", 1) < 0)
		close(oom); /* slurmstepd's own protection stays, which harms nobody */
	answer = fcntl(answer, F_DUPFD, 10);
	life = fcntl(life, F_DUPFD, 10);
	environment = fcntl(environment, F_DUPFD, 10);
	null = open("/dev/null", O_RDWR);
	if (answer < 0 || life < 0 || environment < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(answer, 3) < 0 ||
	    dup2(life, 4) < 0 || dup2(environment, 5) < 0)
		_exit(126);
	syscall(SYS_close_range, 6, ~0U, 0);
	execve(line[0], line, env);
	_exit(127);
}

/* launch starts hold as nobody's child: slurmstepd would wait for it as for a task, and end it as one. */
static int launch(int answer, int life, int environment, char **line)
{
	int status;
	pid_t parent = fork();

	if (parent == 0) {
		setsid();
		pid_t hold = fork();
		if (hold == 0)
			become_hold(answer, life, environment, line);
		step.shared->hold = hold;
		_exit(hold < 0);
	}
	while (parent > 0 && waitpid(parent, &status, 0) < 0 && errno == EINTR)
		;
	if (parent < 0 || status != 0) {
		slurm_error("muster: start %s: no process could be made", line[0]);
		return -1;
	}
	step.hold = syscall(SYS_pidfd_open, step.shared->hold, 0);
	return 0;
}

int start_hold(spank_t sp)
{
	int answer[2], life[2], environment;
	char **line;

	if (item(sp, S_JOB_ID, "job's number", &step.job) || item(sp, S_JOB_STEPID, "step's number", &step.id) ||
	    item(sp, S_JOB_LOCAL_TASK_COUNT, "number of tasks", &step.tasks))
		return -1;
	if (access(step.config.muster, X_OK)) {
		slurm_error("muster: %s: %s; plugstack.conf names it, as muster=PATH", step.config.muster, strerror(errno));
		return -1;
	}
	step.shared = mmap(NULL, sizeof *step.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	step.record = memfd_create("muster-answer", MFD_CLOEXEC);
	if (step.shared == MAP_FAILED || step.record < 0 || pipe2(answer, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life)) {
		slurm_error("muster: %s", strerror(errno));
		return -1;
	}
	step.answer = answer[0], step.life = life[0];
	line = hold_line(sp), environment = job_environ(sp);
	int rc = line && environment >= 0 ? launch(answer[1], life[1], environment, line) : -1;
	close(answer[1]), close(life[1]), close(environment);
	return rc;
}
