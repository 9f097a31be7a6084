/*
 * The SPANK plugin: options of srun, sbatch and salloc that run a step in a container. It parses them, starts
 * `muster container hold`, which makes the container, and has the step's tasks join it. See spank(7).
 *
 *   slurmstepd ── user_init ── starts hold, keeps one end of the life socket ── last task_exit closes it, waits for hold
 *        └─ task ── task_init ── reads hold's answer (the first task does, the others find it) ── setns ── exec
 *
 * Hold ends the container when the life socket closes, however slurmstepd ended. Tasks wait for the answer instead of
 * slurmstepd, so that a step can be cancelled while its image is imported.
 */
#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>

SPANK_PLUGIN(muster, 1)

/* How long hold may take to clean up a container, in milliseconds. */
#define CLEANUP_LIMIT 10000
/* And for one with a name, which may live on for another step. */
#define NAMED_LIMIT 1000

/* shared is memory that slurmstepd, hold's parent and the tasks have in common. */
struct shared {
	pid_t hold;
	unsigned joined; /* tasks that are in the container */
	bool no_srun;    /* the container has no srun */
};

static struct {
	bool enabled, failed;
	struct config config;
	uint32_t job, id, tasks, ended;
	int life, answer, record, hold;
	struct shared *shared;
} step = { .life = -1, .answer = -1, .record = -1, .hold = -1 };

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	spank_context_t in = spank_context();

	if (in != S_CTX_LOCAL && in != S_CTX_ALLOCATOR && in != S_CTX_REMOTE && in != S_CTX_SLURMD)
		return 0;
	if (config_read(&step.config, ac, av))
		return -1;
	if (in == S_CTX_SLURMD || (in == S_CTX_ALLOCATOR && !step.config.sbatch))
		return 0;
	return options_register(sp);
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (spank_context() == S_CTX_ALLOCATOR && !step.config.sbatch)
		return 0;
	options_environment(sp);
	step.enabled = options_enabled();
	return 0;
}

static int item(spank_t sp, spank_item_t which, const char *name, void *into)
{
	spank_err_t rc = spank_get_item(sp, which, into);

	if (rc == ESPANK_SUCCESS)
		return 0;
	slurm_error("muster: ask Slurm for the %s: %s", name, spank_strerror(rc));
	return -1;
}

/* number returns an allocated number as text. */
static char *number(unsigned n)
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
	line[n++] = step.config.muster, line[n++] = "container", line[n++] = "hold";
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

/* kept tells whether a variable of the job's is for hold, too: not what changes how programs of root's run. */
static bool kept(const char *v)
{
	return strncmp(v, "PATH=", 5) && strncmp(v, "LD_", 3) && strncmp(v, "GODEBUG=", 8) && strncmp(v, "GOTRACEBACK=", 12);
}

/* hold_environment is the job's environment with a PATH that the user has no say in. */
static char **hold_environment(spank_t sp)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char **job, **env;
	size_t n = 0, kept_count = 1;

	if (item(sp, S_JOB_ENV, "job's environment", &job))
		return NULL;
	while (job[n])
		n++;
	if (!(env = calloc(n + 2, sizeof *env)))
		return NULL;
	env[0] = path;
	for (size_t i = 0; i < n; i++)
		if (kept(job[i]))
			env[kept_count++] = job[i];
	return env;
}

/*
 * become_hold turns the child of slurmstepd, which has threads, into hold: only calls that are safe after fork.
 * Its first answers go to standard error, which is the step's.
 */
static void become_hold(int answer, int life, char **line, char **env)
{
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
	null = open("/dev/null", O_RDWR);
	if (answer < 0 || life < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(answer, 3) < 0 || dup2(life, 4) < 0)
		_exit(126);
	syscall(SYS_close_range, 5, ~0U, 0);
	execve(line[0], line, env);
	_exit(127);
}

