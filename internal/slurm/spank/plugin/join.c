/* How a task joins the container that hold made. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
static int set_environment(spank_t sp, struct cursor *c, bool speak)
{
	for (char *e; (e = field(c));) {
		char *value = strchr(e, '=');
		if (*e == '-')
			spank_unsetenv(sp, e + 1);
		if (*e == '!' && speak)
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

/* copy_variable gives a task a variable by another name, too. */
static void copy_variable(spank_t sp, const char *from, const char *to, int overwrite)
{
	char value[256];

	if (spank_getenv(sp, from, value, sizeof value) == ESPANK_SUCCESS)
		spank_setenv(sp, to, value, overwrite);
}

/* set_ranks gives a task of a PyTorch image its rank as torch.distributed reads it. */
static void set_ranks(spank_t sp)
{
	char version[256];

	if (spank_getenv(sp, "PYTORCH_VERSION", version, sizeof version) == ESPANK_ENV_NOEXIST)
		return;
	copy_variable(sp, "SLURM_PROCID", "RANK", 1);
	copy_variable(sp, "SLURM_LOCALID", "LOCAL_RANK", 1);
}

/* set_pmix tells the container's PMIx, which may have other ways than the node's, which ones Slurm's has. */
static void set_pmix(spank_t sp)
{
	copy_variable(sp, "PMIX_SECURITY_MODE", "PMIX_MCA_psec", 0);
	copy_variable(sp, "PMIX_GDS_MODULE", "PMIX_MCA_gds", 0);
	copy_variable(sp, "PMIX_PTL_MODULE", "PMIX_MCA_ptl", 0);
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

int enter(spank_t sp, struct cursor *c, bool speak)
{
	char *pid = field(c), *namespaces = field(c), *workdir = field(c), *seccomp = field(c);

	if (!pid || !namespaces || !workdir || !seccomp) {
		slurm_error("muster: %s gave half an answer", step.config.muster);
		return -1;
	}
	if (set_environment(sp, c, speak) || join(pid, namespaces))
		return -1;
	if (chdir(workdir)) {
		slurm_error("muster: the container has no directory %s that you may enter: %s", workdir, strerror(errno));
		return -1;
	}
	set_ranks(sp);
	set_pmix(sp);
	step.shared->no_srun = step.id == SLURM_BATCH_SCRIPT && !has_program(sp, "srun");
	if (filter(seccomp)) {
		slurm_error("muster: set the container's seccomp filter: %s", strerror(errno));
		return -1;
	}
	__atomic_add_fetch(&step.shared->joined, 1, __ATOMIC_SEQ_CST);
	return 0;
}
