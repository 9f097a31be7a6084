package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// practice has the rules about what ParallelCluster accepts and people regret.
// They are warnings at most: the cluster can be made.
func practice(root spec.View, all []resource, level spec.Level) {
	scheduling := root.Key("Scheduling")
	for _, q := range scheduling.Key("SlurmQueues").Items() {
		ignoredStrategy(q)
		spotGang(q)
		healthCheck(q)
		provisionedRoot(q)
		earlyScript(q, root)
		scriptAccess(q)
		subnetAddresses(q, level)
	}
	for _, x := range all {
		blockOnDemand(x)
		blockSize(x)
		foreignGroup(x)
		reservedIdle(x, scheduling.At("SlurmSettings.ScaledownIdletime"))
		unknownSockets(x.view)
	}
	for _, x := range all {
		reservationID(x.target().Key("CapacityReservationId"))
	}
	partialScaling(scheduling)
	neverIdle(scheduling)
	sharedNodes(scheduling)
	noAccounting(scheduling)
	openSSH(root.Key("HeadNode"))
	noEffect(root)
	notMade(root, all)
	oldSystem(root.At("Image.Os"))
	oldImages(root, level)
	smallHead(root)
	for _, s := range root.Key("SharedStorage").Items() {
		deletedResults(s)
		scratchResults(s)
	}
}

// machine is the instance type of a compute resource with one; false if it has
// several, or none that is known.
func machine(r spec.View) (catalog.Instance, bool) {
	t := r.Key("InstanceType")
	if !t.Given() {
		return catalog.Instance{}, false
	}
	return catalog.Lookup(t.Text())
}

// gang reports whether jobs of a compute resource run on many nodes at once: it
// has EFA, or machines full of GPUs.
func gang(r spec.View) bool {
	in, _ := machine(r)
	return r.At("Efa.Enabled").Bool() || in.GPU.Count >= 8
}

// gangs are the compute resources of all queues for which gang holds.
func gangs(scheduling spec.View) []spec.View {
	var found []spec.View
	for _, q := range scheduling.Key("SlurmQueues").Items() {
		for _, r := range q.Key("ComputeResources").Items() {
			if gang(r) {
				found = append(found, r)
			}
		}
	}
	return found
}

// blockOnDemand finds reservations that are probably Capacity Blocks in queues of
// another capacity type. RunInstances refuses them without the market type
// capacity-block, and ParallelCluster looks only at the opposite case.
func blockOnDemand(x resource) {
	kind := x.queue.Key("CapacityType")
	in, ok := machine(x.view)
	if !ok || !catalog.BlockOnly(in.Type) || !kind.Sound() || kind.Text() == block {
		return
	}
	if target := x.target(); target.Given() {
		target.Warnf("capacity/block-on-demand", "%s is sold in Capacity Blocks, and the queue has CapacityType: %s", in.Type, kind.Text()).
			WithHint("if the reservation is a Capacity Block, no node starts: write CapacityType: CAPACITY_BLOCK with MinCount equal to MaxCount")
		return
	}
	x.view.Key("InstanceType").Warnf("capacity/block-on-demand", "%s has no price on demand as of %s; it is sold in Capacity Blocks", in.Type, catalog.Date).
		WithHint("write CapacityType: CAPACITY_BLOCK and CapacityReservationTarget with the block's id")
}

// foreignGroup finds placement groups that the cluster makes beside a reservation.
// Reserved instances are in the reservation's group or in none, so that starting
// them in a new one can fail although they are free.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html
func foreignGroup(x resource) {
	made := x.group.view.Key("Enabled")
	if !made.Given() || !made.Bool() || x.group.name() != "" || !x.target().Given() || x.capacityType() == block || x.spread {
		return
	}
	made.Warnf("capacity/placement-group", "the cluster makes a placement group of its own, in which the reservation's instances may not start").
		WithHint("write Enabled: false, or Name: with the placement group that the reservation was made in")
}

