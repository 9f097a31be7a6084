/* The options of srun, sbatch and salloc: the names, arguments and rules of Pyxis. */
#define _GNU_SOURCE
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *texts[TEXTS];
static int switches[SWITCHES] = { -1, -1, -1, -1, -1 };

static const struct {
	const char *option, *flag, *variable;
} text_names[TEXTS] = {
	[IMAGE] = { "container-image", "--image", "PYXIS_CONTAINER_IMAGE" },
	[MOUNTS] = { "container-mounts", "--mounts", "PYXIS_CONTAINER_MOUNTS" },
	[WORKDIR] = { "container-workdir", "--workdir", "PYXIS_CONTAINER_WORKDIR" },
	[NAME] = { "container-name", "--name", "PYXIS_CONTAINER_NAME" },
	[SAVE] = { "container-save", "--save", "PYXIS_CONTAINER_SAVE" },
	[ENV] = { "container-env", "--env", "PYXIS_CONTAINER_ENV" },
	[UNSHARE] = { "container-unshare", "--unshare", "PYXIS_CONTAINER_UNSHARE" },
};

static const struct {
	const char *on, *off, *on_flag, *off_flag, *variable, *enroot;
} switch_names[SWITCHES] = {
	[MOUNT_HOME] = { "container-mount-home", "no-container-mount-home", "--mount-home", "--no-mount-home", "PYXIS_CONTAINER_MOUNT_HOME",
		"ENROOT_MOUNT_HOME" },
	[REMAP_ROOT] = { "container-remap-root", "no-container-remap-root", "--remap-root", "--no-remap-root", "PYXIS_CONTAINER_REMAP_ROOT",
		"ENROOT_REMAP_ROOT" },
	[ENTRYPOINT] = { "container-entrypoint", "no-container-entrypoint", "--entrypoint", "--no-entrypoint", "PYXIS_CONTAINER_ENTRYPOINT" },
	[ENTRYPOINT_LOG] = { "container-entrypoint-log", NULL, "--entrypoint-log", NULL, "PYXIS_CONTAINER_ENTRYPOINT_LOG" },
	[WRITABLE] = { "container-writable", "container-readonly", "--writable", "--readonly", "PYXIS_CONTAINER_WRITABLE",
		"ENROOT_ROOTFS_WRITABLE" },
};

static int take_text(int which, const char *arg, int remote);
static int take_switch(int value, const char *arg, int remote);

#define ON(s) (2 * (s) + 1)
#define OFF(s) (2 * (s))

static struct spank_option table[] = {
	{ "container-image", "[USER@][REGISTRY#]IMAGE[:TAG]|PATH",
	  "[muster] run in a container of this image: one of a registry, or a squashfs file that the nodes see", 1, IMAGE, take_text },
	{ "container-mounts", "SRC:DST[:FLAGS][,SRC:DST...]",
	  "[muster] show directories and files of the node in the container; flags are separated with \"+\", such as \"ro+rprivate\"", 1, MOUNTS, take_text },
	{ "container-workdir", "PATH", "[muster] start in this directory of the container", 1, WORKDIR, take_text },
	{ "container-name", "NAME[:auto|create|exec|no_exec]",
	  "[muster] keep the container under this name for later steps; one that exists is used again", 1, NAME, take_text },
	{ "container-save", "PATH", "[muster] save the container to a squashfs file when the step has ended", 1, SAVE, take_text },
	{ "container-mount-home", NULL, "[muster] show the user's home directory in the container", 0, ON(MOUNT_HOME), take_switch },
	{ "no-container-mount-home", NULL, "[muster] do not show the user's home directory in the container", 0, OFF(MOUNT_HOME), take_switch },
	{ "container-remap-root", NULL, "[muster] be root in the container, with no more rights outside of it", 0, ON(REMAP_ROOT), take_switch },
	{ "no-container-remap-root", NULL, "[muster] be oneself in the container", 0, OFF(REMAP_ROOT), take_switch },
	{ "container-entrypoint", NULL, "[muster] run the image's entrypoint first", 0, ON(ENTRYPOINT), take_switch },
	{ "no-container-entrypoint", NULL, "[muster] do not run the image's entrypoint", 0, OFF(ENTRYPOINT), take_switch },
	{ "container-entrypoint-log", NULL, "[muster] show what the entrypoint prints", 0, ON(ENTRYPOINT_LOG), take_switch },
	{ "container-writable", NULL, "[muster] let the container's files be written", 0, ON(WRITABLE), take_switch },
	{ "container-readonly", NULL, "[muster] let the container's files be read only", 0, OFF(WRITABLE), take_switch },
	{ "container-env", "NAME[,NAME...]",
	  "[muster] variables that keep the job's value where the image sets them, too; the entrypoint sees them", 1, ENV, take_text },
	{ "container-unshare", "NS[,NS...]", "[muster] namespaces of the container's own: net, ipc, uts", 1, UNSHARE, take_text },
	SPANK_OPTIONS_TABLE_END
};

