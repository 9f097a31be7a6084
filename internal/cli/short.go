package cli

// What commands are for that not every system has: where they cannot run they say so.
const (
	demoShort      = "See it work on this machine: 80 nodes, a training that loses one, and nothing left"
	doctorShort    = "Say what this machine has and lacks, and mend it"
	nodeShort      = "Act on one node"
	containerShort = "Run commands in containers, and see to those that are there"
	buildShort     = "Build a Dockerfile and import the image"
	packShort      = "Make an image of tar files and directories and push it"
)
