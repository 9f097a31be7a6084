package plan

import (
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// Question is what an estimate is made of.
type Question struct {
	Cluster  *spec.Cluster
	Workload *spec.Workload
	// RunHours is the length of the run, 0 for that of the workload.
	RunHours float64
	// Prices are the user's own, in dollars an hour by instance type.
	Prices map[string]float64
}

// Estimate says what a cluster is, costs and can do. What is not known has no
// number in it: it is absent, or said in words. Its JSON only ever gets more
// fields.
type Estimate struct {
	File     string `json:"file"`
	Workload string `json:"workload,omitempty"`
	Region   string `json:"region,omitempty"`
	// RunHours is 0 if the length of the run is not given.
	RunHours    float64      `json:"run_hours,omitempty"`
	Fleet       Fleet        `json:"fleet"`
	Price       Pricing      `json:"price"`
	Models      []Trained    `json:"models"`
	Spare       []Spare      `json:"spare"`
	Failures    Failures     `json:"failures"`
	FileSystems []FileSystem `json:"file_systems"`
	Blocks      []Block      `json:"capacity_blocks"`
	Made        []Made       `json:"made"`
	// BurnIn is what new nodes take before their first job, where muster.yaml has it.
	BurnIn []BurnIn `json:"burn_in,omitempty"`
	// Kept says what goes where.
	Kept []Kept `json:"kept"`
	// Notes are what to know before this is bought.
	Notes []string `json:"notes"`
}

// Fleet is the cluster's machines.
type Fleet struct {
	Groups []Group `json:"compute_resources"`
	// Queues and Full are at MaxCount, Least is at MinCount: what is always on.
	Queues []Total `json:"queues"`
	Full   Total   `json:"full"`
	Least  Total   `json:"least"`
	// Services are the head node and the login nodes.
	Services []Service `json:"services"`
}

// Group is a compute resource: equal nodes of a queue.
type Group struct {
	Queue         string   `json:"queue"`
	Name          string   `json:"name"`
	InstanceTypes []string `json:"instance_types"`
	CapacityType  string   `json:"capacity_type"`
	// Reserved says that the nodes come from a capacity reservation.
	Reserved bool `json:"reserved"`
	MinCount int  `json:"min_count"`
	MaxCount int  `json:"max_count"`
	Node     Node `json:"node"`
}

// Node is what one node has: the least of its instance types.
type Node struct {
	// VCPUs are half of the type's if the file disables multithreading.
	VCPUs     int `json:"vcpus"`
	MemoryMiB int `json:"memory_mib"`
	// GPU names one or several kinds of GPUs or other accelerators; Accelerator
	// says that they are no GPUs.
	GPU          string `json:"gpu,omitempty"`
	GPUs         int    `json:"gpus"`
	Accelerator  bool   `json:"accelerator,omitempty"`
	GPUMemoryMiB int    `json:"gpu_memory_mib,omitempty"`
	// EFA says that the file enables it, EFAInterfaces that the type has it,
	// EFAGbps what it carries, 0 where that is not known.
	EFA           bool `json:"efa"`
	EFAInterfaces int  `json:"efa_interfaces"`
	EFAGbps       int  `json:"efa_gbps,omitempty"`
	// ScratchGB is the node's own disks, if DisksKnown.
	ScratchGB  int  `json:"scratch_gb,omitempty"`
	DisksKnown bool `json:"disks_known"`

	// networkMbps is the ordinary network and EFA together; 0 is not known.
	networkMbps int
}

// EFAKnown says that EFAGbps is all that EFA carries.
func (n Node) EFAKnown() bool { return !n.EFA || n.EFAInterfaces == 0 || n.EFAGbps > 0 }

// rated says that the rate of failures holds for the node: it has GPUs.
func (n Node) rated() bool { return n.GPUs > 0 && !n.Accelerator }

// Total is the sum of some nodes.
type Total struct {
	Queue     string     `json:"queue,omitempty"`
	Nodes     int        `json:"nodes"`
	GPUs      []GPUTotal `json:"gpus"`
	VCPUs     int        `json:"vcpus"`
	MemoryMiB int64      `json:"memory_mib"`
	EFAGbps   int        `json:"efa_gbps"`
	ScratchGB int        `json:"scratch_gb"`
	// EFAIncomplete and ScratchIncomplete say that some of the nodes have more,
	// which is not in the catalogue and not in the sum.
	EFAIncomplete     bool `json:"efa_incomplete"`
	ScratchIncomplete bool `json:"scratch_incomplete"`
}

// GPUTotal counts GPUs of one kind, or accelerators that are no GPUs.
type GPUTotal struct {
	GPU         string `json:"gpu"`
	Accelerator bool   `json:"accelerator,omitempty"`
	Count       int    `json:"count"`
	MemoryMiB   int64  `json:"memory_mib"`
}

// Service is a head node or a pool of login nodes.
type Service struct {
	Name         string `json:"name"`
	InstanceType string `json:"instance_type"`
	Count        int    `json:"count"`
	// The rest is of one of them.
	VCPUs      int  `json:"vcpus"`
	MemoryMiB  int  `json:"memory_mib"`
	ScratchGB  int  `json:"scratch_gb,omitempty"`
	DisksKnown bool `json:"disks_known"`
}

// Cost is an amount of money. If Missing is not empty, it is at least USD, and
// the cost of what Missing names is not known.
type Cost struct {
	USD     float64  `json:"usd"`
	Missing []string `json:"missing,omitempty"`
}

// Words is an amount of which a part may not be known.
func (c Cost) Words() string {
	switch {
	case len(c.Missing) == 0:
		return count.Dollars(c.USD)
	case c.USD == 0:
		return "unknown"
	}
	return "at least " + count.Dollars(c.USD)
}

// Spend is the cost of something over time. Run is nil if the length of
// the run is not given.
type Spend struct {
	Hour Cost  `json:"hour"`
	Day  Cost  `json:"day"`
	Run  *Cost `json:"run,omitempty"`
}

// Pricing is what the cluster costs, in dollars.
type Pricing struct {
	// Region is where the catalogue's prices hold, InstanceRegion where those of
	// instances do if that is another one.
	Region         string      `json:"catalogue_region"`
	InstanceRegion string      `json:"instance_region,omitempty"`
	Types          []TypePrice `json:"instance_types"`
	// Nodes are all compute nodes at MaxCount, LeastNodes those at MinCount.
	Nodes      Spend `json:"nodes"`
	LeastNodes Spend `json:"least_nodes"`
	Services   Spend `json:"services"`
	// Storage is with the volumes of all nodes, LeastStorage with those of the
	// nodes that are always on.
	Storage      Spend `json:"storage"`
	LeastStorage Spend `json:"least_storage"`
	All          Spend `json:"all"`
	LeastAll     Spend `json:"least_all"`
	// Volumes are disks of nodes; file systems have their price with them.
	Volumes []Volume `json:"volumes"`
}

// TypePrice is what an hour of an instance type costs. Without a price, Reason
// says why.
type TypePrice struct {
	InstanceType string  `json:"instance_type"`
	Purchase     string  `json:"purchase"`
	USDPerHour   float64 `json:"usd_per_hour,omitempty"`
	Known        bool    `json:"known"`
	Date         string  `json:"date,omitempty"`
	Source       string  `json:"source,omitempty"`
	Reason       string  `json:"reason,omitempty"`
}

// Volume is disks that are made with machines.
type Volume struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Least int    `json:"least"`
	What  string `json:"what"`
	// Month is the price of Count of them.
	Month  Cost   `json:"month"`
	Date   string `json:"date,omitempty"`
	Source string `json:"source,omitempty"`
}