// blockSize finds compute resources that no Capacity Block can fill.
func blockSize(x resource) {
	high := x.view.Key("MaxCount")
	if x.capacityType() != block || !high.Given() || high.Int() <= catalog.BlockInstances || !x.target().Key("CapacityReservationId").Given() {
		return
	}
	high.Warnf("capacity/block-size", "MaxCount is %d, and one Capacity Block has at most %d instances", high.Int(), catalog.BlockInstances).
		WithHint("make a compute resource for each block, each with its CapacityReservationTarget")
}

// reservedIdle finds reserved capacity whose nodes come and go: it is paid for
// all the time, and each return costs the minutes that a node needs to start.
func reservedIdle(x resource, idle spec.View) {
	low, high := x.view.Key("MinCount"), x.view.Key("MaxCount")
	if !x.target().Given() || !low.Sound() || !high.Sound() || low.Int() >= high.Int() || idle.Int() < 0 || x.capacityType() == block {
		return
	}
	low.Warnf("capacity/reserved-idle", "%d of %d reserved nodes are taken away when they are idle for %s, and are paid for all the same",
		high.Int()-low.Int(), high.Int(), count.Of(idle.Int(), "minute")).
		WithHint("MinCount: %d keeps them; a node that comes back needs minutes to start", high.Int())
}

var reservationPattern = pattern.New(`^cr-[0-9a-f]{17}$`)

// reservationID finds ids that no reservation has. ParallelCluster does not look
// at their form; AWS refuses them.
func reservationID(id spec.View) {
	if id.Given() && !reservationPattern().MatchString(id.Text()) {
		id.Errorf("capacity/reservation-id", "%q is no capacity reservation's id", id.Text()).
			WithHint("it is cr- and 17 of 0-9 a-f; `aws ec2 describe-capacity-reservations` lists them")
	}
}

// ignoredStrategy finds an allocation strategy that nothing reads: it is for
// compute resources with Instances.
func ignoredStrategy(q spec.View) {
	strategy := q.Key("AllocationStrategy")
	if !strategy.Given() || len(q.Key("ComputeResources").Items()) == 0 {
		return
	}
	for _, r := range q.Key("ComputeResources").Items() {
		if r.Key("Instances").Present() {
			return
		}
	}
	strategy.Warnf("capacity/strategy-ignored", "AllocationStrategy has no effect: every compute resource of the queue has one InstanceType").
		WithHint("remove it, or give Instances").WithFix(strategy.Remove())
}

// spotGang finds spot capacity for jobs that one lost node ends.
func spotGang(q spec.View) {
	kind := q.Key("CapacityType")
	if !kind.Given() || kind.Text() != "SPOT" {
		return
	}
	for _, r := range q.Key("ComputeResources").Items() {
		if gang(r) {
			kind.Infof("capacity/spot-gang", "a job on many nodes ends when AWS takes one spot node back").
				WithHint("checkpoint often, and give jobs --requeue")
			return
		}
	}
}

// partialScaling finds a scaling strategy that gives training jobs a part of
// their nodes.
func partialScaling(scheduling spec.View) {
	strategy := scheduling.Key("ScalingStrategy")
	if !strategy.Given() || strategy.Text() != "best-effort" || len(gangs(scheduling)) == 0 {
		return
	}
	strategy.Warnf("capacity/partial-scaling", "best-effort starts a part of a job's nodes if there is no capacity for all; they are idle and billed").
		WithHint("write ScalingStrategy: all-or-nothing")
}

// neverIdle finds dynamic nodes with GPUs that are never taken away.
func neverIdle(scheduling spec.View) {
	idle := scheduling.At("SlurmSettings.ScaledownIdletime")
	if !idle.Given() || idle.Int() != -1 {
		return
	}
	for _, r := range gangs(scheduling) {
		kind := r.Key("InstanceType").Text()
		if price, ok := catalog.OnDemand(kind); ok && r.Key("MaxCount").Int() > r.Key("MinCount").Int() {
			idle.Warnf("capacity/never-idle", "nodes that were started are never taken away; one %s is $%.2f an hour on demand", kind, price.USD).
				WithHint("write a number of minutes, such as ScaledownIdletime: 30")
			return
		}
	}
}