/* wrong says what is wrong with an option, in Pyxis's words: scripts look for them. */
static int wrong(int which, const char *what, const char *arg)
{
	slurm_error("muster: --%s: %s%s%s", text_names[which].option, what, arg ? ": " : "", arg ? arg : "");
	return -1;
}

static bool is_path(const char *s) { return *s == '/' || *s == '.'; }

/* check_mount checks SRC[:DST[:FLAGS]], which it takes apart. */
static int check_mount(char *entry)
{
	char *rest = entry, *source = strsep(&rest, ":"), *target = rest ? strsep(&rest, ":") : source;

	if (!*source || !*target)
		return wrong(MOUNTS, "invalid format: an entry is SRC:DST[:FLAGS], and one has nothing in it", NULL);
	if (!is_path(source) && strcmp(source, "tmpfs") && strcmp(source, "umount"))
		return wrong(MOUNTS, "mount source must be a relative path, an absolute path, \"tmpfs\" or \"umount\"", source);
	if (!is_path(target))
		return wrong(MOUNTS, "mount target must be a relative path or an absolute path", target);
	return 0;
}

static int check_element(int which, char *e)
{
	if (which == MOUNTS)
		return check_mount(e);
	if (!*e)
		return wrong(which, which == UNSHARE ? "empty namespace argument" : "invalid format: an entry is empty", NULL);
	if (which == UNSHARE && strcmp(e, "net") && strcmp(e, "ipc") && strcmp(e, "uts")) {
		slurm_error("muster: --container-unshare: unknown namespace '%s': there are net, ipc and uts", e);
		return -1;
	}
	return 0;
}

static bool has_element(const char *list, const char *e)
{
	size_t n = strlen(e);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, e, n) && (at[n] == ',' || !at[n]))
			return true;
	}
	return false;
}

/* add_list adds the elements of a list that are new. */
static int add_list(int which, const char *arg)
{
	char *copy = strdup(arg), *rest = copy, *e, *whole, *longer;
	int rc = copy ? 0 : -1;

	while (!rc && (e = strsep(&rest, ","))) {
		whole = strdup(e);
		rc = whole ? check_element(which, e) : -1;
		if (!rc && !(texts[which] && has_element(texts[which], whole))) {
			rc = asprintf(&longer, "%s%s%s", texts[which] ? texts[which] : "", texts[which] ? "," : "", whole) < 0 ? -1 : 0;
			if (!rc) {
				free(texts[which]);
				texts[which] = longer;
			}
		}
		free(whole);
	}
	free(copy);
	return rc;
}

static int check_name(const char *arg)
{
	const char *flag = strchr(arg, ':');

	if (*arg == ':')
		return wrong(NAME, "empty name", NULL);
	if (flag && flag[1] && strcmp(flag, ":auto") && strcmp(flag, ":create") && strcmp(flag, ":exec") && strcmp(flag, ":no_exec"))
		return wrong(NAME, "flag must be \"auto\", \"create\", \"exec\" or \"no_exec\"", NULL);
	return 0;
}

/* take_text takes an option with an argument. Slurm may give the same one twice. */
static int take_text(int which, const char *arg, int remote)
{
	(void)remote;
	if (!arg || !*arg)
		return wrong(which, "argument required", NULL);
	if (which == MOUNTS || which == ENV || which == UNSHARE)
		return add_list(which, arg);
	if (texts[which] && strcmp(texts[which], arg))
		return slurm_error("muster: --%s specified multiple times", text_names[which].option), -1;
	if (which == SAVE && arg[strlen(arg) - 1] == '/')
		return wrong(which, "target is a directory", arg);
	if (which == NAME && check_name(arg))
		return -1;
	if (!texts[which])
		texts[which] = strdup(arg);
	return texts[which] ? 0 : -1;
}

static int take_switch(int value, const char *arg, int remote)
{
	int which = value / 2, on = value % 2;

	(void)arg, (void)remote;
	if (switches[which] >= 0 && switches[which] != on) {
		slurm_error("muster: both --%s and --%s were specified", switch_names[which].on, switch_names[which].off);
		return -1;
	}
	switches[which] = on;
	return 0;
}

int options_register(spank_t sp)
{
	for (struct spank_option *o = table; o->name; o++) {
		spank_err_t rc = spank_option_register(sp, o);
		if (rc != ESPANK_SUCCESS) {
			slurm_error("muster: register --%s: %s", o->name, spank_strerror(rc));
			return -1;
		}
	}
	return 0;
}

/* variable is one of the job's environment, or of the command's where that is what runs. */
static const char *variable(spank_t sp, const char *name)
{
	static char value[1 << 16];

	if (spank_context() != S_CTX_REMOTE)
		return getenv(name);
	return spank_getenv(sp, name, value, sizeof value) == ESPANK_SUCCESS ? value : NULL;
}