// Trained is a model and where it trains.
type Trained struct {
	Name  string `json:"name"`
	Queue string `json:"queue,omitempty"`
	// Nodes are whole nodes; a part of a node has Nodes 1 and FirstGPU to
	// FirstGPU+GPUs-1 of it. 0 is that the file does not say.
	Nodes    int    `json:"nodes"`
	GPUs     int    `json:"gpus"`
	Part     bool   `json:"part_of_a_node"`
	FirstGPU int    `json:"first_gpu"`
	NodeList string `json:"node_list,omitempty"`
	// Parameters is 0 if not said.
	Parameters float64     `json:"parameters,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// MTBFHours is the mean time between interruptions, Expected how many there
	// will be in the run; both are 0 where that is not known.
	MTBFHours float64 `json:"mtbf_hours,omitempty"`
	Expected  float64 `json:"expected_interruptions,omitempty"`

	slots []slot
}

// Checkpoint is what a model writes, and how often it should.
type Checkpoint struct {
	Bytes             float64 `json:"bytes"`
	BytesPerParameter float64 `json:"bytes_per_parameter"`
	WeightBytes       float64 `json:"weight_bytes,omitempty"`
	Dir               string  `json:"dir,omitempty"`
	FileSystem        string  `json:"file_system,omitempty"`
	// WriteSeconds is without others on the file system; 0 is not known.
	WriteSeconds float64 `json:"write_seconds,omitempty"`
	// IntervalSeconds is the best time between checkpoints, by Formula; 0 is not known.
	IntervalSeconds float64 `json:"interval_seconds,omitempty"`
	Formula         string  `json:"formula,omitempty"`
	// LostHours are expected to be lost to failures in the run: work done again,
	// and restarts. Goodput is the part of the time that moves the model on, which
	// leaves out the writing of checkpoints, too. Both are with a spare node at
	// hand; GoodputWithoutSpare is if the model waits for the replacement.
	LostHours           float64 `json:"lost_hours,omitempty"`
	Goodput             float64 `json:"goodput,omitempty"`
	GoodputWithoutSpare float64 `json:"goodput_without_spare,omitempty"`
	Keep                int     `json:"keep"`
}

// Spare is what is left over of a queue's nodes that have the same instance
// types: a node can stand in for another of its kind only.
type Spare struct {
	Queue         string   `json:"queue"`
	InstanceTypes []string `json:"instance_types"`
	Nodes         int      `json:"nodes"`
	NodeList      string   `json:"node_list,omitempty"`
	// PartGPUs are GPUs left on nodes that jobs share.
	PartGPUs int `json:"gpus_on_shared_nodes"`
	// Wanted nodes are, at any one moment, as many as are being replaced with at
	// least the probability Confidence. Rated says that models with GPUs train on
	// such nodes; without them nothing is wanted.
	Wanted int  `json:"wanted"`
	Rated  bool `json:"rated"`

	pool string
}

// Failures are interruptions to expect of all GPUs together.
type Failures struct {
	PerGPUHour float64 `json:"per_gpu_hour"`
	MeasuredOn string  `json:"measured_on"`
	Source     string  `json:"source"`
	// GPUs are those of the models, or all if there are no models.
	GPUs             int     `json:"gpus"`
	MTBFHours        float64 `json:"mtbf_hours,omitempty"`
	Expected         float64 `json:"expected_interruptions,omitempty"`
	RestartMinutes   float64 `json:"restart_minutes"`
	ReplacementHours float64 `json:"replacement_hours"`
	Confidence       float64 `json:"confidence"`
}

// FileSystem is shared storage and what it is worth for checkpoints.
type FileSystem struct {
	Name     string           `json:"name"`
	MountDir string           `json:"mount_dir"`
	Type     spec.StorageKind `json:"type"`
	What     string           `json:"what"`
	// CapacityGiB and ThroughputMBps are 0 where they are not known; Reason says
	// why one of them or the price is not.
	CapacityGiB    int     `json:"capacity_gib,omitempty"`
	ThroughputMBps float64 `json:"throughput_mbps,omitempty"`
	Month          Cost    `json:"month"`
	Date           string  `json:"price_date,omitempty"`
	Source         string  `json:"price_source,omitempty"`
	Confirmed      bool    `json:"price_confirmed"`
	Reason         string  `json:"reason,omitempty"`
	// Use is nil if no model's checkpoints are there.
	Use *Use `json:"checkpoints,omitempty"`

	fit func(gib int) int
}

// Use is the checkpoints of all models of a file system.
type Use struct {
	Models []string `json:"models"`
	// OneBytes is one checkpoint of each, KeptBytes all that are kept.
	OneBytes  float64 `json:"one_of_each_bytes"`
	KeptBytes float64 `json:"kept_bytes"`
	// Fits is how many of each fit, -1 if that is not known.
	Fits int `json:"fits"`
	// WriteSeconds is how long all models together need; 0 is not known.
	WriteSeconds float64 `json:"write_seconds,omitempty"`
	// WantedGiB is a capacity that holds what is kept; 0 if this one does.
	WantedGiB int `json:"wanted_gib,omitempty"`
}

// Block is the Capacity Blocks that a queue needs.
type Block struct {
	Queue        string `json:"queue"`
	InstanceType string `json:"instance_type"`
	Instances    int    `json:"instances"`
	// Sizes are the instances of each block.
	Sizes []int `json:"sizes"`
	// LengthsDays are how long the blocks are that follow each other; there are
	// none without a run.
	LengthsDays []int `json:"lengths_days,omitempty"`
	// UsableHours is what instances can be used of all of them.
	UsableHours float64 `json:"usable_hours,omitempty"`
	Upfront     *Cost   `json:"upfront,omitempty"`
	// Beyond is the part of Upfront that is for time after the run, which the
	// cost of the run does not have.
	Beyond *Cost `json:"beyond_the_run,omitempty"`
	// Asked says that the file has CapacityType CAPACITY_BLOCK; otherwise the
	// type has no price on demand. Reserved says that it names a reservation.
	Asked    bool   `json:"asked"`
	Reserved bool   `json:"reserved"`
	Source   string `json:"source"`

	purchase string
}

// Made is what muster.yaml adds to the cluster file's resources.
type Made struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	What  string `json:"what"`
	Local string `json:"local"`
}

// New answers a question. It fails if the models do not fit in the cluster.
func New(q Question) (*Estimate, error) {
	e := &Estimate{
		File: q.Cluster.File, Workload: q.Workload.File, Region: q.Cluster.Region, RunHours: q.RunHours,
		Fleet: fleetOf(q.Cluster), Made: made(q.Workload), Notes: []string{},
	}
	if e.RunHours == 0 {
		e.RunHours = q.Workload.Run.Hours
	}
	var err error
	if e.Models, e.Spare, err = divide(q.Cluster, q.Workload.Models); err != nil {
		return nil, err
	}
	e.FileSystems = fileSystems(q.Cluster, q.Workload)
	e.Failures = failures(e, q.Workload.Run)
	e.checkpoints(q.Workload)
	e.spares()
	e.Kept = kept(e, q)
	e.Price = pricing(e, q)
	e.Blocks = blocks(e)
	e.BurnIn = burnIns(q, e.Fleet.Groups)
	e.note(q)
	return e, nil
}