/* launch starts hold as nobody's child: slurmstepd would wait for it as for a task, and end it as one. */
static int launch(int answer, int life, char **line, char **env)
{
	int status;
	pid_t parent = fork();

	if (parent == 0) {
		setsid();
		pid_t hold = fork();
		if (hold == 0)
			become_hold(answer, life, line, env);
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

static int start_hold(spank_t sp)
{
	int answer[2], life[2];
	char **line, **env;

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
	line = hold_line(sp), env = hold_environment(sp);
	int rc = line && env ? launch(answer[1], life[1], line, env) : -1;
	close(answer[1]), close(life[1]);
	return rc;
}

/* slurm_spank_user_init runs in slurmstepd. srun would not learn of its error, so the tasks fail instead. */
int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (step.enabled && spank_context() == S_CTX_REMOTE)
		step.failed = start_hold(sp) < 0;
	return 0;
}

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
static char *answer(size_t *size, bool *first)
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

/* cursor goes through the NUL-separated fields of an answer. */
struct cursor { char *at, *end; };

static char *field(struct cursor *c)
{
	char *f = c->at;

	if (f >= c->end)
		return NULL;
	c->at += strlen(f) + 1;
	return f;
}

/* join enters the namespaces of a process, the list's names apart by commas, user first. */
static int join(const char *pid, char *list)
{
	char path[64], *name;
	int fd[8], n = 0;

	/* All are opened before the first is entered: afterwards /proc is the container's. */
	for (; n < 8 && (name = strsep(&list, ",")); n++) {
		snprintf(path, sizeof path, "/proc/%s/ns/%s", pid, name);
		if ((fd[n] = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
			slurm_error("muster: the container ended before the task could join it: %s: %s", path, strerror(errno));
			return -1;
		}
	}
	for (int i = 0; i < n; i++) {
		if (setns(fd[i], 0)) {
			slurm_error("muster: join the container's namespaces: %s", strerror(errno));
			return -1;
		}
		close(fd[i]);
	}
	return 0;
}

/* filter has the kernel answer system calls as hold's seccomp filter says; hex is an array of struct sock_filter. */
static int filter(const char *hex)
{
	size_t size = strlen(hex) / 2;
	uint8_t *code = malloc(size + 1);
	struct sock_fprog program = { .len = size / sizeof(struct sock_filter), .filter = (void *)code };

	for (size_t i = 0; code && i < size; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &code[i]) != 1)
			return -1;
	if (!code || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (size && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program))
		return -1;
	free(code);
	return 0;
}

/* set_environment takes K=V to set, -K to unset, and !TEXT, which is for the user. */
static int set_environment(spank_t sp, struct cursor *c, bool first)
{
	for (char *e; (e = field(c));) {
		char *value = strchr(e, '=');
		if (*e == '-')
			spank_unsetenv(sp, e + 1);
		if (*e == '!' && first)
			slurm_spank_log("muster: %s", e + 1);
		if (*e == '-' || *e == '!')
			continue;
		if (!value)
			continue;
		*value++ = 0;
		if (spank_setenv(sp, e, value, 1) != ESPANK_SUCCESS) {
			slurm_error("muster: set %s of the container's environment", e);
			return -1;
		}
	}
	return 0;
}

static void copy_variable(spank_t sp, const char *from, const char *to)
{
	char value[32];

	if (spank_getenv(sp, from, value, sizeof value) == ESPANK_SUCCESS)
		spank_setenv(sp, to, value, 1);
}

/* set_ranks gives a task of a PyTorch image its rank as torch.distributed reads it. */
static void set_ranks(spank_t sp)
{
	char version[256];

	if (spank_getenv(sp, "PYTORCH_VERSION", version, sizeof version) == ESPANK_ENV_NOEXIST)
		return;
	copy_variable(sp, "SLURM_PROCID", "RANK");
	copy_variable(sp, "SLURM_LOCALID", "LOCAL_RANK");
}

/* has_program tells whether the PATH, which is the container's, leads to a program. */
static bool has_program(spank_t sp, const char *name)
{
	char path[8192], file[PATH_MAX], *rest = path, *dir;

	if (spank_getenv(sp, "PATH", path, sizeof path) != ESPANK_SUCCESS)
		return false;
	while ((dir = strsep(&rest, ":")))
		if (snprintf(file, sizeof file, "%s/%s", dir, name) < (int)sizeof file && !access(file, X_OK))
			return true;
	return false;
}

static int enter(spank_t sp, struct cursor *c, bool first)
{
	char *pid = field(c), *namespaces = field(c), *workdir = field(c), *seccomp = field(c);

	if (!pid || !namespaces || !workdir || !seccomp) {
		slurm_error("muster: %s gave half an answer", step.config.muster);
		return -1;
	}
	if (set_environment(sp, c, first) || join(pid, namespaces))
		return -1;
	if (chdir(workdir)) {
		slurm_error("muster: the container has no directory %s that you may enter: %s", workdir, strerror(errno));
		return -1;
	}
	set_ranks(sp);
	step.shared->no_srun = step.id == SLURM_BATCH_SCRIPT && !has_program(sp, "srun");
	if (filter(seccomp)) {
		slurm_error("muster: set the container's seccomp filter: %s", strerror(errno));
		return -1;
	}
	__atomic_add_fetch(&step.shared->joined, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* refuse says once for all tasks why there is no container. */
static int refuse(struct cursor *c, bool first)
{
	char *what = field(c), *hint = what ? field(c) : NULL;

	if (first)
		slurm_error("muster: %s", what && *what ? what : "the container could not be made, and what was to make it did not say why");
	if (first && hint && *hint)
		slurm_error("muster: %s", hint);
	return -1;
}

/* slurm_spank_task_init runs as the user, in a process of its own that becomes the task. */
int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	size_t size;
	bool first = true;

	if (!step.enabled)
		return 0;
	if (step.life >= 0)
		close(step.life);
	if (step.failed)
		return -1;
	char *text = answer(&size, &first);
	struct cursor c = { text, text ? text + size : NULL };
	char *kind = field(&c);
	return kind && !strcmp(kind, "ok") ? enter(sp, &c, first) : refuse(&c, first);
}

/* save has hold save the container, and says how that went. */
static int save(void)
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
static void finish(void)
{
	struct pollfd hold = { .fd = step.hold, .events = POLLIN };
	bool named = option_text(NAME) != NULL;
	int rc = 1;

	close(step.life);
	step.life = -1;
	while (hold.fd >= 0 && (rc = poll(&hold, 1, named ? NAMED_LIMIT : CLEANUP_LIMIT)) < 0 && errno == EINTR)
		;
	if (rc == 0 && !named) {
		slurm_error("muster: the container was not cleaned up within %d s", CLEANUP_LIMIT / 1000);
		syscall(SYS_pidfd_send_signal, step.hold, SIGKILL, NULL, 0);
	}
	close(step.hold);
}

/* explain says what a batch script lacked that ran in a container and did not find a program. */
static void explain(spank_t sp)
{
	const char *image = option_text(IMAGE), *mounts = option_text(MOUNTS);
	int status;

	if (!step.shared || !step.shared->no_srun || spank_get_item(sp, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
		return;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 127)
		return;
	slurm_error("muster: the batch script ran in the container, whose image has no srun or scontrol. Let the script run outside of it, "
		    "without #SBATCH --container-..., and start in the container what belongs there:");
	slurm_error("muster:     srun --container-image=%s %s%s COMMAND", image ? image : "IMAGE", mounts ? "--container-mounts=" : "", mounts ? mounts : "");
}

/* slurm_spank_task_exit runs in slurmstepd for each task. */
int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (!step.enabled)
		return 0;
	int rc = 0;
	explain(sp);
	if (++step.ended == step.tasks && step.life >= 0) {
		rc = save();
		finish();
	}
	return rc;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)sp, (void)ac, (void)av;
	if (spank_context() == S_CTX_REMOTE && step.life >= 0)
		finish(); /* a step whose tasks never were */
	return 0;
}

/* slurm_spank_job_epilog removes the containers that the job named. */
int slurm_spank_job_epilog(spank_t sp, int ac, char **av)
{
	uint32_t job;
	int status = -1;
	pid_t child;

	if (config_read(&step.config, ac, av))
		return -1;
	if (!step.config.job_scope)
		return 0;
	if (item(sp, S_JOB_ID, "job's number", &job))
		return -1;
	char *line[] = { step.config.muster, "container", "remove", "--job", number(job), getuid() ? NULL : "--all-users", NULL };
	char *env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	if (!(child = fork())) {
		execve(line[0], line, env);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status) /* no reason to lose the node: Slurm would drain it */
		slurm_error("muster: remove the containers of job %u: %s ended with status %d", job, line[0], status);
	return 0;
}
