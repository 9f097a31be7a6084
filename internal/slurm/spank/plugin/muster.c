/*
 * The SPANK plugin: options of srun, sbatch and salloc that run a step in a container. It parses them, starts
 * `muster container hold`, which makes the container, and has the step's tasks join it. See spank(7).
 *
 *   slurmstepd ── init_post_opt ── starts hold, keeps one end of the life socket
 *        │        user_init ── gives hold its orders ──────────── last task_exit closes the socket, waits for hold
 *        └─ task ── task_init ── reads hold's answer (the first task does, the others find it) ── setns ── exec
 *
 * Slurm takes some milliseconds between the first two, and hold takes as many until it can take orders.
 * Hold ends the container when the life socket closes, however slurmstepd ended. Tasks wait for the answer instead of
 * slurmstepd, so that a step can be cancelled while its image is imported.
 */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(muster, 1)

struct step step = { .life = -1, .orders = -1, .answer = -1, .record = -1, .hold = -1 };

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
	if (step.enabled && spank_context() == S_CTX_REMOTE)
		start_hold(sp); /* what it says here is for slurmd's log; user_init tries again */
	return 0;
}

/*
 * slurm_spank_user_init runs in slurmstepd, when the step's streams are there. srun would not learn of its error, so the
 * tasks fail instead.
 */
int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (step.enabled && spank_context() == S_CTX_REMOTE)
		step.failed = (step.life < 0 && start_hold(sp) < 0) || order_hold(sp) < 0;
	return 0;
}

/* contain has the task join the step's container, or says why it cannot. */
static int contain(spank_t sp)
{
	size_t size;
	bool first = true;

	if (step.life >= 0)
		close(step.life);
	if (step.failed)
		return -1;
	/* Slurm's signals, of which scancel's is one, pass by what is called slurmstepd (kill_tree.c of 22.05). */
	prctl(PR_SET_NAME, "muster-task");
	char *text = answer(&size, &first);
	struct cursor c = { text, text ? text + size : NULL };
	char *kind = field(&c);
	return kind && !strcmp(kind, "ok") ? enter(sp, &c, first) : refuse(&c, first);
}

/*
 * slurm_spank_task_init runs as the user, in a process of its own that becomes the task. Where that has no container it
 * ends here, as Slurm would end it, which adds two lines about its plugins to what the user was told.
 */
int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac, (void)av;
	if (step.enabled && contain(sp))
		_exit(1);
	return 0;
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
