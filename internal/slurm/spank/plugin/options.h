/* What the users of srun, sbatch and salloc ask for, and what plugstack.conf says. */
#ifndef MUSTER_OPTIONS_H
#define MUSTER_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <slurm/spank.h>

#pragma GCC visibility push(hidden)

enum { IMAGE, MOUNTS, WORKDIR, NAME, SAVE, ENV, UNSHARE, TEXTS };
enum { MOUNT_HOME, REMAP_ROOT, ENTRYPOINT, ENTRYPOINT_LOG, WRITABLE, SWITCHES };

/* config is what the plugin's line in plugstack.conf says. */
struct config {
	char muster[PATH_MAX];
	bool job_scope, entrypoint, sbatch;
};

/* Each returns -1 after it has said what is wrong. */
int config_read(struct config *c, int ac, char **av);
int options_register(spank_t sp);

/* options_environment takes PYXIS_CONTAINER_*, and Enroot's variables of the same meaning, for what was not given. */
void options_environment(spank_t sp);

/* options_enabled tells whether a container is wanted. Options that need one and have none are named. */
bool options_enabled(void);

/* option_text is an option's argument, NULL if it was not given. */
const char *option_text(int which);

/* options_flags writes the options as flags of `muster container hold`; it needs at most FLAGS entries. */
enum { FLAGS = 2 * TEXTS + SWITCHES };
size_t options_flags(const struct config *c, char **argv);

#pragma GCC visibility pop
#endif