/* truth reads a switch as Pyxis does: 1, 0, or -1 for what is neither. */
static int truth(const char *s)
{
	static const char *const words[] = { "0", "1", "false", "true", "no", "yes", "n", "y" };

	for (size_t i = 0; s && i < sizeof words / sizeof *words; i++)
		if (!strcmp(s, words[i]))
			return i % 2;
	return -1;
}

/* enroot_truth reads a switch as Enroot does: what does not say no says yes; -1 if there is none. */
static int enroot_truth(const char *s)
{
	static const char *const no[] = { "n", "no", "N", "NO", "f", "false", "FALSE" };

	if (!s || !*s)
		return -1;
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (!strcmp(s, no[i]))
			return 0;
	return 1;
}

/* enroot_environment takes Enroot's variables for what neither an option nor Pyxis's variables say. */
static void enroot_environment(spank_t sp)
{
	static const char *const unshare[][2] = { { "net", "ENROOT_UNSHARE_NET" }, { "ipc", "ENROOT_UNSHARE_IPC" }, { "uts", "ENROOT_UNSHARE_UTS" } };
	bool given = texts[UNSHARE] != NULL;

	for (int i = 0; i < SWITCHES; i++)
		if (switches[i] < 0 && switch_names[i].enroot)
			switches[i] = enroot_truth(variable(sp, switch_names[i].enroot));
	for (size_t i = 0; !given && i < sizeof unshare / sizeof *unshare; i++)
		if (enroot_truth(variable(sp, unshare[i][1])) == 1)
			add_list(UNSHARE, unshare[i][0]);
}

void options_environment(spank_t sp)
{
	const char *value;
	int on;

	for (int i = 0; i < TEXTS; i++)
		if (!texts[i] && (value = variable(sp, text_names[i].variable)))
			take_text(i, value, 0);
	for (int i = 0; i < SWITCHES; i++)
		if (switches[i] < 0)
			switches[i] = truth(variable(sp, switch_names[i].variable));
	if (switches[WRITABLE] < 0 && (on = truth(variable(sp, "PYXIS_CONTAINER_READONLY"))) >= 0)
		switches[WRITABLE] = !on;
	if (texts[IMAGE] || texts[NAME])
		enroot_environment(sp);
}

bool options_enabled(void)
{
	static const char why[] = "because neither --container-image nor --container-name is set";

	if (texts[IMAGE] || texts[NAME])
		return true;
	for (int i = 0; i < TEXTS; i++)
		if (texts[i])
			slurm_error("muster: ignoring --%s %s", text_names[i].option, why);
	for (int i = 0; i < SWITCHES; i++)
		if (switches[i] >= 0)
			slurm_error("muster: ignoring --%s %s", switches[i] ? switch_names[i].on : switch_names[i].off ? switch_names[i].off : switch_names[i].on, why);
	return false;
}

const char *option_text(int which) { return texts[which]; }

size_t options_flags(const struct config *c, char **argv)
{
	size_t n = 0;

	if (switches[ENTRYPOINT] < 0)
		switches[ENTRYPOINT] = c->entrypoint;
	for (int i = 0; i < TEXTS; i++)
		if (texts[i]) {
			argv[n++] = (char *)text_names[i].flag;
			argv[n++] = texts[i];
		}
	for (int i = 0; i < SWITCHES; i++)
		if (switches[i] >= 0 && (switches[i] || switch_names[i].off_flag))
			argv[n++] = (char *)(switches[i] ? switch_names[i].on_flag : switch_names[i].off_flag);
	return n;
}

/* value is what follows KEY= in an argument, NULL if the argument is another. */
static const char *value_of(const char *arg, const char *key)
{
	size_t n = strlen(key);

	return strncmp(arg, key, n) || arg[n] != '=' ? NULL : arg + n + 1;
}

static int read_argument(struct config *c, const char *arg)
{
	const char *v;

	if ((v = value_of(arg, "muster")) && *v == '/' && strlen(v) < sizeof c->muster) {
		strcpy(c->muster, v);
		return 0;
	}
	if ((v = value_of(arg, "container_scope")) && (!strcmp(v, "job") || !strcmp(v, "global"))) {
		c->job_scope = !strcmp(v, "job");
		return 0;
	}
	if ((v = value_of(arg, "execute_entrypoint")) && truth(v) >= 0) {
		c->entrypoint = truth(v);
		return 0;
	}
	if ((v = value_of(arg, "sbatch_support")) && truth(v) >= 0) {
		c->sbatch = truth(v);
		return 0;
	}
	slurm_error("muster: plugstack.conf: %s is none of muster=PATH, container_scope=job|global, execute_entrypoint=yes|no, sbatch_support=yes|no", arg);
	return -1;
}

int config_read(struct config *c, int ac, char **av)
{
	*c = (struct config){ .muster = "/opt/muster/bin/muster", .job_scope = true, .sbatch = true };
	for (int i = 0; i < ac; i++)
		if (read_argument(c, av[i]))
			return -1;
	return 0;
}
