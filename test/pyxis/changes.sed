# What has to be changed in Pyxis' tests so that they ask our cluster: sed -E, with REGISTRY for its registry.

# Images are in that registry. In a line of sbatch's, # would begin a comment.
s,^(#SBATCH --container-image=)([a-z]),\1REGISTRY/\2,
/^#SBATCH/!s,(--container-image[= ]|PYXIS_CONTAINER_IMAGE=)(docker\.io|nvcr\.io|gcr\.io|registry\.gitlab\.com)([#/]),\1REGISTRY\3,
/^#SBATCH/!s,(--container-image[= ]|PYXIS_CONTAINER_IMAGE=)([a-z][a-z0-9/_-]*[:@][^/]|thisimagedoesntexist),\1REGISTRY#\2,g
s,(docker|dockerd)://([a-z]),\1://REGISTRY#\2,
s,(import docker image: )(thisimage),\1REGISTRY#\2,

# One image is asked for by a digest that only the original has: what counts is that its layers are of zstd.
s,(rapidsai/devcontainers)@sha256:[0-9a-f]+,\1:zstd,

# Images of the tests of MPI have more in them, so that others start sooner.
s,(image=REGISTRY#ubuntu)(:.*--container-name=\$\{name\} true),\1-mpi\2,

# PMIx compares the number that a user has in the container with that outside, so programs of MPI are not root in there.
s,--mpi=pmix --ntasks=4 --container-name="\$\{name\}",--no-container-remap-root &,

# Pyxis says two lines about each image before what the job prints.
s,lines\[2\],lines[-2],
s,lines\[3\],lines[-1],
