package cli

import (
	"slices"
	"strings"
)

// ofOthers says what muster has for a word of another tool's: Slurm's, pcluster's,
// SkyPilot's, docker's, kubectl's. It is empty for a word of none of them.
func ofOthers(command, word string) string {
	for _, line := range theirs(command) {
		if words, ours, _ := strings.Cut(line, ": "); slices.Contains(strings.Fields(words), word) {
			return strings.ReplaceAll(ours, theWord, word)
		}
	}
	return ""
}

// theWord stands for the other tool's word in answers to several words.
const theWord = "THEIRS"

// theirs are lines with words of other tools, and what muster has instead.
func theirs(command string) []string {
	switch command {
	case "muster":
		return theirCommands()
	case "muster job":
		return []string{
			"ls ps queue squeue: `muster job list` lists jobs",
			"status info describe inspect get: `muster job show ID` shows a job",
			"log tail output attach follow: `muster job logs ID` shows a job's output, with -f it follows",
			"kill delete stop rm remove scancel end: `muster job cancel ID` ends a job",
			"run create start sbatch: `muster job submit FILE` submits a script, `muster run FILE` also follows it",
		}
	case "muster node":
		return []string{
			"list ls ps show status info describe get: `muster nodes` lists the nodes",
			"stop terminate delete rm remove reboot: `muster node kill NAME` pulls the plug, `muster exec scontrol reboot NAME` is Slurm's",
			"drain resume cordon update: `muster exec -- scontrol update NodeName=NAME State=DRAIN Reason=WHY` is Slurm's",
			"shell exec login ssh: `muster exec --node NAME -- COMMAND` runs a command on a node",
		}
	case "muster fleet":
		return []string{"status show list ls: `muster status` shows the nodes and whether the fleet runs, `muster nodes` each node"}
	case "muster image":
		return []string{
			"ls ps show-all: `muster image list` lists images",
			"pull add: `muster image import URI` takes an image from a registry",
			"rm delete rmi: `muster image remove NAME` removes an image",
			"show describe info: `muster image inspect NAME` says what is in an image",
		}
	case "muster data":
		return theirData()
	case "muster container":
		return []string{
			"ls ps: `muster container list` lists containers",
			"rm delete stop kill: `muster container remove NAME` ends a container and removes it",
			"exec start create: `muster container run` runs a command in an image",
			"images pull build: `muster image` is about images",
		}
	}
	return nil
}

// theirData are those of AWS's, s5cmd's and find's.
func theirData() []string {
	return []string{
		"cp sync copy mv put get upload download fetch mb: `muster data push DIR s3://BUCKET/PREFIX` brings a directory there, `muster data pull s3://BUCKET/PREFIX DIR` brings it back",
		"check validate diff md5 compare: `muster data verify s3://BUCKET/PREFIX` proves what is in a bucket",
		"rm delete del tidy prune sweep: `muster data clean ROOT` lists old temporary files and deletes them",
	}
}

// theirCommands are those in place of our first word.
func theirCommands() []string {
	return []string{
		"list ls ps get list-clusters clusters: `muster status` shows clusters, `muster job list` jobs, `muster nodes` nodes",
		"describe info show inspect describe-cluster describe-cluster-instances describe-compute-fleet: `muster status` shows a cluster, `muster job show ID` a job, `muster plan FILE` what a file makes",
		"create create-cluster launch deploy apply update update-cluster start new: `muster up FILE` makes a cluster, and changes one",
		"delete delete-cluster destroy rm remove terminate teardown stop kill: `muster down` takes a cluster down, `muster job cancel ID` ends a job, `muster fleet stop` the nodes",
		"update-compute-fleet autostop: `muster fleet start` and `muster fleet stop` let nodes come, or none",
		"logs log tail get-cluster-log-events: `muster job logs ID` shows a job's output, `muster events` what happened to the nodes",
		"list-cluster-log-streams export-cluster-logs get-cluster-stack-events history watch: `muster events` shows what happened to the nodes, `muster job list --all` which jobs there were",
		"submit sbatch train: `muster run FILE` submits a script and follows it, `muster job submit FILE` only submits it, and in `muster shell` there is sbatch",
		"srun salloc sacct sacctmgr scontrol sprio sshare sreport sstat sdiag seff: `muster exec -- " + theWord + "` runs Slurm's, and in `muster shell` it is there",
		"sinfo partitions: `muster nodes` lists nodes, `muster exec sinfo` is Slurm's",
		"squeue queue jobs: `muster job list` lists jobs, `muster exec squeue` is Slurm's",
		"scancel cancel: `muster job cancel ID` ends a job, `muster exec scancel ID` is Slurm's",
		"login connect attach enter bash: `muster shell` opens a shell on the head node, on AWS `muster ssh` logs in there",
		"scp cp rsync sftp: the cluster on this machine sees your directory, and `muster exec -- tar -C /fsx -x <data.tar` brings data to any",
		"validate lint: `muster check FILE` checks cluster files and batch scripts",
		"cost cost-report estimate: `muster plan FILE` says what a cluster costs",
		"build build-image: `muster image build` makes an image of a Dockerfile",
		"pull: `muster image import URI` takes an image from a registry, `muster data pull s3://BUCKET/PREFIX DIR` a dataset from a bucket",
		"push: `muster image pack -t REGISTRY/NAME` makes an image of files and pushes it, `muster data push DIR s3://BUCKET/PREFIX` brings a directory to a bucket",
		"s3 sync upload download restore checkpoint: `muster data push` and `muster data pull` bring datasets to buckets and back, `muster data restore` a checkpoint",
		"images list-images describe-image list-official-images: `muster image list` lists images",
		"rmi delete-image: `muster image remove NAME` removes an image",
		"configure init: write a cluster file of ParallelCluster's, check it with `muster check FILE`, make it with `muster up FILE`",
		"install setup: `muster doctor` says what this machine lacks and installs it",
	}
}