// healthCheck finds DCGM's diagnosis before every job on machines of many GPUs,
// where it takes longer than Slurm waits for a job to begin.
// https://github.com/aws/aws-parallelcluster/issues/6777
func healthCheck(q spec.View) {
	for _, r := range q.Key("ComputeResources").Items() {
		check := r.At("HealthChecks.Gpu.Enabled")
		if !check.Given() {
			check = q.At("HealthChecks.Gpu.Enabled")
		}
		if in, ok := machine(r); ok && check.Given() && check.Bool() && in.GPU.Count >= 8 {
			check.Warnf("practice/gpu-health-check", "the GPU check before every job can take longer on %d GPUs than Slurm waits for a job to start", in.GPU.Count).
				WithHint("write Enabled: false, and check the nodes when no job waits")
			return
		}
	}
}

// provisionedRoot finds root volumes that are paid for speed on machines with
// fast disks of their own.
func provisionedRoot(q spec.View) {
	volume := q.At("ComputeSettings.LocalStorage.RootVolume")
	iops, throughput := volume.Key("Iops"), volume.Key("Throughput")
	fast := iops
	switch {
	case iops.Given() && iops.Int() > 3000:
	case throughput.Given() && throughput.Int() > 125:
		fast = throughput
	default:
		return
	}
	for _, r := range q.Key("ComputeResources").Items() {
		if in, ok := machine(r); ok && in.NVMeGB > 0 {
			fast.Infof("practice/root-volume", "every node pays for a faster root volume; %s has %d GB of its own disks at %s", in.Type, in.NVMeGB,
				q.At("ComputeSettings.LocalStorage.EphemeralVolume.MountDir").Text()).WithHint("leave %s out, and use the node's own disks", fast.Name())
			return
		}
	}
}

// earlyScript says what OnNodeStart scripts do not see.
func earlyScript(q, root spec.View) {
	start := q.At("CustomActions.OnNodeStart")
	if start.Given() && len(root.Key("SharedStorage").Items()) > 0 {
		start.Infof("actions/before-mounts", "OnNodeStart runs before shared storage is mounted").
			WithHint("a script that needs it belongs in OnNodeConfigured")
	}
}

// scriptAccess finds scripts in buckets that the nodes have no permission to read.
// Nodes that cannot run their script end, and after ten of them the queue stops.
func scriptAccess(q spec.View) {
	iam := q.Key("Iam")
	for _, key := range []string{"S3Access", "AdditionalIamPolicies", "InstanceRole", "InstanceProfile"} {
		if iam.Key(key).Present() {
			return
		}
	}
	for _, key := range []string{"OnNodeStart", "OnNodeConfigured"} {
		action := q.At("CustomActions." + key)
		for _, a := range append(action.Key("Sequence").Items(), action) {
			script := a.Key("Script")
			rest, s3 := strings.CutPrefix(script.Text(), "s3://")
			if !script.Given() || !s3 {
				continue
			}
			bucket, _, _ := strings.Cut(rest, "/")
			script.Warnf("actions/no-access", "nothing lets the queue's nodes read %s, and a node whose script fails is ended", script.Text()).
				WithHint("add Iam: {S3Access: [{BucketName: %s}]} to the queue", bucket)
			return
		}
	}
}

// openSSH finds a head node whose SSH port takes the whole Internet. That is
// ParallelCluster's default, and only a key opens it.
func openSSH(head spec.View) {
	ssh := head.Key("Ssh")
	if head.At("Networking.SecurityGroups").Present() || !ssh.Sound() || ssh.Key("AllowedIps").Given() && ssh.Key("AllowedIps").Text() != "0.0.0.0/0" {
		return
	}
	at := ssh
	if ssh.Key("AllowedIps").Given() {
		at = ssh.Key("AllowedIps")
	}
	at.Infof("network/ssh-open", "SSH to the head node is open to every address").
		WithHint("write Ssh: {AllowedIps: YOUR.ADDRESS/32}")
}
